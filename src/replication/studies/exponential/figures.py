"""Figures of the study exponential (jain2021, Theorem 5.1)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, few_ticks, new_figure, ticks_at
from replication.run.settings import PlotSettings

EXPONENTS = {"printed": "as printed", "exact": "largest safe β", "proved": "as proved"}


def draw_exponential_privacy(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw loss over epsilon against users for three exponents, and against the steps of a chain."""
    figure, axes = new_figure(7.6, 3.4, ncols=2)
    for colour, mark, (series, label) in zip(COLOURS, "os^", EXPONENTS.items(), strict=False):
        table = numbers[numbers["series"] == series]
        axes[0].plot(table["users"], table["loss"], f"{mark}-", color=colour, markersize=5, label=label)
    axes[0].set(xscale="log", yscale="log", xlabel="n", ylabel="loss over ε")
    ticks_at(axes[0], table["users"])
    for others, filled in (("agreeing", True), ("divided", False)):
        table = numbers[numbers["series"] == f"chain-{others}"]
        drawn, steps = table[table["chain_steps"] == 0], table[table["chain_steps"] > 0]
        fill = COLOURS[0] if filled else "white"
        look = {"color": COLOURS[0], "markersize": 5, "markerfacecolor": fill}
        axes[1].plot(steps["chain_steps"], steps["loss"], "o-", label=others, **look)
        axes[1].axhline(drawn["loss"].iloc[0], color=COLOURS[0], linewidth=0.9, linestyle="-" if filled else ":")
    axes[1].set(xscale="log", yscale="log", xlabel="steps of the chain")
    axes[1].set_xticks(decades := [10, 100, 1000, 10_000], [f"{steps}" for steps in decades])
    for axis in axes:
        axis.axhline(1, color="0.5", linewidth=0.8)
        few_ticks(axis.yaxis)
    axes[0].legend()
    axes[1].legend(title="other users", loc="lower right")
    return figure


def draw_exponential_sampler(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the mean score by chains and over nets."""
    figure, axis = new_figure(5.6, 3.3)
    for colour, ((dim, rank), points) in zip(COLOURS, numbers.groupby(["dim", "rank"], sort=False), strict=False):
        axis.plot(points["beta_n"], points["net_excess_uniform"], "-", color=colour, linewidth=1.2)
        label = f"d = {dim}, k = {rank}"
        axis.plot(points["beta_n"], points["score_excess"], "o", color=colour, markersize=5, label=label)
    axis.set(xscale="log", yscale="log", xlabel="β n", ylabel="score above the truth's, per user")
    for side in (axis.xaxis, axis.yaxis):
        few_ticks(side)
    axis.legend()
    return figure
