"""Sizes of what was run, for prose and captions that name them: a table with series, column and value
(`replication.evidence.cells.sizes_of`)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from replication.report.spelling import listing

LISTED = 4
"""So many values are listed; of more the least and the largest are named."""


def exact(value: float) -> str:
    """A size with all its digits.

    >>> exact(18000), exact(0.015), exact(1e-5)
    ('18,000', '0.015', '1e-05')
    """
    return f"{float(value):,.12g}"


def enumerated(values: Sequence[float]) -> str:
    """Values in ascending order: listed, or as a range where they are many.

    >>> enumerated([20, 10]), enumerated([1, 2, 3, 5, 7])
    ('10 and 20', '1 to 7')
    """
    values = sorted(set(values))
    return listing(map(exact, values)) if len(values) <= LISTED else f"{exact(values[0])} to {exact(values[-1])}"


def found(table: pd.DataFrame, series: str, column: str) -> list[float]:
    """Return the different numbers that a series has in a column, in ascending order; none are an error."""
    rows = table[table["series"] == series]
    if not len(rows):
        raise ValueError(f"there is no series {series!r}")
    values = rows.loc[rows["column"] == column, "value"]
    if not len(values):
        raise ValueError(f"the series {series!r} has no {column!r}")
    return values.tolist()


def size(table: pd.DataFrame, series: str, column: str) -> str:
    """Return the one value that a series has in a column, as text; several are an error."""
    values = found(table, series, column)
    if len(values) != 1:
        raise ValueError(f"series {series!r} has {len(values)} values of {column!r}; prose can name only one")
    return exact(values[0])
