"""The drawing of one figure: panels of sweeps, or a figure drawn by `draw_<name>` in the `figures.py` of its study."""

from __future__ import annotations

import importlib

import pandas as pd

from replication.drawing import Picture, draw_sweeps
from replication.run.settings import PlotSettings


def draw(name: str, numbers: pd.DataFrame, study: PlotSettings) -> Picture:
    """Draw one figure; if its cells were not run, it consists of a note that says so."""
    figure = Picture()
    if numbers.empty:
        axis = figure.panel(7.8, 1.2)
        axis.axis("off")
        axis.annotate("not run: see the chapter", (0.5, 0.5), xycoords="axes fraction", ha="center", fontsize=10)
    elif name in study.sweeps:
        sweep = study.sweeps[name]
        draw_sweeps(figure, numbers, sweep.panels, study.claimed, sweep.ylabel)
    else:
        own = importlib.import_module(f"replication.studies.{study.study}.figures")
        getattr(own, f"draw_{name.rpartition('/')[2]}")(figure, numbers, study)
    figure.finish()
    return figure
