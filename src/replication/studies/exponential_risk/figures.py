"""Figures of the study exponential_risk (jain2021, Theorem 5.2)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import groups, legend, level
from replication.drawing.style import (
    METHODS,
    Look,
    label,
    look,
    new_figure,
)
from replication.run.settings import PlotSettings
from replication.studies.exponential_risk.analysis import WORKS

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
