"""Clips and budgets of both methods, chosen by one rule on simulated data from the public law, before the comparison is
run.

The rule: of all clips of a method take the one with the least geometric mean of dist2 over dimensions and seeds,
at a tenth of the budget for the initialisation, which does better than half of it. The outcome stands in the series
of the study tradeoff; what is measured here is how far its setting is from the best.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pandas as pd

from replication.evidence.facts import total
from replication.evidence.findings import Findings
from replication.evidence.measured import bare, exact
from replication.run.settings import AnalysisSettings

CHOICES = {"A": ("A", "A-own"), "A-user": ("A-user",), "B": ("B",), "B-random": ("B-random",)}
"""Series of the study tradeoff -> series here among which its setting was chosen."""
SHARES = {"A": "A-start", "B": "B-start"}
"""Series -> the same clips with half of the budget for the initialisation."""
KEYS = ("series", "clip_feature", "clip", "init_share")
"""What a setting is: the other clips go along with the first."""
TYPICAL = {"clip_feature": 1.0, "clip": 1 / 8}
"""The typical size in the unit of each clip."""
OWN = 1 / 16
"""Where the clip 1e-4, which has no size in typical units, is drawn."""


def settings(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the geometric mean of dist2 (NaN where a fit failed) and the clip over the typical size, by setting."""
    rows = cells.assign(log=np.log(cells["dist2"]))
    table = rows.groupby(list(KEYS), dropna=False)["log"].agg(lambda one: one.mean(skipna=False)).reset_index()
    size = table["clip_feature"] / TYPICAL["clip_feature"]
    size = size.where(size.notna(), table["clip"] / TYPICAL["clip"])
    return table.assign(dist2=np.exp(table.pop("log")), size=size.where(table["series"] != "A-own"))


def is_chosen(table: pd.DataFrame, series: str, options: dict[str, object]) -> pd.Series:
    """Mark the rows that have the options of a series of the study tradeoff."""
    own = series == "A" and options.get("clip_scale", "absolute") == "absolute"
    same = table["series"] == ("A-own" if own else series)
    for name in ("clip_feature", "clip", "init_share"):
        if name in options:
            same &= np.isclose(table[name], options[name])
    return same


def share_ratio(cells: pd.DataFrame, series: str, other: str) -> float:
    """Return the geometric mean of dist2 of one series over another on the clips, dims and seeds of both."""
    keys = ["clip_feature", "clip", "dim", "seed"]
    first, second = (cells.loc[cells["series"] == name, [*keys, "dist2"]] for name in (series, other))
    both = first.merge(second, on=keys, suffixes=("", "_other"))
    return float(np.exp(np.log(both["dist2_other"] / both["dist2"]).mean()))


def drawn(table: pd.DataFrame, study: AnalysisSettings) -> pd.DataFrame:
    """Return the `settings` with a tenth of the budget for the start, where each is drawn and whether it is chosen."""
    chosen = [is_chosen(table, series, study.options[series]) for series in CHOICES]
    table = table.assign(drawn=table["size"].fillna(OWN), chosen=np.any(chosen, axis=0))
    return table[~table["series"].isin(SHARES.values())]


FACTS = {"settings tried": partial(total, names=[f"settings tried, {name}" for name in CHOICES])}


def analyse(cells: pd.DataFrame, study: AnalysisSettings) -> Findings:
    """Measure the error of each setting of the study tradeoff over the least one, and how errors vary over settings.

    The repetitions are too few for an interval, so that the choice gets no verdict of agreement.
    """
    table, seeds, found, ratios = settings(cells), cells["seed"].nunique(), [], []
    for series, among in CHOICES.items():
        here = table[table["series"].isin(among)]
        chosen, best = here[is_chosen(here, series, study.options[series])], here.loc[here["dist2"].idxmin()]
        ratio = float(chosen["dist2"].iloc[0] / best["dist2"]) if len(chosen) == 1 else math.nan
        note = "the chosen setting is not on this grid" if math.isnan(ratio) else f"best: {described(best)}"
        ratios.append(ratio)
        found.append(bare(f"chosen over best, {series}", ratio, seeds, note))
        found.append(exact(f"settings tried, {series}", len(here)))
        found.append(bare(f"largest over least error, {series}", here["dist2"].max() / best["dist2"], seeds))
    found.append(bare("chosen over best, largest", float(np.max(ratios)), seeds))
    for series, other in SHARES.items():
        ratio = share_ratio(cells, series, other)
        found.append(bare(f"half of the budget for the start over a tenth, {series}", ratio, seeds))
    return Findings(found, {"comparison/clip_choice": drawn(table, study)})


def described(setting: pd.Series) -> str:
    """Describe a setting in words."""
    size = "clip 1e-4" if math.isnan(setting["size"]) else f"clip {setting['size']:g} of the typical size"
    share = setting["init_share"]
    if setting["series"] == "B-random" or math.isnan(share):
        return size
    return f"{size}, {share:g} of the budget for the start"
