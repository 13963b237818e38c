"""Figures of the study figure2 (jain2021, Section 6)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from privrep.intervals import bootstrap_interval
from privrep.plotting import COLOURS, new_figure
from privrep.studies.figure2 import COMPARABLE_EPSILON, DECIDING, judge_readings, read_method

CURVES = {
    "ours, random start": ((DECIDING,), "o-", 0),
    "ours, Algorithm 3 start": (("spectral-s2-a",), "s-", 2),
    "ours, random start, exact accounting": (("random-s2-a-exact",), "o--", 0),
    "ours, Algorithm 3 start, exact accounting": (("spectral-s2-a-exact",), "s--", 2),
    "single model": (("single-moments", "single-gradient"), "^-", 3),
    "own data": (("own-minimum-norm", "own-ridge"), "-", 1),
    "random model": (("random-model",), ":", 7),
    "non-private": (("nonprivate",), "-", 9),
}
"""Label -> (series it may choose among, line style, colour)."""


def curve_table(cells: pd.DataFrame) -> pd.DataFrame:
    """The plotted points: best choice per epsilon, mean over seeds and its bootstrap interval."""
    epsilons = sorted(cells.loc[cells["series"] == DECIDING, "epsilon"].unique())
    rows = []
    for label, (series, _, _) in CURVES.items():
        method = read_method(cells, *series)
        everyone = np.arange(method.seeds)
        chosen = dict(zip(method.epsilons, method.chosen(), strict=True))
        for epsilon in epsilons:
            statistic = partial(method.at, epsilon)
            low, high = bootstrap_interval(statistic, method.seeds, f"curve {label} {epsilon}")
            rows.append(
                {
                    "curve": label,
                    "epsilon": epsilon,
                    "mse": statistic(everyone),
                    "ci_low": low,
                    "ci_high": high,
                    "seeds": method.seeds,
                    "selected": chosen.get(epsilon, ""),
                }
            )
    return pd.DataFrame(rows)


def draw_curves(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Figure 2 twice: on a log axis, and on the paper's linear axis from 0 to 4."""
    numbers = curve_table(cells)
    figure, (log_axis, linear_axis) = new_figure(9.6, 4.2, ncols=2, width_ratios=[1, 1])
    for axis in (log_axis, linear_axis):
        for label, (_, style, colour) in CURVES.items():
            part = numbers[numbers["curve"] == label]
            axis.plot(
                part["epsilon"], part["mse"], style, color=COLOURS[colour], markersize=4, linewidth=1.4, label=label
            )
            axis.fill_between(
                part["epsilon"], part["ci_low"], part["ci_high"], color=COLOURS[colour], alpha=0.18, linewidth=0
            )
        axis.axvline(COMPARABLE_EPSILON, color="0.6", linewidth=0.8, linestyle=(0, (1, 2)))
        axis.set(xlabel="user-level epsilon (delta = 1e-6)", xticks=sorted(numbers["epsilon"].unique()))
    log_axis.set(yscale="log", ylabel="population MSE", title="Log axis")
    linear_axis.set(ylim=(0, 4.25), ylabel="population MSE", title="The paper's linear axis")
    linear_axis.annotate(
        '"around 4"', (10, 4.02), xytext=(0, -11), textcoords="offset points", ha="right", fontsize=8, color="0.35"
    )
    linear_axis.annotate(
        '"at epsilon 5 comparable\nto the non-private baseline"',
        (5, 0.95),
        xytext=(6, 0),
        textcoords="offset points",
        fontsize=8,
        color="0.35",
    )
    linear_axis.annotate(
        '"single model remains very high"',
        (10, 2.06),
        xytext=(0, 4),
        textcoords="offset points",
        ha="right",
        fontsize=8,
        color="0.35",
    )
    figure.legend(*log_axis.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure, numbers


def draw_readings(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """All readings: MSE at the best choice, one mark per epsilon; filled names pass the four criteria."""
    numbers = judge_readings(cells)
    figure, axis = new_figure(7.4, 0.26 * len(numbers) + 1.3)
    places = np.arange(len(numbers))[::-1]
    epsilons = [1, 2, 5, 10]
    for epsilon, colour in zip(epsilons, (3, 1, 2, 0), strict=True):
        values = numbers[f"mse_{epsilon}"]
        axis.plot(values, places, "o", color=COLOURS[colour], markersize=5, label=f"epsilon {epsilon}")
    axis.hlines(
        places,
        numbers[[f"mse_{e}" for e in epsilons]].min(axis=1),
        numbers[[f"mse_{e}" for e in epsilons]].max(axis=1),
        color="0.75",
        linewidth=0.8,
        zorder=0,
    )
    axis.set_yticks(
        places, [f"{row.reading}{' (deciding)' if row.reading == DECIDING else ''}" for row in numbers.itertuples()]
    )
    for tick, row in zip(axis.get_yticklabels(), numbers.itertuples(), strict=True):
        tick.set_fontweight("bold" if row.passes else "normal")
    axis.set(xscale="log", xlabel="population MSE at the best number of epochs (bold: passes all four criteria)")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 1.08), ncols=4)
    return figure, numbers


def draw(cells: pd.DataFrame) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """Figure 2, and the comparison of readings."""
    return {"jain2021/figure2": draw_curves(cells), "jain2021/figure2_readings": draw_readings(cells)}
