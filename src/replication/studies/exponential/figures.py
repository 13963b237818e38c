"""Figures of the study exponential (jain2021, Section 5)."""

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
    look,
    new_figure,
)
from replication.run.settings import PlotSettings
from replication.studies.exponential.analysis import WORKS

EXPONENTS = {"printed": "as printed", "exact": r"largest safe $\beta$", "proved": "as proved"}
CHAIN = METHODS["exponential"].colour
LOOKS = {
    "mechanism": look("exponential", filled=False),
    "plane-chain": look("exponential", filled=False),
    "smooth": Look("the same, pseudo-Huber loss", CHAIN, "o", "--", filled=False),
    "proved": Look(r"the same, $\beta$ of the proof", "#0072B2", "v", "--", filled=False),
    "as-printed": Look(r"the same, $\beta$ of the proof, printed clip", "#7F7F7F", "v", ":", filled=False),
    "staged-B": Look("candidates of CENTAUR", CHAIN, "s"),
    "plane-staged": Look("candidates of CENTAUR", CHAIN, "s"),
    "staged-A": Look("candidates of Algorithm 3", CHAIN, "P", "--"),
    "random": Look("random candidates", CHAIN, "X", ":"),
    "altmin": look("altmin"),
    "plane-altmin": look("altmin"),
    "centaur": look("centaur"),
    "plane-centaur": look("centaur"),
    "random-start": look("centaur", "CENTAUR, random start", marker="s", dash="--"),
}
"""Series -> its look; a hollow mark is private in the limit alone."""


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
        series(axes[1], steps, "chain_steps", "loss", Look(f"chain, others {others}", CHAIN, "h", filled=filled))
        name = f"mechanism, others {others}"
        level(axes[1], drawn["loss"].iloc[0], name, colour=CHAIN, dash="-" if filled else ":")
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


def draw_exponential_methods(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw median risks of all methods, of other ways to run the mechanism, and for k = 2."""
    figure, axes = new_figure(8.6, 4.8, ncols=numbers["panel"].nunique())
    for axis, (title, table) in zip(axes, numbers.groupby("panel", sort=False), strict=True):
        groups(axis, table, "users", "risk", "series", LOOKS)
        level(axis, WORKS, "works")
        label(axis, "$n$", title=title.capitalize(), log="xy", xticks=sorted(table["users"].unique()))
    axes[0].set_ylabel("risk over that of predicting zero")
    legend(figure)
    return figure
