"""Counts of runs by setting: shares over all repetitions, with Clopper-Pearson intervals."""

from __future__ import annotations

import pandas as pd

from privrep.evidence.measured import Measured, share_ends


def with_ends(points: pd.DataFrame, hits: str, runs: str) -> pd.DataFrame:
    """The points with ci_low and ci_high, the interval of a share.

    Parameters
    ----------
    points : one row each.
    hits : column of counts.
    runs : column of the counts of which they are a share.
    """
    counts = points[[hits, runs]].round().astype(int).to_numpy()
    ends = [share_ends(int(hit), int(tried)) for hit, tried in counts]
    return points.assign(ci_low=[low for low, _ in ends], ci_high=[high for _, high in ends])


def failed_shares(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Counts `failed` of `tried` over all repetitions, `draws`, as a share with its interval.

    Parameters
    ----------
    rows : with `failed`, `tried` and `seed`.
    keys : columns that tell settings apart.
    """
    sums = {"failed": ("failed", "sum"), "tried": ("tried", "sum"), "draws": ("seed", "nunique")}
    points = with_ends(rows.groupby(keys, sort=False).agg(**sums).reset_index(), "failed", "tried")
    return points.assign(failed=points["failed"].round() / points["tried"].round())


def proportion(quantity: str, point: pd.Series, name: str, note: str) -> Measured:
    """A share as a measure.

    Parameters
    ----------
    quantity : its name.
    point : a row with `ci_low`, `ci_high` and `draws`.
    name : of the column with the share.
    note : for readers of the verdict.
    """
    return Measured(
        quantity, float(point[name]), float(point["ci_low"]), float(point["ci_high"]), int(point["draws"]), note
    )
