"""Figures of the study exponential (jain2021, Theorem 5.1)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import curve, groups, legend, level, series
from replication.drawing.style import (
    METHODS,
    Look,
    distinct,
    graded,
    label,
    new_figure,
)
from replication.run.settings import PlotSettings

EXPONENTS = {"printed": "as printed", "exact": r"largest safe $\beta$", "proved": "as proved"}
BLUE = METHODS["exponential"].colour


def draw_exponential_privacy(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw loss over epsilon against users for three exponents, and against the steps of a chain."""
    figure, axes = new_figure(7.6, 3.9, ncols=2)
    named_series = numbers.assign(exponent=numbers["series"].map(EXPONENTS))
    groups(axes[0], named_series, "users", "loss", "exponent", distinct(EXPONENTS.values()))
    users = sorted(named_series.loc[named_series["exponent"].notna(), "users"].unique())
    label(axes[0], "$n$", r"loss over $\epsilon$", "The mechanism", "xy", users)
    for others, filled in (("agreeing", True), ("divided", False)):
        table = numbers[numbers["series"] == f"chain-{others}"]
        drawn, steps = table[table["chain_steps"] == 0], table[table["chain_steps"] > 0]
        series(axes[1], steps, "chain_steps", "loss", Look(f"chain, others {others}", BLUE, "h", filled=filled))
        name = f"mechanism, others {others}"
        level(axes[1], drawn["loss"].iloc[0], name, colour=BLUE, dash="-" if filled else ":")
    label(axes[1], "steps of the chain", title="A chain in its place", log="xy", xticks=[10, 100, 1000, 10_000])
    for axis in axes:
        level(axis, 1, "claimed")
    legend(figure)
    return figure


def draw_exponential_sampler(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the mean score by chains and over nets."""
    figure, axis = new_figure(5.6, 3.8)
    numbers = numbers.assign(
        size=[f"$d$ = {d}, $k$ = {k}" for d, k in zip(numbers["dim"], numbers["rank"], strict=True)]
    )
    for size, one in graded(numbers["size"].unique(), dash="").items():
        part = numbers[numbers["size"] == size]
        series(axis, part, "beta_n", "score_excess", one)
        curve(axis, part["beta_n"], part["net_excess_uniform"], Look(f"{size}, over a net", one.colour, ""))
    label(axis, r"$\beta n$", "score above the truth's, per user", log="xy")
    legend(figure)
    return figure
