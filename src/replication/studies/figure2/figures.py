"""Figures of the study figure2 (jain2021, Figure 2)."""

import numpy as np

from replication.drawing import (
    CI,
    GREY,
    DataFrame,
    Look,
    Picture,
    PlotSettings,
    graded,
    looks,
    power_of_ten,
)
from replication.studies.figure2.analysis import CHOSEN, COMPARABLE_EPSILON, DECIDING, SMALLEST_EPSILON, STATED

SHOWN = (1, 2, 5, 10)
"""Epsilons of the comparison of readings."""


def draw_figure2(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw Figure 2 on a log axis, and on a linear axis from 0 to 4."""
    axes = figure.panels(9.0, 4.8, ncols=2)
    x = rf"user-level $\epsilon$ ($\delta$ = {power_of_ten(numbers['delta'].iloc[0])})"
    for axis in axes:
        axis.groups(numbers, "epsilon", "mse", "curve", looks("figure2", "curves"), ends=CI, band=True)
        axis.level(COMPARABLE_EPSILON, "stated: comparable to non-private from here", along="y", dash=":")
    axes[1].level(4, "stated: about 4")
    axes[0].label(x, "population MSE", "Logarithmic axis", "y", numbers["epsilon"])
    axes[1].label(x, title="Linear axis", xticks=numbers["epsilon"], yticks=range(5), ylim=(-0.06, 4.25))


def draw_figure2_readings(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw all readings, ours last: MSE at the best choice, with a mark per epsilon at slightly different heights."""
    axis = figure.panel(9.4, 0.27 * len(numbers) + 1.5)
    places = np.arange(len(numbers))[::-1]
    scores = numbers[[f"mse_{epsilon}" for epsilon in SHOWN]]
    axis.hlines(places, scores.min(axis=1), scores.max(axis=1), color="0.8", linewidth=1, zorder=1)
    lifts = np.linspace(0.12, -0.12, len(SHOWN))
    for (epsilon, style), lift in zip(graded(SHOWN, r"$\epsilon$ = {}", dash="").items(), lifts, strict=True):
        axis.series(numbers.assign(place=places + lift), f"mse_{epsilon}", "place", style)
    notes = np.select([numbers["reading"] == DECIDING, numbers["ours"]], [" (deciding)", " (ours)"], "")
    x = "population MSE at the best number of epochs"
    words = [", ".join(STATED["parts"][part] for part in name.split("-")) for name in numbers["reading"]]
    names = dict(zip(places, words + notes, strict=True))
    axis.label(x, log="x", yticks=names, ylim=(-0.7, len(numbers) - 0.3))
    for tick, row in zip(axis.get_yticklabels(), numbers.itertuples(), strict=True):
        tick.set_fontweight("bold" if row.passes and not row.ours else "normal")
        tick.set_fontstyle("italic" if row.ours else "normal")


def draw_figure2_fallbacks(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the rules where no minimum exists: MSE against epsilon and, at the smallest, against epochs."""
    axes = figure.panels(8.6, 4.3, ncols=2, sharey=True)
    labels = rf"user-level $\epsilon$ ($\delta$ = {power_of_ten(numbers['delta'].iloc[0])})", "epochs $E$"
    titles = f"At the {CHOSEN}", rf"At $\epsilon$ = {SMALLEST_EPSILON}"
    for axis, panel, x, title in zip(axes, (CHOSEN, "epochs"), labels, titles, strict=True):
        shown = numbers[numbers["panel"] == panel]
        for place, (rule, style) in enumerate(looks("figure2", "rules").items()):
            part = shown[shown["rule"] == rule]
            part = part.assign(x=part["x"] * 1.03 ** (place - 1))  # side by side, so that bars do not overlap
            axis.series(part, "x", "mse", style, ends=CI, hollow=part["lost"] > 0)
        axis.named(Look("no minimum in some run", GREY, dash="", filled=False))
        axis.label(x, "population MSE", title, "xy", shown["x"])
    axes[1].tick_params(labelleft=True)
