# ruff: noqa: RUF001  (typographic signs are meant)
"""Figures of the study accounting_shen2023 (shen2023, privacy statements)."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, NOTE, few_ticks, new_figure, power_of_ten
from replication.run.settings import PlotSettings
from replication.studies.accounting_shen2023.analysis import ALPHA, DELTA, SD


def claimed(axis: Axes, value: float) -> None:
    """Draw a line at what the theorem promises."""
    axis.axhline(value, color="0.45", linewidth=0.8)
    axis.annotate("claimed", (1, value), xycoords=("axes fraction", "data"), xytext=(-2, 4), ha="right", **NOTE)


def draw_privacy_accounting(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw what the noise of Theorem 5.2 achieves."""
    figure, (ratios, deltas) = new_figure(9.2, 3.9, ncols=2)
    handles = []
    for colour, (scope, part) in zip(COLOURS, numbers.groupby("scope", sort=False), strict=False):
        handles += ratios.plot(part["epsilon"], part["paper's conversion"], color=colour, linewidth=1.6, label=scope)
        ratios.plot(part["epsilon"], part["exact"], color=colour, linewidth=1.6, linestyle="--")
        deltas.plot(part["epsilon"], part["delta"], color=colour, linewidth=1.6)
    for axis in (ratios, deltas):
        axis.set(xscale="log", xlabel=f"claimed ε (δ = {power_of_ten(DELTA)})", xlim=(0.1, math.log(1 / DELTA)))
        few_ticks(axis.xaxis)
    ratios.set(ylabel="achieved over claimed ε", ylim=(0, 3.1))
    deltas.set(yscale="log", ylabel="exact δ at the claimed ε", ylim=(1e-14, 1))
    claimed(ratios, 1.0)
    claimed(deltas, DELTA)
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def draw_sampled_round(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the Rényi divergence of one round (Remark 4.1) against the probability of taking part."""
    figure, axis = new_figure(6.4, 3.9)
    for colour, (name, part) in zip(COLOURS, numbers.groupby("divergence", sort=False), strict=False):
        axis.plot(part["p"], part["over alpha / (2 sigma^2)"], color=colour, linewidth=1.6, label=name)
    axis.axhline(0, color="0.45", linewidth=0.8)
    axis.plot(1, 1, "o", color="0.25", markersize=5, label="stated for p = 1", linestyle="none")
    axis.set(
        xlabel="probability p of taking part",
        ylabel="Rényi divergence over α / (2 σ²)",
        title=f"one round, α = {ALPHA}, σ = {SD:g}",
        xlim=(0, 1.02),
    )
    axis.legend(loc="upper left")
    return figure
