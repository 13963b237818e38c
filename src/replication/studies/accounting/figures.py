"""Figures of the study accounting: the privacy statements of both papers."""

import math

import pandas as pd

from replication.drawing import DataFrame, Look, Picture, PlotSettings, distinct, power_of_ten
from replication.studies.accounting.analysis import ALPHA, DELTA, NAMES, SD, SECTION6_DELTA


def draw_privacy_accounting(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the epsilon that each statement achieves over the one that it claims."""
    axis = figure.panel(6.4, 4.4)
    least, most = numbers["epsilon"].min(), numbers["epsilon"].max()
    for claim, look in distinct(NAMES.values()).items():
        part = numbers[numbers["statement"] == next(key for key, name in NAMES.items() if name == claim)]
        for column, chain, dash in (("printed chain", "printed chain", "-"), ("exact", "exact", "--")):
            axis.curve(part["epsilon"], part[column], Look(f"{look.label}, {chain}", look.colour, "", dash))
    axis.level(1, "claimed")
    axis.level(math.log(1 / SECTION6_DELTA), r"stated up to $\epsilon = \ln(1/\delta)$", along="y", dash=":")
    x = rf"claimed $\epsilon$ ($\delta$ = {power_of_ten(SECTION6_DELTA)})"
    axis.label(x, r"achieved over claimed $\epsilon$", log="x", xlim=(least, most), ylim=(0.25, 1.08))


def draw_privacy_conversion(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw epsilon and delta that the noise of Theorem 5.2 achieves."""
    ratios, deltas = figure.panels(8.6, 4.2, ncols=2)
    for scope, look in distinct(numbers["scope"]).items():
        part = numbers[numbers["scope"] == scope]
        ratios.curve(part["epsilon"], part["paper's conversion"], Look(f"{scope}: paper's conversion", look.colour, ""))
        for axis, column in ((ratios, "exact"), (deltas, "delta")):
            axis.curve(part["epsilon"], part[column], Look(f"{scope}: exact", look.colour, "", "--"))
    ratios.level(1, "claimed", dash=":")
    deltas.level(DELTA, "claimed", dash=":")
    x, ends = rf"claimed $\epsilon$ ($\delta$ = {power_of_ten(DELTA)})", (0.1, math.log(1 / DELTA))
    ratios.label(x, r"achieved over claimed $\epsilon$", "Epsilon", "x", xlim=ends, ylim=(0, 3.1))
    deltas.label(x, r"exact $\delta$ at the claimed $\epsilon$", "Delta", "xy", xlim=ends, ylim=(1e-14, 1))


def draw_sampled_round(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the Rényi divergence of one round (Remark 4.1) against the probability of taking part."""
    axis = figure.panel(6.4, 4.2)
    for name, look in distinct(numbers["divergence"]).items():
        part = numbers[numbers["divergence"] == name]
        axis.curve(part["p"], part["over alpha / (2 sigma^2)"], Look(look.label, look.colour, ""))
    axis.series(pd.DataFrame({"x": [1], "y": [1]}), "x", "y", Look("stated for p = 1", "0.25", dash=""))
    axis.level(0, "", dash="-")
    y, title = r"Rényi divergence over $\alpha / (2 \sigma^2)$", rf"One round, $\alpha$ = {ALPHA}, $\sigma$ = {SD:g}"
    axis.label("probability p of taking part", y, title, xlim=(0, 1.03))
