"""Figures of the study figure2 (jain2021, Section 6)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from replication.drawing.style import COLOURS, NOTE, few_ticks, new_figure, plain_ticks, power_of_ten, with_bars
from replication.run.settings import PlotSettings
from replication.studies.figure2.analysis import CHOSEN, COMPARABLE_EPSILON, DECIDING, PRINTED_RULE, SMALLEST_EPSILON

STYLES = (("o-", 0), ("s-", 2), ("o--", 0), ("s--", 2), ("^-", 3), ("-", 1), (":", 7), ("-", 9))
"""Line styles and colours of the curves, in their order."""
SHOWN = ((1, "o"), (2, "s"), (5, "^"), (10, "D"))
"""Epsilons of the comparison of readings, with their marks."""
RULES = {PRINTED_RULE: ("o-", 0), "ridge": ("s-", 1), "eigclip": ("D-", 2)}
"""Rule where no minimum exists -> line style, colour."""


def draw_figure2(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw Figure 2 on a log axis, and on a linear axis from 0 to 4."""
    delta = power_of_ten(numbers["delta"].iloc[0])
    figure, (log_axis, linear_axis) = new_figure(9.6, 4.6, ncols=2)
    for axis in (log_axis, linear_axis):
        for (label, part), (style, colour) in zip(numbers.groupby("curve", sort=False), STYLES, strict=True):
            look = {"color": COLOURS[colour], "markersize": 5, "linewidth": 1.6, "label": label, "clip_on": False}
            fill = "white" if "--" in style else COLOURS[colour]
            axis.plot(part["epsilon"], part["mse"], style, markerfacecolor=fill, **look)
            ends = part["ci_low"], part["ci_high"]
            axis.fill_between(part["epsilon"], *ends, color=COLOURS[colour], alpha=0.18, linewidth=0)
        axis.axvline(COMPARABLE_EPSILON, color="0.6", linewidth=0.8, linestyle=(0, (1, 2)), zorder=0)
        axis.set(
            xlabel=f"user-level ε (δ = {delta})", ylabel="population MSE", xticks=sorted(numbers["epsilon"].unique())
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
    return figure


def draw_figure2_readings(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw all readings, ours last: MSE at the best choice, one mark per epsilon, a little apart in height."""
    figure, axis = new_figure(7.6, 0.27 * len(numbers) + 1.3)
    places = np.arange(len(numbers))[::-1]
    scores = numbers[[f"mse_{epsilon}" for epsilon, _ in SHOWN]]
    axis.hlines(places, scores.min(axis=1), scores.max(axis=1), color="0.8", linewidth=1, zorder=1)
    colours = colormaps["viridis_r"](np.linspace(0, 1, len(SHOWN) + 3)[2:-1])
    lifts = np.linspace(0.12, -0.12, len(SHOWN))
    for (epsilon, mark), colour, lift in zip(SHOWN, colours, lifts, strict=True):
        look = {"color": colour, "markersize": 6.5, "markeredgecolor": "white", "markeredgewidth": 0.6}
        axis.plot(numbers[f"mse_{epsilon}"], places + lift, mark, label=f"ε = {epsilon}", **look)
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
    return figure


def draw_figure2_fallbacks(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the rules where no minimum exists: MSE against epsilon and, at the smallest, against epochs."""
    figure, axes = new_figure(8.6, 3.9, ncols=2, sharey=True)
    for axis, panel in zip(axes, (CHOSEN, "epochs"), strict=True):
        shown = numbers[numbers["panel"] == panel]
        ticks = sorted(shown["x"].unique())
        for place, (rule, (style, colour)) in enumerate(RULES.items()):
            part = shown[shown["rule"] == rule]
            part = part.assign(x=part["x"] * 1.03 ** (place - 1))  # side by side, so that bars do not overlap
            look = {"color": COLOURS[colour]}
            axis.plot(part["x"], part["mse"], style[1:], label=rule, linewidth=1.6, **look)
            with_bars(axis, part, "x", "mse", fmt="none", linewidth=1.1, **look)
            for is_lost, filled in ((False, COLOURS[colour]), (True, "white")):
                marks = part[(part["lost"] > 0) == is_lost]
                axis.plot(marks["x"], marks["mse"], style[0], markerfacecolor=filled, markersize=6, **look)
        axis.set(xscale="log", yscale="log")
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_xticks([], minor=True)
        few_ticks(axis.yaxis)
    left, right = axes
    delta = power_of_ten(numbers["delta"].iloc[0])
    left.set(xlabel=f"user-level ε (δ = {delta})", ylabel="population MSE", title=f"At the {CHOSEN}")
    right.set(xlabel="epochs E", title=f"At ε = {SMALLEST_EPSILON}")
    right.tick_params(labelleft=True)
    look = {"marker": "o", "linestyle": "none", "color": "0.35", "markersize": 6}
    handles, _ = left.get_legend_handles_labels()
    handles += [
        Line2D([], [], markerfacecolor=fill, label=text, **look)
        for fill, text in (("0.35", "minimum exists in all runs"), ("white", "lost in some run"))
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)
    return figure
