"""Figures of the guide."""

from itertools import product

import numpy as np

from replication.drawing import CI, GREY, DataFrame, Look, Picture, PlotSettings, look
from replication.studies.guide.analysis import BEST_DIMS, BEST_SAMPLES
from replication.studies.guide.analysis import METHODS as METHODS_SHOWN

LOOKS = {name: look(name, METHODS_SHOWN[name], dash="") for name in METHODS_SHOWN}


def draw_guide_laws(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw measured against predicted risk, for all methods and settings."""
    axis = figure.panel(6.4, 5.8)
    for name, rows in numbers.groupby("method", sort=False):
        axis.series(rows, "predicted", "measured", LOOKS[str(name)], ends=CI, hollow=~rows["known"])
    both = numbers[["predicted", "measured"]]
    ends = np.array([both.min().min() / 1.5, both.max().max() * 1.5])
    axis.curve(ends, ends, Look("measured as predicted", GREY, ""))
    axis.label("predicted risk over that of predicting zero (hollow: law not known)", "measured", log="xy")


def draw_guide_best(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the method to use by users and epsilon."""
    shape = {"nrows": len(BEST_SAMPLES), "ncols": len(BEST_DIMS)}
    axes = figure.panels(8.6, 6.2, **shape, sharex=True, sharey=True, squeeze=False)
    for axis, (samples, dim) in zip(axes.flat, product(BEST_SAMPLES, BEST_DIMS), strict=True):
        here = numbers[(numbers["samples"] == samples) & (numbers["dim"] == dim)]
        for name, rows in here.groupby("method"):
            axis.series(rows, "users", "epsilon", LOOKS[str(name)], hollow=~rows["known"])
        x, title = "$n$" if samples == BEST_SAMPLES[-1] else "", f"$m$ = {samples}, $d$ = {dim}"
        axis.label(x, r"$\epsilon$", title, "xy", [1500, 5000, 20_000, 100_000], numbers["epsilon"])
