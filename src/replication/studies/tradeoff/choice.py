"""Clips and budgets of both methods, chosen by one rule on simulated data from a public distribution, before the
comparison is run (claim B-CMP-clips).

The rule: of all clips of a method take the one with the least geometric mean of dist2 over dimensions and seeds,
with a tenth of the budget for the initialisation, as half of it gives larger errors. The chosen settings are those of
the compared series; this module measures their error over that of the best settings.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from replication.evidence.measured import Measured, bare, exact

CHOICES = {"A": ("A", "A-own"), "A-user": ("A-user",), "B": ("B",), "B-random": ("B-random",)}
"""Series of the comparison -> series, after `choice-`, among which its setting was chosen."""
SHARES = {"A": "A-start", "B": "B-start"}
"""Series -> the same clips with half of the budget for the initialisation."""
KEYS = ("series", "clip_feature", "clip", "init_share")
"""Columns that identify a setting; the further clips of a method follow from its first one."""
TYPICAL = {"clip_feature": 1.0, "clip": 1 / 8}
"""Column of a clip -> typical size of the clipped quantity, in the unit of the clip."""
OWN = 1 / 16
"""Position at which the clip 1e-4 is drawn, which has no size in typical units."""


def settings(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the geometric mean of dist2 (NaN where a fit failed) and the clip over the typical size, by setting."""
    rows = cells.assign(log=np.log(cells["dist2"]))
    table = rows.groupby(list(KEYS), dropna=False)["log"].agg(lambda logs: logs.mean(skipna=False)).reset_index()
    size = table["clip_feature"] / TYPICAL["clip_feature"]
    size = size.where(size.notna(), table["clip"] / TYPICAL["clip"])
    return table.assign(dist2=np.exp(table.pop("log")), size=size.where(table["series"] != "A-own"))


def is_chosen(table: pd.DataFrame, row: pd.Series) -> pd.Series:
    """Mark the settings that equal those of a row of the comparison."""
    own = row["series"] == "A" and row["clip_scale"] == "absolute"
    same = table["series"] == ("A-own" if own else row["series"])
    for name in KEYS[1:]:
        if pd.notna(row[name]):
            same &= np.isclose(table[name], row[name])
    return same


def share_ratio(cells: pd.DataFrame, series: str, other: str) -> float:
    """Return the geometric mean of dist2 of `other` over that of `series`, on the clips, dims and seeds of both."""
    keys = ["clip_feature", "clip", "dim", "seed"]
    first, second = (cells[cells["series"] == name].set_index(keys)["dist2"] for name in (series, other))
    return float(np.exp(np.log(second / first).mean()))


def described(setting: pd.Series) -> str:
    """Describe a setting in words."""
    size = "clip 1e-4" if math.isnan(setting["size"]) else f"clip {setting['size']:g} of the typical size"
    share = setting["init_share"]
    if setting["series"] == "B-random" or math.isnan(share):
        return size
    return f"{size}, {share:g} of the budget for the start"


def choice(cells: pd.DataFrame) -> tuple[list[Measured], pd.DataFrame]:
    """Measure the error of each chosen setting over the least one, and the largest error over the least; return also
    the `settings` with a tenth of the budget for the start, the position of each in the figure, and whether chosen.

    The repetitions are too few for an interval, so that the choice gets no verdict of agreement.
    """
    tried = cells[cells["series"].str.startswith("choice-")]
    tried = tried.assign(series=tried["series"].str.removeprefix("choice-"))
    table, seeds, measured = settings(tried), tried["seed"].nunique(), []
    table = table.assign(drawn=table["size"].fillna(OWN), chosen=False)
    for series, among in CHOICES.items():
        table["chosen"] |= is_chosen(table, cells[cells["series"] == series].iloc[0])
        here = table[table["series"].isin(among)]
        chosen, best = here[here["chosen"]], here.iloc[int(here["dist2"].argmin())]
        ratio = float(chosen["dist2"].iloc[0] / best["dist2"]) if len(chosen) == 1 else math.nan
        note = "the chosen setting is not on this grid" if math.isnan(ratio) else f"best: {described(best)}"
        measured.append(bare(f"chosen over best, {series}", ratio, seeds, note))
        measured.append(exact(f"settings tried, {series}", len(here)))
        measured.append(bare(f"largest over least error, {series}", here["dist2"].max() / best["dist2"], seeds))
    ratios = [number.measured for number in measured if number.quantity.startswith("chosen over best")]
    measured.append(bare("chosen over best, largest", float(np.max(ratios)), seeds))
    for series, other in SHARES.items():
        ratio = share_ratio(tried, series, other)
        measured.append(bare(f"half of the budget for the start over a tenth, {series}", ratio, seeds))
    return measured, table[~table["series"].isin(SHARES.values())]
