"""Figures of the study fedrep (snedeker2025)."""

from replication.drawing import (
    CI,
    CLAIMED,
    GREY,
    MEASURED,
    DataFrame,
    Picture,
    PlotSettings,
    exponent_text,
    look,
    looks,
)
from replication.studies.fedrep.analysis import FACTORS

LOOKS = looks("fedrep", "series")
EXPONENT = 1
"""Claimed exponent of d, and of k, in the ratio of the risks."""


def draw_own_problem(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw median risks of all methods against epsilon, and the floor."""
    axis = figure.panel(6.6, 4.8)
    axis.groups(numbers, "epsilon", "risk", "series", LOOKS, 1.04, ends=CI)
    axis.level(numbers["floor"].iloc[0], "heads in the true subspace, non-private", dash=":")
    axis.label(r"$\epsilon$", "risk over that of predicting zero", log="xy", xticks=numbers["epsilon"])


def draw_factor(figure: Picture, numbers: DataFrame, study: PlotSettings) -> None:
    """Draw risks of both methods, and their ratio, along d and along k."""
    axes = figure.panels(7.4, 5.6, nrows=2, ncols=len(FACTORS), squeeze=False)
    factor = MEASURED.but("alternating minimisation over private FedRep", colour="0.25")
    for (top, bottom), (name, pair) in zip(axes.T, FACTORS.items(), strict=True):
        looks = {fit: look(fit.split()[0], dash="") for fit in pair} | {f"factor, {name}": factor}
        texts = []
        for axis, (fit, style) in zip((top, top, bottom), looks.items(), strict=True):
            rows = numbers[numbers["fit"] == fit]
            axis.fit(rows, style)
            axis.law(rows, "value", "predicted")
            texts.append(exponent_text(rows))
        bottom.power(rows, EXPONENT, CLAIMED.but(colour=GREY))
        title = f"Exponents {' and '.join(filter(None, texts[:2]))}" if any(texts[:2]) else ""
        top.label(f"${name}$", "excess risk", title, "xy", rows["value"])
        title = f"Exponent {texts[2]}, claimed {EXPONENT}" if texts[2] else ""
        bottom.label(f"${name}$", "factor", title, "xy", rows["value"])
