"""Figure of the study noisy_power_method (shen2023, Appendix F)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import curve, law, legend, series
from replication.drawing.style import (
    METHODS,
    Look,
    label,
    new_figure,
)
from replication.drawing.sweeps import sweep_panel
from replication.run.settings import PlotSettings

CLAIMED = Look("claimed", METHODS["altmin"].colour, "", "--")
MEASURED = Look("measured", METHODS["centaur"].colour, dash="")


def draw_noisy_power_method(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw iterations against the gap and the dimension, and failures against tau."""
    gaps, logs, taus = (numbers[numbers[column].notna()] for column in ("fit", "log_term", "tau"))
    figure, (left, middle, right) = new_figure(8.4, 3.6, ncols=3)
    sweep_panel(left, gaps, study.claimed.get("steps gap"), "Gap")
    left.set(xlabel="1/gap", ylabel="iterations")
    logs = logs.assign(low=logs["iterations"] - logs["half"], high=logs["iterations"] + logs["half"])
    series(middle, logs, "log_term", "iterations", MEASURED, low="low", high="high")
    law(middle, logs, "log_term", "predicted")
    ends = np.array([0, logs["log_term"].max()])
    curve(middle, ends, ends * logs["iterations"].iloc[0] / logs["log_term"].iloc[0], CLAIMED)
    label(middle, r"$\ln(kd/\epsilon)$", "iterations", "Logarithm", xlim=(0, None), ylim=(0, None))
    series(right, taus, "tau", "failed", MEASURED, low="ci_low", high="ci_high")
    curve(right, taus["tau"], 1 / taus["tau"], CLAIMED)
    label(right, r"$\tau$", "share of failed runs", "Failures", "xy", sorted(taus["tau"].unique()))
    legend(figure)
    return figure
