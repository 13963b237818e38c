"""Figures of the study figure2 (jain2021, Section 6)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from privrep.drawing.style import COLOURS, NOTE, few_ticks, new_figure, plain_ticks, power_of_ten
from privrep.evidence.intervals import bootstrap_interval
from privrep.run.settings import PlotSettings
from privrep.studies.figure2.analysis import (
    COMPARABLE_EPSILON,
    DECIDING,
    PRINTED_RULE,
    SMALLEST_EPSILON,
    Method,
    fallback_series,
    judge_readings,
    read_method,
)

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
    """Figure 2 twice: on a log axis, and on a linear axis from 0 to 4."""
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
    linear_axis.set(ylim=(-0.06, 4.25), yticks=range(5), title="Linear axis")
    last = numbers["epsilon"].max()
    linear_axis.annotate("stated: about 4", (last, 4), xytext=(0, -15), ha="right", **NOTE)
    linear_axis.annotate("stated: the single model stays high", (last, 2), xytext=(0, 6), ha="right", **NOTE)
    linear_axis.annotate(
        "stated: at ε = 5 comparable\nto the non-private method",
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
    """All readings, then what is ours: MSE at the best choice, one mark per epsilon, a little apart in height."""
    numbers = judge_readings(cells).sort_values("ours", kind="stable", ignore_index=True)
    figure, axis = new_figure(7.6, 0.27 * len(numbers) + 1.3)
    places = np.arange(len(numbers))[::-1]
    scores = numbers[[f"mse_{epsilon}" for epsilon, _ in SHOWN]]
    axis.hlines(places, scores.min(axis=1), scores.max(axis=1), color="0.8", linewidth=1, zorder=1)
    colours = colormaps["viridis_r"](np.linspace(0, 1, len(SHOWN) + 3)[2:-1])
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
    notes = np.select([numbers["reading"] == DECIDING, numbers["ours"]], [" (deciding)", " (ours)"], "")
    axis.set_yticks(places, numbers["reading"] + notes)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    for tick, row in zip(axis.get_yticklabels(), numbers.itertuples(), strict=True):
        tick.set_fontweight("bold" if row.passes and not row.ours else "normal")
        tick.set_fontstyle("italic" if row.ours else "normal")
    axis.set(
        xscale="log",
        ylim=(-0.7, len(numbers) - 0.3),
        xlabel="population MSE at the best number of epochs (bold: passes all criteria; italic: ours)",
    )
    plain_ticks(axis.xaxis)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=len(SHOWN), handlelength=1)
    return figure, numbers


STYLES = {PRINTED_RULE: ("o-", 0), "ridge": ("s-", 1), "eigclip": ("D-", 2)}
"""Rule where no minimum exists -> line style, colour."""
CHOSEN = "best number of epochs"


def fallback_table(cells: pd.DataFrame) -> pd.DataFrame:
    """MSE of each rule against epsilon at its best number of epochs, and against the number of epochs at the smallest epsilon.

    `lost` is the share of runs in which the noisy matrix of some step was not positive definite.
    """
    rows = []

    def add(rule: str, panel: str, x: float, method: Method, part: pd.DataFrame) -> None:
        statistic = partial(method.at, part["epsilon"].iloc[0])
        low, high = bootstrap_interval(statistic, method.seeds, f"fallback {rule} {panel} {x:g}")
        lost = float((part["min_eigenvalue"] <= 0).mean())
        mse = statistic(np.arange(method.seeds))
        rows.append(
            {
                "rule": rule,
                "panel": panel,
                "x": x,
                "mse": mse,
                "ci_low": low,
                "ci_high": high,
                "seeds": method.seeds,
                "epochs": part["epochs"].iloc[0],
                "lost": lost,
            }
        )

    for rule, series in fallback_series(cells).items():
        own = cells[cells["series"] == series]
        method = read_method(cells, series)
        for epsilon, chosen in zip(method.epsilons, method.chosen(), strict=True):
            at = own[own["epsilon"] == epsilon]
            add(rule, CHOSEN, epsilon, method, at[at["epochs"] == float(chosen.removeprefix("epochs "))])
        for epochs, part in own[own["epsilon"] == SMALLEST_EPSILON].groupby("epochs"):
            add(rule, "epochs", epochs, read_method(part, series), part)
    return pd.DataFrame(rows)


def draw_fallbacks(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """What is put in place of a minimum that does not exist: MSE against epsilon and, where noise is largest, against epochs."""
    numbers = fallback_table(cells)
    figure, axes = new_figure(8.6, 3.9, ncols=2, sharey=True)
    for axis, panel in zip(axes, (CHOSEN, "epochs"), strict=True):
        shown = numbers[numbers["panel"] == panel]
        ticks = sorted(shown["x"].unique())
        for place, (rule, (style, colour)) in enumerate(STYLES.items()):
            part = shown[shown["rule"] == rule]
            shift = 1.03 ** (place - 1)  # side by side, so that bars can be told apart
            line = {"color": COLOURS[colour], "linewidth": 1.6}
            axis.plot(part["x"] * shift, part["mse"], style[1:], label=rule, **line)
            ends = [part["mse"] - part["ci_low"], part["ci_high"] - part["mse"]]
            axis.errorbar(part["x"] * shift, part["mse"], yerr=ends, fmt="none", color=COLOURS[colour], linewidth=1.1)
            for is_lost, filled in ((False, COLOURS[colour]), (True, "white")):
                marks = part[(part["lost"] > 0) == is_lost]
                axis.plot(
                    marks["x"] * shift,
                    marks["mse"],
                    style[0],
                    color=COLOURS[colour],
                    markerfacecolor=filled,
                    markersize=6,
                )
        axis.set(xscale="log", yscale="log")
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_xticks([], minor=True)
        few_ticks(axis.yaxis)
    left, right = axes
    delta = cells.loc[cells["series"] == DECIDING, "delta"].iloc[0]
    left.set(xlabel=f"user-level ε (δ = {power_of_ten(delta)})", ylabel="population MSE", title=f"At the {CHOSEN}")
    right.set(xlabel="epochs E", title=f"At ε = {SMALLEST_EPSILON}")
    right.tick_params(labelleft=True)
    marks = [
        (Line2D([], [], marker="o", linestyle="none", color="0.35", markerfacecolor=fill, markersize=6), text)
        for fill, text in (("0.35", "minimum exists in all runs"), ("white", "lost in some run"))
    ]
    handles, labels = left.get_legend_handles_labels()
    figure.legend(
        [*handles, *(mark for mark, _ in marks)],
        [*labels, *(text for _, text in marks)],
        loc="outside lower center",
        ncols=5,
    )
    return figure, numbers


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """Figure 2, the comparison of readings, and that of rules where Algorithm 2 has no minimum."""
    return {
        "jain2021/figure2": draw_curves(cells),
        "jain2021/figure2_readings": draw_readings(cells),
        "jain2021/figure2_fallbacks": draw_fallbacks(cells),
    }
