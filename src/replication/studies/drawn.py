"""A figure of a study: of sweeps as every study has them, or by the function of its `figures.py` that has its name."""

from __future__ import annotations

import importlib

import pandas as pd

from replication.drawing import Picture, draw_sweeps
from replication.run.settings import PlotSettings


def draw(name: str, numbers: pd.DataFrame, study: PlotSettings) -> Picture:
    """Draw one figure; that of cells which were not run says so."""
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
