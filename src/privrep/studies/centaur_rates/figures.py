"""Figures of the study centaur_rates (shen2023, Theorem 5.1)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, few_ticks, new_figure, plain_ticks
from privrep.drawing.sweeps import draw_fits
from privrep.evidence.scaling import fit_all
from privrep.run.settings import PlotSettings
from privrep.studies.centaur_rates.analysis import (
    BALL,
    cap_points,
    rate_points,
    share_points,
    start_points,
    with_predictions,
)

FLOOR = {
    "n dist2": "n",
    "sigma dist2": "Δ",
    "d dist2": "d",
    "k sine": "k, distF / √k",
    "m dist2": "m",
    "gauss n dist2": "n, Gaussian heads",
}
CLIPS = {
    "printed n dist2": "n, printed clip, dist2 / √ln n",
    "printed sigma dist2": "Δ, printed clip",
    "printed d dist2": "d, printed clip",
    "printed k sine": "k, printed clip, distF / √k",
    "printed mu dist2": "μ, printed clip",
    "fixed d dist2": "d, one clip",
    "fixed k sine": "k, one clip, distF / √k",
}
CAP = {
    "cap printed k": "a tenth of the printed cap",
    "cap corrected k": "a tenth of the corrected cap",
    "E42 printed k": "a quarter, d ≥ k³ ln n, printed",
    "E42 corrected k": "a quarter, d ≥ k³ ln n, corrected",
}
CONDITION = {
    "kappa low dist2": "κ, s_k = 1",
    "kappa high dist2": "κ, s_1 = 1",
    "kappa low distF": "κ, s_k = 1, distF",
    "kappa high distF": "κ, s_1 = 1, distF",
}


def draw_rate(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Distance over that of the start against rounds."""
    points = rate_points(cells)
    numbers = points.groupby(["kappa", "rounds"]).agg(
        ratio=("ratio", "mean"),
        lowest=("ratio", "min"),
        highest=("ratio", "max"),
        law=("law", "first"),
        bound=("bound", "first"),
    )
    numbers = numbers.reset_index()
    figure, axis = new_figure(5.4, 3.6)
    for colour, (kappa, part) in zip(COLOURS, numbers.groupby("kappa"), strict=False):
        spread = [part["ratio"] - part["lowest"], part["highest"] - part["ratio"]]
        axis.errorbar(
            part["rounds"], part["ratio"], spread, fmt="o", color=colour, markersize=5, label=f"κ = {kappa:g}"
        )
        rounds = np.arange(part["rounds"].max() + 1)
        axis.plot(rounds, part["law"].iloc[0] ** rounds, color=colour, linestyle=":")
        axis.plot(rounds, part["bound"].iloc[0] ** rounds, color=colour, linestyle="--", linewidth=0.9)
    axis.set(yscale="log", xlabel="rounds", ylabel="dist2 over that of the start")
    plain_ticks(axis.yaxis)
    axis.legend()
    return figure, numbers


def draw_cap(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Steady distance at a tenth of the largest noise for each kappa and rank, and how far the iterates get from the start at a quarter of
    it, by rank."""
    numbers, starts = cap_points(cells), start_points(cells)
    figure, axes = new_figure(7.9, 3.4, ncols=2, width_ratios=(1.4, 1))
    axis = axes[0]
    settings = sorted(set(zip(numbers["kappa"], numbers["rank"], strict=True)))
    for colour, (form, part) in zip((COLOURS[0], COLOURS[3]), numbers.groupby("form"), strict=True):
        places = [settings.index(pair) for pair in zip(part["kappa"], part["rank"], strict=True)]
        ends = [part["dist2"] - part["lowest"], part["highest"] - part["dist2"]]
        axis.errorbar(places, part["dist2"], ends, fmt="o", color=colour, markersize=5, label=form)
    axis.axhline(BALL, color="0.35", linewidth=0.9)
    axis.set(yscale="log", ylabel="steady dist2")
    axis.set_xticks(range(len(settings)), [f"κ = {kappa:g}\nk = {rank:g}" for kappa, rank in settings], fontsize=8)
    plain_ticks(axis.yaxis)
    axis.legend()
    axis = axes[1]
    means = starts.groupby(["form", "rank"]).agg(
        steady=("steady", "mean"), lowest=("largest", "min"), highest=("largest", "max"), law=("law", "first")
    )
    means = means.reset_index()
    for colour, (_, part) in zip((COLOURS[0], COLOURS[3]), means.groupby("form"), strict=True):
        axis.vlines(part["rank"], part["lowest"], part["highest"], color=colour, linewidth=5, alpha=0.35)
        axis.plot(part["rank"], part["steady"], "o", color=colour, markersize=5)
        axis.plot(part["rank"], part["law"], color=colour, linestyle=":", linewidth=1.2)
    axis.axhline(1, color="0.35", linewidth=0.9)
    axis.set(xlabel="k", ylabel="dist2 over that of the start", ylim=(0, None))
    axis.set_xticks(sorted(means["rank"].unique()))
    return figure, pd.concat([numbers, means], ignore_index=True)


def draw_participation(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Error and epsilon against the probability to take part."""
    numbers = share_points(cells)
    figure, axes = new_figure(7.2, 3.2, ncols=2)
    for colour, (divisor, part) in zip((COLOURS[0], COLOURS[3]), numbers.groupby("divide_by"), strict=True):
        axes[0].errorbar(
            part["participation"],
            part["distF"],
            2 * part["spread"],
            fmt="o",
            color=colour,
            markersize=5,
            label=f"{divisor} number",
        )
        axes[1].plot(
            part["participation"], part["epsilon"], "o-", color=colour, markersize=5, label=f"{divisor} number"
        )
    axes[0].plot(part["participation"], part["predicted"], color="0.25", linestyle=":")
    for axis, ylabel in zip(axes, ("steady distF", "ε of all rounds"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="p", ylabel=ylabel)
        axis.set_xticks(part["participation"], [f"{share:g}" for share in part["participation"]])
        axis.minorticks_off()
        few_ticks(axis.yaxis)
    axes[0].legend()
    return figure, numbers


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    cells = with_predictions(cells)
    fits, claimed = fit_all(study, cells), study.claimed
    return {
        "shen2023/centaur_floor": draw_fits(fits, FLOOR, claimed, "steady dist2"),
        "shen2023/centaur_clips": draw_fits(fits, CLIPS, claimed, "steady dist2"),
        "shen2023/centaur_condition": draw_fits(fits, CONDITION, claimed, "steady error"),
        "shen2023/centaur_rate": draw_rate(cells),
        "shen2023/noise_cap": draw_cap(cells),
        "shen2023/noise_cap_rank": draw_fits(fits, CAP, claimed, "steady distF / √k"),
        "shen2023/participation": draw_participation(cells),
    }
