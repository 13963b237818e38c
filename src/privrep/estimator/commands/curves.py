"""A picture of predicted risks against the number of users."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from privrep.theory.advise import Setting
from privrep.theory.choice import METHODS, NAMES
from privrep.users.whole_files import in_one_move

SPAN, POINTS = 8.0, 13
"""Ratio of the largest number of users to the given one, and of the given one to the smallest; number of points."""


def draw_curves(setting: Setting, path: Path) -> None:
    """Draw the predicted risk of each method with its interval against the number of users, as SVG."""
    figure = Figure(figsize=(6.0, 3.6), layout="constrained")
    axis = figure.subplots()
    users = np.unique(np.geomspace(max(setting.users / SPAN, 150), setting.users * SPAN, POINTS).round().astype(int))
    for number, name in enumerate(METHODS):
        rows = [replace(setting, users=int(count)).row(name) for count in users]
        risk, low, high = (np.array([row[key] for row in rows]) for key in ("risk", "low", "high"))
        if np.isfinite(risk).any():  # pragma: no branch (each law is finite for some numbers of users)
            axis.plot(users, risk, color=f"C{number}", label=NAMES[name])
            axis.fill_between(users, low, high, color=f"C{number}", alpha=0.12, linewidth=0)
    axis.axvline(setting.users, color="0.5", linewidth=0.8)
    axis.set(xscale="log", yscale="log", xlabel="users", ylabel="risk over that of predicting zero", ylim=(None, 3))
    axis.legend(fontsize="small")
    with in_one_move(path) as temporary:
        figure.savefig(temporary, format="svg")
