"""The run of record: rows of cells that are too dear for every run, kept under docs/ with commit, master seed and
machine."""

from __future__ import annotations

from privrep.run.config import ROOT
from privrep.run.csv_tables import read_rows

FROM_RECORD = "from the run of record: "
"""A row of results that was read from there says so in its reason."""
ABOUT = ("commit", "master_seed", "machine", "cpu_seconds")
"""Columns that a table of record has beside those of the results."""

Record = dict[tuple[str, str], dict[str, str]]


def read_record(table: str) -> Record:
    """(series, key) -> row of a table below the project's folder; nothing for ""."""
    return {(row["series"], row["key"]): row for row in (read_rows(ROOT / table) if table else ())}
