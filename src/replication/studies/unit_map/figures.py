"""Figures of the study unit_map."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, new_figure, plain_ticks, ticks_at
from replication.run.settings import PlotSettings
from replication.studies.unit_map.analysis import METHODS

STYLES = {"unit": ("o-", 3), "centaur": ("P-", 5), "fedrep": ("D-", 4), "altmin": ("s-", 2)}


def draw_lines(axis: Axes, numbers: pd.DataFrame, x: str, y: str) -> None:
    """Draw medians and intervals of every method."""
    for name, (style, colour) in STYLES.items():
        table = numbers[numbers["method"] == name]
        axis.plot(table[x], table[y], style, color=COLOURS[colour], markersize=5, linewidth=1.3, label=METHODS[name])
        axis.vlines(table[x], table["ci_low"], table["ci_high"], color=COLOURS[colour], linewidth=1.2)
        axis.set(xscale="log", yscale="log")
        ticks_at(axis, sorted(numbers[x].unique()))
        plain_ticks(axis.yaxis)


def draw_map(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw risk against epsilon, a panel for each number of users."""
    figure, axes = new_figure(8.6, 3.9, ncols=numbers["users"].nunique(), sharey=True, squeeze=False)
    for axis, (users, part) in zip(axes[0], numbers.groupby("users"), strict=True):
        draw_lines(axis, part, "epsilon", "excess_risk")
        axis.axhline(part["floor"].iloc[0], color="0.3", linewidth=1, linestyle=":")
        axis.axhline(part["zero"].iloc[0], color="0.7", linewidth=1)
        axis.set(xlabel="ε", title=f"n = {users:,}")
    axes[0][0].set(ylabel="excess risk")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def draw_map_samples(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw risk against samples and label noise, a row of panels for each epsilon."""
    sweeps = {"by samples": "samples of a user, m", "by label noise": r"label noise $\sigma_F$"}
    figure, axes = new_figure(8.0, 6.2, nrows=numbers["epsilon"].nunique(), ncols=2, sharey=True, squeeze=False)
    for row, (epsilon, part) in zip(axes, numbers.groupby("epsilon"), strict=True):
        for axis, (sweep, label) in zip(row, sweeps.items(), strict=True):
            here = part[part["sweep"] == sweep]
            draw_lines(axis, here, "x", "share")
            floor = here.drop_duplicates("x")
            axis.plot(floor["x"], floor["floor"], color="0.3", linewidth=1, linestyle=":")
            axis.axhline(1, color="0.7", linewidth=1)
            axis.set(xlabel=label, title=f"ε = {epsilon:g}")
        row[0].set(ylabel="risk over that of predicting zero")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def draw_users_methods(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the users needed against the dimension."""
    figure, axis = new_figure(5.8, 4.0)
    draw_lines(axis, numbers, "dim", "smallest_users")
    axis.set(xlabel="d", ylabel="users")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
