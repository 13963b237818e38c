"""Figures of the study power_method (shen2023, Algorithm 3)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from privrep.theory.shen2023 import TARGET
from replication.drawing.series import law, legend, level, series
from replication.drawing.style import (
    METHODS,
    Look,
    label,
    new_figure,
)
from replication.drawing.sweeps import draw_sweeps
from replication.run.settings import PlotSettings

ACCURACY = {
    "privacy n": "$n$, random starts",
    "privacy Delta": r"$\Delta$",
    "prescribed n": "$n$, prescribed clip, over its logs",
    "privacy d": r"$d$, clip {clip:g} √$d$ $k^{{1.5}}$",
    "privacy d fixed": "$d$, one clip for all",
    "privacy k": "√$k$ · distF: clip {clip:g} √$d$ $k^{{1.5}}$,\n$\\Delta \\sim 1/k$",
    "privacy k fixed": "$k$, one clip for all",
}
"""Fit -> title, with its clip."""
MEASURED = Look("measured", METHODS["centaur"].colour, dash="")


def draw_power_accuracy(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw sweeps whose titles name clips."""
    clips = numbers.groupby("fit")["init_clip"].first()
    titles = {fit: title.format(clip=clips[fit]) for fit, title in ACCURACY.items()}
    return draw_sweeps(numbers, titles, study.claimed, "dist2 by noise")


def draw_power_clip(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the noise that a target permits, and the share of clipped products, against zeta_0."""
    prescribed = numbers["prescribed"].iloc[0]
    figure, axes = new_figure(7.4, 3.7, ncols=2)
    series(axes[0], numbers, "zeta", "permitted", MEASURED)
    law(axes[0], numbers, "zeta", "predicted")
    series(axes[1], numbers, "zeta", "clipped_share", MEASURED)
    for axis in axes:
        level(axis, prescribed, "prescribed clip", along="y", colour=METHODS["altmin"].colour)
    x, ends = r"clip $\zeta_0$", (1, 2 * prescribed)
    label(axes[0], x, rf"$\Delta$ at which dist2 by noise is {TARGET:g}", "Noise permitted", "xy", xlim=ends)
    label(axes[1], x, "share of users clipped", "Clipping", "x", xlim=ends, ylim=(-0.03, 1.03))
    legend(figure)
    return figure


def draw_power_success(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the share of successful random starts against iterations and noise."""
    figure, axes = new_figure(7.4, 3.7, ncols=2, sharey=True)
    line = Look("measured", METHODS["centaur"].colour)
    for axis, panel, column in ((axes[0], "iterations", "iterations"), (axes[1], "noise", "level")):
        points = numbers[numbers["panel"] == panel].sort_values(column)
        series(axis, points, column, "share", line, low="ci_low", high="ci_high")
        level(axis, 0.99, "share claimed", colour=METHODS["altmin"].colour)
    level(axes[1], 1, "noise that the law permits", along="y", dash=":")
    y = rf"share of runs with dist2 $\leq$ {TARGET:g}"
    label(axes[0], "iterations $L$", y, "Iterations", ylim=(-0.03, 1.05))
    label(axes[1], "noise over what the law permits", title="Noise")
    legend(figure)
    return figure
