"""Figures look as by seaborn's theme for papers, which no job imports."""

import matplotlib
import pytest
import seaborn

from replication.drawing import style

CHOSEN = {
    "axes": ("edgecolor", "grid", "labelsize", "linewidth", "prop_cycle", "spines.right", "spines.top", "titlesize"),
    "font": ("sans-serif",),
    "grid": ("color", "linewidth"),
    "image": ("cmap",),
    "legend": ("fontsize",),
    **dict.fromkeys(
        ("xtick", "ytick"), ("color", "labelsize", "major.size", "major.width", "minor.size", "minor.width")
    ),
}
"""What the style has other than the theme, or leaves as matplotlib has it."""


def same(one: object, other: object) -> bool:
    """Colours and lengths have several spellings."""
    try:
        return float(one) == pytest.approx(float(other))
    except (TypeError, ValueError):
        return str(one) == str(other) or (one, other) == ("white", "w")


def test_the_style_is_the_theme_but_for_what_it_chooses():
    """Colours, too."""
    here = {name: matplotlib.rcParams[name] for name in matplotlib.rcParams}
    with matplotlib.rc_context():
        seaborn.set_theme(context="paper", style="ticks")
        assert sorted(name for name in here if not same(here[name], matplotlib.rcParams[name])) == [
            f"{group}.{name}" for group, names in CHOSEN.items() for name in names
        ]
    assert seaborn.color_palette("colorblind").as_hex() == style.COLOURS
