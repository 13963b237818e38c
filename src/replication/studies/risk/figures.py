"""Figures of the study risk (jain2021, Theorems 1.1 and 4.2, Remark 1, eq. 22 to 24)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, NOTE, few_ticks, new_figure, plain_ticks, ticks_at
from replication.drawing.sweeps import sweep_panel
from replication.run.settings import PlotSettings
from replication.studies.risk.analysis import LEARNED


def draw_risk_heads(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the measured over the exact risk and over eq. (22) against the samples per user."""
    figure, axes = new_figure(7.4, 3.3, ncols=2)
    for axis, column, title in (
        (axes[0], "exact", "over the law F6"),
        (axes[1], "printed", "over eq. (22), m/2 samples"),
    ):
        for colour, (sine, part) in zip(COLOURS, numbers.groupby("start_sine"), strict=False):
            look = {"color": colour, "markersize": 4.5, "label": f"sine {sine:g}"}
            axis.plot(part["samples"], part["measured"] / part[column], "o", **look)
        axis.axhline(1, color="0.35", linewidth=0.8)
        axis.set(xscale="log", yscale="log", xlabel="m", title=title)
        ticks_at(axis, sorted(numbers["samples"].unique()))
    axes[0].set(ylabel="measured risk, relative", ylim=(0.9, 1.1))
    axes[0].set_yticks([0.9, 0.95, 1, 1.05, 1.1], ["0.9", "0.95", "1", "1.05", "1.1"])
    few_ticks(axes[1].yaxis)
    axes[1].legend()
    return figure


def draw_risk_known_heads(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the one regression of Remark 1 beside the last round of alternation."""
    figure, axes = new_figure(7.2, 3.2, ncols=2)
    means = numbers.groupby("users")[["known", "fitted"]].agg(["mean", "sem"])
    for colour, mark, name in ((COLOURS[0], "o-", "known"), (COLOURS[1], "s--", "fitted")):
        look = {"fmt": mark, "color": colour, "markersize": 5, "label": f"heads {name}"}
        axes[0].errorbar(means.index, means[name]["mean"], 2 * means[name]["sem"], **look)
    axes[0].set(xscale="log", yscale="log", xlabel="n", ylabel="risk by privacy")
    axes[0].set_xticks(means.index, [f"{users / 1000:g}k" for users in means.index])
    axes[0].minorticks_off()
    plain_ticks(axes[0].yaxis)
    axes[0].legend()
    sweep_panel(axes[1], numbers[numbers["fit"] == "known k"], study.claimed.get("known k"), "k, heads known")
    return figure


def draw_risk_premise(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the share of the zero model's risk against n over the premise of Theorem 1.1."""
    figure, axis = new_figure(5.4, 3.5)
    for colour, (rank, part) in zip(COLOURS, numbers.groupby("rank"), strict=False):
        axis.plot(part["premise"], part["share"], "o-", color=colour, markersize=4.5, label=f"k = {rank}")
        axis.fill_between(part["premise"], part["low"], part["high"], color=colour, alpha=0.15, linewidth=0)
    axis.axvline(1, color=COLOURS[3], linestyle="--", linewidth=1.2)
    axis.annotate("premise", (1, 0.02), xycoords=("data", "axes fraction"), xytext=(4, 0), **NOTE)
    axis.axhline(1, color="0.35", linewidth=0.8)
    axis.annotate("zero model", (numbers["premise"].max(), 1), xytext=(0, 4), ha="right", **NOTE)
    axis.axhline(LEARNED, color="0.7", linewidth=0.8)
    axis.set(xscale="log", yscale="log", xlabel="n / ((d k)^1.5 Δ)", ylabel="risk over that of the zero model")
    plain_ticks(axis.xaxis)
    plain_ticks(axis.yaxis)
    axis.legend(loc="upper right", bbox_to_anchor=(1, 0.9))
    return figure
