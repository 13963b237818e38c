"""Figures of the study client_lemmas (shen2023, Lemmas C.1 to C.5)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from privrep.users.problem import HEAVY_EVERY
from replication.drawing.series import curve, groups, law, legend, level, series
from replication.drawing.style import (
    GREY,
    Look,
    distinct,
    graded,
    label,
    new_figure,
)
from replication.run.settings import PlotSettings

CONSTANTS = (1, 0.1, 0.01)
"""Constants of the lines beside the largest gradients."""
HEADS = {"sphere": "one length", "aniso": "unequal", "gauss": "Gaussian", "heavy": f"one in {HEAVY_EVERY} long"}
"""Law of the heads -> label."""


def draw_gradient_norms(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw largest gradients against the clip of Lemma C.1, and median gradients against their law."""
    figure, (left, right) = new_figure(7.8, 4.2, ncols=2)
    looks = distinct([f"heads: {text}" for text in HEADS.values()], dash="")
    numbers = numbers.assign(heads="heads: " + numbers["head_law"].map(HEADS))
    groups(left, numbers, "printed", "gradient_max", "heads", looks, size=9)
    ends = np.array([numbers["printed"].min(), numbers["printed"].max()])
    for constant, dash in zip(CONSTANTS, ("-", "--", ":"), strict=True):
        curve(left, ends, constant * ends, Look(f"{constant:g} times the clip", GREY, "", dash))
    clip = r"clip $\mu^2 k\, s_k^2$ √($dk \ln n$)"
    label(left, clip, r"largest $\|G_i\|$ before clipping", "Lemma C.1", "xy")
    even = numbers[numbers["head_law"] == "sphere"]
    series(right, even, "law", "gradient_median", looks[f"heads: {HEADS['sphere']}"], size=9)
    law(right, even.sort_values("law"), "law", "law")
    label(right, "law F10", r"median $\|G_i\|$", "Their size", "xy")
    legend(figure)
    return figure


def draw_one_step(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw one round from each start, and the largest distance over many rounds."""
    factors, curves, path = (numbers[numbers[name].notna()] for name in ("mean", "law_F8", "steady"))
    figure, (left, right) = new_figure(7.8, 4.0, ncols=2)
    looks = graded(sorted(factors["start_sine"].unique()), "start {}", dash="")
    groups(left, factors, "kappa", "mean", "start_sine", looks, low="min", high="max")
    law(left, curves, "kappa", "law_F8", "law")
    curve(left, curves["kappa"], curves["bound_19"], Look("bound (19)", "#D55E00", "", "--"))
    label(left, r"$\kappa$", "dist2 after over before", "One round", ylim=(0.7, 1.01))
    series(right, path, "steady", "largest", Look("runs of many rounds", "#0072B2", "s", ""), size=12)
    law(right, path.drop_duplicates("steady").sort_values("steady"), "steady", "law")
    level(right, 1, "the start", dash="-")
    level(right, 1, "the start", along="y", dash="-")
    label(right, "steady state (F9) over start", "largest dist2 over start", "Many rounds", "xy")
    legend(figure)
    return figure
