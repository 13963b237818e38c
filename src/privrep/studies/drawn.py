"""All figures of a study: those of sweeps as every study has them, others by its own `figures.py`."""

from __future__ import annotations

import importlib

import pandas as pd
from matplotlib.figure import Figure

from privrep.drawing.sweeps import draw_sweeps
from privrep.run.settings import PlotSettings


def drawn(numbers: dict[str, pd.DataFrame], study: PlotSettings) -> dict[str, Figure]:
    """Id of a figure -> the figure. numbers : those of each, by id."""
    figures = {
        name: draw_sweeps(numbers[name], one.panels, study.claimed, one.ylabel) for name, one in study.sweeps.items()
    }
    if len(figures) == len(study.figures):
        return figures
    return figures | importlib.import_module(f"privrep.studies.{study.study}.figures").draw(numbers, study)
