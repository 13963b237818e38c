"""Counts of runs by setting: shares over all repetitions, with Clopper-Pearson intervals."""

from __future__ import annotations

import pandas as pd

from replication.evidence.measured import Measured, share_ends


def with_ends(points: pd.DataFrame, hits: str, runs: str) -> pd.DataFrame:
    """Add ci_low and ci_high to points, the interval of the share of column `hits` in column `runs`."""
    counts = points[[hits, runs]].round().astype(int).to_numpy()
    ends = [share_ends(int(hit), int(tried)) for hit, tried in counts]
    return points.assign(ci_low=[low for low, _ in ends], ci_high=[high for _, high in ends])


def failed_shares(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Sum `failed` and `tried` over all repetitions for each value of the keys; return the share that failed, its
    interval, and the number of repetitions as `draws`."""
    sums = {"failed": ("failed", "sum"), "tried": ("tried", "sum"), "draws": ("seed", "nunique")}
    points = with_ends(rows.groupby(keys, sort=False).agg(**sums).reset_index(), "failed", "tried")
    return points.assign(failed=points["failed"].round() / points["tried"].round())


def proportion(quantity: str, point: pd.Series, name: str, note: str) -> Measured:
    """Turn the share in a column of a point, a row of `with_ends` with `draws`, into a measured quantity."""
    return Measured(quantity, *map(float, point[[name, "ci_low", "ci_high"]]), int(point["draws"]), note)
