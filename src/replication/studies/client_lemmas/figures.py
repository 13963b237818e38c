"""Figures of the study client_lemmas (shen2023, Lemmas C.1 to C.5)."""

import numpy as np

from privrep.users.simulated import HEAVY_EVERY
from replication.drawing import GREY, DataFrame, Look, Picture, PlotSettings, distinct, graded

CONSTANTS = (1, 0.1, 0.01)
"""Multiples of the clip that are drawn as lines beside the largest gradients."""
HEADS = {"sphere": "one length", "aniso": "unequal", "gauss": "Gaussian", "heavy": f"one in {HEAVY_EVERY} long"}
"""Law of the heads -> label."""


def draw_gradient_norms(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw largest gradients against the clip of Lemma C.1, and median gradients against their law."""
    left, right = figure.panels(7.8, 4.2, ncols=2)
    looks = dict(zip(HEADS, distinct(HEADS.values(), "heads: {}", dash="").values(), strict=True))
    left.groups(numbers, "printed", "gradient_max", "head_law", looks, size=9)
    ends = np.array([numbers["printed"].min(), numbers["printed"].max()])
    for constant, dash in zip(CONSTANTS, ("-", "--", ":"), strict=True):
        left.curve(ends, constant * ends, Look(f"{constant:g} times the clip", GREY, "", dash))
    left.label(r"clip $\mu^2 k\, s_k^2$ √($dk \ln n$)", r"largest $\|G_i\|$ before clipping", "Lemma C.1", "xy")
    even = numbers[numbers["head_law"] == "sphere"]
    right.series(even, "law", "gradient_median", looks["sphere"], size=9)
    right.law(even.sort_values("law"), "law", "law")
    right.label("law F10", r"median $\|G_i\|$", "Their size", "xy")


def draw_one_step(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw one round from each start, and the largest distance over many rounds."""
    factors, curves, path = (numbers[numbers[name].notna()] for name in ("mean", "law_F8", "steady"))
    left, right = figure.panels(7.8, 4.0, ncols=2)
    looks = graded(factors["start_sine"], "start {}", dash="")
    left.groups(factors, "kappa", "mean", "start_sine", looks, ends=("min", "max"))
    left.law(curves, "kappa", "law_F8")
    left.curve(curves["kappa"], curves["bound_19"], Look("bound (19)", "#D55E00", "", "--"))
    left.label(r"$\kappa$", "dist2 after over before", "One round", ylim=(0.7, 1.01))
    right.series(path, "steady", "largest", Look("runs of many rounds", "#0072B2", "s", ""), size=12)
    right.law(path.drop_duplicates("steady").sort_values("steady"), "steady", "law")
    right.level(1, "the start", dash="-")
    right.level(1, "the start", along="y", dash="-")
    right.label("steady state (F9) over start", "largest dist2 over start", "Many rounds", "xy")
