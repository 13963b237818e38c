"""Figures of the study selection (shen2023, Algorithm 3 and Corollary F.1)."""

import numpy as np

from privrep.theory.shen2023 import TARGET
from replication.drawing import CI, CLAIMED, MEASURED, NOTE, DataFrame, Look, Picture, PlotSettings, distinct, graded


def draw_selection(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw failures of selection among synthetic candidates, and errors among real ones."""
    made, real = (numbers[numbers["panel"] == panel] for panel in ("made up", "real"))
    left, right = figure.panels(8.2, 4.2, ncols=2)
    shown = made.assign(**{name: made[name].clip(lower=1e-3) for name in ("failed", "ci_low", "ci_high")})
    for probability, style in graded(made["good_share"], dash="").items():
        for bad, shift in zip(made["bad"].unique(), (0.93, 1.07), strict=True):
            points = shown[(shown["good_share"] == probability) & (shown["bad"] == bad)]
            points = points.assign(shifted=points["failure"] * shift)
            text = f"$p$ = {probability:g}, bad ones {bad}"
            left.series(points, "shifted", "failed", style.but(text, filled=bad == "alike"), ends=CI)
    ends = [made["failure"].min() / 1.3, made["failure"].max() * 1.3]
    left.curve(ends, ends, CLAIMED.but("as asked for"))
    x, title = r"failure probability asked for, $\delta$'", "Made-up candidates (0.001: none failed)"
    left.label(x, "share of failures", title, "xy", ylim=(8e-4, 1))
    noisy = real[real["noise_multiplier"] > 0]
    for name, style in distinct(("worst", "median", "selected", "average"), "{} candidate").items():
        right.series(noisy, "noise_multiplier", name, style)
    right.level(real["median"].iloc[0], "median without noise", dash=":")
    right.level(TARGET, "target", dash="-")
    right.label(r"$\Delta$", "dist2", "Real candidates", "xy", noisy["noise_multiplier"])


def draw_start_cost(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the cost of a start and of the main rounds, each for the same accuracy."""
    axis = figure.panel(7.9, 2.9)
    numbers = numbers.assign(place=-np.arange(len(numbers)))
    main = numbers["of"] == "main rounds"
    axis.series(numbers[~main], "mu squared", "place", MEASURED.but("a start"), size=50)
    axis.series(numbers[main], "mu squared", "place", Look("the rounds after it", "0.25", "s", ""), size=50)
    for value, place in zip(numbers["mu squared"], numbers["place"], strict=True):
        axis.annotate(f"{value:.2g}", (value, place), xytext=(8, -3), **NOTE)
    ends = numbers["mu squared"].min() / 2, numbers["mu squared"].max() * 2
    names = dict(zip(numbers["place"], numbers["of"], strict=True))
    x = rf"$\mu^2$ at which dist2 = {TARGET:g}"
    axis.label(x, log="x", yticks=names, ylim=(0.6 - len(numbers), 0.4), xlim=ends)
