"""Tables as CSV: numbers are written with `repr`, so that equal results are equal bytes and reading back gives the same bits."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np


def _spell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (bool, str)):
        return str(value)
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    return repr(float(value))


def write_rows(path: Path, rows: list[dict], columns: tuple[str, ...]) -> None:
    """Write rows as CSV to a temporary file and move it into place.

    Raises
    ------
    ValueError
        If a row has a column that is not listed.
    """
    unknown = sorted({name for row in rows for name in row} - set(columns))
    if unknown:
        raise ValueError(f"{path}: column {unknown[0]!r} is not among its columns, {', '.join(columns)}")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with open(temporary, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_spell(row.get(name)) for name in columns] for row in rows)
    os.replace(temporary, path)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV as text, unchanged."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))
