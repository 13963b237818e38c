"""The style of all figures: seaborn's theme for papers with the changes in style.mplstyle, one format of numbers on an
axis; and the files of figures: SVG and PDF with the same bytes in every run.

The only module that sets up matplotlib; no simulation imports it.
"""

from __future__ import annotations

import io
import json
import math
from html import escape
from pathlib import Path
from typing import Any

import matplotlib
import seaborn as sns
from matplotlib.axis import Axis
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from privrep.users.whole_files import in_one_move
from replication.drawing.points import drawn_points

matplotlib.rcdefaults()  # whatever matplotlibrc and styles a person has
matplotlib.use("Agg")
RC: Any = matplotlib.rc_params_from_file(Path(__file__).with_suffix(".mplstyle"), use_default_template=False)
sns.set_theme(context="paper", style="ticks", palette="colorblind", font="DejaVu Sans", rc=RC)

POINTS = "points"
"""Id of the metadata with the numbers that an SVG shows."""
GREY, LAW = "0.45", "0.25"
"""Colours of a line at a constant level, such as a claimed value, and of the curve of a law."""
NOTE: dict[str, Any] = {"fontsize": 8.5, "color": "0.35", "textcoords": "offset points"}
"""Keyword arguments of matplotlib for an annotation."""


# Numbers


def short(value: float) -> str:
    """Write a number for a tick: thousands as k, very small and large ones as powers of ten, fractions to three digits.

    >>> short(20_000), short(0.25), short(8.95323), short(1e-6)
    ('20k', '0.25', '8.95', '$10^{-6}$')
    """
    if value and (abs(value) < 1e-3 or abs(value) >= 1e6):
        return power_of_ten(value)
    return f"{value / 1000:g}k" if abs(value) >= 1e4 else f"{value:{'.3g' if abs(value) < 100 else 'g'}}"


def power_of_ten(value: float) -> str:
    """Write a number as a power of ten, times a factor unless the factor is 1."""
    exponent = math.floor(math.log10(abs(value)) + 1e-9)
    factor = value / 10.0**exponent
    return f"$10^{{{exponent}}}$" if math.isclose(factor, 1) else rf"${factor:.3g}\cdot10^{{{exponent}}}$"


FEW, MANY = 4, 100
"""Ratio of an axis' ends below which its ticks are evenly spaced, and ratio from which they are powers of ten alone."""


def log_ticks(axis: Axis) -> None:
    """Put ticks on a logarithmic axis, all in one format: decimals, or powers of ten if one is very small or large."""
    low, high = sorted(axis.get_view_interval())
    subs = (1, 2, 5) if high < MANY * low else (1,)
    axis.set_major_locator(
        MaxNLocator(5, steps=(1, 2, 5, 10)) if high < FEW * low else LogLocator(subs=subs, numticks=8)
    )
    write = power_of_ten if low < 0.9e-3 or high > 2e6 else lambda value: f"{value:g}" if value < 1e4 else short(value)
    axis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
    axis.set_minor_formatter(NullFormatter())


# Files


def with_points(svg: str, figure: Figure) -> str:
    """Add to an SVG file, as metadata, the numbers that it shows and their positions."""
    points = json.dumps(drawn_points(figure), separators=(",", ":"), ensure_ascii=False)
    head, end = svg.rsplit("</svg>", 1)
    return f'{head}<metadata id="{POINTS}">{escape(points, quote=False)}</metadata>\n</svg>{end}'


def save(figure: Figure, path: Path) -> None:
    """Write `path`.svg, with the numbers that it shows and their positions (`replication.drawing.points`)."""
    _fix_layout(figure)
    picture = io.BytesIO()
    FigureCanvasSVG(figure).print_svg(picture, metadata={"Date": None})
    with in_one_move(path.with_suffix(".svg")) as temporary:
        temporary.write_text(with_points(picture.getvalue().decode("utf-8"), figure), encoding="utf-8")


def save_pdf(figure: Figure, path: Path) -> None:
    """Write `path`.pdf: the same picture for print."""
    # Imported late: it reads fonts, which takes as long as all other imports.
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    _fix_layout(figure)
    with in_one_move(path.with_suffix(".pdf")) as temporary:
        FigureCanvasPdf(figure).print_pdf(temporary, metadata={"CreationDate": None})


def _fix_layout(figure: Figure) -> None:
    """Make the layout once and keep it: savefig would draw each picture twice, the first time for the layout."""
    if layout := figure.get_layout_engine():
        layout.execute(figure)
    figure.set_layout_engine("none")
