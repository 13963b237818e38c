"""Figures of the study centaur_rates (shen2023, Theorem 5.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import curve, groups, law, legend, level, series
from replication.drawing.style import (
    Look,
    graded,
    label,
    new_figure,
)
from replication.run.settings import PlotSettings
from replication.studies.centaur_rates.analysis import BALL

FORMS = {"corrected": Look("corrected", "#0072B2", dash=""), "printed": Look("as printed", "#D55E00", "^", dash="")}


def draw_centaur_rate(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the distance over that of the start against rounds."""
    figure, axis = new_figure(5.4, 4.0)
    for kappa, one in graded(sorted(numbers["kappa"].unique()), r"$\kappa$ = {}", dash="").items():
        part = numbers[numbers["kappa"] == kappa]
        series(axis, part, "rounds", "ratio", one, low="lowest", high="highest")
        rounds = np.arange(part["rounds"].max() + 1)
        for column, dash in (("law", ":"), ("bound", "--")):
            curve(axis, rounds, part[column].iloc[0] ** rounds, Look(f"{one.label}, {column}", one.colour, "", dash))
    label(axis, "rounds", "dist2 over that of the start", log="y")
    legend(figure)
    return figure


def draw_noise_cap(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw steady distances at a tenth of the noise caps, and distances from the start at a quarter, by rank."""
    caps, starts = numbers[numbers["kappa"].notna()], numbers[numbers["kappa"].isna()]
    figure, (left, right) = new_figure(7.9, 3.9, ncols=2, width_ratios=(1.4, 1))
    settings = sorted(set(zip(caps["kappa"], caps["rank"], strict=True)))
    caps = caps.assign(place=[settings.index(pair) for pair in zip(caps["kappa"], caps["rank"], strict=True)])
    ends = {"low": "lowest", "high": "highest"}
    groups(left, caps, "place", "dist2", "form", FORMS, **ends)
    level(left, BALL, "radius of the theorem")
    label(left, y="steady dist2", title="At a tenth of the cap", log="y")
    left.set_xticks(range(len(settings)), [f"$\\kappa$ = {kappa:g}\n$k$ = {rank:g}" for kappa, rank in settings])
    for form, one in FORMS.items():
        part = starts[starts["form"] == form]
        series(right, part, "rank", "steady", one, **ends)
        curve(right, part["rank"], part["law"], Look(f"{one.label}, law", one.colour, "", ":"))
    level(right, 1, "the start", dash="-")
    label(right, "$k$", "dist2 over that of the start", "At a quarter, all rounds", ylim=(0, None))
    right.set_xticks(sorted(starts["rank"].unique()))
    legend(figure)
    return figure


def draw_participation(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw error and epsilon against the probability to take part."""
    figure, axes = new_figure(7.2, 3.6, ncols=2)
    numbers = numbers.assign(
        low=numbers["distF"] - 2 * numbers["spread"], high=numbers["distF"] + 2 * numbers["spread"]
    )
    looks = {"expected": Look("divided by the expected number", "#0072B2", dash="")}
    looks |= {"realised": Look("by the realised number", "#D55E00", "^", dash="")}
    groups(axes[0], numbers, "participation", "distF", "divide_by", looks, low="low", high="high")
    law(axes[0], numbers[numbers["divide_by"] == "expected"], "participation", "predicted")
    groups(axes[1], numbers, "participation", "epsilon", "divide_by", looks)
    for axis, y in zip(axes, ("steady distF", r"$\epsilon$ of all rounds"), strict=True):
        label(axis, "probability to take part", y, log="xy", xticks=sorted(numbers["participation"].unique()))
    legend(figure)
    return figure
