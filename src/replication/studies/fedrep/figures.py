"""Figures of the study fedrep (snedeker2025)."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, few_ticks, new_figure, plain_ticks, ticks_at, with_bars
from replication.drawing.sweeps import MANY_DECADES, exponent_text, power_line
from replication.run.settings import PlotSettings
from replication.studies.fedrep.analysis import FACTORS

STYLES = {
    "fedrep-code": (0, "o", "private FedRep as in the code"),
    "fedrep-wide": (0, "s", "private FedRep, spectral start"),
    "fedrep": (9, "s", "private FedRep, tuned"),
    "altmin": (3, "^", "alternating minimisation"),
    "altmin-user": (1, "^", "the same, user-level clipping"),
    "centaur": (5, "P", "CENTAUR"),
    "unit-steps": (2, "D", "unit steps"),
}
"""Series -> number of its colour, mark and label."""
LABELS = {"altmin": ("alternating minimisation", COLOURS[3]), "fedrep": ("private FedRep", COLOURS[0])}
"""First word of a fit's name -> label and colour."""
CLAIMED = 1
"""Exponent of d and of k in the factor."""


def draw_own_problem(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw median risks of all methods against epsilon, and the floor."""
    figure, axis = new_figure(7.2, 4.2)
    for series, part in numbers.groupby("series", sort=False):
        number, mark, label = STYLES[series]
        colour = COLOURS[number]
        look = {"fmt": f"{mark}-", "color": colour, "markersize": 5, "linewidth": 1.2, "elinewidth": 1}
        fill = "white" if series == "fedrep-code" else colour
        with_bars(axis, part, "x", "risk", markerfacecolor=fill, label=label, **look)
    axis.axhline(numbers["floor"].iloc[0], color="0.5", linewidth=1.2)
    axis.set(xscale="log", yscale="log", xlabel="ε", ylabel="risk over that of predicting zero")
    ticks_at(axis, numbers["epsilon"].unique())
    plain_ticks(axis.yaxis)
    figure.legend(loc="outside right center")
    return figure


def draw_points(axis: Axes, rows: pd.DataFrame, colour: str, label: str | None = None) -> None:
    """Draw points with their intervals, and the law."""
    with_bars(axis, rows, "value", "error", fmt="o", color=colour, markersize=5, label=label)
    axis.plot(rows["value"], rows["predicted"], color="0.25", linestyle=":", linewidth=1.3)


def draw_factor(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw risks of both methods, and their ratio, along d and along k."""
    figure, axes = new_figure(7.4, 5.2, nrows=2, ncols=len(FACTORS), squeeze=False)
    for column, (name, pair) in zip(axes.T, FACTORS.items(), strict=True):
        for fit in pair:
            rows, (label, colour) = numbers[numbers["fit"] == fit], LABELS[fit.split()[0]]
            if exponent := exponent_text(rows):
                label += f": {exponent}"
                power_line(column[0], rows, rows["exponent"].iloc[0], color=colour, linewidth=1.3)
            draw_points(column[0], rows, colour, label)
        column[0].legend(fontsize=7.5)
        rows = numbers[numbers["fit"] == f"factor, {name}"]
        draw_points(column[1], rows, COLOURS[2])
        power_line(column[1], rows, CLAIMED, color="0.5", linestyle="--", linewidth=1.2)
        if exponent := exponent_text(rows):
            column[1].set_title(f"exponent {exponent}, claimed {CLAIMED:g}", fontsize=8.5)
        for axis in column:
            axis.set(xscale="log", yscale="log", xlabel=name)
            ticks_at(axis, rows["value"])
            bottom, top = axis.get_ylim()
            (few_ticks if top < MANY_DECADES * bottom else plain_ticks)(axis.yaxis)
    axes[0, 0].set_ylabel("excess risk")
    axes[1, 0].set_ylabel("alternating minimisation\nover private FedRep")
    return figure
