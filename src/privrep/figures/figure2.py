"""Figures of the study figure2 (jain2021, Section 6)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from privrep.intervals import bootstrap_interval
from privrep.plotting import COLOURS, NOTE, new_figure, plain_ticks, power_of_ten
from privrep.studies.figure2 import COMPARABLE_EPSILON, DECIDING, judge_readings, read_method

CURVES = {
    "Algorithm 1, random start": ((DECIDING,), "o-", 0),
    "Algorithm 1, start by Algorithm 3": (("spectral-s2-a",), "s-", 2),
    "Algorithm 1, random start, exact accounting": (("random-s2-a-exact",), "o--", 0),
    "Algorithm 1, start by Algorithm 3, exact accounting": (("spectral-s2-a-exact",), "s--", 2),
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
    delta = cells.loc[cells["series"] == DECIDING, "delta"].iloc[0]
    figure, (log_axis, linear_axis) = new_figure(9.6, 4.6, ncols=2)
    for axis in (log_axis, linear_axis):
        for label, (_, style, colour) in CURVES.items():
            part = numbers[numbers["curve"] == label]
            axis.plot(
                part["epsilon"],
                part["mse"],
                style,
                color=COLOURS[colour],
                markersize=5,
                markerfacecolor="white" if "--" in style else COLOURS[colour],
                linewidth=1.6,
                label=label,
                clip_on=False,
            )
            axis.fill_between(
                part["epsilon"], part["ci_low"], part["ci_high"], color=COLOURS[colour], alpha=0.18, linewidth=0
            )
        axis.axvline(COMPARABLE_EPSILON, color="0.6", linewidth=0.8, linestyle=(0, (1, 2)), zorder=0)
        axis.set(
            xlabel=f"user-level ε (δ = {power_of_ten(delta)})",
            ylabel="population MSE",
            xticks=sorted(numbers["epsilon"].unique()),
        )
    log_axis.set(yscale="log", title="Log axis")
    plain_ticks(log_axis.yaxis)
    linear_axis.set(ylim=(-0.06, 4.25), yticks=range(5), title="The paper's linear axis")
    last = numbers["epsilon"].max()
    linear_axis.annotate("“around 4”", (last, 4), xytext=(0, -15), ha="right", **NOTE)
    linear_axis.annotate("“single model remains very high”", (last, 2), xytext=(0, 6), ha="right", **NOTE)
    linear_axis.annotate(
        "“at ε = 5 comparable to\nthe non-private baseline”",
        (COMPARABLE_EPSILON, 3.1),
        xytext=(6, 0),
        va="center",
        **NOTE,
    )
    figure.legend(*log_axis.get_legend_handles_labels(), loc="outside lower center", ncols=4, columnspacing=1.6)
    return figure, numbers


SHOWN = ((1, "o"), (2, "s"), (5, "^"), (10, "D"))
"""Epsilons of the comparison of readings, with their marks."""


def draw_readings(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """All readings: MSE at the best choice, one mark per epsilon, a little apart in height; bold names pass."""
    numbers = judge_readings(cells)
    figure, axis = new_figure(7.6, 0.27 * len(numbers) + 1.3)
    places = np.arange(len(numbers))[::-1]
    scores = numbers[[f"mse_{epsilon}" for epsilon, _ in SHOWN]]
    axis.hlines(places, scores.min(axis=1), scores.max(axis=1), color="0.8", linewidth=1, zorder=1)
    colours = sns.color_palette("viridis_r", len(SHOWN) + 1).as_hex()[1:]
    lifts = np.linspace(0.12, -0.12, len(SHOWN))
    for (epsilon, mark), colour, lift in zip(SHOWN, colours, lifts, strict=True):
        axis.plot(
            numbers[f"mse_{epsilon}"],
            places + lift,
            mark,
            color=colour,
            markersize=6.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            label=f"ε = {epsilon}",
        )
    names = [f"{row.reading} (deciding)" if row.reading == DECIDING else row.reading for row in numbers.itertuples()]
    axis.set_yticks(places, names)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    for tick, row in zip(axis.get_yticklabels(), numbers.itertuples(), strict=True):
        tick.set_fontweight("bold" if row.passes else "normal")
    axis.set(
        xscale="log",
        ylim=(-0.7, len(numbers) - 0.3),
        xlabel="population MSE at the best number of epochs (bold: passes all four criteria)",
    )
    plain_ticks(axis.xaxis)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=len(SHOWN), handlelength=1)
    return figure, numbers


def draw(cells: pd.DataFrame) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """Figure 2, and the comparison of readings."""
    return {"jain2021/figure2": draw_curves(cells), "jain2021/figure2_readings": draw_readings(cells)}
