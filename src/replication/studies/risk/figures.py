"""Figures of the study risk (jain2021, Theorems 1.1 and 4.2)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import groups, legend, level, series
from replication.drawing.style import (
    METHODS,
    Look,
    distinct,
    graded,
    label,
    new_figure,
)
from replication.drawing.sweeps import sweep_panel
from replication.run.settings import PlotSettings
from replication.studies.risk.analysis import LEARNED


def draw_risk_heads(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the measured over the exact risk and over eq. (22) against the samples per user."""
    figure, axes = new_figure(7.4, 3.8, ncols=2)
    looks, ticks = (
        graded(sorted(numbers["start_sine"].unique()), "sine {}", dash=""),
        sorted(numbers["samples"].unique()),
    )
    panels = {"exact": "Over the law F6", "printed": "Over eq. (22)"}
    for axis, (column, title) in zip(axes, panels.items(), strict=True):
        relative = numbers.assign(relative=numbers["measured"] / numbers[column])
        groups(axis, relative, "samples", "relative", "start_sine", looks)
        level(axis, 1, "equal")
        label(axis, "$m$", "measured risk, relative" if column == "exact" else "", title, "xy", ticks)
    axes[0].set_ylim(0.9, 1.1)
    legend(figure)
    return figure


def draw_risk_known_heads(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the one regression of Remark 1 beside the last round of alternation."""
    figure, axes = new_figure(7.4, 3.8, ncols=2)
    for name, one in distinct(("known", "fitted")).items():
        means = numbers.groupby("users")[name].agg(["mean", "sem"]).reset_index()
        means = means.assign(low=means["mean"] - 2 * means["sem"], high=means["mean"] + 2 * means["sem"])
        series(axes[0], means, "users", "mean", Look(**vars(one) | {"label": f"heads {name}"}), low="low", high="high")
    ticks = sorted(numbers["users"].dropna().unique())
    label(axes[0], "$n$", "risk by privacy", "One regression or alternation", "xy", ticks)
    sweep_panel(axes[1], numbers[numbers["fit"] == "known k"], study.claimed.get("known k"), "$k$, heads known")
    legend(figure)
    return figure


def draw_risk_premise(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the share of the zero model's risk against n over the premise of Theorem 1.1."""
    figure, axis = new_figure(5.6, 4.2)
    looks = graded(sorted(numbers["rank"].unique()), "$k$ = {}")
    groups(axis, numbers, "premise", "share", "rank", looks, low="low", high="high", band=True)
    level(axis, 1, "premise", along="y", colour=METHODS["altmin"].colour)
    level(axis, 1, "zero model", dash="-")
    level(axis, LEARNED, "counts as learnt", dash=":")
    label(axis, r"$n / ((d k)^{1.5} \Delta)$", "risk over that of the zero model", log="xy")
    legend(figure)
    return figure
