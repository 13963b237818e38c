"""Audits of all mechanisms (claim O-AUDIT). What a check found is counted; a run of the audit is one experiment, with no repetitions."""

from __future__ import annotations

import pandas as pd

from privrep.evidence.measured import Measured, bare, exact
from privrep.run.settings import MeasureSettings

CHECKS = ("replay", "ledger", "noise", "game")


def honest(cells: pd.DataFrame) -> pd.DataFrame:
    """Mechanisms behind the door of the library."""
    return cells[cells["mutant"] == "none"]


def wrong(cells: pd.DataFrame) -> pd.DataFrame:
    """Mechanisms behind doors that are wrong on purpose, where the fault applies."""
    return cells[(cells["mutant"] != "none") & cells["caught"].notna()]


def measure(cells: pd.DataFrame, study: MeasureSettings) -> list[Measured]:
    """All quantities."""
    good, bad = honest(cells), wrong(cells)
    found = [
        exact("honest doors with a fault", good["caught"].sum()),
        exact("wrong doors not found", (bad["caught"] == 0).sum()),
        exact("wrong doors found in all", bad["caught"].sum()),
        exact("wrong doors found by the game alone", bad["caught_game"].sum()),
        bare("least attained", good["attained"].min(), 1),
    ]
    for _, row in good.iterrows():
        found += [
            bare(f"attained, {row['mechanism']}", row["attained"], 1),
            bare(f"lower limit of epsilon, {row['mechanism']}", row["epsilon_low"], 1),
        ]
    return found
