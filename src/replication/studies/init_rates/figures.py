"""Figures of the study init_rates (jain2021, Algorithm 3)."""

import numpy as np

from replication.drawing import (
    CLAIMED,
    ENDS,
    GREY,
    MEASURED,
    DataFrame,
    Look,
    Picture,
    PlotSettings,
    around,
    distinct,
    graded,
)


def draw_init_collapse(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw both distances of all settings against u^2."""
    axes = figure.panels(7.6, 3.9, ncols=2)
    size = [f"$d$ = {d}, $k$ = {k}" for d, k in zip(numbers["dim"], numbers["rank"], strict=True)]
    shown = numbers.assign(size=size, square=numbers["u"] ** 2)
    looks = graded(shown.sort_values(["dim", "rank"])["size"], dash="")
    grid = np.geomspace(numbers["u"].min(), numbers["u"].max(), 200) ** 2
    panels = ("largest", "Largest angle", "dist2²")
    panels = panels, ("without_floor", "All angles", "distF² / $k$ without sampling error")
    for axis, (column, title, y) in zip(axes, panels, strict=True):
        axis.curve(grid, np.minimum(1, grid), Look("law: least of 1 and $u^2$", GREY, ""))
        axis.groups(shown.assign(cut=shown[column].clip(lower=1e-5)), "square", "cut", "size", looks)
        axis.level(1, "nothing is learnt beyond", along="y", dash=":")
        axis.label(r"$u^2 = (2 \Delta \zeta^2 d^{1.5} / (n \lambda))^2$", y, title, "xy")


def draw_init_norms(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw Frobenius over spectral distance against the rank."""
    axis = figure.panel(4.8, 3.8)
    axis.series(around(numbers, "ratio", 2 * numbers["standard_error"]), "rank", "ratio", MEASURED, ends=ENDS)
    axis.curve(numbers["rank"], numbers["limit"], Look("√$k$", GREY, "", "-."))
    axis.law(numbers, "rank", "predicted", "law at this $d$")
    axis.level(1, "as if both norms were one", colour=CLAIMED.colour)
    axis.label("$k$", "distF / dist2", log="x", xticks=numbers["rank"])


def draw_davis_kahan(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the left against the right side of Lemma B.2."""
    axes = figure.panels(7.2, 3.8, ncols=2, sharey=True)
    ends = [0, numbers["right"].max()]
    for axis, column, title in ((axes[0], "printed", "As printed"), (axes[1], "corrected", "Corrected")):
        for pair, style in distinct(numbers["pair"], "{} pair", dash="").items():
            axis.series(numbers[numbers["pair"] == pair], "right", column, style, size=9 if pair == "random" else 30)
        axis.curve(ends, ends, Look("both sides equal", GREY, ""))
        axis.label(r"right side, $\|G - H\|$", "left side", title)
