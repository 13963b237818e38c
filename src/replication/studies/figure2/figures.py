"""Figures of the study figure2 (jain2021, Figure 2)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import legend, level, named, series
from replication.drawing.style import (
    GREY,
    METHODS,
    Look,
    graded,
    label,
    look,
    new_figure,
    power_of_ten,
    short,
)
from replication.run.settings import PlotSettings
from replication.studies.figure2.analysis import CHOSEN, COMPARABLE_EPSILON, DECIDING, PRINTED_RULE, SMALLEST_EPSILON

ALTMIN = METHODS["altmin"].colour
CURVES = (
    look("altmin", filled=False),
    Look("", "#0072B2", "s", filled=False),
    look("altmin", dash="--"),
    Look("", "#0072B2", "s", "--"),
    Look("", "#E69F00", "v"),
    Look("", METHODS["own"].colour, ""),
    Look("", "#7F7F7F", "", ":"),
    Look("", "#000000", "", "-."),
)
"""Looks of the curves, in their order."""
SHOWN = (1, 2, 5, 10)
"""Epsilons of the comparison of readings."""
RULES = {PRINTED_RULE: Look("solve, as printed", ALTMIN, "^"), "ridge": Look("ridge", "#0072B2", "s", "--")}
RULES |= {"eigclip": Look("eigenvalues raised", "#009E73", "D", ":")}
"""Rule where no minimum exists -> its look."""


def draw_figure2(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw Figure 2 on a log axis, and on a linear axis from 0 to 4."""
    figure, axes = new_figure(9.0, 4.8, ncols=2)
    x = rf"user-level $\epsilon$ ($\delta$ = {power_of_ten(numbers['delta'].iloc[0])})"
    for axis in axes:
        for (name, part), one in zip(numbers.groupby("curve", sort=False), CURVES, strict=True):
            series(
                axis,
                part,
                "epsilon",
                "mse",
                Look(**vars(one) | {"label": name}),
                low="ci_low",
                high="ci_high",
                band=True,
            )
        level(axis, COMPARABLE_EPSILON, "stated: comparable to non-private from here", along="y", dash=":")
    level(axes[1], 4, "stated: about 4")
    ticks = sorted(numbers["epsilon"].unique())
    label(axes[0], x, "population MSE", "Logarithmic axis", "y")
    label(axes[1], x, title="Linear axis", ylim=(-0.06, 4.25), yticks=range(5))
    for axis in axes:
        axis.set_xticks(ticks, [short(value) for value in ticks])
    legend(figure)
    return figure


def draw_figure2_readings(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw all readings, ours last: MSE at the best choice, one mark per epsilon, a little apart in height."""
    figure, axis = new_figure(7.6, 0.27 * len(numbers) + 1.5)
    places = np.arange(len(numbers))[::-1]
    scores = numbers[[f"mse_{epsilon}" for epsilon in SHOWN]]
    axis.hlines(places, scores.min(axis=1), scores.max(axis=1), color="0.8", linewidth=1, zorder=1)
    lifts = np.linspace(0.12, -0.12, len(SHOWN))
    for (epsilon, one), lift in zip(graded(SHOWN, r"$\epsilon$ = {}", dash="").items(), lifts, strict=True):
        series(axis, numbers.assign(place=places + lift), f"mse_{epsilon}", "place", one)
    notes = np.select([numbers["reading"] == DECIDING, numbers["ours"]], [" (deciding)", " (ours)"], "")
    x = "population MSE at the best number of epochs (bold: passes all criteria; italic: ours)"
    label(axis, x, log="x", ylim=(-0.7, len(numbers) - 0.3))
    axis.set_yticks(places, numbers["reading"] + notes)
    for tick, row in zip(axis.get_yticklabels(), numbers.itertuples(), strict=True):
        tick.set_fontweight("bold" if row.passes and not row.ours else "normal")
        tick.set_fontstyle("italic" if row.ours else "normal")
    legend(figure)
    return figure


def draw_figure2_fallbacks(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the rules where no minimum exists: MSE against epsilon and, at the smallest, against epochs."""
    figure, axes = new_figure(8.6, 4.3, ncols=2, sharey=True)
    for axis, panel in zip(axes, (CHOSEN, "epochs"), strict=True):
        shown = numbers[numbers["panel"] == panel]
        for place, (rule, one) in enumerate(RULES.items()):
            part = shown[shown["rule"] == rule]
            part = part.assign(x=part["x"] * 1.03 ** (place - 1))  # side by side, so that bars do not overlap
            series(axis, part, "x", "mse", one, low="ci_low", high="ci_high", hollow=part["lost"] > 0)
        named(axis, Look("no minimum in some run", GREY, dash="", filled=False))
        label(axis, log="xy", xticks=sorted(shown["x"].unique()))
    delta = power_of_ten(numbers["delta"].iloc[0])
    axes[0].set(
        xlabel=rf"user-level $\epsilon$ ($\delta$ = {delta})", ylabel="population MSE", title=f"At the {CHOSEN}"
    )
    axes[1].set(xlabel="epochs $E$", title=rf"At $\epsilon$ = {SMALLEST_EPSILON}")
    axes[1].tick_params(labelleft=True)
    legend(figure)
    return figure
