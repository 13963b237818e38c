"""Figures of the study power_method (shen2023, Algorithm 5, Lemmas F.1 and G.1)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, NOTE, few_ticks, new_figure, plain_ticks
from privrep.drawing.sweeps import draw_fits
from privrep.evidence.scaling import fit_all
from privrep.laws.shen2023 import TARGET
from privrep.run.settings import PlotSettings
from privrep.studies.power_method.analysis import clip_points, success_points, with_predictions

ACCURACY = {
    "privacy n": "n, random starts",
    "privacy Delta": "Δ",
    "prescribed n": "n, prescribed clip, over its logs",
    "privacy d": "d, clip {d} √d k^1.5",
    "privacy d fixed": "d, one clip for all",
    "privacy k": "√k · distF: clip {k} √d k^1.5, Δ ~ 1/k",
    "privacy k fixed": "k, one clip for all",
}
"""Fit -> title, with the clips of the sweeps in d and k."""
SAMPLING = {"sampling n": "n", "sampling m": "q", "sampling d": "d", "sampling k": "k"}
COST = {"cost n": "n", "cost d": "d", "cost k": "k"}
NORMS = {"norm n": "n", "norm d": "d", "norm k": "k"}


def draw_clip(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """The noise that a target permits, and the share of clipped products, against zeta_0."""
    numbers = clip_points(cells)
    prescribed = cells.loc[cells["series"] == "prescribed", "zeta"].mean()
    figure, axes = new_figure(7.2, 3.2, ncols=2)
    axes[0].plot(numbers["zeta"], numbers["permitted"], "o", color=COLOURS[0], label="measured")
    axes[0].plot(numbers["zeta"], numbers["predicted"], color="0.25", linestyle=":", label="law")
    axes[0].set(yscale="log", ylabel=f"Δ at which dist2 by noise is {TARGET:g}")
    few_ticks(axes[0].yaxis)
    axes[0].legend(loc="lower left")
    axes[1].plot(numbers["zeta"], numbers["clipped_share"], "o-", color=COLOURS[0], markersize=5)
    axes[1].set(ylabel="share of users clipped", ylim=(-0.03, 1.03))
    for axis in axes:
        axis.set(xscale="log", xlabel="ζ₀", xlim=(1, 2 * prescribed))
        axis.axvline(prescribed, color=COLOURS[3], linestyle="--", linewidth=1.2)
        plain_ticks(axis.xaxis)
    axes[1].annotate("prescribed", (prescribed, 0.9), xytext=(-4, 0), ha="right", **NOTE)
    return figure, numbers


def draw_success(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Share of successful random starts against the number of iterations and against the noise."""
    steps, noise = success_points(cells, "steps", "iterations"), success_points(cells, "noise", "noise_multiplier")
    figure, axes = new_figure(7.2, 3.2, ncols=2, sharey=True)
    for axis, points, column in ((axes[0], steps, "iterations"), (axes[1], noise, "level")):
        spread = [points["share"] - points["ci_low"], points["ci_high"] - points["share"]]
        axis.errorbar(points[column], points["share"], spread, fmt="o-", color=COLOURS[0], markersize=4.5, linewidth=1)
        axis.axhline(0.99, color=COLOURS[3], linestyle="--", linewidth=1.2)
    axes[0].annotate("0.99", (axes[0].get_xlim()[0], 0.99), xytext=(4, -11), **NOTE)
    axes[1].axvline(1, color="0.6", linewidth=0.8)
    axes[0].set(xlabel="iterations L", ylabel=f"share of runs with dist2 ≤ {TARGET:g}", ylim=(-0.03, 1.05))
    axes[1].set_xlabel("noise over what the law permits")
    return figure, pd.concat([steps.assign(panel="iterations"), noise.assign(panel="noise")], ignore_index=True)


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    cells = with_predictions(cells)
    fits, claimed = fit_all(study, cells), study.claimed
    clips = {series: f"{cells.loc[cells['series'] == series, 'init_clip'].iloc[0]:g}" for series in ("d", "k")}
    accuracy = {fit: title.format(**clips) for fit, title in ACCURACY.items()}
    return {
        "shen2023/power_accuracy": draw_fits(fits, accuracy, claimed, "dist2 by noise"),
        "shen2023/power_sampling": draw_fits(fits, SAMPLING, claimed, "dist2 without noise"),
        "shen2023/power_clip": draw_clip(cells),
        "shen2023/power_success": draw_success(cells),
        "shen2023/power_cost": draw_fits(fits, COST, claimed, "μ of a run, relative"),
        "shen2023/power_norms": draw_fits(fits, NORMS, claimed, "largest norm over shape"),
    }
