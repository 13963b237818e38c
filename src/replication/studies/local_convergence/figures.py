"""Figures of the study local_convergence (jain2021, Lemma 4.4)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import law, legend, level, series
from replication.drawing.style import (
    METHODS,
    Look,
    distinct,
    graded,
    label,
    new_figure,
)
from replication.run.settings import PlotSettings
from replication.studies.local_convergence.analysis import ASKED


def draw_local_start(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw what one round makes of a start, and the distance over rounds."""
    rounds, starts = numbers[numbers["rounds"].notna()], numbers[numbers["start_sine"].notna()]
    figure, (left, right) = new_figure(7.6, 3.9, ncols=2, width_ratios=(3, 2))
    for one, (noise, part) in zip(
        graded(range(starts["noise_multiplier"].nunique())).values(), starts.groupby("noise_multiplier"), strict=True
    ):
        text = "one round, no noise" if noise == 0 else f"one round, $x$ = {part['noise_ratio'].iloc[0]:.2g}"
        series(
            left,
            part,
            "start_sine",
            "ratio",
            Look(**vars(one) | {"label": text}),
            low="ci_low",
            high="ci_high",
            band=True,
        )
    level(left, 0.5, "half the distance", dash="-")
    level(left, ASKED, "start asked for", along="y", colour=METHODS["altmin"].colour)
    label(left, "sine of the start", "distF after over before", "One round", "xy")
    series(right, rounds, "rounds", "ratio", Look("many rounds", METHODS["centaur"].colour, "s"))
    law(right, rounds, "rounds", "predicted")
    label(right, "rounds", "distF over that of the start", "Many rounds", "y", xticks=list(rounds["rounds"]))
    legend(figure)
    return figure


def draw_local_breakdown(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw error and positive definiteness over the whole range of x."""
    figure, axes = new_figure(7.6, 4.2, ncols=2)
    marks = dict(zip(sorted(numbers["dim"].unique()), "os^", strict=False))
    root = numbers["square"] ** 0.5
    half = numbers["spread"] / root
    numbers = numbers.assign(root=root, low=root - half, high=root + half, expected=numbers["predicted"] ** 0.5)
    laws = numbers["fallback"] == "law"
    for name, plain in distinct(numbers[~laws]["fallback"].unique()).items():
        for dim, points in numbers[numbers["fallback"] == name].groupby("dim"):
            one = Look(f"{name}, $d$ = {dim}", plain.colour, marks[dim])
            series(axes[0], points, "noise_ratio", "root", one, low="low", high="high")
            if name == "solve":
                series(axes[1], points, "noise_ratio", "definite", one)
    for _, part in numbers[laws].groupby("dim"):
        law(axes[0], part, "noise_ratio", "expected")
    x = r"$x$ = 4 √($dk$) $\eta^2 \Delta / n$"
    label(axes[0], x, "distF / √$k$", "Error", "y")
    label(axes[1], x, "share positive definite", "Matrix to be inverted", ylim=(-0.03, 1.05))
    for axis in axes:
        level(axis, 1, "$x$ = 1", along="y", dash="-")
    legend(figure)
    return figure
