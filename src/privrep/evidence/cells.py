"""The results table as studies read it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd


def read_cells(path: Path | None) -> pd.DataFrame | None:
    """The results table of a study; nothing for a study of arithmetic. The copy lays its many columns side by side, so that a study
    can add its own without a warning."""
    return pd.read_csv(path).copy() if path else None


def picked(rows: pd.DataFrame, pick: np.ndarray | None) -> pd.DataFrame:
    """The rows of the picked repetitions, as often as they are picked; all by default."""
    if pick is None:
        return rows
    return pd.concat([rows[rows["seed"] == seed] for seed in np.sort(rows["seed"].unique())[pick]])
