"""Figures of the study client_lemmas (shen2023, Lemmas C.1 to C.5)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privrep.users.problem import HEAVY_EVERY
from replication.drawing.style import COLOURS, NOTE, few_ticks, new_figure, plain_ticks, with_bars
from replication.run.settings import PlotSettings

CONSTANTS = (1, 0.1, 0.01)
"""c_zeta of the lines beside the largest gradients."""
HEADS = {"sphere": "one length", "aniso": "unequal", "gauss": "Gaussian", "heavy": f"one in {HEAVY_EVERY} long"}
"""Law of the heads -> label."""


def diagonal(axis: Axes, low: float, high: float, factor: float = 1.0, **style) -> None:
    """Draw the line y = factor x."""
    ends = np.array([low, high])
    axis.plot(ends, factor * ends, **style)


def draw_gradient_norms(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw largest gradients against the clip of Lemma C.1, and median gradients against their law."""
    figure, (left, right) = new_figure(7.8, 3.6, ncols=2)
    for colour, (law, label) in zip(COLOURS, HEADS.items(), strict=False):
        part = numbers[numbers["head_law"] == law]
        left.plot(part["printed"], part["gradient_max"], ".", color=colour, markersize=3, alpha=0.6, label=label)
    ends = numbers["printed"].min(), numbers["printed"].max()
    for constant in CONSTANTS:
        diagonal(left, *ends, constant, color="0.35", linewidth=1)
        left.annotate(f"{constant:g}", (ends[1], constant * ends[1]), xytext=(3, -3), **NOTE)
    left.set(xscale="log", yscale="log", xlabel="μ² k sₖ² √(dk ln n)", ylabel="largest ‖Gᵢ‖ before clipping")
    left.legend(loc="lower right", markerscale=3)
    even = numbers[numbers["head_law"] == "sphere"]
    right.plot(even["law"], even["gradient_median"], ".", color=COLOURS[0], markersize=4, alpha=0.6)
    diagonal(right, even["law"].min(), even["law"].max(), color="0.25", linestyle=":", linewidth=1.4)
    right.set(xscale="log", yscale="log", xlabel="law F10", ylabel="median ‖Gᵢ‖")
    for axis in (left, right):
        plain_ticks(axis.xaxis)
        plain_ticks(axis.yaxis)
    return figure


def draw_one_step(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw one round from each start, and the largest distance over many rounds."""
    factors, curves, path = (numbers[numbers[name].notna()] for name in ("mean", "law_F8", "steady"))
    figure, (left, right) = new_figure(7.8, 3.5, ncols=2)
    for colour, (sine, part) in zip(COLOURS, factors.groupby("start_sine"), strict=False):
        look = {"fmt": "o", "color": colour, "markersize": 4, "label": f"start {sine:g}"}
        with_bars(left, part, "kappa", "mean", "min", "max", **look)
    left.plot(curves["kappa"], curves["law_F8"], color="0.25", linestyle=":", linewidth=1.4, label="law F8")
    left.plot(curves["kappa"], curves["bound_19"], color=COLOURS[3], linestyle="--", label="bound (19)")
    left.set(xlabel="κ", ylabel="dist2 after over before one round", ylim=(0.7, 1.01))
    left.legend(loc="lower right")
    right.plot(path["steady"], path["largest"], "o", color=COLOURS[0], markersize=4, alpha=0.6)
    law = path.drop_duplicates("steady").sort_values("steady")
    right.plot(law["steady"], law["law"], color="0.25", linestyle=":", linewidth=1.4)
    right.axhline(1, color="0.6", linewidth=0.8)
    right.axvline(1, color="0.6", linewidth=0.8)
    right.set(xscale="log", yscale="log", xlabel="steady state (F9) over start", ylabel="largest dist2 over start")
    few_ticks(right.xaxis)
    few_ticks(right.yaxis)
    return figure
