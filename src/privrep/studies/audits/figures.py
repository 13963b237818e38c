"""The figure of the audits."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, new_figure
from privrep.run.settings import PlotSettings
from privrep.studies.audits.measures import honest, wrong


def audit_table(cells: pd.DataFrame) -> pd.DataFrame:
    """A row for each mechanism: what was attained, and for each fault whether it was found."""
    rows = honest(cells)[["mechanism", "attained", "epsilon_low", "epsilon"]].reset_index(drop=True)
    rows["place"] = rows.index
    found = wrong(cells).pivot_table(index="mechanism", columns="mutant", values="caught", sort=False)
    return rows.merge(found, left_on="mechanism", right_index=True, how="left", sort=False).reset_index(drop=True)


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    numbers = audit_table(cells)
    mechanisms, faults = list(numbers["mechanism"]), list(numbers.columns[5:])
    figure, axes = new_figure(10.2, 0.27 * len(mechanisms) + 1.6, ncols=3, width_ratios=(3, 3, 2.4))
    for axis, column, limit in ((axes[0], "attained", 1.0), (axes[1], "epsilon_low", numbers["epsilon"].iloc[0])):
        axis.plot(numbers[column], numbers["place"], "o", color=COLOURS[0], markersize=5)
        axis.axvline(limit, color="0.45", linewidth=0.9, linestyle=":")
        axis.set_xlim(0, 1.08 * limit)
    for place, fault in enumerate(faults):
        for row, caught in enumerate(numbers[fault]):
            if caught == caught:
                mark, colour = ("o", COLOURS[2]) if caught else ("X", COLOURS[3])
                axes[2].plot(place, row, mark, color=colour, markersize=6)
    axes[2].set_xticks(range(len(faults)), faults, rotation=35, ha="right")
    axes[2].set_xlim(-0.6, len(faults) - 0.4)
    for axis in axes:
        axis.set_yticks(range(len(mechanisms)), mechanisms if axis is axes[0] else [""] * len(mechanisms))
        axis.set_ylim(len(mechanisms) - 0.5, -0.5)
    axes[0].set(xlabel="distance over the ledger's μ")
    axes[1].set(xlabel="lower limit of ε")
    axes[2].set(title="Round: found, cross: not")
    return {"beyond/audits": (figure, numbers)}
