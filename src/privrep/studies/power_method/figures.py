# ruff: noqa: RUF001  (typographic signs are meant)
"""Figures of the study power_method (shen2023, Algorithms 3, 5 and 6)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from privrep.drawing.style import COLOURS, NOTE, few_ticks, new_figure, plain_ticks
from privrep.drawing.sweeps import draw_fits, fit_table, panel
from privrep.evidence.scaling import Fit, fit_all
from privrep.run.settings import PlotSettings
from privrep.studies.power_method.measures import (
    TARGET,
    clip_points,
    costs,
    failure_points,
    log_points,
    selection_points,
    success_points,
    tau_points,
    with_predictions,
)

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
CLAIMED = {"color": COLOURS[3], "linestyle": "--", "linewidth": 1.2}
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


def draw_cost(cells: pd.DataFrame, fits: dict[str, Fit], claimed: dict[str, float]) -> tuple[Figure, pd.DataFrame]:
    """How the cost of one run of fixed accuracy grows, and what a start costs against the main rounds."""
    figure, axes = new_figure(7.9, 5.2, nrows=2, ncols=3)
    for axis, (name, label) in zip(axes[0], COST.items(), strict=True):
        panel(axis, fits[name], claimed.get(name), label)
    axes[0, 0].set_ylabel("μ of a run, relative")
    found = {name.removeprefix("cost of the "): value for name, value in costs(cells).items() if "over" not in name}
    grid = axes[1, 0].get_gridspec()
    for axis in axes[1]:
        axis.remove()
    axis = figure.add_subplot(grid[1, :])
    colours = [COLOURS[7] if name == "main rounds" else COLOURS[0] for name in found]
    for place, (value, colour) in enumerate(zip(found.values(), colours, strict=True)):
        axis.plot(value, -place, "o", color=colour, markersize=8)
        axis.annotate(f"{value:.2g}", (value, -place), xytext=(8, -3), **NOTE)
    axis.set_yticks([-place for place in range(len(found))], list(found))
    axis.set(xscale="log", xlabel=f"μ² at which dist2 = {TARGET:g}")
    axis.set(ylim=(0.6 - len(found), 0.4), xlim=(min(found.values()) / 2, max(found.values()) * 2))
    few_ticks(axis.xaxis)
    shown = pd.DataFrame({"fit": found.keys(), "error": found.values()})
    return figure, pd.concat([fit_table(fits, COST), shown], ignore_index=True)


def draw_selection(cells: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Failure of selection among made-up candidates, and error of the selected one among real ones."""
    made, real = failure_points(cells), selection_points(cells)
    figure, axes = new_figure(7.9, 3.5, ncols=2)
    axis = axes[0]
    for colour, (probability, part) in zip(COLOURS, made.groupby("good_share", sort=False), strict=False):
        for mark, shift, (bad, points) in zip("os", (0.93, 1.07), part.groupby("bad", sort=False), strict=True):
            shown = np.maximum(points["failed"], 1e-3)
            spread = [shown - np.maximum(points["ci_low"], 1e-3), points["ci_high"] - shown]
            axis.errorbar(
                points["failure"] * shift,
                shown,
                np.maximum(spread, 0),
                fmt=mark,
                color=colour,
                markersize=4.5,
                elinewidth=1,
                markerfacecolor=colour if bad == "alike" else "white",
                label=f"p = {probability:g}" if bad == "alike" else None,
            )
    ends = np.array([made["failure"].min() / 1.3, made["failure"].max() * 1.3])
    axis.plot(ends, ends, color=COLOURS[3], linestyle="--", linewidth=1.2)
    axis.set(xscale="log", yscale="log", xlabel="failure probability asked for, δ′", ylabel="failures", ylim=(8e-4, 1))
    axis.legend(loc="lower left", bbox_to_anchor=(-0.1, 1.0), ncols=3, columnspacing=1, handletextpad=0.2)
    for side in (axis.xaxis, axis.yaxis):
        plain_ticks(side)
    axis = axes[1]
    noisy = real[real["noise_multiplier"] > 0]
    for colour, name in zip(COLOURS, ("worst", "median", "selected", "average"), strict=False):
        axis.plot(noisy["noise_multiplier"], noisy[name], "o-", color=colour, markersize=4.5, label=name)
    axis.axhline(real["median"].iloc[0], color="0.5", linewidth=0.8, linestyle=":")
    axis.axhline(TARGET, color="0.6", linewidth=0.8)
    axis.set(xscale="log", yscale="log", xlabel="Δ", ylabel="dist2")
    axis.set_xticks(noisy["noise_multiplier"], [f"{value:g}" for value in noisy["noise_multiplier"]])
    axis.minorticks_off()
    few_ticks(axis.yaxis)
    axis.legend(loc="upper left")
    return figure, pd.concat([made.assign(panel="made up"), real.assign(panel="real")], ignore_index=True)


def draw_noisy(cells: pd.DataFrame, fits: dict[str, Fit], claimed: dict[str, float]) -> tuple[Figure, pd.DataFrame]:
    """Theorem G.1: iterations against the gap and the dimension, failures against tau."""
    taus, logs = tau_points(cells), log_points(cells)
    figure, axes = new_figure(7.9, 3.0, ncols=3)
    axis, one = axes[0], fits["steps gap"]
    panel(axis, one, claimed.get("steps gap"), "1/gap")
    axis.set(xlabel="1/gap", ylabel="iterations")
    axis.set_xticks(one.sweep.values, [f"{value:.3g}" for value in one.sweep.values])
    axis = axes[1]
    axis.errorbar(logs["log_term"], logs["iterations"], logs["half"], fmt="o", color=COLOURS[0], markersize=5)
    axis.plot(logs["log_term"], logs["predicted"], color="0.25", linestyle=":", linewidth=1.4)
    ends = np.array([0, logs["log_term"].max()])
    axis.plot(ends, ends * logs["iterations"].iloc[0] / logs["log_term"].iloc[0], **CLAIMED)
    axis.set(xlabel="ln(kd/ε)", xlim=(0, None), ylim=(0, None))
    axis = axes[2]
    spread = [taus["failed"] - taus["ci_low"], taus["ci_high"] - taus["failed"]]
    axis.errorbar(taus["tau"], taus["failed"], spread, fmt="o-", color=COLOURS[0], markersize=4.5)
    axis.plot(taus["tau"], 1 / taus["tau"], **CLAIMED)
    axis.annotate("1/τ", (taus["tau"].iloc[1], 1 / taus["tau"].iloc[1]), xytext=(4, 3), **NOTE)
    axis.set(xscale="log", yscale="log", xlabel="τ", ylabel="share of failed runs")
    axis.set_xticks(taus["tau"], [f"{value:g}" for value in taus["tau"]])
    axis.minorticks_off()
    few_ticks(axis.yaxis)
    return figure, pd.concat([fit_table(fits, {"steps gap": "1/gap"}), logs, taus], ignore_index=True)


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
        "shen2023/power_cost": draw_cost(cells, fits, claimed),
        "shen2023/power_norms": draw_fits(fits, NORMS, claimed, "largest norm over shape"),
        "shen2023/selection": draw_selection(cells),
        "shen2023/noisy_power_method": draw_noisy(cells, fits, claimed),
    }
