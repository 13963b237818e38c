"""docs/scale.md says what docs/scale.csv does, and its model of bytes holds there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from workflow_helpers import ROOT

from privrep.run.csv_tables import read_rows

SCALE = runpy.run_path(str(Path(ROOT) / "bench/scale.py"))
ROWS = read_rows(ROOT / "docs/scale.csv")


def test_the_text_is_of_the_table():
    """`python bench/scale.py --text` writes it."""
    assert (ROOT / "docs/scale.md").read_text() == SCALE["document"](ROWS)


def test_memory_of_a_worker_does_not_grow_with_users():
    for workers in ("1", "2"):
        few, many = (
            float(row["value"])
            for users in (SCALE["FEWER"], SCALE["USERS"])
            for row in ROWS
            if (row["what"], row["workers"], row["users"]) == ("memory", workers, str(users))
        )
        assert many < 1.1 * few


def test_bytes_are_those_of_the_model():
    """A fifth more or less, for sums of 100 numbers and of 2,500, by the cost of a task from sums of one."""
    rows = [line.split("|") for line in SCALE["document"](ROWS).splitlines() if re.match(r"\| [\d,]+ \| [24] \|", line)]
    assert len(rows) == 6 and all(0.8 < float(row[5]) < 1.25 for row in rows)
