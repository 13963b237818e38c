"""Sizes of the runs, read from the cells, for prose that names them."""

from __future__ import annotations

import pandas as pd

from privrep.report.wording import number


def sizes(cells: pd.DataFrame, series: str, *columns: str) -> tuple[str, ...]:
    """What all cells of a series have in these columns, as text.

    Raises
    ------
    ValueError
        If the series has no cells, or its cells differ.
    """
    found = []
    for column in columns:
        values = cells.loc[cells["series"] == series, column].unique()
        if len(values) != 1:
            raise ValueError(f"series {series!r} has {len(values)} values of {column!r}; prose can name only one")
        found.append(number(values[0]))
    return tuple(found)
