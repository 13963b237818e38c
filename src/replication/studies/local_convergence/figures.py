"""Figures of the study local_convergence (jain2021, Algorithms 1 and 2)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, NOTE, few_ticks, new_figure, plain_ticks
from replication.run.settings import PlotSettings
from replication.studies.local_convergence.analysis import ASKED


def draw_local_start(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw what one round makes of a start, and the distance over rounds."""
    rounds = numbers[numbers["rounds"].notna()]
    figure, (left, right) = new_figure(7.4, 3.3, ncols=2, width_ratios=(3, 2))
    for colour, (noise, part) in zip(COLOURS, numbers.groupby("noise_multiplier"), strict=False):
        label = "no noise" if noise == 0 else f"x = {part['noise_ratio'].iloc[0]:.2g}"
        left.plot(part["start_sine"], part["ratio"], "o-", color=colour, markersize=4.5, label=label)
        left.fill_between(part["start_sine"], part["ci_low"], part["ci_high"], color=colour, alpha=0.2, linewidth=0)
    left.axhline(0.5, color="0.35", linewidth=0.8)
    left.axvline(ASKED, color=COLOURS[3], linestyle="--", linewidth=1.2)
    left.annotate("asked for", (ASKED, 0.02), xycoords=("data", "axes fraction"), xytext=(4, 0), **NOTE)
    left.set(xscale="log", yscale="log", xlabel="sine of the start", ylabel="distF after over before one round")
    left.legend(loc="upper center")
    plain_ticks(left.xaxis)
    plain_ticks(left.yaxis)
    right.plot(rounds["rounds"], rounds["ratio"], "o-", color=COLOURS[0])
    right.plot(rounds["rounds"], rounds["predicted"], color="0.25", linestyle=":")
    right.set(yscale="log", xlabel="rounds", ylabel="distF over that of the start", xticks=list(rounds["rounds"]))
    plain_ticks(right.yaxis)
    return figure


def draw_local_breakdown(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw error and positive definiteness over the whole range of x."""
    figure, axes = new_figure(7.6, 3.4, ncols=2)
    marks = dict(zip(sorted(numbers["dim"].unique()), "os^", strict=False))
    laws = numbers["fallback"] == "law"
    for colour, (name, part) in zip(COLOURS, numbers[~laws].groupby("fallback", sort=False), strict=False):
        for dim, points in part.groupby("dim"):
            x, root, look = points["noise_ratio"], points["square"] ** 0.5, {"color": colour, "markersize": 4}
            bars = {"fmt": f"{marks[dim]}-", "linewidth": 1, "label": f"{name}, d = {dim}"}
            axes[0].errorbar(x, root, points["spread"] / root, **bars, **look)
            if name == "solve":
                axes[1].plot(x, points["definite"], f"{marks[dim]}-", label=f"d = {dim}", **look)
    for _, law in numbers[laws].groupby("dim"):
        axes[0].plot(law["noise_ratio"], law["predicted"] ** 0.5, color="0.25", linestyle=":", linewidth=1.4)
    for axis in axes:
        axis.axvline(1, color="0.6", linewidth=0.8)
        axis.set_xlabel("x = 4 √(dk) η² Δ / n")
    axes[0].set(yscale="log", ylabel="distF / √k")
    few_ticks(axes[0].yaxis)
    axes[0].legend(loc="lower right", fontsize=7.5)
    axes[1].set(ylabel="share positive definite", ylim=(-0.03, 1.05))
    axes[1].legend(loc="lower left")
    return figure
