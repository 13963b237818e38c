"""Figures of the study accounting: the privacy statements of both papers."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import curve, legend, level, series
from replication.drawing.style import (
    Look,
    distinct,
    label,
    new_figure,
    power_of_ten,
)
from replication.run.settings import PlotSettings
from replication.studies.accounting.analysis import ALPHA, DELTA, NAMES, SD, SECTION6_DELTA


def draw_privacy_accounting(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the epsilon that each statement achieves over the one that it claims."""
    figure, axis = new_figure(6.4, 4.4)
    least, most = numbers["epsilon"].min(), numbers["epsilon"].max()
    for claim, one in distinct(NAMES.values()).items():
        part = numbers[numbers["statement"] == next(key for key, name in NAMES.items() if name == claim)]
        for column, chain, dash in (("printed chain", "printed chain", "-"), ("exact", "exact", "--")):
            curve(axis, part["epsilon"], part[column], Look(f"{one.label}, {chain}", one.colour, "", dash))
    level(axis, 1, "claimed")
    level(axis, math.log(1 / SECTION6_DELTA), r"stated up to $\epsilon = \ln(1/\delta)$", along="y", dash=":")
    x = rf"claimed $\epsilon$ ($\delta$ = {power_of_ten(SECTION6_DELTA)})"
    label(axis, x, r"achieved over claimed $\epsilon$", log="x", xlim=(least, most), ylim=(0.25, 1.08))
    legend(figure)
    return figure


def draw_privacy_conversion(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw what the noise of Theorem 5.2 achieves."""
    figure, (ratios, deltas) = new_figure(8.6, 4.2, ncols=2)
    for scope, one in distinct(numbers["scope"].unique()).items():
        part = numbers[numbers["scope"] == scope]
        curve(ratios, part["epsilon"], part["paper's conversion"], Look(f"{scope}: paper's conversion", one.colour, ""))
        for axis, column in ((ratios, "exact"), (deltas, "delta")):
            curve(axis, part["epsilon"], part[column], Look(f"{scope}: exact", one.colour, "", "--"))
    level(ratios, 1, "claimed", dash=":")
    level(deltas, DELTA, "claimed", dash=":")
    x, ends = rf"claimed $\epsilon$ ($\delta$ = {power_of_ten(DELTA)})", (0.1, math.log(1 / DELTA))
    label(ratios, x, r"achieved over claimed $\epsilon$", "Epsilon", "x", xlim=ends, ylim=(0, 3.1))
    label(deltas, x, r"exact $\delta$ at the claimed $\epsilon$", "Delta", "xy", xlim=ends, ylim=(1e-14, 1))
    legend(figure)
    return figure


def draw_sampled_round(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the Rényi divergence of one round (Remark 4.1) against the probability of taking part."""
    figure, axis = new_figure(6.4, 4.2)
    for name, one in distinct(numbers["divergence"].unique()).items():
        part = numbers[numbers["divergence"] == name]
        curve(axis, part["p"], part["over alpha / (2 sigma^2)"], Look(one.label, one.colour, ""))
    series(axis, pd.DataFrame({"x": [1], "y": [1]}), "x", "y", Look("stated for p = 1", "0.25", dash=""))
    level(axis, 0, "", dash="-")
    y, title = r"Rényi divergence over $\alpha / (2 \sigma^2)$", rf"One round, $\alpha$ = {ALPHA}, $\sigma$ = {SD:g}"
    label(axis, "probability p of taking part", y, title, xlim=(0, 1.03))
    legend(figure)
    return figure
