"""Figure of the study clip_choice: error of both methods against their clips, in the public simulation."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import curve, legend, series
from replication.drawing.style import (
    Look,
    label,
    look,
    new_figure,
    short,
)
from replication.run.settings import PlotSettings
from replication.studies.clip_choice.analysis import CHOICES, OWN

LOOKS = {
    "A": look("altmin", "alternating minimisation, samples clipped"),
    "A-user": look("altmin", "the same, users clipped", marker="v", dash="--"),
    "B": look("centaur"),
    "B-random": look("centaur", "CENTAUR, random start", marker="s", dash="--"),
}


def draw_clip_choice(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the error of both methods against their clips."""
    figure, axis = new_figure(5.4, 4.6)
    for name, one in LOOKS.items():
        part = numbers[numbers["series"].isin(CHOICES[name])]
        sized = part[part["size"].notna()].sort_values("size")
        curve(axis, sized["size"], sized["dist2"], Look("", one.colour, "", one.dash))
        series(axis, part, "drawn", "dist2", Look(**vars(one) | {"dash": ""}), hollow=~part["chosen"])
    label(axis, "clip over the typical size (filled: chosen)", "dist2, geometric mean", log="xy")
    ticks = sorted(numbers["drawn"].unique())
    axis.set_xticks(ticks, [short(1e-4) if tick == OWN else f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    legend(figure)
    return figure
