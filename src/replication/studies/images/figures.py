"""Figures of the image experiments."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, NOTE, new_figure, ticks_at, with_bars
from replication.run.settings import PlotSettings
from replication.studies.images.analysis import LABELS, METHODS, TOGETHER

MARKS = {"centaur": ("o", 0), "ppsgd": ("s", 2), "pmtl": ("v", 4), "fedavg": ("^", 3), "stand_alone": ("D", 7)}
"""Method -> marker, colour."""
COLUMNS = 4
"""Panels beside each other."""


def draw_image_methods(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """A panel for each row, measured above printed."""
    rows = list(numbers["row"].unique())
    lines = -(-len(rows) // COLUMNS)
    figure, axes = new_figure(9.4, 0.4 + 2.1 * lines, nrows=lines, ncols=min(COLUMNS, len(rows)), squeeze=False)
    for axis in axes.flat[len(rows) :]:
        axis.set_axis_off()
    for axis, row in zip(axes.flat, rows, strict=False):
        part = numbers[numbers["row"] == row].set_index("method")
        for place, method in enumerate(METHODS):
            if method in part.index:
                draw_pair(axis, part.loc[method], place, *MARKS[method])
        axis.set_yticks(range(len(METHODS)), [""] * len(METHODS))
        axis.set(title=row, ylim=(len(METHODS) - 0.4, -0.6))
    for first in axes[:, 0]:
        first.set_yticks(range(len(METHODS)), list(LABELS.values()))
    for last in axes[-1]:
        last.set_xlabel("test accuracy, %")
    return figure


def draw_pair(axis: Axes, shown: pd.Series, place: float, marker: str, colour: int) -> None:
    """An accuracy, and below it the printed one."""
    style = {"fmt": marker, "color": COLOURS[colour], "elinewidth": 1, "markersize": 5}
    for name, low, high, down, fill in (
        ("accuracy", "low", "high", -0.14, COLOURS[colour]),
        ("printed", "printed_low", "printed_high", 0.22, "white"),
    ):
        if np.isfinite(shown[name]):
            bars = [[shown[name] - shown[low]], [shown[high] - shown[name]]]
            axis.errorbar(shown[name], place + down, xerr=bars, markerfacecolor=fill, **style)


def draw_image_epsilon(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Figure 1."""
    panels = list(numbers["panel"].unique())
    figure, axes = new_figure(1.2 + 4.2 * len(panels), 3.6, ncols=len(panels), squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        here = numbers[numbers["panel"] == panel]
        for method in TOGETHER:
            part = here[here["method"] == method].sort_values("epsilon")
            label, (marker, colour) = LABELS[method], MARKS[method]
            style = {"fmt": f"{marker}-", "color": COLOURS[colour], "markersize": 4.5, "elinewidth": 0.9}
            with_bars(axis, part, "epsilon", "accuracy", "low", "high", label=label, **style)
        alone = here[here["method"] == "stand_alone"]
        if len(alone):
            level = alone["accuracy"].iloc[0]
            axis.axhline(level, color="0.45", linewidth=0.9, linestyle=":")
            axis.annotate("clients alone", (here["epsilon"].min(), level), xytext=(0, 4), **NOTE)
        axis.set_xscale("log")
        ticks_at(axis, sorted(here["epsilon"].unique()))
        axis.set(xlabel="ε", title=panel)
    axes[0, 0].set_ylabel("test accuracy, %")
    axes[0, -1].legend(loc="lower right")
    return figure


def draw_image_way(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Figure 3, and who is clipped when."""
    rows = list(numbers["row"].unique())
    figure, axes = new_figure(1.2 + 3.0 * len(rows), 5.2, nrows=2, ncols=len(rows), squeeze=False)
    for (top, bottom), row in zip(axes.T, rows, strict=True):
        for method in TOGETHER:
            part = numbers[(numbers["row"] == row) & (numbers["method"] == method)]
            label, (marker, colour) = LABELS[method], MARKS[method]
            style = {"color": COLOURS[colour], "marker": marker, "markersize": 4, "label": label}
            top.plot(part["epsilon"], part["accuracy"], **style)
            bottom.plot(part["share"], part["length"], **style)
        bottom.axhline(1, color="0.45", linewidth=0.9, linestyle=":")
        top.set(xlabel="ε spent", title=row)
        bottom.set(xlabel="share of the rounds done", yscale="log")
    axes[0, 0].set_ylabel("test accuracy, %")
    axes[1, 0].set_ylabel("median update over the clip")
    axes[0, 0].legend(loc="lower right")
    return figure
