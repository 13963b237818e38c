"""Figures of the study centaur_rates (shen2023, Theorem 5.1)."""

import numpy as np

from replication.drawing import ENDS, DataFrame, Look, Picture, PlotSettings, around, graded, looks
from replication.studies.centaur_rates.analysis import BALL

FORMS, DIVISORS = looks("centaur_rates", "forms"), looks("centaur_rates", "divisors")


def draw_centaur_rate(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the distance over that of the start against rounds."""
    axis = figure.panel(5.4, 4.0)
    for kappa, look in graded(numbers["kappa"], r"$\kappa$ = {}", dash="").items():
        part = numbers[numbers["kappa"] == kappa]
        axis.series(part, "rounds", "ratio", look, ends=("lowest", "highest"))
        rounds = np.arange(part["rounds"].max() + 1)
        for column, dash in (("law", ":"), ("bound", "--")):
            axis.curve(rounds, part[column].iloc[0] ** rounds, Look(f"{look.label}, {column}", look.colour, "", dash))
    axis.label("rounds", "dist2 over that of the start", log="y")


def draw_noise_cap(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw steady distances at a tenth of the noise caps, and distances from the start at a quarter, by rank."""
    caps, starts = numbers[numbers["kappa"].notna()], numbers[numbers["kappa"].isna()]
    left, right = figure.panels(7.9, 3.9, ncols=2, width_ratios=(1.4, 1))
    settings = sorted(set(zip(caps["kappa"], caps["rank"], strict=True)))
    caps = caps.assign(place=[settings.index(pair) for pair in zip(caps["kappa"], caps["rank"], strict=True)])
    ends = ("lowest", "highest")
    left.groups(caps, "place", "dist2", "form", FORMS, ends=ends)
    left.level(BALL, "radius of the theorem")
    ticks = {place: f"$\\kappa$ = {kappa:g}\n$k$ = {rank:g}" for place, (kappa, rank) in enumerate(settings)}
    left.label(y="steady dist2", title="At a tenth of the cap", log="y", xticks=ticks)
    for form, look in FORMS.items():
        part = starts[starts["form"] == form]
        right.series(part, "rank", "steady", look, ends=ends)
        right.curve(part["rank"], part["law"], Look(f"{look.label}, law", look.colour, "", ":"))
    right.level(1, "the start", dash="-")
    y, title = "dist2 over that of the start", "At a quarter, all rounds"
    right.label("$k$", y, title, xticks=starts["rank"], ylim=(0, None))


def draw_participation(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw error and epsilon against the probability to take part."""
    axes = figure.panels(7.2, 3.6, ncols=2)
    numbers = around(numbers, "distF", 2 * numbers["spread"])
    axes[0].groups(numbers, "participation", "distF", "divide_by", DIVISORS, ends=ENDS)
    axes[0].law(numbers[numbers["divide_by"] == "expected"], "participation", "predicted")
    axes[1].groups(numbers, "participation", "epsilon", "divide_by", DIVISORS)
    for axis, y in zip(axes, ("steady distF", r"$\epsilon$ of all rounds"), strict=True):
        axis.label("probability to take part", y, log="xy", xticks=numbers["participation"])
