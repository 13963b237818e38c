"""The columns that experiments add to the results of a study, with their meaning, from columns.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

COLUMNS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def columns_of(experiment: str) -> dict[str, str]:
    """Return name -> meaning of the columns of an experiment."""
    return COLUMNS[experiment]
