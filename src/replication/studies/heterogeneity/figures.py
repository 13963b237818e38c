# ruff: noqa: RUF001  (typographic signs are meant)
"""Figures of the study heterogeneity (shen2023, Remark 3.1 and Section 6)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.drawing.style import (
    COLOURS,
    NOTE,
    few_ticks,
    new_figure,
    plain_ticks,
    power_of_ten,
    ticks_at,
    with_bars,
)
from replication.run.settings import PlotSettings
from replication.studies.heterogeneity.analysis import CENTAUR

KINDS = {
    "representation": ("representation alone", 0),
    "shared": ("representation and head", 1),
    "full": ("full model", 3),
}
"""What is shared -> label, colour."""
NAMES = {
    CENTAUR: ("CENTAUR, random start", "o-", 0),
    "centaur": ("CENTAUR, power method", "o--", 9),
    "ppsgd": ("PPSGD", "s-", 2),
    "dp_fedavg": ("DP-FedAvg", "^-", 3),
    "pmtl": ("PMTL", "v-", 4),
    "altmin": ("jain2021", "D-", 1),
    "altmin-eigclip": ("jain2021, eigenvalues raised", "D--", 1),
}
"""Series -> label, style, colour."""


def draw_kind(
    axis: Axes, rows: pd.DataFrame, x: str, kind: str, what: str = "median", mark: str = "o-", of: str = ""
) -> None:
    """Draw a number of one kind of updates against a column; `of` is added to its label."""
    label, colour = KINDS[kind]
    axis.plot(rows[x], rows[f"{kind}_{what}"], mark, color=COLOURS[colour], markersize=4, label=label + of)


def draw_distance(axis: Axes, rows: pd.DataFrame) -> None:
    """Draw the median norm with the range up to the 99 % quantile, against the distance."""
    for kind, (_, colour) in KINDS.items():
        draw_kind(axis, rows, "start_sine", kind)
        ends = rows[f"{kind}_median"], rows[f"{kind}_q99"]
        axis.fill_between(rows["start_sine"], *ends, color=COLOURS[colour], alpha=0.12, linewidth=0)
    for law in ("representation", "full"):
        axis.plot(rows["start_sine"], rows[law], color="0.25", linestyle=":", linewidth=1.3)
    axis.set(xlabel="distance from the optimum", ylabel="norm of an update", ylim=(0, None), title="Around the optimum")
    axis.legend(loc="upper left")


def draw_ranks(axis: Axes, rows: pd.DataFrame) -> None:
    """Draw median norms against the rank, at two distances."""
    for series, mark in (("rank-near", "o-"), ("rank-far", "s--")):
        part = rows[rows["series"] == series]
        where = part["start_sine"].iloc[0]
        for kind in ("representation", "full"):
            draw_kind(axis, part, "rank", kind, mark=mark, of=f", at {where:g}")
    axis.set(xscale="log", yscale="log", xlabel="k", ylabel="median norm of an update", title="Against the rank")
    ticks_at(axis, part["rank"])
    few_ticks(axis.yaxis)
    axis.legend(loc="upper left", fontsize=7.5)


def draw_drift(axis: Axes, rows: pd.DataFrame) -> None:
    """Draw the drift at the optimum against what users have in common."""
    for rank, mark in ((1, "o-"), (2, "s--")):
        for kind in ("full", "representation"):
            draw_kind(axis, rows[rows["rank"] == rank], "head_bias", kind, "drift", mark, f", k = {rank}")
    line = rows[rows["rank"] == 1]
    axis.plot(line["head_bias"], line["drift_law"], color="0.25", linestyle=":", linewidth=1.3)
    axis.set(
        xlabel="bias b of the heads", ylabel="drift at the optimum, over the bound", title="Clipping at the optimum"
    )
    axis.legend(loc="upper left", fontsize=7.5)


def draw_noise(axis: Axes, rows: pd.DataFrame) -> None:
    """Draw median norms at the optimum against the label noise."""
    for kind in KINDS:
        draw_kind(axis, rows, "label_noise_sd", kind)
    axis.set(xlabel="σ, label noise", ylabel="median norm at the optimum", ylim=(0, None), title="With label noise")
    axis.legend(loc="lower right")


def draw_update_norms(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw norms against distance, rank and label noise, and the drift of clipped updates."""
    figure, axes = new_figure(7.8, 6.2, nrows=2, ncols=2)
    distance = numbers[numbers["series"] == "distance"]
    silent = distance[distance["start_sine"] == 0]
    draw_distance(axes[0, 0], distance)
    draw_ranks(axes[0, 1], numbers)
    draw_noise(axes[1, 0], pd.concat([silent, numbers[numbers["series"] == "noise"]]))
    draw_drift(axes[1, 1], numbers[numbers["series"] == "bias"])
    return figure


def draw_baselines(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw excess risk against epsilon, the clipping bound, and what users have in common."""
    figure, axes = new_figure(9.4, 3.9, ncols=3, width_ratios=(4, 3, 3))
    for axis, (panel, points) in zip(axes, numbers.groupby("panel", sort=False), strict=True):
        for method, part in points.groupby("method", sort=False):
            label, style, colour = NAMES[method]
            look = {"fmt": style, "color": COLOURS[colour], "markersize": 4, "elinewidth": 0.8, "label": label}
            with_bars(axis, part, "value", "risk", "low", "high", **look)
        axis.set(yscale="log")
        plain_ticks(axis.yaxis)
        axis.minorticks_off()
    alone, delta = numbers[["alone", "delta"]].iloc[0]
    shown, common = (numbers.loc[numbers["panel"] == panel, "epsilon"].iloc[0] for panel in ("bound", "common"))
    for axis, panel in zip(axes[:2], ("epsilon", "bound"), strict=True):
        axis.axhline(alone, color="0.45", linewidth=0.9, linestyle=":")
        axis.set_xscale("log")
        ticks_at(axis, np.unique(numbers.loc[numbers["panel"] == panel, "value"].round(6)))
    axes[0].annotate("each user alone", (1, alone), xytext=(2, -12), **NOTE)
    axes[0].set(xlabel=f"ε (exact, δ = {power_of_ten(delta)})", ylabel="excess risk", title="At the rule's bounds")
    axes[1].set(xlabel="clipping bound over the rule's", title=f"ε = {shown:g}")
    axes[2].set(xlabel="bias b of the heads", title=f"Rank 1, ε = {common:g}")
    axes[2].set_xticks([0, 0.5, 1])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure
