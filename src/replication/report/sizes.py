"""Sizes of runs, such as the number of users, as quoted in prose, captions and the rows of claims. A table lists the
distinct values of each column in each series of a study (`replication.evidence.cells.sizes_of`).

In a caption {series.column} is replaced by the values of that column in that series of the run that is shown: a value,
a list or a range. {NAME} is replaced by a constant of the study's analysis, for sizes that are in no column.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import pandas as pd
from markupsafe import Markup

from replication.report.spelling import listing, plural, typeset
from replication.run.config import ROOT, ConfigError, read_yaml
from replication.run.settings import settings_of

LISTED = 4
"""Largest number of values that are listed; of more values only the least and the largest are named."""
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
SIGNS = {"users": "n", "samples": "m", "dim": "d", "rank": "k", "epsilon": "epsilon", "noise_multiplier": "Delta"}
SIGNS |= {"label_noise_sd": "sigma_F", "head_condition": "kappa"}
"""Column -> its symbol. Columns not listed are options of single algorithms; the study's file has their values."""


def exact(value: float) -> str:
    """Write a size with all its digits.

    >>> exact(18000), exact(0.015), exact(1e-5)
    ('18,000', '0.015', '1e-05')
    """
    return f"{float(value):,.12g}"


def enumerated(values: Sequence[float]) -> str:
    """Write values in ascending order: listed, or as a range where they are many.

    >>> enumerated([20, 10]), enumerated([1, 2, 3, 5, 7])
    ('10 and 20', '1 to 7')
    """
    values = sorted(set(values))
    return listing(map(exact, values)) if len(values) <= LISTED else f"{exact(values[0])} to {exact(values[-1])}"


def found(table: pd.DataFrame, series: str, column: str) -> list[float]:
    """Return the distinct values of a column in a series, in ascending order; raise ValueError if there are none."""
    rows = table[table["series"] == series]
    if not len(rows):
        raise ValueError(f"there is no series {series!r}")
    values = rows.loc[rows["column"] == column, "value"]
    if not len(values):
        raise ValueError(f"the series {series!r} has no {column!r}")
    return values.tolist()


def size(table: pd.DataFrame, series: str, column: str) -> str:
    """Return the only value of a column in a series, as text; raise ValueError for several."""
    values = found(table, series, column)
    if len(values) != 1:
        raise ValueError(f"series {series!r} has {len(values)} values of {column!r}; prose can name only one")
    return exact(values[0])


def with_sizes(figure: str, caption: str, study: str, table: pd.DataFrame | None) -> str:
    """Fill all placeholders of a figure's caption from the study's table of sizes, None if it has no cells."""

    def put(match: re.Match) -> str:
        try:
            return enumerated(_values(match[1], study, table))
        except ValueError as error:
            source = f"{settings_of(study)}: figures.{figure}.caption"
            raise ConfigError(f"{source}: {match[0]}: {error}") from None

    return PLACEHOLDER.sub(put, caption)


def _values(name: str, study: str, table: pd.DataFrame | None) -> list[float]:
    series, dot, column = name.rpartition(".")
    if dot:
        if table is None:
            raise ValueError(f"the study {study} has no cells")
        return found(table, series, column)
    constant = constants(study).get(name)
    if constant is None:
        raise ValueError(f"the analysis of {study} has no constant of this name; a size of cells is {{series.column}}")
    return list(constant) if isinstance(constant, tuple) else [constant]


@cache
def constants(study: str) -> dict[str, Any]:
    """Return the constants of a study's analysis and, in capitals, the thresholds of its file."""
    own = dict(vars(importlib.import_module(f"replication.studies.{study}.analysis")))
    thresholds = read_yaml(ROOT / settings_of(study)).get("thresholds", {})
    own |= {name.upper(): value for name, value in thresholds.items()}
    return {name: value for name, value in own.items() if name.isupper()}


def grid_line(table: pd.DataFrame | None, series: str = "") -> Markup:
    """Return sizes and number of repetitions of a series, or of all series.

    table : the study's sizes; None for a study without cells, which only computes.
    """
    if table is None:
        return Markup("arithmetic, nothing is drawn")
    if series:
        table = table[table["series"] == series]
    by_column = dict(list(table.groupby("column")["value"]))
    shown = {sign: [*map(_short, by_column[column])] for column, sign in SIGNS.items() if column in by_column}
    parts = [typeset(f"{sign} = {enumerated(values)}") for sign, values in shown.items()]
    if "seed" in by_column:
        parts.append(Markup.escape(plural(by_column["seed"].nunique(), "repetition")))
    return Markup("; ").join(parts)


def _short(value: float) -> float:
    """Round a number to three digits, unless it is whole."""
    return value if value == int(value) else float(f"{value:.3g}")
