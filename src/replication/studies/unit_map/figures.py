"""Figures of the study unit_map: unit steps on Figure 2's problem, and all methods over many settings."""

from typing import Any

import numpy as np

from replication.drawing import (
    CI,
    GREY,
    METHODS,
    NOTE,
    DataFrame,
    Look,
    Panel,
    Picture,
    PlotSettings,
    look,
    looks,
    power_of_ten,
    thinned,
)
from replication.run.ingredients import called
from replication.studies.unit_map.analysis import BARE, RIVALS
from replication.studies.unit_map.analysis import METHODS as METHODS_SHOWN

LOOKS = {name: look(name, METHODS_SHOWN[name]) for name in ("unit", "centaur", "fedrep", "altmin")}
USERS_LOOKS = {f"{name}-published": look(name, filled=False, dash="") for name in METHODS_SHOWN if name != "unit"}


def by_epsilon(axis: Panel, numbers: DataFrame, shown: dict[str, Look], y: str) -> None:
    """Draw curves with their intervals against epsilon."""
    axis.groups(numbers, "x", "y", "curve", shown, ends=CI)
    delta = rf" ($\delta$ = {power_of_ten(numbers['delta'].iloc[0])})" if "delta" in numbers else ""
    axis.label(rf"user-level $\epsilon${delta}", y, log="xy", xticks=numbers["x"])


def draw_figure2(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw Figure 2 of jain2021 with a curve of unit steps."""
    axis = figure.panel(7.4, 5.2)
    curves, floor = numbers.iloc[:-1], numbers["y"].iloc[-1]
    by_epsilon(axis, curves, looks("unit_map", "curves"), "excess risk")
    axis.level(floor, "heads in the true subspace, non-private", dash=":")
    axis.set_ylim(floor / 3)


def marks(axis: Panel, table: DataFrame, style: Look, spelled: str = ".3g") -> None:
    """Draw one mark a row, from top to bottom, with the number beside it in the format `spelled`."""
    table = table.assign(place=np.arange(len(table))[::-1])
    axis.series(table, "y", "place", style, ends=CI, sideways=True)
    axis.level(1, "as without privacy", along="y", dash=":")
    smaller: dict[str, Any] = NOTE | {"fontsize": 8}
    for place, value in zip(table["place"], table["y"], strict=True):
        text = f"{value:{spelled}}"
        text = f"{float(text):,.0f}" if "e" in text else text
        axis.annotate(text, (value, place), xytext=(0, 6), ha="center", **smaller)
    axis.set(ylim=(-0.6, len(table) - 0.2))
    axis.set_yticks(table["place"], [str(name).strip() for name in table["curve"]])
    axis.grid(axis="y", visible=False)


def draw_rivals(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw private FedRep by ingredient beside unit steps, a panel for each problem."""
    parts = list(numbers.groupby("problem"))
    added = {name: f"the same with {called('unit_map', f'rival-{name}', f'rival-{BARE}')}" for name in RIVALS}
    labels = added | {BARE: f"{METHODS_SHOWN['fedrep']}, {called('unit_map', f'rival-{BARE}')}"}
    rivals = {name: style.but(labels.get(name, style.label)) for name, style in looks("unit_map", "rivals").items()}
    axes = figure.panels(9.4, 4.4, ncols=len(parts), sharex=True, sharey=True)
    for axis, (problem, part) in zip(axes, parts, strict=True):
        axis.groups(part, "epsilon", "ratio", "method", rivals, 1.05, ends=CI)
        axis.level(1, "heads in the true subspace, non-private", dash=":")
        y = "excess risk over the non-private one" if problem == "F" else ""
        axis.label(r"user-level $\epsilon$", y, f"Problem {problem}", "xy", numbers["epsilon"])


def draw_ablation(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw unit steps with one part removed."""
    axis = figure.panel(6.0, 3.4)
    marks(axis, numbers, look("unit", dash=""))
    axis.label("excess risk over the non-private one", log="x")


def draw_departures(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw risks under model misspecification, and with wrong hyperparameters."""
    axis = figure.panel(6.6, 4.3)
    marks(axis, numbers, look("unit", dash=""), ".3f")
    axis.label("excess risk over the non-private one on the same users")


def draw_full_prior(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw risks for heads of full rank: a prior, two subspaces, and each user alone."""
    axis = figure.panel(5.8, 4.2)
    curves, own = numbers.iloc[:-1], numbers.iloc[-1]
    by_epsilon(axis, curves, looks("unit_map", "priors"), "risk over that of predicting zero")
    axis.level(own["y"], own["curve"], colour=METHODS["own"].colour)


def draw_map(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw risk against epsilon, a panel for each number of users."""
    axes = figure.panels(8.8, 4.3, ncols=numbers["users"].nunique(), sharey=True, squeeze=False)
    for axis, (users, part) in zip(axes[0], numbers.groupby("users"), strict=True):
        axis.groups(part, "epsilon", "excess_risk", "method", LOOKS, 1.15, ends=CI)
        axis.level(part["floor"].iloc[0], "heads in the true subspace, non-private", dash=":")
        axis.level(part["zero"].iloc[0], "predicting zero", colour="0.6", dash="-")
        ticks = thinned(part["epsilon"])
        axis.label(r"$\epsilon$", "excess risk" if axis is axes[0, 0] else "", f"$n$ = {users:,}", "xy", ticks)


def draw_map_samples(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw risk against samples and label noise, a row of panels for each epsilon."""
    sweeps = {"by samples": "samples of a user, $m$", "by label noise": r"label noise $\sigma_F$"}
    axes = figure.panels(8.0, 6.6, nrows=numbers["epsilon"].nunique(), ncols=2, sharey=True, squeeze=False)
    for row, (epsilon, part) in zip(axes, numbers.groupby("epsilon"), strict=True):
        for axis, (sweep, x) in zip(row, sweeps.items(), strict=True):
            here = part[part["sweep"] == sweep]
            axis.groups(here, "x", "share", "method", LOOKS, 1.08, ends=CI)
            floor = here.drop_duplicates("x").sort_values("x")
            axis.curve(floor["x"], floor["floor"], Look("heads in the true subspace, non-private", GREY, "", ":"))
            axis.level(1, "predicting zero", colour="0.6", dash="-")
            y = "risk over that of predicting zero" if axis is row[0] else ""
            axis.label(x, y, rf"$\epsilon$ = {epsilon:g}", "xy", here["x"])


def draw_users_methods(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the users needed against the dimension."""
    axis = figure.panel(5.8, 4.4)
    names = {
        name: f"{METHODS_SHOWN[name.split('-')[0]]}, {called('unit_map', f'users-{name}')}" for name in USERS_LOOKS
    }
    shown = LOOKS | {name: style.but(names[name]) for name, style in USERS_LOOKS.items()}
    axis.groups(numbers, "dim", "needed", "method", shown, ends=CI)
    axis.label("$d$", "users", log="xy", xticks=numbers["dim"])
