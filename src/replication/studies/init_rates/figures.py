# ruff: noqa: RUF001  (typographic signs are meant)
"""Figures of the study init_rates (jain2021, Algorithm 3)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, new_figure, plain_ticks, ticks_at
from replication.run.settings import PlotSettings


def draw_init_collapse(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw both distances of all settings against u^2."""
    figure, axes = new_figure(7.6, 3.4, ncols=2)
    grid = np.geomspace(numbers["u"].min(), numbers["u"].max(), 200) ** 2
    labels = {"largest": "dist2²", "without_floor": "distF² / k without sampling error"}
    for axis, (column, ylabel) in zip(axes, labels.items(), strict=True):
        axis.plot(grid, np.minimum(1, grid), color="0.35", linewidth=1.2)
        for colour, (setting, part) in zip(COLOURS, numbers.groupby(["dim", "rank"]), strict=False):
            look = {"color": colour, "markersize": 4.5, "label": f"d = {setting[0]}, k = {setting[1]}"}
            axis.plot(part["u"] ** 2, part[column].clip(lower=1e-5), "o", **look)
        axis.axvline(1, color="0.6", linewidth=0.8, linestyle=":")
        axis.set(xscale="log", yscale="log", xlabel="u² = (2 Δ ζ² d^1.5 / (n λ))²", ylabel=ylabel)
        plain_ticks(axis.yaxis)
    axes[1].legend(loc="lower right")
    return figure


def draw_init_norms(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw Frobenius over spectral distance against the rank."""
    figure, axis = new_figure(4.6, 3.2)
    axis.axhline(1, color=COLOURS[3], linewidth=1.2)
    axis.plot(numbers["rank"], numbers["limit"], color="0.5", linestyle="--", label="√k")
    axis.plot(numbers["rank"], numbers["predicted"], color="0.25", linestyle=":", label="law at this d")
    look = {"fmt": "o", "color": COLOURS[0], "label": "measured"}
    axis.errorbar(numbers["rank"], numbers["ratio"], 2 * numbers["standard_error"], **look)
    axis.set(xscale="log", xlabel="k", ylabel="distF / dist2")
    ticks_at(axis, numbers["rank"])
    axis.legend()
    return figure


def draw_davis_kahan(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the left against the right side of Lemma B.2."""
    figure, axes = new_figure(7.2, 3.4, ncols=2, sharey=True)
    for axis, column, title in ((axes[0], "printed", "as printed"), (axes[1], "corrected", "corrected")):
        for colour, (pair, part) in zip((COLOURS[0], COLOURS[3]), numbers.groupby("pair", sort=False), strict=True):
            look = {"color": colour, "markersize": 3 if pair == "random" else 6, "label": pair}
            axis.plot(part["right"], part[column], "o", **look)
        ends = [0, numbers["right"].max()]
        axis.plot(ends, ends, color="0.35", linewidth=1)
        axis.set(xlabel="‖G − H‖", title=title)
    axes[0].set_ylabel("left side")
    axes[1].legend(loc="lower right")
    return figure
