"""Series with their intervals, levels and legends: figures are drawn by these, which record what they draw, so that
picture, pointer texts and table agree."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from replication.drawing.points import record
from replication.drawing.style import GREY, LAW, Look

LINE, LETTER = 0.62, 0.068
"""Inches that a line and a letter of the legend take."""


def series(
    axis: Axes,
    rows: pd.DataFrame,
    x: str,
    y: str,
    look: Look,
    *,
    low: str = "",
    high: str = "",
    band: bool = False,
    sideways: bool = False,
    hollow: pd.Series | None = None,
    size: float = 26,
) -> None:
    """Draw one column against another with the interval between two more, as bars, or as a band beside a line; hollow
    marks where a column of flags says so.

    A look without a mark is a curve. sideways : the interval is along x. size : of a mark, in square points.
    """
    if rows.empty:
        return
    rows = rows.reset_index(drop=True)
    if look.dash:
        words = {"color": look.colour, "linestyle": look.dash, "linewidth": 1.3, "estimator": None, "sort": False}
        sns.lineplot(rows, x=x, y=y, ax=axis, legend=False, **words)
    if low and band:
        axis.fill_between(rows[x], rows[low], rows[high], color=look.colour, alpha=0.15, linewidth=0)
    elif low:
        middle = rows[x if sideways else y]
        ends = np.nan_to_num([middle - rows[low], rows[high] - middle])
        bars = {"xerr" if sideways else "yerr": np.maximum(ends, 0)}
        axis.errorbar(rows[x], rows[y], **bars, fmt="none", ecolor=look.colour, elinewidth=1)
    if look.marker:
        empty = pd.Series(not look.filled, rows.index) if hollow is None else hollow.reset_index(drop=True).astype(bool)
        for part, fill in ((rows[~empty], look.colour), (rows[empty], "white")):
            words = {"marker": look.marker, "s": size, "facecolor": fill, "edgecolor": look.colour, "linewidth": 1.1}
            if look.marker in "x|+":
                words = {"marker": look.marker, "s": 40, "color": look.colour, "linewidth": 1.4}
            if len(part):
                sns.scatterplot(part, x=x, y=y, ax=axis, legend=False, zorder=3, **words)
    shown = [x, y, low, high] if low and not sideways else [x, y]
    if look.marker or len(rows) > 2:  # a straight line has no places of its own
        record(axis, look.label, rows[shown].to_numpy(float), marked=bool(look.marker))
    named(axis, look)


def groups(axis: Axes, rows: pd.DataFrame, x: str, y: str, by: str, looks: Mapping[object, Look], **more) -> None:
    """Draw a series for each value of a column, as `series` does, in the order of their looks; ValueError names a value
    without a look, which would be missing in silence."""
    unknown = set(rows[by].dropna()) - set(looks)
    if unknown:
        raise ValueError(f"{by} is {min(unknown)!r}; it has no look, and {', '.join(map(repr, looks))} have one")
    for value, look in looks.items():
        series(axis, rows[rows[by] == value], x, y, look, **more)


def law(axis: Axes, rows: pd.DataFrame, x: str, y: str, label: str = "law") -> None:
    """Draw what a law expects, dotted."""
    series(axis, rows, x, y, Look(label, LAW, "", ":"))


def level(axis: Axes, value: float, label: str, *, along: str = "x", colour: str = GREY, dash: str = "--") -> None:
    """Draw a level of y along x, or of x along y, with its name in the legend."""
    (axis.axhline if along == "x" else axis.axvline)(value, color=colour, linestyle=dash, linewidth=1, zorder=1)
    named(axis, Look(label, colour, "", dash))


def curve(axis: Axes, x: np.ndarray, y: np.ndarray, look: Look) -> None:
    """Draw a line through given places."""
    series(axis, pd.DataFrame({"x": np.asarray(x, float), "y": np.asarray(y, float)}), "x", "y", look)


def named(axis: Axes, look: Look) -> None:
    """Enter a look into the legend."""
    if look.label:
        axis.__dict__.setdefault("looks", {}).setdefault(look.label, look)


def legend(figure: Figure) -> None:
    """Draw the legend below all panels, each look once, in as many columns as fit; it covers no point."""
    looks = {label: look for axis in figure.axes for label, look in axis.__dict__.get("looks", {}).items()}
    if not looks:
        return
    handles = [
        Line2D(
            [],
            [],
            color=look.colour,
            marker=look.marker,
            markersize=5,
            markerfacecolor=look.colour if look.filled else "white",
            linestyle=look.dash or "none",
            linewidth=1.3,
            label=look.label,
        )
        for look in looks.values()
    ]
    widest = max(len(label.replace("$", "").replace("\\", "")) for label in looks)
    fit = int(figure.get_figwidth() / (LINE + LETTER * widest))
    figure.legend(handles=handles, loc="outside lower center", ncols=max(1, min(fit, len(looks))))
