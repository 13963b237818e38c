"""Figures of the study unit_figure2 (unit steps on the problem of Figure 2)."""

import numpy as np

from replication.drawing import CI, METHODS, NOTE, DataFrame, Look, Panel, Picture, PlotSettings, look, power_of_ten

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


def by_epsilon(axis: Panel, numbers: DataFrame, looks: tuple[Look, ...], y: str) -> None:
    """Draw curves with their intervals against epsilon."""
    for (name, table), one in zip(numbers.groupby("curve", sort=False), looks, strict=True):
        axis.series(table, "x", "y", one.but(name), ends=CI)
    delta = rf" ($\delta$ = {power_of_ten(numbers['delta'].iloc[0])})" if "delta" in numbers else ""
    axis.label(rf"user-level $\epsilon${delta}", y, log="xy", xticks=numbers["x"])


def draw_figure2(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw Figure 2 of jain2021 with unit steps in it."""
    axis = figure.panels(7.4, 5.2)
    curves, floor = numbers.iloc[:-1], numbers["y"].iloc[-1]
    by_epsilon(axis, curves, CURVES, "excess risk")
    axis.level(floor, "heads in the true subspace, non-private", dash=":")
    axis.set_ylim(floor / 3)


def marks(axis: Panel, table: DataFrame, one: Look, spelled: str = ".3g") -> None:
    """Draw one mark a row, from top to bottom, with the number beside it in the format `spelled`."""
    table = table.assign(place=np.arange(len(table))[::-1])
    axis.series(table, "y", "place", one, ends=CI, sideways=True)
    axis.level(1, "as without privacy", along="y", dash=":")
    for place, value in zip(table["place"], table["y"], strict=True):
        text = f"{value:{spelled}}"
        text = f"{float(text):,.0f}" if "e" in text else text
        axis.annotate(text, (value, place), xytext=(0, 6), ha="center", **NOTE | {"fontsize": 8})
    axis.set(ylim=(-0.6, len(table) - 0.2))
    axis.set_yticks(table["place"], [str(name).strip() for name in table["curve"]])
    axis.grid(axis="y", visible=False)


def draw_ladder(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw the ladders from the published methods, and unit steps with one part removed."""
    axes = figure.panels(9.4, 5.8, ncols=2)
    looks = (Look("towards unit steps", "#0072B2", dash=""), Look("a part left out", "#D55E00", "^", ""))
    for axis, (_, part), one, title in zip(
        axes, numbers.groupby("x"), looks, ("From published methods", "Without one part"), strict=True
    ):
        marks(axis, part, one)
        axis.label("excess risk over the non-private one", title=title, log="x")


def draw_departures(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw risks under model misspecification, and with wrong hyperparameters."""
    axis = figure.panels(6.6, 4.3)
    marks(axis, numbers, look("unit", dash=""), ".3f")
    axis.label("excess risk over the non-private one on the same users")


def draw_full_prior(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw risks for heads of full rank: a prior, two subspaces, and each user alone."""
    axis = figure.panels(5.8, 4.2)
    curves, own = numbers.iloc[:-1], numbers.iloc[-1]
    by_epsilon(axis, curves, PRIORS, "risk over that of predicting zero")
    axis.level(own["y"], own["curve"], colour=METHODS["own"].colour)
