"""Panels of fitted exponents, the same for every study: points with intervals, fitted line, claimed slope, law."""

from __future__ import annotations

import math
import textwrap
import tomllib
from pathlib import Path

import pandas as pd

from replication.drawing.looks import METHODS, Look
from replication.drawing.panels import Panel, Picture, used

COLUMNS = 3
"""Largest number of panels in a row."""
WIDTH = 27
"""Largest number of letters in a line of a title."""
LEAST_HEIGHT = 3
"""Least ratio of the upper to the lower end of a panel's y axis, so that a flat law looks flat."""
AXES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
"""Column -> symbol on its axis."""
MEASURED = Look("measured", METHODS["centaur"].colour, dash="")
CLAIMED = Look("claimed exponent", METHODS["altmin"].colour, "", "--")


def sweep_panel(axis: Panel, rows: pd.DataFrame, claimed: float | None, title: str) -> None:
    """Draw one sweep on logarithmic axes, from its rows of a `fit_table`."""
    axis.fit(rows, MEASURED)
    if claimed is not None and len(used(rows)):
        axis.power(rows, claimed, CLAIMED)
    if rows["predicted"].notna().any():
        axis.law(rows, "value", "predicted")
    parameter = rows["parameter"].iloc[0]
    title = title if "$" in title else textwrap.fill(title, WIDTH)
    exponents = exponent_text(rows) or "no exponent"
    if claimed is not None:
        exponents += f", claimed {claimed:g}".replace("-", "\N{MINUS SIGN}")
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
    """Draw a panel for each fit of a `fit_table`, with the fit's title in `panels`."""
    width = (0.3, 2.6) if len(panels) > 1 else (0, 4.6)
    for axis, name, rows in figure.facets(numbers, "fit", width, (0.4, 2.5), COLUMNS):
        sweep_panel(axis, rows, claimed.get(name), panels[name])
        axis.set_ylabel(ylabel)
