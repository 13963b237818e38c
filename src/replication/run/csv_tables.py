"""Tables as CSV: numbers are written with `repr`, so that equal results are equal bytes and reading back gives the same
bits."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from privrep.users.whole_files import in_one_move
from replication.run.cli_errors import Unreadable


def _plain(value: Any) -> object:
    """Convert a number of NumPy to one of Python, which csv writes with all digits."""
    return value if value is None or isinstance(value, bool | str | int | np.integer) else float(value)


def write_rows(path: Path, rows: list[dict], columns: tuple[str, ...]) -> None:
    """Write rows as CSV, the whole file or nothing; ValueError if a row has a column that is not in `columns`."""
    unknown = sorted({name for row in rows for name in row} - set(columns))
    if unknown:
        raise ValueError(f"{path}: column {unknown[0]!r} is not among its columns, {', '.join(columns)}")
    with in_one_move(path) as temporary, open(temporary, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_plain(row.get(name)) for name in columns] for row in rows)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV as text, unchanged; Unreadable names the row where the file is cut or is no text."""
    try:
        lines = path.read_text(encoding="utf-8", errors="strict")
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path}: byte {error.start} is no text; {REMEDY}") from None
    rows = list(csv.reader(io.StringIO(lines, newline="")))
    if not rows or not lines.endswith("\n"):
        raise Unreadable(f"{path}: the file ends within row {max(len(rows) - 1, 0)}; {REMEDY}")
    for number, row in enumerate(rows[1:], 1):
        if len(row) != len(rows[0]):
            raise Unreadable(f"{path}: row {number} has {len(row)} of {len(rows[0])} columns; {REMEDY}")
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


REMEDY = "remove the file and run again, which makes it anew"
