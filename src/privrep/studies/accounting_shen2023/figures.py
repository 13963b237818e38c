# ruff: noqa: RUF001  (typographic signs are meant)
"""Figures of the study accounting_shen2023 (shen2023, privacy statements)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, NOTE, few_ticks, new_figure, power_of_ten
from privrep.privacy.accounting import gdp_delta, gdp_epsilon
from privrep.run.settings import PlotSettings
from privrep.studies.accounting_shen2023.analysis import (
    DELTA,
    REMOVED,
    SCOPES,
    achieved,
    exact_mu,
    printed_divergence,
    printed_order,
    removal_divergence,
    replacement_divergence,
)

ALPHA, SD = 8, 2.0
"""Rényi order and sigma of the figure of one round."""
DIVERGENCES = {
    "replace a user": replacement_divergence,
    "remove a user": removal_divergence,
    "right mixture, printed order": printed_order,
    "as printed": printed_divergence,
}
"""Label -> divergence of a round."""


def conversion_numbers() -> pd.DataFrame:
    """Achieved epsilon over claimed, and exact delta at the claimed epsilon, for every scope."""
    rows = [
        {
            "scope": scope.name,
            "epsilon": epsilon,
            "paper's conversion": achieved(scope, epsilon, DELTA) / epsilon,
            "exact": gdp_epsilon(exact_mu(scope, epsilon, DELTA), DELTA) / epsilon,
            "delta": gdp_delta(epsilon, exact_mu(scope, epsilon, DELTA)),
        }
        for scope in SCOPES
        for epsilon in np.geomspace(0.1, math.log(1 / DELTA), 60)
    ]
    return pd.DataFrame(rows)


def claimed(axis: Axes, value: float) -> None:
    """The line at what the theorem promises."""
    axis.axhline(value, color="0.45", linewidth=0.8)
    axis.annotate("claimed", (1, value), xycoords=("axes fraction", "data"), xytext=(-2, 4), ha="right", **NOTE)


def draw_conversion() -> tuple[Figure, pd.DataFrame]:
    """Theorem 5.2: what its noise achieves."""
    numbers = conversion_numbers()
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
    return figure, numbers


def draw_round() -> tuple[Figure, pd.DataFrame]:
    """Remark 4.1: the Rényi divergence of one round against the probability of taking part."""
    rates = np.linspace(0.02, 1, 50)
    full = REMOVED * ALPHA / SD**2
    rows = [
        {"divergence": name, "p": rate, "over alpha / (2 sigma^2)": divergence(ALPHA, rate, SD) / full}
        for name, divergence in DIVERGENCES.items()
        for rate in rates
    ]
    numbers = pd.DataFrame(rows)
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
    return figure, numbers


def draw(cells: None, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """Both figures."""
    return {"shen2023/privacy_accounting": draw_conversion(), "shen2023/sampled_round": draw_round()}
