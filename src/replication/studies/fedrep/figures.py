"""Figures of the study fedrep (snedeker2025)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from replication.drawing.series import groups, law, legend, level
from replication.drawing.style import (
    GREY,
    METHODS,
    Look,
    label,
    look,
    new_figure,
)
from replication.drawing.sweeps import exponent_text, power_line, sweep_points
from replication.run.settings import PlotSettings
from replication.studies.fedrep.analysis import FACTORS

LOOKS = {
    "fedrep-code": look("fedrep", "private FedRep as in the code", dash=":", filled=False),
    "fedrep-wide": look("fedrep", "private FedRep, spectral start", dash="--"),
    "fedrep": look("fedrep", "private FedRep, tuned"),
    "altmin": look("altmin"),
    "altmin-user": look("altmin", "the same, users clipped", marker="v", dash="--"),
    "centaur": look("centaur"),
    "unit-steps": look("unit"),
}
CLAIMED = 1
"""Exponent of d and of k in the factor."""


def draw_own_problem(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw median risks of all methods against epsilon, and the floor."""
    figure, axis = new_figure(6.6, 4.8)
    groups(axis, numbers, "x", "risk", "series", LOOKS, low="ci_low", high="ci_high")
    level(axis, numbers["floor"].iloc[0], "heads in the true subspace, non-private", dash=":")
    ticks = sorted(numbers["epsilon"].unique())
    label(axis, r"$\epsilon$", "risk over that of predicting zero", log="xy", xticks=ticks)
    legend(figure)
    return figure


def draw_factor(numbers: pd.DataFrame, study: PlotSettings) -> Figure:
    """Draw risks of both methods, and their ratio, along d and along k."""
    figure, axes = new_figure(7.4, 5.6, nrows=2, ncols=len(FACTORS), squeeze=False)
    factor = Look("alternating minimisation over private FedRep", METHODS["unit"].colour, "D", "")
    for (top, bottom), (name, pair) in zip(axes.T, FACTORS.items(), strict=True):
        texts = []
        for fit in pair:
            rows, method = numbers[numbers["fit"] == fit], fit.split()[0]
            sweep_points(top, rows, look(method, dash=""))
            law(top, rows, "value", "predicted")
            texts.append(exponent_text(rows))
        rows = numbers[numbers["fit"] == f"factor, {name}"]
        sweep_points(bottom, rows, factor)
        law(bottom, rows, "value", "predicted")
        power_line(bottom, rows, CLAIMED, Look("claimed exponent", GREY, "", "--"))
        title = f"Exponents {' and '.join(filter(None, texts))}" if any(texts) else ""
        label(top, f"${name}$", "excess risk" if top is axes[0, 0] else "", title, "xy", rows["value"].to_list())
        title = f"Exponent {exponent_text(rows)}, claimed {CLAIMED:g}" if exponent_text(rows) else ""
        label(bottom, f"${name}$", "factor" if top is axes[0, 0] else "", title, "xy", rows["value"].to_list())
    legend(figure)
    return figure
