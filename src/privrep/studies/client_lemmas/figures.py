# ruff: noqa: RUF001  (typographic signs are meant)
"""Figures of the study client_lemmas (shen2023, Lemmas C.1 to C.5)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privrep.data.problem import HEAVY_EVERY
from privrep.drawing.style import COLOURS, NOTE, few_ticks, new_figure, plain_ticks
from privrep.drawing.sweeps import draw_fits
from privrep.evidence.scaling import fit_all
from privrep.laws import shen2023
from privrep.run.settings import PlotSettings
from privrep.studies.client_lemmas.analysis import (
    BALL,
    lemma_runs,
    path_points,
    printed_clip,
    step_points,
    with_predictions,
)

LEMMAS = {
    "C.1 sine": "C.1, largest gradient: start",
    "C.1 n": "C.1, largest gradient: n",
    "C.1 d": "C.1, largest gradient: d",
    "C.1 k": "C.1, largest gradient: k",
    "C.1 mbar": "C.1, largest gradient: q",
    "C.1 mu": "C.1, largest gradient: μ",
    "C.2 mbar": "C.2, δ₁: q",
    "C.2 k": "C.2, δ₁: k",
    "C.2 n": "C.2, δ₁: n",
    "C.3 sine": "C.3, δ₂ dist2: start",
    "C.3 mbar": "C.3, δ₂ dist2: q",
    "C.3 k": "C.3, δ₂ dist2: k",
    "C.3 n": "C.3, δ₂ dist2: n",
    "C.4 sine": "C.4, ‖G − QV‖: start",
    "C.4 n": "C.4, ‖G − QV‖: n",
    "C.4 mbar": "C.4, ‖G − QV‖: q",
    "C.4 d": "C.4, ‖G − QV‖: d",
    "C.4 k": "C.4, ‖G − QV‖ / (√d + √(k ln n)): k",
    "C.4 mu": "C.4, ‖G − QV‖: μ",
    "C.5 n": "C.5, noise of a round: n",
    "C.5 d": "C.5, noise of a round: d",
    "C.5 Delta": "C.5, noise of a round: Δ",
}
CONSTANTS = (1, 0.1, 0.01)
"""c_zeta of the lines beside the largest gradients."""
HEADS = {"sphere": "one length", "aniso": "unequal", "gauss": "Gaussian", "heavy": f"one in {HEAVY_EVERY} long"}
"""Law of the heads -> label."""


def diagonal(axis: Axes, low: float, high: float, factor: float = 1.0, **style) -> None:
    """The line y = factor x."""
    ends = np.array([low, high])
    axis.plot(ends, factor * ends, **style)


def draw_norms(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Largest gradients against the clip of Lemma C.1, and median gradients against their law."""
    runs = lemma_runs(cells)
    numbers = runs[["series", "head_law", "seed", "gradient_max", "gradient_median"]].assign(
        printed=printed_clip(runs), law=runs["gradient"]
    )
    figure, axes = new_figure(7.8, 3.6, ncols=2)
    axis = axes[0]
    for colour, (law, label) in zip(COLOURS, HEADS.items(), strict=False):
        part = numbers[numbers["head_law"] == law]
        axis.plot(part["printed"], part["gradient_max"], ".", color=colour, markersize=3, alpha=0.6, label=label)
    ends = numbers["printed"].min(), numbers["printed"].max()
    for constant in CONSTANTS:
        diagonal(axis, *ends, constant, color="0.35", linewidth=1)
        axis.annotate(f"{constant:g}", (ends[1], constant * ends[1]), xytext=(3, -3), **NOTE)
    axis.set(xscale="log", yscale="log", xlabel="μ² k sₖ² √(dk ln n)", ylabel="largest ‖Gᵢ‖ before clipping")
    axis.legend(loc="lower right", markerscale=3)
    axis = axes[1]
    even = numbers[numbers["head_law"] == "sphere"]
    axis.plot(even["law"], even["gradient_median"], ".", color=COLOURS[0], markersize=4, alpha=0.6)
    diagonal(axis, even["law"].min(), even["law"].max(), color="0.25", linestyle=":", linewidth=1.4)
    axis.set(xscale="log", yscale="log", xlabel="law F10", ylabel="median ‖Gᵢ‖")
    for axis in axes:
        plain_ticks(axis.xaxis)
        plain_ticks(axis.yaxis)
    return figure, numbers


def draw_step(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """One round from each start, and the largest distance over many rounds."""
    points, path = step_points(cells), path_points(cells)
    figure, axes = new_figure(7.8, 3.5, ncols=2)
    axis = axes[0]
    silent = points[points["noise_multiplier"] == 0]
    factors = silent.groupby(["start_sine", "kappa"])["factor"].agg(["mean", "min", "max"]).reset_index()
    for colour, (sine, part) in zip(COLOURS, factors.groupby("start_sine"), strict=False):
        spread = [part["mean"] - part["min"], part["max"] - part["mean"]]
        axis.errorbar(part["kappa"], part["mean"], spread, fmt="o", color=colour, markersize=4, label=f"start {sine:g}")
    grid = np.linspace(points["kappa"].min(), points["kappa"].max(), 60)
    axis.plot(grid, shen2023.centaur_contraction(grid), color="0.25", linestyle=":", linewidth=1.4, label="law F8")
    axis.plot(grid, shen2023.centaur_bound(grid, BALL), color=COLOURS[3], linestyle="--", label="bound (19)")
    axis.set(xlabel="κ", ylabel="dist2 after over before one round", ylim=(0.7, 1.01))
    axis.legend(loc="lower right")
    axis = axes[1]
    axis.plot(path["steady"], path["largest"], "o", color=COLOURS[0], markersize=4, alpha=0.6)
    law = path.drop_duplicates("steady").sort_values("steady")
    axis.plot(law["steady"], law["law"], color="0.25", linestyle=":", linewidth=1.4)
    axis.axhline(1, color="0.6", linewidth=0.8)
    axis.axvline(1, color="0.6", linewidth=0.8)
    axis.set(xscale="log", yscale="log", xlabel="steady state (F9) over start", ylabel="largest dist2 over start")
    few_ticks(axis.xaxis)
    few_ticks(axis.yaxis)
    return figure, pd.concat([points, factors, path], ignore_index=True)


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    cells = with_predictions(cells)
    fits, claimed = fit_all(study, cells), study.claimed
    return {
        "shen2023/gradient_norms": draw_norms(cells),
        "shen2023/client_lemmas": draw_fits(fits, LEMMAS, claimed, "norm"),
        "shen2023/one_step": draw_step(cells),
    }
