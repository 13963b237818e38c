"""Figure of the study clip_choice: error of both methods against their clips, in the public simulation."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, new_figure, plain_ticks
from replication.run.settings import PlotSettings
from replication.studies.clip_choice.analysis import CHOICES, OWN

METHODS = {
    "A": ("jain2021, samples clipped", COLOURS[3]),
    "A-user": ("jain2021, user-level clipping", COLOURS[1]),
    "B": ("shen2023", COLOURS[0]),
    "B-random": ("shen2023, random start", COLOURS[4]),
}
CIRCLE = {"marker": "o", "linestyle": "", "markersize": 10, "fillstyle": "none"}


def draw_clip_choice(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the error of both methods against their clips."""
    figure, axis = new_figure(5.2, 4.2)
    for series, (label, colour) in METHODS.items():
        part = numbers[numbers["series"].isin(CHOICES[series])]
        sized = part[part["size"].notna()].sort_values("size")
        axis.plot(sized["size"], sized["dist2"], color=colour, linewidth=1.2, label=label)
        axis.plot(part["drawn"], part["dist2"], "o", color=colour, markersize=4)
        picked = part[part["chosen"]]
        axis.plot(picked["drawn"], picked["dist2"], **CIRCLE, color=colour)
    axis.set(xscale="log", yscale="log", xlabel="clip over the typical size", ylabel="dist2, geometric mean")
    ticks = sorted(numbers["drawn"].unique())
    axis.set_xticks(ticks, ["1e-4" if tick == OWN else f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    plain_ticks(axis.yaxis)
    axis.legend(fontsize=7.5)
    return figure
