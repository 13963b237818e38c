"""Figure of the study accounting (jain2021, privacy statements)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from privrep.plotting import COLOURS, new_figure
from privrep.studies.accounting import SECTION6_DELTA, STATEMENTS, achieved, achieved_exactly


def draw(cells: None) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """The epsilon that each statement achieves over the one that it claims."""
    epsilons = np.geomspace(0.1, 20, 60)
    rows = [
        {
            "statement": claim,
            "epsilon": epsilon,
            "printed chain": achieved(claim, epsilon, SECTION6_DELTA) / epsilon,
            "exact": achieved_exactly(claim, epsilon, SECTION6_DELTA) / epsilon,
        }
        for claim in STATEMENTS
        for epsilon in epsilons
    ]
    numbers = pd.DataFrame(rows)
    figure, axis = new_figure(6.4, 4.0)
    for colour, (claim, part) in zip(COLOURS, numbers.groupby("statement", sort=False), strict=False):
        axis.plot(part["epsilon"], part["printed chain"], color=colour, label=f"{claim[2:]}, zCDP chain")
        axis.plot(part["epsilon"], part["exact"], color=colour, linestyle="--", label=f"{claim[2:]}, exact")
    axis.axhline(1, color="0.4", linewidth=0.8)
    axis.annotate("claimed", (0.1, 1), xytext=(2, 3), textcoords="offset points", color="0.35")
    log_term = math.log(1 / SECTION6_DELTA)
    axis.axvline(log_term, color="0.4", linewidth=0.8, linestyle=":")
    axis.annotate(
        "eps = ln(1/delta)", (log_term, 0.33), xytext=(-4, 0), textcoords="offset points", ha="right", color="0.35"
    )
    axis.set(xscale="log", xlabel="claimed epsilon", ylabel="achieved over claimed epsilon", ylim=(0.3, 1.08))
    axis.legend(ncols=1)
    return {"jain2021/privacy_accounting": (figure, numbers)}
