"""Figures of the study power_method (shen2023, Algorithm 5, Lemmas F.1 and G.1)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from privrep.theory.shen2023 import TARGET
from replication.drawing.style import COLOURS, NOTE, few_ticks, new_figure, plain_ticks, with_bars
from replication.drawing.sweeps import draw_sweeps
from replication.run.settings import PlotSettings

ACCURACY = {
    "privacy n": "n, random starts",
    "privacy Delta": "Δ",
    "prescribed n": "n, prescribed clip, over its logs",
    "privacy d": "d, clip {clip:g} √d k^1.5",
    "privacy d fixed": "d, one clip for all",
    "privacy k": "√k · distF: clip {clip:g} √d k^1.5, Δ ~ 1/k",
    "privacy k fixed": "k, one clip for all",
}
"""Fit -> title, with its clip."""


def draw_power_accuracy(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw sweeps whose titles name clips."""
    clips = numbers.groupby("fit")["init_clip"].first()
    titles = {fit: title.format(clip=clips[fit]) for fit, title in ACCURACY.items()}
    return draw_sweeps(numbers, titles, study.claimed, "dist2 by noise")


def draw_power_clip(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the noise that a target permits, and the share of clipped products, against zeta_0."""
    prescribed = numbers["prescribed"].iloc[0]
    figure, axes = new_figure(7.2, 3.2, ncols=2)
    axes[0].plot(numbers["zeta"], numbers["permitted"], "o", color=COLOURS[0], label="measured")
    axes[0].plot(numbers["zeta"], numbers["predicted"], color="0.25", linestyle=":", label="law")
    axes[0].set(yscale="log", ylabel=f"Δ at which dist2 by noise is {TARGET:g}")
    few_ticks(axes[0].yaxis)
    axes[0].legend(loc="lower left")
    axes[1].plot(numbers["zeta"], numbers["clipped_share"], "o-", color=COLOURS[0], markersize=5)
    axes[1].set(ylabel="share of users clipped", ylim=(-0.03, 1.03))
    for axis in axes:
        axis.set(xscale="log", xlabel="ζ₀", xlim=(1, 2 * prescribed))
        axis.axvline(prescribed, color=COLOURS[3], linestyle="--", linewidth=1.2)
        plain_ticks(axis.xaxis)
    axes[1].annotate("prescribed", (prescribed, 0.9), xytext=(-4, 0), ha="right", **NOTE)
    return figure


def draw_power_success(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the share of successful random starts against iterations and noise."""
    figure, axes = new_figure(7.2, 3.2, ncols=2, sharey=True)
    for axis, panel, column in ((axes[0], "iterations", "iterations"), (axes[1], "noise", "level")):
        points = numbers[numbers["panel"] == panel]
        with_bars(axis, points, column, "share", fmt="o-", color=COLOURS[0], markersize=4.5, linewidth=1)
        axis.axhline(0.99, color=COLOURS[3], linestyle="--", linewidth=1.2)
    axes[0].annotate("0.99", (axes[0].get_xlim()[0], 0.99), xytext=(4, -11), **NOTE)
    axes[1].axvline(1, color="0.6", linewidth=0.8)
    axes[0].set(xlabel="iterations L", ylabel=f"share of runs with dist2 ≤ {TARGET:g}", ylim=(-0.03, 1.05))
    axes[1].set_xlabel("noise over what the law permits")
    return figure
