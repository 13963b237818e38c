"""The figure of the real tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, new_figure, ticks_at
from replication.run.settings import PlotSettings

LINES = {"own data": (2, "--"), "single model": (3, ":"), "mixed model": (7, "-.")}
"""What needs no privacy -> colour and style."""


def draw_real_tables(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the errors of each table against epsilon."""
    tables = list(numbers["table"].unique())
    columns = min(4, max(1, len(tables)))
    rows = max(1, -(-len(tables) // columns))
    figure, axes = new_figure(2.3 * columns, 2.2 * rows, nrows=rows, ncols=columns, squeeze=False)
    for axis, table in zip(axes.flat, tables, strict=False):
        part = numbers[numbers["table"] == table]
        bars = np.nan_to_num([part["error"] - part["low"], part["high"] - part["error"]])
        shown = {"fmt": "o-", "color": COLOURS[0], "markersize": 3.5, "label": "released prior"}
        axis.errorbar(part["epsilon"], part["error"], yerr=bars, **shown)
        for name, (colour, style) in LINES.items():
            axis.axhline(part[name].iloc[0], color=COLOURS[colour], linestyle=style, label=f"{name}, no privacy")
        axis.set(title=table, xscale="log", xlabel="epsilon")
        ticks_at(axis, list(part["epsilon"]))
    for axis in axes[:, 0]:
        axis.set_ylabel("error over variance")
    for axis in axes.flat[len(tables) :]:
        axis.set_axis_off()
    if tables:
        figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure
