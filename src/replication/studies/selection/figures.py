"""Figures of the study selection (shen2023, Algorithm 3 and Corollary F.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from privrep.theory.shen2023 import TARGET
from replication.drawing.series import curve, legend, level, series
from replication.drawing.style import (
    METHODS,
    NOTE,
    Look,
    distinct,
    graded,
    label,
    log_ticks,
    new_figure,
)
from replication.run.settings import PlotSettings


def draw_selection(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw failures of selection among synthetic candidates, and errors among real ones."""
    made, real = (numbers[numbers["panel"] == panel] for panel in ("made up", "real"))
    figure, (left, right) = new_figure(8.2, 4.2, ncols=2)
    shown = made.assign(**{name: made[name].clip(lower=1e-3) for name in ("failed", "ci_low", "ci_high")})
    for probability, one in graded(sorted(made["good_share"].unique()), "$p$ = {}", dash="").items():
        for bad, shift in zip(made["bad"].unique(), (0.93, 1.07), strict=True):
            points = shown[(shown["good_share"] == probability) & (shown["bad"] == bad)]
            text = f"{one.label}, bad ones {bad}"
            changed = {"label": text, "filled": bad == "alike"}
            points = points.assign(shifted=points["failure"] * shift)
            series(left, points, "shifted", "failed", Look(**vars(one) | changed), low="ci_low", high="ci_high")
    ends = np.array([made["failure"].min() / 1.3, made["failure"].max() * 1.3])
    curve(left, ends, ends, Look("as asked for", METHODS["altmin"].colour, "", "--"))
    x, title = r"failure probability asked for, $\delta'$", "Made-up candidates (0.001: none failed)"
    label(left, x, "share of failures", title, "xy", ylim=(8e-4, 1))
    noisy = real[real["noise_multiplier"] > 0]
    for name, one in distinct(("worst", "median", "selected", "average")).items():
        series(right, noisy, "noise_multiplier", name, Look(**vars(one) | {"label": f"{name} candidate"}))
    level(right, real["median"].iloc[0], "median without noise", dash=":")
    level(right, TARGET, "target", dash="-")
    label(right, r"$\Delta$", "dist2", "Real candidates", "xy", sorted(noisy["noise_multiplier"].unique()))
    legend(figure)
    return figure


def draw_start_cost(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw what a start costs against the main rounds, each for the same accuracy."""
    figure, axis = new_figure(7.9, 2.9)
    numbers = numbers.assign(place=-np.arange(len(numbers)))
    main = numbers["of"] == "main rounds"
    series(axis, numbers[~main], "mu squared", "place", Look("a start", METHODS["centaur"].colour, dash=""), size=50)
    series(axis, numbers[main], "mu squared", "place", Look("the rounds after it", "0.25", "s", ""), size=50)
    for value, place in zip(numbers["mu squared"], numbers["place"], strict=True):
        axis.annotate(f"{value:.2g}", (value, place), xytext=(8, -3), **NOTE)
    ends = numbers["mu squared"].min() / 2, numbers["mu squared"].max() * 2
    x = rf"$\mu^2$ at which dist2 = {TARGET:g}"
    label(axis, x, log="x", ylim=(0.6 - len(numbers), 0.4), xlim=ends)
    axis.set_yticks(numbers["place"], numbers["of"])
    log_ticks(axis.xaxis)
    legend(figure)
    return figure
