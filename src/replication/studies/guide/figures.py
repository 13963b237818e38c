"""Figures of the study guide."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from replication.drawing.style import COLOURS, new_figure, plain_ticks
from replication.run.settings import PlotSettings
from replication.studies.guide.analysis import BEST_DIMS, BEST_SAMPLES, METHODS, RUN

STYLES = {
    "unit": ("o", 3),
    "centaur": ("P", 5),
    "fedrep": ("D", 4),
    "altmin": ("s", 2),
    "own": ("^", 0),
    "zero": ("X", 7),
}


def draw_points(axis: Axes, table: pd.DataFrame, x: str, y: str) -> None:
    """Draw a mark for each row in the style of its method, hollow where `known` is false."""
    for (name, filled), rows in table.groupby(["method", "known"]):
        marker, colour = STYLES[name]
        inside = COLOURS[colour] if filled else "none"
        axis.plot(
            rows[x], rows[y], marker, color=COLOURS[colour], markerfacecolor=inside, markersize=5.5, linestyle="none"
        )


def legend(figure: Figure, names: list[str], columns: int) -> None:
    """Draw a legend of methods below the panels."""
    marks = [
        Line2D([], [], marker=STYLES[name][0], color=COLOURS[STYLES[name][1]], linestyle="none", label=METHODS[name])
        for name in names
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=columns)


def draw_guide_laws(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw measured against predicted risk, for all methods and settings."""
    figure, axis = new_figure(6.4, 5.4)
    both = numbers[["predicted", "measured"]]
    ends = [both.min().min() / 1.5, both.max().max() * 1.5]
    axis.plot(ends, ends, color="0.6", linewidth=1)
    for name, rows in numbers.groupby("method"):
        axis.vlines(rows["predicted"], rows["ci_low"], rows["ci_high"], color=COLOURS[STYLES[name][1]], linewidth=1)
    draw_points(axis, numbers, "predicted", "measured")
    axis.set(xscale="log", yscale="log", xlabel="predicted risk over that of predicting zero", ylabel="measured")
    plain_ticks(axis.xaxis)
    plain_ticks(axis.yaxis)
    legend(figure, list(RUN), 3)
    return figure


def draw_guide_best(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the method to use by users and epsilon."""
    size = {"nrows": len(BEST_SAMPLES), "ncols": len(BEST_DIMS)}
    figure, axes = new_figure(8.6, 5.8, **size, sharex=True, sharey=True, squeeze=False)
    budgets = sorted(numbers["epsilon"].unique())
    for row, samples in zip(axes, BEST_SAMPLES, strict=True):
        for axis, dim in zip(row, BEST_DIMS, strict=True):
            draw_points(axis, numbers[(numbers["samples"] == samples) & (numbers["dim"] == dim)], "users", "epsilon")
            axis.set(xscale="log", yscale="log", title=f"m = {samples}, d = {dim}")
            axis.set_xticks([1500, 5000, 20_000, 100_000], ["1,500", "5,000", "20,000", "100,000"], fontsize=7.5)
            axis.set_yticks(budgets, [f"{value:g}" for value in budgets])
            axis.minorticks_off()
        row[0].set(ylabel="ε")
    for axis in axes[-1]:
        axis.set(xlabel="n")
    legend(figure, [name for name in METHODS if (numbers["method"] == name).any()], 3)
    return figure
