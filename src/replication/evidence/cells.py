"""Results tables of studies, one row for each run of a method."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from replication.run.cli_errors import Unreadable
from replication.run.csv_tables import REMEDY, read_rows

NUMBERS = {"users", "samples", "dim", "rank", "seed", "epsilon", "delta", "noise_multiplier", "mu", "epsilon_exact"}
NUMBERS |= {"excess_risk", "mse", "dist2", "distF", "releases", "redraw", "label_noise_sd"}
"""Columns whose entries are all numbers."""


def read_cells(path: Path | None) -> pd.DataFrame | None:
    """Read the results table of a study; None for a study without runs, which only evaluates formulas.

    Raise Unreadable for a damaged table: a row that is cut, or a text in a column of numbers.
    """
    if path is None:
        return None
    rows = read_rows(path)
    cells = pd.read_csv(path).copy()
    for name in sorted(NUMBERS & set(cells)):
        wrong = pd.to_numeric(cells[name], errors="coerce").isna() & cells[name].notna()
        if wrong.any():
            number = int(wrong.to_numpy().argmax())
            raise Unreadable(f"{path}: row {number + 1}, column {name}: {rows[number][name]!r} is no number; {REMEDY}")
    return cells


def sizes_of(cells: pd.DataFrame, columns: Collection[str]) -> pd.DataFrame:
    """Return a table with series, column and value: the distinct numbers of each series in `columns`, ascending."""
    settings = cells[[name for name in cells if name in columns]]
    numbers = settings.mask(settings.map(pd.api.types.is_bool)).apply(pd.to_numeric, errors="coerce")
    rows = []
    for series, part in numbers.groupby(cells["series"], sort=False):
        rows += [(series, name, value) for name in part for value in np.unique(part[name].to_numpy()) if value == value]
    return pd.DataFrame(rows, columns=["series", "column", "value"])


def resampled(rows: pd.DataFrame, indices: np.ndarray | None) -> pd.DataFrame:
    """Return the rows of resampled repetitions, whose indices count the seeds in ascending order; all rows for None.

    >>> list(resampled(pd.DataFrame({"seed": [9, 4, 4], "x": [3, 1, 2]}), np.array([1, 0, 1]))["x"])
    [3, 1, 2, 3]
    """
    _, places = np.unique(rows["seed"], return_inverse=True)
    return rows if indices is None else rows.iloc[np.concatenate([np.flatnonzero(places == seed) for seed in indices])]
