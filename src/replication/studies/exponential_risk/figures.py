"""Figure of the study exponential_risk (jain2021, Theorem 5.2 and the comparison after it)."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, few_ticks, new_figure, ticks_at
from replication.run.settings import PlotSettings
from replication.studies.exponential_risk.analysis import WORKS

CHAINS = ("mechanism", "proved", "as-printed", "smooth", "plane-chain")
"""Private in the limit alone."""
STYLES = {
    "mechanism": (0, "o", "exponential mechanism"),
    "plane-chain": (0, "o", "exponential mechanism"),
    "staged-B": (3, "s", "candidates of CENTAUR"),
    "plane-staged": (3, "s", "candidates of CENTAUR"),
    "altmin": (2, "^", "alternating minimisation"),
    "plane-altmin": (2, "^", "alternating minimisation"),
    "centaur": (5, "P", "CENTAUR"),
    "plane-centaur": (5, "P", "CENTAUR"),
    "random-start": (1, "P", "CENTAUR, random start"),
    "smooth": (4, "o", "pseudo-Huber loss"),
    "staged-A": (6, "s", "candidates of Algorithm 3"),
    "random": (7, "D", "random subspaces"),
    "proved": (1, "v", "β of the proof"),
    "as-printed": (8, "v", "β of the proof, printed clip"),
}
"""Series -> number of its colour, mark and label."""


def draw_risks(axis: Axes, table: pd.DataFrame) -> None:
    """Draw median risks of several methods against n."""
    for name, part in table.groupby("series", sort=False):
        number, mark, label = STYLES[name]
        colour = COLOURS[number % len(COLOURS)]
        fill = "white" if name in CHAINS else colour
        look = {"color": colour, "markersize": 5, "markerfacecolor": fill, "linewidth": 1.2}
        axis.plot(part["users"], part["risk"], f"{mark}-", label=label, **look)
    axis.axhline(WORKS, color="0.6", linewidth=0.8)
    axis.set(xscale="log", yscale="log", xlabel="n")
    ticks_at(axis, table["users"].unique())
    few_ticks(axis.yaxis)


def draw_exponential_methods(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw risks of all methods, of other ways to run the mechanism, and for k = 2."""
    figure, axes = new_figure(7.9, 4.4, ncols=numbers["panel"].nunique())
    labels = {}
    for axis, (title, table) in zip(axes, numbers.groupby("panel", sort=False), strict=True):
        draw_risks(axis, table)
        axis.set(title=title)
        labels |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    axes[0].set(ylabel="risk over that of predicting zero")
    figure.legend(labels.values(), labels, loc="outside lower center", ncols=3)
    return figure
