"""Figures of the study unit_map: unit steps on Figure 2's problem, and beside published methods over many settings."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.drawing.series import curve, groups, legend, level, series
from replication.drawing.style import (
    GREY,
    METHODS,
    NOTE,
    Look,
    label,
    look,
    new_figure,
    power_of_ten,
)
from replication.drawing.sweeps import thinned
from replication.run.settings import PlotSettings
from replication.studies.unit_map.analysis import METHODS as METHODS_SHOWN

CURVES = (
    look("altmin", filled=False, dash="--"),
    look("altmin", marker="v"),
    look("fedrep"),
    look("centaur"),
    look("unit"),
    Look("", "0.25", "x", ""),
)
"""Looks of the curves of Figure 2, in their order."""
PRIORS = (look("mixed"), look("unit"), look("unit", marker="s", dash="--"))
"""Of those with heads of full rank."""
LOOKS = {name: look(name, METHODS_SHOWN[name]) for name in ("unit", "centaur", "fedrep", "altmin")}


def by_epsilon(axis: Axes, numbers: pd.DataFrame, looks: tuple[Look, ...], y: str) -> None:
    """Draw curves with their intervals against epsilon."""
    for (name, table), one in zip(numbers.groupby("curve", sort=False), looks, strict=True):
        series(axis, table, "x", "y", Look(**vars(one) | {"label": name}), low="ci_low", high="ci_high")
    delta = rf" ($\delta$ = {power_of_ten(numbers['delta'].iloc[0])})" if "delta" in numbers else ""
    label(axis, rf"user-level $\epsilon${delta}", y, log="xy", xticks=sorted(numbers["x"].unique()))


def draw_figure2(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw Figure 2 of jain2021 with unit steps in it."""
    figure, axis = new_figure(7.4, 5.2)
    curves, floor = numbers.iloc[:-1], numbers["y"].iloc[-1]
    by_epsilon(axis, curves, CURVES, "excess risk")
    level(axis, floor, "heads in the true subspace, non-private", dash=":")
    axis.set_ylim(floor / 3)
    legend(figure)
    return figure


def marks(axis: Axes, table: pd.DataFrame, one: Look, spelled: str = ".3g") -> None:
    """Draw one mark a row, from top to bottom, with the number beside it in the format `spelled`."""
    table = table.assign(place=np.arange(len(table))[::-1])
    series(axis, table, "y", "place", one, low="ci_low", high="ci_high", sideways=True)
    level(axis, 1, "as without privacy", along="y", dash=":")
    for place, value in zip(table["place"], table["y"], strict=True):
        text = f"{value:{spelled}}"
        text = f"{float(text):,.0f}" if "e" in text else text
        axis.annotate(text, (value, place), xytext=(0, 6), ha="center", **NOTE | {"fontsize": 8})
    axis.set(ylim=(-0.6, len(table) - 0.2))
    axis.set_yticks(table["place"], [str(name).strip() for name in table["curve"]])
    axis.grid(axis="y", visible=False)


def draw_ladder(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the ladders from the published methods, and unit steps with one part removed."""
    figure, axes = new_figure(9.4, 5.8, ncols=2)
    looks = (Look("towards unit steps", "#0072B2", dash=""), Look("a part left out", "#D55E00", "^", ""))
    for axis, (_, part), one, title in zip(
        axes, numbers.groupby("x"), looks, ("From published methods", "Without one part"), strict=True
    ):
        marks(axis, part, one)
        label(axis, "excess risk over the non-private one", title=title, log="x")
    legend(figure)
    return figure


def draw_departures(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw risks under model misspecification, and with wrong hyperparameters."""
    figure, axis = new_figure(6.6, 4.3)
    marks(axis, numbers, look("unit", dash=""), ".3f")
    label(axis, "excess risk over the non-private one on the same users")
    legend(figure)
    return figure


def draw_full_prior(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw risks for heads of full rank: a prior, two subspaces, and each user alone."""
    figure, axis = new_figure(5.8, 4.2)
    curves, own = numbers.iloc[:-1], numbers.iloc[-1]
    by_epsilon(axis, curves, PRIORS, "risk over that of predicting zero")
    level(axis, own["y"], own["curve"], colour=METHODS["own"].colour)
    legend(figure)
    return figure


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
