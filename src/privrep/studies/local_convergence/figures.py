# ruff: noqa: RUF001  (typographic signs are meant)
"""Figures of the study local_convergence (jain2021, Algorithms 1 and 2)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, NOTE, few_ticks, new_figure, plain_ticks
from privrep.drawing.sweeps import draw_fits
from privrep.evidence.scaling import fit_all
from privrep.laws import jain2021
from privrep.run.settings import PlotSettings
from privrep.studies.local_convergence.analysis import (
    ASKED,
    breakdown_points,
    round_ratios,
    start_points,
    with_predictions,
)

PRIVACY = {f"privacy {name}": sign for name, sign in zip(("n", "d", "k", "Delta", "m", "T"), "ndkΔmT", strict=True)}
LABEL_NOISE = {
    f"label-noise {name}": sign for name, sign in {"n": "n", "d": "d", "k": "k", "Delta": "Δ", "NSR": "NSR"}.items()
}
FLOOR = {f"floor {name}": name for name in ("n", "m", "d", "k", "NSR", "T")}
LAWS = {"gauss n": "Gaussian heads", "aniso n": "unequal heads", "printed n": "thresholds over logarithms"}
LEMMAS = {
    "B.3 n": "B.3, noise on A: n",
    "B.3 d": "B.3, noise on A: d",
    "B.3 k": "B.3, noise on A: k",
    "B.4 sine": "B.4, largest head error: start",
    "B.4 m": "B.4, largest head error: m",
    "B.4 k": "B.4, largest head error: k",
    "B.4 NSR": "B.4, largest head error: σ",
    "B.4 mean m": "mean square head error: m",
    "B.4 mean k": "mean square head error: k",
    "B.4 mean NSR": "mean square head error: σ",
    "B.4 norm n": "B.4, largest head: n",
    "B.5 operator n": "B.5, operator norm: n",
    "B.5 operator m": "B.5, operator norm: m",
    "B.5 operator d": "B.5, operator norm: d",
    "B.5 operator k": "B.5, operator norm: k",
    "B.5 Frobenius d": "B.5, Frobenius norm: d",
    "B.5 Frobenius k": "B.5, Frobenius norm: k",
    "B.6 sine": "B.6, F: start",
    "B.6 n": "B.6, F: n",
    "B.6 m": "B.6, F: m",
    "B.6 d": "B.6, F: d",
    "B.6 k": "B.6, F: k",
    "B.6 NSR": "B.6, F: NSR",
    "B.7 n": "B.7, privacy noise: n",
    "B.7 Delta": "B.7, privacy noise: Δ",
    "B.7 d": "B.7, privacy noise: d",
    "B.7 k": "B.7, privacy noise: k",
}


def draw_start(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """What one round makes of a start, and how the distance falls over rounds."""
    numbers, rounds = start_points(cells), round_ratios(cells)
    rounds = pd.concat([pd.DataFrame({"rounds": [0], "ratio": [1.0], "predicted": [1.0]}), rounds])
    figure, axes = new_figure(7.4, 3.3, ncols=2, width_ratios=(3, 2))
    axis = axes[0]
    for colour, (noise, part) in zip(COLOURS, numbers.groupby("noise_multiplier"), strict=False):
        label = "no noise" if noise == 0 else f"x = {part['noise_ratio'].iloc[0]:.2g}"
        axis.plot(part["start_sine"], part["ratio"], "o-", color=colour, markersize=4.5, label=label)
        axis.fill_between(part["start_sine"], part["ci_low"], part["ci_high"], color=colour, alpha=0.2, linewidth=0)
    axis.axhline(0.5, color="0.35", linewidth=0.8)
    axis.axvline(ASKED, color=COLOURS[3], linestyle="--", linewidth=1.2)
    axis.annotate("asked for", (ASKED, 0.02), xycoords=("data", "axes fraction"), xytext=(4, 0), **NOTE)
    axis.set(xscale="log", yscale="log", xlabel="sine of the start", ylabel="distF after over before one round")
    axis.legend(loc="upper center")
    plain_ticks(axis.xaxis)
    plain_ticks(axis.yaxis)
    axis = axes[1]
    axis.plot(rounds["rounds"], rounds["ratio"], "o-", color=COLOURS[0])
    axis.plot(rounds["rounds"], rounds["predicted"], color="0.25", linestyle=":")
    axis.set(yscale="log", xlabel="rounds", ylabel="distF over that of the start", xticks=list(rounds["rounds"]))
    plain_ticks(axis.yaxis)
    return figure, pd.concat([numbers, rounds], ignore_index=True)


def draw_breakdown(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Error and positive definiteness over the whole range of x."""
    numbers = breakdown_points(cells)
    figure, axes = new_figure(7.6, 3.4, ncols=2)
    marks = dict(zip(sorted(numbers["dim"].unique()), "os^", strict=False))
    for colour, (name, part) in zip(COLOURS, numbers.groupby("fallback", sort=False), strict=False):
        for dim, points in part.groupby("dim"):
            axes[0].errorbar(
                points["noise_ratio"],
                points["square"] ** 0.5,
                points["spread"] / points["square"] ** 0.5,
                fmt=f"{marks[dim]}-",
                color=colour,
                markersize=4,
                linewidth=1,
                label=f"{name}, d = {dim}",
            )
            if name == "solve":
                axes[1].plot(
                    points["noise_ratio"],
                    points["definite"],
                    f"{marks[dim]}-",
                    color=colour,
                    markersize=4,
                    label=f"d = {dim}",
                )
    rank = numbers["rank"].iloc[0]
    grid = np.linspace(numbers["noise_ratio"].min(), 1, 100)
    for dim in marks:
        law = jain2021.step_privacy_resolved(grid, dim, rank) / rank**0.5
        axes[0].plot(grid, law, color="0.25", linestyle=":", linewidth=1.4)
    for axis in axes:
        axis.axvline(1, color="0.6", linewidth=0.8)
        axis.set_xlabel("x = 4 √(dk) η² Δ / n")
    axes[0].set(yscale="log", ylabel="distF / √k")
    few_ticks(axes[0].yaxis)
    axes[0].legend(loc="lower right", fontsize=7.5)
    axes[1].set(ylabel="share positive definite", ylim=(-0.03, 1.05))
    axes[1].legend(loc="lower left")
    return figure, numbers


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    cells = with_predictions(cells)
    fits, claimed = fit_all(study, cells), study.claimed
    return {
        "jain2021/local_privacy": draw_fits(fits, PRIVACY, claimed, "distF by privacy"),
        "jain2021/local_label_noise": draw_fits(fits, LABEL_NOISE, claimed, "distF by privacy"),
        "jain2021/local_floor": draw_fits(fits, FLOOR, claimed, "distF without privacy"),
        "jain2021/local_laws": draw_fits(fits, LAWS, claimed, "distF by privacy"),
        "jain2021/local_start": draw_start(cells),
        "jain2021/local_breakdown": draw_breakdown(cells),
        "jain2021/step_lemmas": draw_fits(fits, LEMMAS, claimed, "norm"),
    }
