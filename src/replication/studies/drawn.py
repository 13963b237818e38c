"""A figure of a study: of sweeps as every study has them, or by the function of its `figures.py` that has its name."""

from __future__ import annotations

import importlib

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.style import new_figure
from replication.drawing.sweeps import draw_sweeps
from replication.run.settings import PlotSettings


def draw(name: str, numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw one figure; that of cells which were not run says so."""
    if numbers.empty:
        figure, axis = new_figure(7.8, 1.2)
        axis.axis("off")
        axis.annotate("not run: see the chapter", (0.5, 0.5), xycoords="axes fraction", ha="center", fontsize=10)
        return figure
    if name in study.sweeps:
        one = study.sweeps[name]
        return draw_sweeps(numbers, one.panels, study.claimed, one.ylabel)
    own = importlib.import_module(f"replication.studies.{study.study}.figures")
    return getattr(own, f"draw_{name.rpartition('/')[2]}")(numbers, study)
