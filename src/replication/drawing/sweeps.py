"""Panels of fitted exponents, the same for every study: points with intervals, fitted line, claimed slope, law."""

from __future__ import annotations

import math
import re
import textwrap
import tomllib
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from replication.drawing.looks import METHODS, Look
from replication.drawing.panels import Panel, Picture, used

COLUMNS = 3
"""Largest number of panels in a row."""
WIDTH = 27
"""Largest number of letters in a line of a title."""
MOST_PANELS, FAR = 12, 0.15
"""With more panels than that, the exponents of all fits stand in one panel, and a fit has a panel of its own if all of
its interval is farther than `FAR` from the claimed exponent."""
LEAST_HEIGHT = 3
"""Least ratio of the upper to the lower end of a panel's y axis, so that a flat law looks flat."""
AXES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""Column -> symbol on its axis."""
MEASURED = Look("measured", METHODS["centaur"].colour, dash="")
CLAIMED = Look("claimed exponent", METHODS["altmin"].colour, "", "--")


def sweep_panel(axis: Panel, rows: pd.DataFrame, claimed: float | None, title: str, without: str = "") -> None:
    """Draw one sweep on logarithmic axes, from its rows of a `fit_table`. without : what the title says in place of a
    claimed exponent."""
    axis.fit(rows, MEASURED)
    if claimed is not None and len(used(rows)):
        axis.power(rows, claimed, CLAIMED)
    if rows["predicted"].notna().any():
        axis.law(rows, "value", "predicted")
    parameter = rows["parameter"].iloc[0]
    title = re.sub(r"^\S{1,2}$|: \S+$", "", title) or "exponent"  # the axis names what varies
    title = title if "$" in title else textwrap.fill(title, WIDTH)
    exponents = exponent_text(rows) or "no exponent"
    exponents += without if claimed is None else f", claimed {claimed:g}".replace("-", "\N{MINUS SIGN}")
    axis.label(AXES.get(parameter) or parameter, title=f"{title}\n{exponents}", log="xy", xticks=thinned(rows["value"]))
    bottom, top = axis.get_ylim()
    if top < LEAST_HEIGHT * bottom:
        axis.set_ylim(math.sqrt(top * bottom / LEAST_HEIGHT), math.sqrt(top * bottom * LEAST_HEIGHT))


def thinned(values: pd.Series) -> list[float]:
    """Return the values that get a tick; on the logarithmic axis, ticks are at least a sixth of its length apart."""
    ascending, kept = sorted(set(values)), []
    apart = math.log(ascending[-1] / ascending[0]) / 6 if len(ascending) > 1 else 0
    for value in ascending:
        if not kept or math.log(value / kept[-1]) >= apart:
            kept.append(value)
    return kept


def exponent_text(rows: pd.DataFrame) -> str:
    """Write the exponent of a fit with half the width of its interval; an empty text without an exponent."""
    exponent, low, high = rows[["exponent", "exponent_low", "exponent_high"]].iloc[0]
    text = "" if math.isnan(exponent) else f"{exponent:.2f}"
    return (text if math.isnan(low) or not text else f"{text} ± {(high - low) / 2:.2f}").replace("-", "\N{MINUS SIGN}")


def draw_sweeps(
    figure: Picture, numbers: pd.DataFrame, panels: dict[str, str], claimed: dict[str, float], ylabel: str
) -> None:
    """Draw a panel for each fit of a `fit_table`, with the fit's title in `panels`; of many fits draw exponents."""
    width = (0.3, 2.6) if len(panels) > 1 else (0, 4.6)
    without = ", not judged" if any(name in claimed for name in panels) else ""
    if numbers["fit"].nunique() > MOST_PANELS:
        drawn = _exponents(figure, numbers, panels, claimed)
    else:
        drawn = figure.facets(numbers, "fit", width, (0.4, 2.5), COLUMNS)
    for axis, name, rows in drawn:
        sweep_panel(axis, rows, claimed.get(name), panels[name], without)
        axis.set_ylabel(ylabel)


def _exponents(
    figure: Picture, numbers: pd.DataFrame, panels: dict[str, str], claimed: dict[str, float]
) -> Iterator[tuple[Panel, str, pd.DataFrame]]:
    """Draw all exponents in one panel, and yield a panel below it for each fit that is far from its claim."""
    table = numbers.drop_duplicates("fit").assign(claimed=lambda rows: rows["fit"].map(claimed))
    far = (table["exponent_low"] > table["claimed"] + FAR) | (table["exponent_high"] < table["claimed"] - FAR)
    lines = -(-far.sum() // COLUMNS)
    heights = [0.2 * len(table) + 0.8, *lines * [2.5]]
    figure.set_size_inches(1.6 + 2.6 * COLUMNS, 0.4 + sum(heights))
    grid = figure.add_gridspec(1 + lines, COLUMNS, height_ratios=heights)
    table["place"] = range(len(table), 0, -1)
    panel: Any = partial(figure.add_subplot, axes_class=Panel)
    top = panel(grid[0, :])
    ends = ("exponent_low", "exponent_high")
    top.series(table, "exponent", "place", MEASURED, ends=ends, sideways=True)
    top.scatter(table["claimed"], table["place"], marker="|", color=CLAIMED.colour, zorder=4)
    top.named(CLAIMED.but("claimed", marker="|", dash=""))
    top.label("exponent", yticks=dict(zip(table["place"], table["fit"].map(panels), strict=True)))
    for place, name in zip(product(range(1, 1 + lines), range(COLUMNS)), table.loc[far, "fit"], strict=False):
        yield panel(grid[place]), name, numbers[numbers["fit"] == name]
