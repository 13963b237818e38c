# ruff: noqa: RUF001  (typographic signs are meant)
"""Figures of the study sample_complexity (jain2021, Remark 2 and Assumption 4.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, few_ticks, new_figure
from replication.drawing.sweeps import sweep_panel
from replication.run.settings import PlotSettings

REMARK_2 = 2
"""Power of k in the samples per user that Remark 2 asks for."""


def draw_samples_needed(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the error against the samples beyond the rank, and the least number of samples."""
    figure, axes = new_figure(7.4, 3.3, ncols=2, width_ratios=(3, 2))
    means = numbers.groupby(["rank", "spare"])["square"].mean().reset_index()
    for colour, (rank, part) in zip(COLOURS, means.groupby("rank"), strict=False):
        axes[0].plot(part["spare"], np.sqrt(part["square"]), "o-", color=colour, markersize=4.5, label=f"k = {rank:g}")
    axes[0].axhline(study.thresholds["near"], color="0.35", linewidth=0.8)
    axes[0].set(yscale="log", xlabel="m/4 − k", ylabel="distF over the law F3")
    few_ticks(axes[0].yaxis)
    axes[0].legend()
    rows = numbers[numbers["fit"] == "samples k"]
    sweep_panel(axes[1], rows, REMARK_2, "least m")
    # Found in steps of 4, so that the exponent has no interval.
    axes[1].set_title(f"least m\n{rows['exponent'].iloc[0]:.2f} in steps of 4, claimed {REMARK_2}", fontsize=8.5)
    return figure
