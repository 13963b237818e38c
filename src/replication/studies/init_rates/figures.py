"""Figures of the study init_rates (jain2021, Algorithm 3)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import curve, groups, law, legend, level, series
from replication.drawing.style import (
    GREY,
    METHODS,
    Look,
    distinct,
    graded,
    label,
    new_figure,
)
from replication.run.settings import PlotSettings


def draw_init_collapse(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw both distances of all settings against u^2."""
    figure, axes = new_figure(7.6, 3.9, ncols=2)
    size = [f"$d$ = {d}, $k$ = {k}" for d, k in zip(numbers["dim"], numbers["rank"], strict=True)]
    shown = numbers.assign(size=size, square=numbers["u"] ** 2)
    looks = graded(dict.fromkeys(shown.sort_values(["dim", "rank"])["size"]), dash="")
    grid = np.geomspace(numbers["u"].min(), numbers["u"].max(), 200) ** 2
    panels = {
        "largest": ("Largest angle", "dist2²"),
        "without_floor": ("All angles", "distF² / $k$ without sampling error"),
    }
    for axis, (column, (title, y)) in zip(axes, panels.items(), strict=True):
        curve(axis, grid, np.minimum(1, grid), Look("law: least of 1 and $u^2$", GREY, ""))
        cut = shown.assign(**{column: shown[column].clip(lower=1e-5)})
        groups(axis, cut, "square", column, "size", looks)
        level(axis, 1, "nothing is learnt beyond", along="y", dash=":")
        label(axis, r"$u^2 = (2 \Delta \zeta^2 d^{1.5} / (n \lambda))^2$", y, title, "xy")
    legend(figure)
    return figure


def draw_init_norms(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw Frobenius over spectral distance against the rank."""
    figure, axis = new_figure(4.8, 3.8)
    ends = {name: numbers["ratio"] + sign * 2 * numbers["standard_error"] for name, sign in (("low", -1), ("high", 1))}
    measured = Look("measured", METHODS["centaur"].colour, dash="")
    series(axis, numbers.assign(**ends), "rank", "ratio", measured, low="low", high="high")
    curve(axis, numbers["rank"], numbers["limit"], Look("√$k$", GREY, "", "-."))
    law(axis, numbers, "rank", "predicted", "law at this $d$")
    level(axis, 1, "as if both norms were one", colour=METHODS["altmin"].colour)
    label(axis, "$k$", "distF / dist2", log="x", xticks=sorted(numbers["rank"].unique()))
    legend(figure)
    return figure


def draw_davis_kahan(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the left against the right side of Lemma B.2."""
    figure, axes = new_figure(7.2, 3.8, ncols=2, sharey=True)
    looks = distinct([f"{pair} pair" for pair in numbers["pair"].unique()], dash="")
    shown, ends = numbers.assign(pair=numbers["pair"] + " pair"), np.array([0, numbers["right"].max()])
    for axis, column, title in ((axes[0], "printed", "As printed"), (axes[1], "corrected", "Corrected")):
        for pair, one in looks.items():
            series(axis, shown[shown["pair"] == pair], "right", column, one, size=9 if pair == "random pair" else 30)
        curve(axis, ends, ends, Look("both sides equal", GREY, ""))
        label(axis, r"right side, $\|G - H\|$", "left side" if column == "printed" else "", title)
    legend(figure)
    return figure
