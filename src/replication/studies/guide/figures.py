"""Figures of the guide."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import curve, legend, series
from replication.drawing.style import (
    GREY,
    Look,
    label,
    look,
    new_figure,
)
from replication.run.settings import PlotSettings
from replication.studies.guide.analysis import BEST_DIMS, BEST_SAMPLES
from replication.studies.guide.analysis import METHODS as METHODS_SHOWN

LOOKS = {name: look(name, METHODS_SHOWN[name], dash="") for name in METHODS_SHOWN}


def draw_guide_laws(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw measured against predicted risk, for all methods and settings."""
    figure, axis = new_figure(6.4, 5.8)
    for name, rows in numbers.groupby("method", sort=False):
        series(axis, rows, "predicted", "measured", LOOKS[name], low="ci_low", high="ci_high", hollow=~rows["known"])
    both = numbers[["predicted", "measured"]]
    ends = np.array([both.min().min() / 1.5, both.max().max() * 1.5])
    curve(axis, ends, ends, Look("measured as predicted", GREY, ""))
    label(axis, "predicted risk over that of predicting zero (hollow: law not known)", "measured", log="xy")
    legend(figure)
    return figure


def draw_guide_best(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the method to use by users and epsilon."""
    size = {"nrows": len(BEST_SAMPLES), "ncols": len(BEST_DIMS)}
    figure, axes = new_figure(8.6, 6.2, **size, sharex=True, sharey=True, squeeze=False)
    budgets = sorted(numbers["epsilon"].unique())
    for row, samples in zip(axes, BEST_SAMPLES, strict=True):
        for axis, dim in zip(row, BEST_DIMS, strict=True):
            here = numbers[(numbers["samples"] == samples) & (numbers["dim"] == dim)]
            for name, rows in here.groupby("method"):
                series(axis, rows, "users", "epsilon", LOOKS[name], hollow=~rows["known"])
            title = f"$m$ = {samples}, $d$ = {dim}"
            label(axis, title=title, log="xy", xticks=[1500, 5000, 20_000, 100_000])
            axis.set_yticks(budgets, [f"{value:g}" for value in budgets])
            axis.minorticks_off()
        row[0].set(ylabel=r"$\epsilon$")
    for axis in axes[-1]:
        axis.set(xlabel="$n$")
    legend(figure)
    return figure
