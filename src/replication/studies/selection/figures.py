# ruff: noqa: RUF001  (typographic signs are meant)
"""Figures of the study selection (shen2023, Lemma F.3 and Corollary F.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from privrep.theory.shen2023 import TARGET
from replication.drawing.style import COLOURS, NOTE, few_ticks, new_figure, plain_ticks, ticks_at
from replication.run.settings import PlotSettings


def draw_selection(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw failures of selection among synthetic candidates, and errors among real ones."""
    made, real = (numbers[numbers["panel"] == panel] for panel in ("made up", "real"))
    figure, (left, right) = new_figure(7.9, 3.5, ncols=2)
    for colour, (probability, part) in zip(COLOURS, made.groupby("good_share", sort=False), strict=False):
        for mark, shift, (bad, points) in zip("os", (0.93, 1.07), part.groupby("bad", sort=False), strict=True):
            shown = np.maximum(points["failed"], 1e-3)
            spread = [shown - np.maximum(points["ci_low"], 1e-3), points["ci_high"] - shown]
            look = {"markerfacecolor": "white"} if bad != "alike" else {"label": f"p = {probability:g}"}
            look |= {"fmt": mark, "color": colour, "markersize": 4.5, "elinewidth": 1}
            left.errorbar(points["failure"] * shift, shown, np.maximum(spread, 0), **look)
    ends = np.array([made["failure"].min() / 1.3, made["failure"].max() * 1.3])
    left.plot(ends, ends, color=COLOURS[3], linestyle="--", linewidth=1.2)
    left.set(xscale="log", yscale="log", xlabel="failure probability asked for, δ′", ylabel="failures", ylim=(8e-4, 1))
    left.legend(loc="lower left", bbox_to_anchor=(-0.1, 1.0), ncols=3, columnspacing=1, handletextpad=0.2)
    for side in (left.xaxis, left.yaxis):
        plain_ticks(side)
    noisy = real[real["noise_multiplier"] > 0]
    for colour, name in zip(COLOURS, ("worst", "median", "selected", "average"), strict=False):
        right.plot(noisy["noise_multiplier"], noisy[name], "o-", color=colour, markersize=4.5, label=name)
    right.axhline(real["median"].iloc[0], color="0.5", linewidth=0.8, linestyle=":")
    right.axhline(TARGET, color="0.6", linewidth=0.8)
    right.set(xscale="log", yscale="log", xlabel="Δ", ylabel="dist2")
    ticks_at(right, noisy["noise_multiplier"])
    few_ticks(right.yaxis)
    right.legend(loc="upper left")
    return figure


def draw_start_cost(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw what a start costs against the main rounds, each for the same accuracy."""
    found = dict(zip(numbers["of"], numbers["mu squared"], strict=True))
    figure, axis = new_figure(7.9, 2.6)
    colours = [COLOURS[7] if name == "main rounds" else COLOURS[0] for name in found]
    for place, (value, colour) in enumerate(zip(found.values(), colours, strict=True)):
        axis.plot(value, -place, "o", color=colour, markersize=8)
        axis.annotate(f"{value:.2g}", (value, -place), xytext=(8, -3), **NOTE)
    axis.set_yticks([-place for place in range(len(found))], list(found))
    axis.set(xscale="log", xlabel=f"μ² at which dist2 = {TARGET:g}")
    axis.set(ylim=(0.6 - len(found), 0.4), xlim=(min(found.values()) / 2, max(found.values()) * 2))
    few_ticks(axis.xaxis)
    return figure
