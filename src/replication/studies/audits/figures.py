"""The figure of the audits."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, new_figure
from replication.run.settings import PlotSettings

OTHER, MISSED = 1, 0
"""A mutant was found by another check than the game, or by none."""


def draw_audits(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw attained distances, lower limits of epsilon, and the mutants that were found."""
    mechanisms, faults = list(numbers["mechanism"]), list(numbers.columns[5:])
    figure, axes = new_figure(10.6, 0.27 * len(mechanisms) + 2.3, ncols=3, width_ratios=(2.2, 2.2, 4))
    for axis, column, limit in ((axes[0], "attained", 1.0), (axes[1], "epsilon_low", numbers["epsilon"].iloc[0])):
        axis.plot(numbers[column], numbers["place"], "o", color=COLOURS[0], markersize=5)
        axis.axvline(limit, color="0.45", linewidth=0.9, linestyle=":")
        axis.set_xlim(0, 1.1 * limit)
    for place, fault in enumerate(faults):
        for row, found in numbers[fault].dropna().items():
            shape, colour = ("X", COLOURS[3]) if found == MISSED else ("o", COLOURS[2])
            inside = "none" if found == OTHER else colour
            axes[2].plot(place, row, shape, color=colour, markerfacecolor=inside, markersize=5.5)
    axes[2].set_xticks(range(len(faults)), faults, rotation=40, ha="right", fontsize="small")
    axes[2].set_xlim(-0.6, len(faults) - 0.4)
    for axis in axes:
        axis.set_yticks(range(len(mechanisms)), mechanisms if axis is axes[0] else [""] * len(mechanisms))
        axis.set_ylim(len(mechanisms) - 0.5, -0.5)
    axes[0].set(xlabel="distance over the ledger's")
    axes[1].set(xlabel="lower limit of ε")
    return figure
