"""Figure of the study real_tables."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import legend, level, series
from replication.drawing.style import (
    GREY,
    METHODS,
    Look,
    label,
    look,
    new_figure,
)
from replication.run.settings import PlotSettings

LEVELS = {"own data": look("own", dash="--"), "single model": Look("single model", GREY, "", ":")}
LEVELS |= {"mixed model": Look("mixed model", METHODS["mixed"].colour, "", "-.")}
"""What needs no privacy -> its look."""


def draw_real_tables(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the errors of each table against epsilon."""
    tables = list(numbers["table"].unique())
    columns = min(4, len(tables))
    rows = -(-len(tables) // columns)
    figure, axes = new_figure(2.3 * columns, 2.3 * rows + 0.4, nrows=rows, ncols=columns, squeeze=False)
    for axis, table in zip(axes.flat, tables, strict=False):
        part = numbers[numbers["table"] == table]
        series(axis, part, "epsilon", "error", look("mixed", "released prior"), low="low", high="high")
        for name, one in LEVELS.items():
            level(axis, part[name].iloc[0], f"{name}, no privacy", colour=one.colour, dash=one.dash)
        y = "error over variance" if axis in axes[:, 0] else ""
        label(axis, r"$\epsilon$", y, table, "x", sorted(part["epsilon"].unique()))
    for axis in axes.flat[len(tables) :]:
        axis.set_axis_off()
    legend(figure)
    return figure
