"""Captions of figures. A size in them is a placeholder, which is filled from the sizes of the run that is shown.

{series.column} : what the cells of a series have in a column, one value, a list or a range.
{NAME}          : a constant of the study's module, for what no cell holds, such as a target.
"""

from __future__ import annotations

import importlib
import re
from functools import cache

import pandas as pd

from replication.report.sizes import enumerated, found
from replication.run.config import ROOT, ConfigError, read_yaml
from replication.run.settings import settings_of

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def with_sizes(figure: str, caption: str, study: str, table: pd.DataFrame | None) -> str:
    """Fill all placeholders of a figure's caption from the sizes of the study, of which one of arithmetic has none."""

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
        raise ValueError(
            f"the analysis of {study} has no constant of this name; a size of the cells is {{series.column}}"
        )
    return list(constant) if isinstance(constant, tuple) else [constant]


@cache
def constants(study: str) -> dict[str, object]:
    """Return the constants of a study's analysis and, in capitals, the thresholds of its file."""
    thresholds = read_yaml(ROOT / settings_of(study)).get("thresholds", {})
    own = vars(importlib.import_module(f"replication.studies.{study}.analysis"))
    return {name: value for name, value in own.items() if name.isupper()} | {
        name.upper(): value for name, value in thresholds.items()
    }
