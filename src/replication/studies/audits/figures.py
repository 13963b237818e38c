"""The figure of the audits."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import groups, legend, level, series
from replication.drawing.style import (
    Look,
    label,
    new_figure,
)
from replication.run.settings import PlotSettings

FOUND = {
    2: Look("found by the game", "#009E73", dash=""),
    1: Look("found by another check", "#009E73", dash="", filled=False),
}
FOUND |= {0: Look("found by none", "#D55E00", "X", dash="")}
"""What found a mutant -> its look; where there is no mark, the mechanism has no such fault."""


def draw_audits(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw attained distances, lower limits of epsilon, and the mutants that were found."""
    mechanisms, faults = list(numbers["mechanism"]), list(numbers.columns[5:])
    figure, axes = new_figure(10.6, 0.27 * len(mechanisms) + 2.6, ncols=3, width_ratios=(2.2, 2.2, 4))
    measured = Look("correct code", "#0072B2", dash="")
    for axis, column, limit, x in (
        (axes[0], "attained", 1.0, "distance over the ledger's"),
        (axes[1], "epsilon_low", numbers["epsilon"].iloc[0], r"lower limit of $\epsilon$"),
    ):
        series(axis, numbers, column, "place", measured)
        level(axis, limit, "what the ledger says", along="y", dash=":")
        label(axis, x, xlim=(0, 1.1 * limit))
    cells = numbers.reset_index(names="row").melt(["row"], faults, "fault", "found").dropna()
    groups(axes[2], cells.assign(place=cells["fault"].map(faults.index)), "place", "row", "found", FOUND)
    label(axes[2], title="Faults put in", xlim=(-0.6, len(faults) - 0.4))
    axes[2].set_xticks(range(len(faults)), faults, rotation=40, ha="right", fontsize="small")
    for axis in axes:
        axis.set_yticks(range(len(mechanisms)), mechanisms if axis is axes[0] else [""] * len(mechanisms))
        axis.set_ylim(len(mechanisms) - 0.5, -0.5)
    legend(figure)
    return figure
