# ruff: noqa: RUF001  (typographic signs are meant)
"""Figures of the study sample_complexity (jain2021, Remark 2 and Assumption 4.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, few_ticks, new_figure
from privrep.drawing.sweeps import draw_fits, fit_table, panel
from privrep.evidence.scaling import Fit
from privrep.run.settings import PlotSettings
from privrep.studies.sample_complexity.analysis import NEAR, sample_points, with_predictions, with_samples_fit

USERS = {
    "users d": "d",
    "users k": "k",
    "users k share": "k, target a share of k",
    "users Delta": "Δ",
    "users d plain": "d, no privacy",
}
REMARK_2 = 2
"""Power of k in the samples per user that Remark 2 asks for."""


def draw_samples(cells: pd.DataFrame, fits: dict[str, Fit]) -> tuple[Figure, pd.DataFrame]:
    """Error against the samples beyond the rank, and the least number of samples."""
    numbers = sample_points(cells)
    figure, axes = new_figure(7.4, 3.3, ncols=2, width_ratios=(3, 2))
    means = numbers.groupby(["rank", "spare"])["square"].mean().reset_index()
    for colour, (rank, part) in zip(COLOURS, means.groupby("rank"), strict=False):
        axes[0].plot(part["spare"], np.sqrt(part["square"]), "o-", color=colour, markersize=4.5, label=f"k = {rank}")
    axes[0].axhline(NEAR, color="0.35", linewidth=0.8)
    axes[0].set(yscale="log", xlabel="m/4 − k", ylabel="distF over the law F3")
    few_ticks(axes[0].yaxis)
    axes[0].legend()
    panel(axes[1], fits["samples k"], REMARK_2, "least m")
    # Found in steps of 4, so that the exponent has no interval.
    axes[1].set_title(f"least m\n{fits['samples k'].slope:.2f} in steps of 4, claimed {REMARK_2}", fontsize=8.5)
    return figure, pd.concat([numbers, fit_table(fits, ["samples k"])], ignore_index=True)


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    cells = with_predictions(cells)
    fits, claimed = with_samples_fit(study, cells), study.claimed
    return {
        "jain2021/users_needed": draw_fits(fits, USERS, claimed, "users needed"),
        "jain2021/samples_needed": draw_samples(cells, fits),
        "jain2021/assumption": draw_fits(fits, {"assumption k": "k"}, claimed, "distF by privacy"),
    }
