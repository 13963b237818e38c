"""Figures of the study unit_rates (unit steps, a method of this project)."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from privrep.drawing.sweeps import draw_fits
from privrep.evidence.scaling import fit_all
from privrep.run.settings import PlotSettings
from privrep.studies.unit_rates.analysis import with_predictions

RATES = {"n": "n", "d": "d", "k": "k", "m": "m-k", "sigma": "label noise", "noise": "Δ = 1/μ", "kappa": "κ"}
USERS = {"users d": "d", "users k": "k", "users start": "d, few samples"}


def draw(cells: pd.DataFrame, study: PlotSettings) -> dict[str, tuple[Figure, pd.DataFrame]]:
    """All figures of the study."""
    fits = fit_all(study, with_predictions(cells))
    return {
        "beyond/rates": draw_fits(fits, RATES, study.claimed, "distF"),
        "beyond/users": draw_fits(fits, USERS, study.claimed, "users"),
    }
