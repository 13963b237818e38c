"""Figure of the study noisy_power_method (shen2023, Theorem G.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, NOTE, few_ticks, new_figure, ticks_at, with_bars
from replication.drawing.sweeps import sweep_panel
from replication.run.settings import PlotSettings

CLAIMED = {"color": COLOURS[3], "linestyle": "--", "linewidth": 1.2}


def draw_noisy_power_method(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw iterations against the gap and the dimension, and failures against tau."""
    gaps, logs, taus = (numbers[numbers[column].notna()] for column in ("fit", "log_term", "tau"))
    figure, (left, middle, right) = new_figure(7.9, 3.0, ncols=3)
    sweep_panel(left, gaps, study.claimed.get("steps gap"), "1/gap")
    left.set(xlabel="1/gap", ylabel="iterations")
    left.set_xticks(gaps["value"], [f"{value:.3g}" for value in gaps["value"]])
    middle.errorbar(logs["log_term"], logs["iterations"], logs["half"], fmt="o", color=COLOURS[0], markersize=5)
    middle.plot(logs["log_term"], logs["predicted"], color="0.25", linestyle=":", linewidth=1.4)
    ends = np.array([0, logs["log_term"].max()])
    middle.plot(ends, ends * logs["iterations"].iloc[0] / logs["log_term"].iloc[0], **CLAIMED)
    middle.set(xlabel="ln(kd/ε)", xlim=(0, None), ylim=(0, None))
    with_bars(right, taus, "tau", "failed", fmt="o-", color=COLOURS[0], markersize=4.5)
    right.plot(taus["tau"], 1 / taus["tau"], **CLAIMED)
    right.annotate("1/τ", (taus["tau"].iloc[1], 1 / taus["tau"].iloc[1]), xytext=(4, 3), **NOTE)
    right.set(xscale="log", yscale="log", xlabel="τ", ylabel="share of failed runs")
    ticks_at(right, taus["tau"])
    few_ticks(right.yaxis)
    return figure
