"""Figures of the study unit_map: unit steps beside published methods over many settings."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.drawing.series import curve, groups, legend, level
from replication.drawing.style import (
    GREY,
    Look,
    label,
    look,
    new_figure,
)
from replication.drawing.sweeps import thinned
from replication.run.settings import PlotSettings
from replication.studies.unit_map.analysis import METHODS as METHODS_SHOWN

LOOKS = {name: look(name, METHODS_SHOWN[name]) for name in ("unit", "centaur", "fedrep", "altmin")}


def methods(axis: Axes, numbers: pd.DataFrame, x: str, y: str) -> None:
    """Draw medians and intervals of every method."""
    groups(axis, numbers, x, y, "method", LOOKS, low="ci_low", high="ci_high")


def draw_map(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw risk against epsilon, a panel for each number of users."""
    figure, axes = new_figure(8.8, 4.3, ncols=numbers["users"].nunique(), sharey=True, squeeze=False)
    for axis, (users, part) in zip(axes[0], numbers.groupby("users"), strict=True):
        methods(axis, part, "epsilon", "excess_risk")
        level(axis, part["floor"].iloc[0], "heads in the true subspace, non-private", dash=":")
        level(axis, part["zero"].iloc[0], "predicting zero", colour="0.6", dash="-")
        ticks = thinned(part["epsilon"])
        label(axis, r"$\epsilon$", "excess risk" if axis is axes[0, 0] else "", f"$n$ = {users:,}", "xy", ticks)
    legend(figure)
    return figure


def draw_map_samples(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw risk against samples and label noise, a row of panels for each epsilon."""
    sweeps = {"by samples": "samples of a user, $m$", "by label noise": r"label noise $\sigma_F$"}
    figure, axes = new_figure(8.0, 6.6, nrows=numbers["epsilon"].nunique(), ncols=2, sharey=True, squeeze=False)
    for row, (epsilon, part) in zip(axes, numbers.groupby("epsilon"), strict=True):
        for axis, (sweep, x) in zip(row, sweeps.items(), strict=True):
            here = part[part["sweep"] == sweep]
            methods(axis, here, "x", "share")
            floor = here.drop_duplicates("x").sort_values("x")
            curve(axis, floor["x"], floor["floor"], Look("heads in the true subspace, non-private", GREY, "", ":"))
            level(axis, 1, "predicting zero", colour="0.6", dash="-")
            y = "risk over that of predicting zero" if axis is row[0] else ""
            label(axis, x, y, rf"$\epsilon$ = {epsilon:g}", "xy", sorted(here["x"].unique()))
    legend(figure)
    return figure


def draw_users_methods(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the users needed against the dimension."""
    figure, axis = new_figure(5.8, 4.4)
    methods(axis, numbers, "dim", "smallest_users")
    label(axis, "$d$", "users", log="xy", xticks=sorted(numbers["dim"].unique()))
    legend(figure)
    return figure
