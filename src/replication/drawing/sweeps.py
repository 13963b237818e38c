"""Panels of fitted exponents, the same for every study: points with intervals, fitted line, claimed slope, law."""

from __future__ import annotations

import math
import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.drawing.series import curve, law, legend, series
from replication.drawing.style import METHODS, Look, label, new_figure

COLUMNS = 3
"""Panels in a row."""
WIDTH = 27
"""Letters in a line of a title."""
LEAST_HEIGHT = 3
"""A panel spans at least this factor, so that a flat law looks flat."""
AXES = {
    "users": "$n$",
    "samples": "$m$",
    "init_samples": "$q$",
    "dim": "$d$",
    "rank": "$k$",
    "freedom": "$m - k$",
    "outside": "$d - k$",
    "noise_multiplier": r"$\Delta$",
    "label_noise_sd": r"$\sigma$",
    "batches": "$T$",
    "epsilon": r"$\epsilon$",
    "init_label_clip": r"$\zeta$",
    "start_sine": "sine of the start",
    "head_condition": r"$\kappa$",
    "head_factor": "length of long heads",
    "incoherence": r"$\mu$",
    "batch_samples": "$q$",
    "mu": r"$\mu$",
    "iterations": "$L$",
    "rounds": "$T$",
    "starts": "$T_0$",
}
"""Column -> sign on the axis."""
MEASURED = Look("measured", METHODS["centaur"].colour, dash="")
LEFT_OUT = Look("left out of the fit", MEASURED.colour, dash="", filled=False)
CLAIMED = Look("claimed exponent", METHODS["altmin"].colour, "", "--")


def sweep_points(axis: Axes, rows: pd.DataFrame, look: Look) -> None:
    """Draw the points of a `fit_table` and the fitted power; points left out are hollow."""
    rows = rows.fillna({"left out": ""})
    rows = rows[(rows["value"] > 0) & (rows["error"] > 0)]
    ends = {"low": "ci_low", "high": "ci_high"}
    series(axis, rows[rows["left out"] == ""], "value", "error", look, **ends)
    series(axis, rows[rows["left out"] != ""], "value", "error", Look(**vars(look) | LEFT), **ends)
    if not math.isnan(exponent := rows["exponent"].iloc[0] if len(rows) else math.nan):
        power_line(axis, rows, exponent, Look("fitted power", look.colour, "", "-"))


LEFT = {"label": LEFT_OUT.label, "filled": False}


def sweep_panel(axis: Axes, rows: pd.DataFrame, claimed: float | None, title: str) -> None:
    """Draw one sweep on logarithmic axes, from its rows of a `fit_table`."""
    sweep_points(axis, rows, MEASURED)
    if claimed is not None and (rows["left out"].fillna("") == "").any():
        power_line(axis, rows, claimed, CLAIMED)
    if rows["predicted"].notna().any():
        law(axis, rows, "value", "predicted")
    parameter = rows["parameter"].iloc[0]
    title = f"{title if '$' in title else textwrap.fill(title, WIDTH)}\n{caption(rows, claimed)}"
    label(axis, AXES.get(parameter, parameter), title=title, log="xy", xticks=thinned(rows["value"]))
    bottom, top = axis.get_ylim()
    if top < LEAST_HEIGHT * bottom:
        axis.set_ylim(math.sqrt(top * bottom / LEAST_HEIGHT), math.sqrt(top * bottom * LEAST_HEIGHT))


def thinned(values: pd.Series) -> list[float]:
    """Return values for ticks, at least a sixth of the axis apart on a logarithmic one."""
    values, kept = sorted(set(values)), []
    apart = math.log(values[-1] / values[0]) / 6 if len(values) > 1 else 0
    for value in values:
        if not kept or math.log(value / kept[-1]) >= apart:
            kept.append(value)
    return kept


def caption(rows: pd.DataFrame, claimed: float | None) -> str:
    """Write measured and claimed exponent as text, from the rows of a fit."""
    text = exponent_text(rows) or "no exponent"
    return text if claimed is None else f"{text}, claimed {claimed:g}".replace("-", "\N{MINUS SIGN}")


def power_line(axis: Axes, rows: pd.DataFrame, exponent: float, look: Look) -> None:
    """Draw a power of the parameter through the middle of the points that are not left out."""
    values, used = rows["value"], rows[rows["left out"].fillna("") == ""]
    middle, height = (np.exp(np.log(used[column]).mean()) for column in ("value", "error"))
    ends = np.array([values.min(), values.max()])
    curve(axis, ends, height * (ends / middle) ** exponent, look)


def exponent_text(rows: pd.DataFrame) -> str:
    """Write the exponent of a fit with its interval, if it has them."""
    exponent, low, high = rows[["exponent", "exponent_low", "exponent_high"]].iloc[0]
    text = "" if math.isnan(exponent) else f"{exponent:.2f}"
    return (text if math.isnan(low) or not text else f"{text} ± {(high - low) / 2:.2f}").replace("-", "\N{MINUS SIGN}")


def draw_sweeps(numbers: pd.DataFrame, panels: dict[str, str], claimed: dict[str, float], ylabel: str) -> Figure:
    """Draw several fits from their `fit_table`, with a short title for each."""
    columns = min(COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, axes = new_figure(max(2.6 * columns + 0.3, 4.6), 2.5 * rows + 0.4, nrows=rows, ncols=columns, squeeze=False)
    for axis, (name, title) in zip(axes.flat, panels.items(), strict=False):
        sweep_panel(axis, numbers[numbers["fit"] == name], claimed.get(name), title)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel(ylabel)
    legend(figure)
    return figure
