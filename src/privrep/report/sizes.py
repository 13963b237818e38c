"""Sizes of what was run, read from the cells, for prose and captions that name them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from privrep.report.spelling import listing

LISTED = 4
"""So many values are listed; of more the least and the largest are named."""


def exact(value: float) -> str:
    """A size with all its digits.

    >>> exact(18000), exact(0.015), exact(1e-5)
    ('18,000', '0.015', '1e-05')
    """
    return f"{float(value):,.12g}"


def spelled(values: Sequence[float]) -> str:
    """Values in ascending order: listed, or as a range where they are many.

    >>> spelled([20, 10]), spelled([1, 2, 3, 5, 7])
    ('10 and 20', '1 to 7')
    """
    values = sorted(set(values))
    return listing(map(exact, values)) if len(values) <= LISTED else f"{exact(values[0])} to {exact(values[-1])}"


def found(cells: pd.DataFrame, series: str, column: str) -> list[float]:
    """The different numbers that the cells of a series have in a column, in ascending order.

    Raises
    ------
    ValueError
        If there are none.
    """
    rows = cells[cells["series"] == series]
    if not len(rows):
        raise ValueError(f"there is no series {series!r}")
    if column not in rows or not rows[column].notna().any():
        raise ValueError(f"the series {series!r} has no {column!r}")
    return sorted(float(value) for value in rows[column].dropna().unique())


def sizes(cells: pd.DataFrame, series: str, *columns: str) -> tuple[str, ...]:
    """What all cells of a series have in these columns, as text.

    Raises
    ------
    ValueError
        If the series has no cells, or its cells differ.
    """
    texts = []
    for column in columns:
        values = found(cells, series, column)
        if len(values) != 1:
            raise ValueError(f"series {series!r} has {len(values)} values of {column!r}; prose can name only one")
        texts.append(exact(values[0]))
    return tuple(texts)
