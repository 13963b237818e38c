"""Figures of the study heterogeneity (shen2023, Sections 3 and 6)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from replication.drawing.series import groups, law, legend, level, series
from replication.drawing.style import (
    Look,
    label,
    look,
    new_figure,
    power_of_ten,
)
from replication.run.settings import PlotSettings
from replication.studies.heterogeneity.analysis import CENTAUR

KINDS = {
    "representation": Look("representation alone", "#0072B2"),
    "shared": Look("representation and head", "#009E73", "s", "--"),
    "full": Look("full model", "#E69F00", "v"),
}
"""What is shared -> its look."""
LOOKS = {
    CENTAUR: look("centaur", "CENTAUR, random start", marker="s", dash="--"),
    "centaur": look("centaur", "CENTAUR, power method"),
    "ppsgd": look("ppsgd"),
    "dp_fedavg": look("fedavg"),
    "pmtl": look("pmtl"),
    "altmin": look("altmin"),
    "altmin-eigclip": look("altmin", "the same, eigenvalues raised", marker="v", dash="--"),
}


def kinds(axis: Axes, rows: pd.DataFrame, x: str, names: tuple[str, ...], what: str, of: str = "", **changed) -> None:
    """Draw a number of some kinds of updates against a column; `of` is added to their labels."""
    for kind in names:
        one = KINDS[kind]
        series(axis, rows, x, f"{kind}_{what}", Look(**vars(one) | changed | {"label": one.label + of}))


def draw_update_norms(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw norms against distance, rank and label noise, and the drift of clipped updates."""
    figure, axes = new_figure(7.8, 7.0, nrows=2, ncols=2)
    (by_distance, by_rank), (by_noise, drift) = axes
    distance = numbers[numbers["series"] == "distance"]
    for kind, one in KINDS.items():
        ends = {"low": f"{kind}_median", "high": f"{kind}_q99"}
        series(by_distance, distance, "start_sine", f"{kind}_median", one, band=True, **ends)
    for name in ("representation", "full"):
        law(by_distance, distance, "start_sine", name)
    label(by_distance, "distance from the optimum", "norm of an update", "Around the optimum", ylim=(0, None))
    two = ("representation", "full")
    for name, changed in (("rank-near", {}), ("rank-far", {"dash": "--", "filled": False})):
        part = numbers[numbers["series"] == name]
        kinds(by_rank, part, "rank", two, "median", f", at {part['start_sine'].iloc[0]:g}", **changed)
    label(by_rank, "$k$", "median norm of an update", "Against the rank", "xy", sorted(part["rank"].unique()))
    noise = pd.concat([distance[distance["start_sine"] == 0], numbers[numbers["series"] == "noise"]])
    kinds(by_noise, noise, "label_noise_sd", tuple(KINDS), "median")
    label(by_noise, r"label noise $\sigma$", "median norm at the optimum", "With label noise", ylim=(0, None))
    bias = numbers[numbers["series"] == "bias"]
    for rank, changed in ((1, {}), (2, {"dash": "--", "filled": False})):
        kinds(drift, bias[bias["rank"] == rank], "head_bias", two, "drift", f", $k$ = {rank}", **changed)
    law(drift, bias[bias["rank"] == 1], "head_bias", "drift_law")
    label(drift, "bias $b$ of the heads", "drift over the bound", "Clipping at the optimum")
    legend(figure)
    return figure


def draw_baselines(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw excess risk against epsilon, the clipping bound, and what users have in common."""
    figure, axes = new_figure(9.0, 4.4, ncols=3, width_ratios=(4, 3, 3))
    panels = {name: numbers[numbers["panel"] == name] for name in ("epsilon", "bound", "common")}
    for axis, (name, points) in zip(axes, panels.items(), strict=True):
        groups(axis, points, "value", "risk", "method", LOOKS, low="low", high="high")
        if name != "common":
            level(axis, numbers["alone"].iloc[0], "each user alone", dash=":")
    x = rf"$\epsilon$ (exact, $\delta$ = {power_of_ten(numbers['delta'].iloc[0])})"
    ticks = [np.unique(panels[name]["value"].round(6)) for name in panels]
    label(axes[0], x, "excess risk", "At the rule's bounds", "xy", ticks[0])
    title = rf"$\epsilon$ = {panels['bound']['epsilon'].iloc[0]:g}"
    label(axes[1], "clipping bound over the rule's", title=title, log="xy", xticks=ticks[1])
    title = rf"Rank 1, $\epsilon$ = {panels['common']['epsilon'].iloc[0]:g}"
    label(axes[2], "bias $b$ of the heads", title=title, log="y", xticks=[0, 0.5, 1])
    legend(figure)
    return figure
