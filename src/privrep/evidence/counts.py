"""Counts of runs by setting: shares over all repetitions, with Clopper-Pearson intervals."""

from __future__ import annotations

import pandas as pd
from scipy import stats

from privrep.evidence.measured import Measured


def with_ends(points: pd.DataFrame, hits: str, runs: str) -> pd.DataFrame:
    """The points with ci_low and ci_high, the interval of the share that `hits` are of `runs`, two columns of counts."""
    counts = points[[hits, runs]].round().astype(int).to_numpy()
    ends = [stats.binomtest(int(hit), int(tried)).proportion_ci() for hit, tried in counts]
    return points.assign(ci_low=[one.low for one in ends], ci_high=[one.high for one in ends])


def failed_shares(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Counts `failed` of `tried` over all repetitions, `draws`, as a share with its interval."""
    sums = {"failed": ("failed", "sum"), "tried": ("tried", "sum"), "draws": ("seed", "nunique")}
    points = with_ends(rows.groupby(keys, sort=False).agg(**sums).reset_index(), "failed", "tried")
    return points.assign(failed=points["failed"].round() / points["tried"].round())


def proportion(quantity: str, point: pd.Series, name: str, note: str) -> Measured:
    """The share in column `name` of a point, over its `draws`, as a measure."""
    return Measured(
        quantity, float(point[name]), float(point["ci_low"]), float(point["ci_high"]), int(point["draws"]), note
    )
