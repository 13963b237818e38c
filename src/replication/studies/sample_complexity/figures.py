"""Figure of the study sample_complexity (jain2021, Remark 2)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import groups, legend, level
from replication.drawing.style import (
    graded,
    label,
    new_figure,
)
from replication.drawing.sweeps import sweep_panel
from replication.run.settings import PlotSettings

REMARK_2 = 2
"""Power of k in the samples per user that Remark 2 asks for."""


def draw_samples_needed(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the error against the samples beyond the rank, and the least number of samples."""
    figure, axes = new_figure(7.6, 3.9, ncols=2, width_ratios=(3, 2))
    means = numbers.groupby(["rank", "spare"])["square"].mean().reset_index()
    looks = graded(sorted(means["rank"].unique()), "$k$ = {}")
    groups(axes[0], means.assign(root=np.sqrt(means["square"])), "spare", "root", "rank", looks)
    level(axes[0], study.thresholds["near"], "counts as near the law")
    level(axes[0], 1, "law", dash=":")
    label(axes[0], "$m/4 - k$", "distF over the law F3", "Samples beyond the rank", "y")
    rows = numbers[numbers["fit"] == "samples k"]
    sweep_panel(axes[1], rows, REMARK_2, "least m")
    # Found in steps of 4, so that the exponent has no interval.
    axes[1].set_title(f"Least $m$\n{rows['exponent'].iloc[0]:.2f} in steps of 4, claimed {REMARK_2}")
    legend(figure)
    return figure
