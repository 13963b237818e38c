"""Figures of the study heterogeneity (shen2023, Sections 3 and 6)."""

import pandas as pd

from replication.drawing import ENDS, DataFrame, Panel, Picture, PlotSettings, looks, power_of_ten

KINDS = looks("heterogeneity", "shared")
LOOKS = looks("heterogeneity", "series")


def kinds(axis: Panel, rows: DataFrame, x: str, names: tuple[str, ...], what: str, of: str = "", **changed) -> None:
    """Draw the statistic `what` of some kinds of updates against a column; `of` is appended to their labels."""
    for kind in names:
        axis.series(rows, x, f"{kind}_{what}", KINDS[kind].but(KINDS[kind].label + of, **changed))


def draw_update_norms(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw norms against distance, rank and label noise, and the drift of clipped updates."""
    (by_distance, by_rank), (by_noise, drift) = figure.panels(7.8, 7.0, nrows=2, ncols=2)
    distance = numbers[numbers["series"] == "distance"]
    for kind, style in KINDS.items():
        ends = (f"{kind}_median", f"{kind}_q99")
        by_distance.series(distance, "start_sine", ends[0], style, band=True, ends=ends)
    two, other = ("representation", "full"), {"dash": "--", "filled": False}
    for name in two:
        by_distance.law(distance, "start_sine", name)
    by_distance.label("distance from the optimum", "norm of an update", "Around the optimum", ylim=(0, None))
    for name, changed in (("rank-near", {}), ("rank-far", other)):
        part = numbers[numbers["series"] == name]
        kinds(by_rank, part, "rank", two, "median", f", at {part['start_sine'].iloc[0]:g}", **changed)
    by_rank.label("$k$", "median norm of an update", "Against the rank", "xy", part["rank"])
    noise = pd.concat([distance[distance["start_sine"] == 0], numbers[numbers["series"] == "noise"]])
    kinds(by_noise, noise, "label_noise_sd", tuple(KINDS), "median")
    by_noise.label(r"label noise $\sigma$", "median norm at the optimum", "With label noise", ylim=(0, None))
    bias = numbers[numbers["series"] == "bias"]
    for rank, changed in ((1, {}), (2, other)):
        kinds(drift, bias[bias["rank"] == rank], "head_bias", two, "drift", f", $k$ = {rank}", **changed)
    drift.law(bias[bias["rank"] == 1], "head_bias", "drift_law")
    drift.label("bias $b$ of the heads", "drift over the bound", "Clipping at the optimum")


def draw_baselines(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw excess risk against epsilon, the clipping bound, and the bias of the heads."""
    axes = figure.panels(9.0, 4.4, ncols=3, width_ratios=(4, 3, 3))
    panels = {name: numbers[numbers["panel"] == name] for name in ("epsilon", "bound", "common")}
    for axis, (name, points) in zip(axes, panels.items(), strict=True):
        axis.groups(points, "value", "risk", "method", LOOKS, ends=ENDS)
        if name != "common":
            axis.level(numbers["alone"].iloc[0], "each user alone", dash=":")
    x = rf"$\epsilon$ (exact, $\delta$ = {power_of_ten(numbers['delta'].iloc[0])})"
    at = {name: rf"$\epsilon$ = {points['epsilon'].iloc[0]:g}" for name, points in panels.items()}
    ticks = {name: points["value"].round(6) for name, points in panels.items()}
    axes[0].label(x, "excess risk", "At the rule's bounds", "xy", ticks["epsilon"])
    axes[1].label("clipping bound over the rule's", "", at["bound"], "xy", ticks["bound"])
    axes[2].label("bias $b$ of the heads", "", f"Rank 1, {at['common']}", "y", [0, 0.5, 1])
