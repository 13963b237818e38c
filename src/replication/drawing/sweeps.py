# ruff: noqa: RUF001  (typographic signs are meant)
"""Panels of fitted exponents, the same for every study: points with intervals, fitted line, claimed slope,
predicted curve."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, NullLocator

from replication.drawing.style import COLOURS, NOTE, few_ticks, new_figure, plain_ticks

COLUMNS = 3
"""Panels in a row."""
LEAST_HEIGHT = 3
"""A panel spans at least this factor, so that a flat law looks flat."""
LEGEND_WIDTH = 4.6
"""Inches that the legend needs."""
MANY_DECADES = 200
"""From this factor on ticks are at powers of ten alone."""
AXES = {
    "users": "n",
    "samples": "m",
    "init_samples": "q",
    "dim": "d",
    "rank": "k",
    "freedom": "m - k",
    "outside": "d - k",
    "noise_multiplier": "Δ",
    "label_noise_sd": "σ",
    "batches": "T",
    "epsilon": "ε",
    "init_label_clip": "ζ",
    "start_sine": "sine of the start",
    "head_condition": "κ",
    "head_factor": "length of long heads",
    "incoherence": "μ",
    "batch_samples": "q",
    "mu": "μ",
    "iterations": "L",
    "rounds": "T",
    "starts": "T0",
}
"""Column -> sign on the axis."""


LINES = [
    Line2D([], [], color=COLOURS[0], marker="o", markersize=5, label="measured, fitted"),
    Line2D([], [], color=COLOURS[3], linestyle="--", label="claimed exponent"),
    Line2D([], [], color="0.25", linestyle=":", label="law"),
]
"""What the lines of every panel mean."""


def sweep_panel(axis: Axes, rows: pd.DataFrame, claimed: float | None, label: str) -> None:
    """Draw one sweep on logarithmic axes, from its rows of a `fit_table`; a point left out is hollow and carries its
    reason."""
    rows = rows.fillna({"left out": ""})
    shown, exponent = rows[(rows["value"] > 0) & (rows["error"] > 0)], rows["exponent"].iloc[0]
    for _, point in shown.iterrows():
        draw_point(axis, point, COLOURS[0], elinewidth=1, zorder=3)
        if point["left out"]:
            place = (point["value"], point["error"])
            axis.annotate(point["left out"], place, xytext=(4, -10), **(NOTE | {"fontsize": 7}))
    values, used = shown["value"].to_numpy(), shown[shown["left out"] == ""]
    if not math.isnan(exponent):
        power_line(axis, used, exponent, color=COLOURS[0], linewidth=1.4)
    if claimed is not None and len(used):
        power_line(axis, shown, claimed, color=COLOURS[3], linestyle="--", linewidth=1.2)
    if shown["predicted"].notna().any():
        axis.plot(values, shown["predicted"], color="0.25", linestyle=":", linewidth=1.4)
    parameter = rows["parameter"].iloc[0]
    axis.set(xscale="log", yscale="log", xlabel=AXES.get(parameter, parameter))
    axis.set_title(f"{label}\n{caption(rows, claimed)}", fontsize=8.5)
    axis.set_xticks(values, [f"{value / 1000:.4g}k" if value >= 1000 else f"{value:.3g}" for value in values])
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.xaxis.set_minor_locator(NullLocator())
    bottom, top = axis.get_ylim()
    if top < LEAST_HEIGHT * bottom:
        axis.set_ylim(math.sqrt(top * bottom / LEAST_HEIGHT), math.sqrt(top * bottom * LEAST_HEIGHT))
    (few_ticks if top < MANY_DECADES * bottom else plain_ticks)(axis.yaxis)


def caption(rows: pd.DataFrame, claimed: float | None) -> str:
    """Write measured and claimed exponent as text, from the rows of a fit."""
    exponent, low, high = rows[["exponent", "exponent_low", "exponent_high"]].iloc[0]
    if math.isnan(exponent):
        return "no exponent"
    text = f"{exponent:.2f} ± {(high - low) / 2:.2f}".replace("-", "−")
    return text if claimed is None else f"{text}, claimed {claimed:g}".replace("-", "−")


def draw_point(axis: Axes, point: pd.Series, colour: str, **look) -> None:
    """Draw a point of a sweep with its interval, hollow where it is left out."""
    value, mean = point["value"], point["error"]
    look |= {"color": colour, "markersize": 5, "markerfacecolor": "white" if point["left out"] else colour}
    axis.errorbar(value, mean, [[mean - point["ci_low"]], [point["ci_high"] - mean]], fmt="o", **look)


def power_line(axis: Axes, rows: pd.DataFrame, exponent: float, **look) -> None:
    """Draw a power of the parameter through the middle of the points that are not left out."""
    values, used = rows["value"], rows[rows["left out"].fillna("") == ""]
    middle, height = (np.exp(np.log(used[column]).mean()) for column in ("value", "error"))
    ends = np.array([values.min(), values.max()])
    axis.plot(ends, height * (ends / middle) ** exponent, **look)


def exponent_text(rows: pd.DataFrame) -> str:
    """Spell the exponent of a fit with its interval, if it has them."""
    exponent, low, high = rows[["exponent", "exponent_low", "exponent_high"]].iloc[0]
    return "" if math.isnan(exponent) else f"{exponent:.2f}" + ("" if math.isnan(low) else f" ± {(high - low) / 2:.2f}")


def draw_sweeps(numbers: pd.DataFrame, panels: dict[str, str], claimed: dict[str, float], ylabel: str) -> Figure:
    """Draw several fits from their `fit_table`, with a short title for each."""
    columns = min(COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    width = max(2.55 * columns + 0.3, LEGEND_WIDTH)
    figure, axes = new_figure(width, 2.4 * rows + 0.4, nrows=rows, ncols=columns, squeeze=False)
    for axis, (name, label) in zip(axes.flat, panels.items(), strict=False):
        sweep_panel(axis, numbers[numbers["fit"] == name], claimed.get(name), label)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel(ylabel)
    figure.legend(handles=LINES, loc="outside lower center", ncols=len(LINES))
    return figure
