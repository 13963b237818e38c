"""Figure of the study noisy_power_method (shen2023, Appendix F)."""

import numpy as np

from replication.drawing import CI, CLAIMED, ENDS, MEASURED, DataFrame, Picture, PlotSettings, around, sweep_panel


def draw_noisy_power_method(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw iterations against the gap and the dimension, and failures against tau."""
    gaps, logs, taus = (numbers[numbers[column].notna()] for column in ("fit", "log_term", "tau"))
    left, middle, right = figure.panels(8.4, 3.6, ncols=3)
    sweep_panel(left, gaps, study.claimed.get("steps gap"), "Gap")
    left.set(xlabel="1/gap", ylabel="iterations")
    middle.series(around(logs, "iterations", logs["half"]), "log_term", "iterations", MEASURED, ends=ENDS)
    middle.law(logs, "log_term", "predicted")
    ends, claimed = np.array([0, logs["log_term"].max()]), CLAIMED.but("claimed")
    middle.curve(ends, ends * logs["iterations"].iloc[0] / logs["log_term"].iloc[0], claimed)
    middle.label(r"$\ln(kd/\epsilon)$", "iterations", "Logarithm", xlim=(0, None), ylim=(0, None))
    right.series(taus, "tau", "failed", MEASURED, ends=CI)
    right.curve(taus["tau"], 1 / taus["tau"], claimed)
    right.label(r"$\tau$", "share of failed runs", "Failures", "xy", taus["tau"])
