"""Figures of the study centaur_rates (shen2023, Theorem 5.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.style import COLOURS, few_ticks, new_figure, plain_ticks, ticks_at, with_bars
from replication.run.settings import PlotSettings
from replication.studies.centaur_rates.analysis import BALL


def draw_centaur_rate(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw the distance over that of the start against rounds."""
    figure, axis = new_figure(5.4, 3.6)
    for colour, (kappa, part) in zip(COLOURS, numbers.groupby("kappa"), strict=False):
        look = {"fmt": "o", "color": colour, "markersize": 5, "label": f"κ = {kappa:g}"}
        with_bars(axis, part, "rounds", "ratio", "lowest", "highest", **look)
        rounds = np.arange(part["rounds"].max() + 1)
        axis.plot(rounds, part["law"].iloc[0] ** rounds, color=colour, linestyle=":")
        axis.plot(rounds, part["bound"].iloc[0] ** rounds, color=colour, linestyle="--", linewidth=0.9)
    axis.set(yscale="log", xlabel="rounds", ylabel="dist2 over that of the start")
    plain_ticks(axis.yaxis)
    axis.legend()
    return figure


def draw_noise_cap(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw steady distances at a tenth of the noise caps, and distances from the start at a quarter, by rank."""
    caps, starts = numbers[numbers["kappa"].notna()], numbers[numbers["kappa"].isna()]
    figure, (left, right) = new_figure(7.9, 3.4, ncols=2, width_ratios=(1.4, 1))
    settings = sorted(set(zip(caps["kappa"], caps["rank"], strict=True)))
    for colour, (form, part) in zip((COLOURS[0], COLOURS[3]), caps.groupby("form"), strict=True):
        places = [settings.index(pair) for pair in zip(part["kappa"], part["rank"], strict=True)]
        look = {"fmt": "o", "color": colour, "markersize": 5, "label": form}
        with_bars(left, part.assign(place=places), "place", "dist2", "lowest", "highest", **look)
    left.axhline(BALL, color="0.35", linewidth=0.9)
    left.set(yscale="log", ylabel="steady dist2")
    left.set_xticks(range(len(settings)), [f"κ = {kappa:g}\nk = {rank:g}" for kappa, rank in settings], fontsize=8)
    plain_ticks(left.yaxis)
    left.legend()
    for colour, (_, part) in zip((COLOURS[0], COLOURS[3]), starts.groupby("form"), strict=True):
        right.vlines(part["rank"], part["lowest"], part["highest"], color=colour, linewidth=5, alpha=0.35)
        right.plot(part["rank"], part["steady"], "o", color=colour, markersize=5)
        right.plot(part["rank"], part["law"], color=colour, linestyle=":", linewidth=1.2)
    right.axhline(1, color="0.35", linewidth=0.9)
    right.set(xlabel="k", ylabel="dist2 over that of the start", ylim=(0, None))
    right.set_xticks(sorted(starts["rank"].unique()))
    return figure


def draw_participation(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw error and epsilon against the probability to take part."""
    figure, axes = new_figure(7.2, 3.2, ncols=2)
    for colour, (divisor, part) in zip((COLOURS[0], COLOURS[3]), numbers.groupby("divide_by"), strict=True):
        look = {"color": colour, "markersize": 5, "label": f"{divisor} number"}
        axes[0].errorbar(part["participation"], part["distF"], 2 * part["spread"], fmt="o", **look)
        axes[1].plot(part["participation"], part["epsilon"], "o-", **look)
    axes[0].plot(part["participation"], part["predicted"], color="0.25", linestyle=":")
    for axis, ylabel in zip(axes, ("steady distF", "ε of all rounds"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="p", ylabel=ylabel)
        ticks_at(axis, part["participation"])
        few_ticks(axis.yaxis)
    axes[0].legend()
    return figure
