"""Figures of the study unit_figure2 (unit steps, a method of this project)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, NOTE, few_ticks, new_figure, plain_ticks, power_of_ten, ticks_at
from replication.run.settings import PlotSettings

CURVES = (("o--", 0), ("s-", 2), ("D-", 4), ("P-", 5), ("o-", 3), ("x", 7))
"""Styles and colours of the curves of Figure 2, in their order."""
PRIORS = (("o-", 3), ("s-", 0), ("^-", 0))
"""Of those with heads of full rank."""


def draw_lines(axis: Axes, numbers: pd.DataFrame, styles: tuple[tuple[str, int], ...]) -> None:
    """Draw curves with their intervals against epsilon."""
    for (label, table), (style, number) in zip(numbers.groupby("curve", sort=False), styles, strict=True):
        colour = COLOURS[number]
        look = {"color": colour, "markersize": 5, "linewidth": 1.3, "label": label}
        axis.plot(table["x"], table["y"], style, markerfacecolor="white" if "--" in style else colour, **look)
        axis.vlines(table["x"], table["ci_low"], table["ci_high"], color=colour, linewidth=1.2)


def draw_figure2(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw Figure 2 of jain2021 with unit steps in it."""
    figure, axis = new_figure(7.4, 4.8)
    curves, floor = numbers.iloc[:-1], numbers["y"].iloc[-1]
    draw_lines(axis, curves, CURVES)
    axis.axhline(floor, color="0.3", linewidth=1, linestyle=":")
    where = (axis.get_xlim()[1], floor)
    axis.annotate("heads in the true subspace, non-private", where, xytext=(-4, -11), ha="right", **NOTE)
    delta = power_of_ten(numbers["delta"].iloc[0])
    axis.set(xscale="log", yscale="log", xlabel=f"user-level ε (δ = {delta})", ylabel="excess risk")
    axis.set_ylim(floor / 3)
    ticks_at(axis, sorted(curves["x"].unique()))
    plain_ticks(axis.yaxis)
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def draw_marks(axis: Axes, table: pd.DataFrame, colour: str, spelled: str = ".3g") -> None:
    """Draw one mark a row, from top to bottom, with the number beside it in the format `spelled`."""
    places = np.arange(len(table))[::-1]
    axis.hlines(places, table["ci_low"], table["ci_high"], color=colour, linewidth=1.4)
    axis.plot(table["y"], places, "o", color=colour, markersize=5)
    for place, value in zip(places, table["y"], strict=True):
        text = f"{value:{spelled}}"
        text = f"{float(text):,.0f}" if "e" in text else text
        axis.annotate(text, (value, place), xytext=(0, 5), textcoords="offset points", ha="center", fontsize=8)
    axis.set(
        xscale="log",
        ylim=(-0.6, len(table) - 0.3),
        yticks=places,
        yticklabels=[str(one).strip() for one in table["curve"]],
    )
    axis.axvline(1, color="0.4", linewidth=1, linestyle=":")
    axis.grid(axis="y", visible=False)
    plain_ticks(axis.xaxis)


def draw_ladder(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the ladders from the published methods, and unit steps with one part removed."""
    figure, axes = new_figure(9.4, 5.4, ncols=2)
    for axis, (_, part), colour in zip(axes, numbers.groupby("x"), (COLOURS[0], COLOURS[3]), strict=True):
        draw_marks(axis, part, colour)
        axis.set(xlabel="excess risk over the non-private one")
    return figure


def draw_departures(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw risks under model misspecification, and with wrong hyperparameters."""
    figure, axis = new_figure(6.4, 3.9)
    draw_marks(axis, numbers, COLOURS[3], ".3f")
    axis.set(xscale="linear", xlabel="excess risk over the non-private one on the same users")
    return figure


def draw_full_prior(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw risks for heads of full rank: a prior, two subspaces, and each user alone."""
    figure, axis = new_figure(5.8, 3.8)
    curves, own = numbers.iloc[:-1], numbers.iloc[-1]
    draw_lines(axis, curves, PRIORS)
    axis.axhline(own["y"], color=COLOURS[1], linewidth=1.3, label=own["curve"])
    axis.set(xscale="log", yscale="log", xlabel="user-level ε", ylabel="risk over that of predicting zero")
    ticks_at(axis, sorted(curves["x"].unique()))
    few_ticks(axis.yaxis)
    figure.legend(loc="outside lower center", ncols=2)
    return figure
