"""Figure of the study noisy_power_method (shen2023, Theorem G.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, NOTE, few_ticks, new_figure, ticks_at, with_bars
from privrep.drawing.sweeps import sweep_panel
from privrep.run.settings import PlotSettings

CLAIMED = {"color": COLOURS[3], "linestyle": "--", "linewidth": 1.2}


def draw_noisy_power_method(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw iterations against the gap and the dimension, and failures against tau."""
    gaps, logs, taus = (numbers[numbers[column].notna()] for column in ("fit", "log_term", "tau"))
    figure, axes = new_figure(7.9, 3.0, ncols=3)
    axis = axes[0]
    sweep_panel(axis, gaps, study.claimed.get("steps gap"), "1/gap")
    axis.set(xlabel="1/gap", ylabel="iterations")
    axis.set_xticks(gaps["value"], [f"{value:.3g}" for value in gaps["value"]])
    axis = axes[1]
    axis.errorbar(logs["log_term"], logs["iterations"], logs["half"], fmt="o", color=COLOURS[0], markersize=5)
    axis.plot(logs["log_term"], logs["predicted"], color="0.25", linestyle=":", linewidth=1.4)
    ends = np.array([0, logs["log_term"].max()])
    axis.plot(ends, ends * logs["iterations"].iloc[0] / logs["log_term"].iloc[0], **CLAIMED)
    axis.set(xlabel="ln(kd/ε)", xlim=(0, None), ylim=(0, None))
    axis = axes[2]
    with_bars(axis, taus, "tau", "failed", fmt="o-", color=COLOURS[0], markersize=4.5)
    axis.plot(taus["tau"], 1 / taus["tau"], **CLAIMED)
    axis.annotate("1/τ", (taus["tau"].iloc[1], 1 / taus["tau"].iloc[1]), xytext=(4, 3), **NOTE)
    axis.set(xscale="log", yscale="log", xlabel="τ", ylabel="share of failed runs")
    ticks_at(axis, taus["tau"])
    few_ticks(axis.yaxis)
    return figure
