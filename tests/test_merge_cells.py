"""Rows of the shards become one table: every cell once, in the order of the study, or no table at all."""

from __future__ import annotations

import importlib.util

import pytest
from workflow_helpers import ROOT

from privrep.tables import write_rows

spec = importlib.util.spec_from_file_location("merge_cells", ROOT / "workflow" / "scripts" / "merge_cells.py")
merge_cells = importlib.util.module_from_spec(spec)
spec.loader.exec_module(merge_cells)

COLUMNS = ("series", "key", "value")
ORDER = [("a", "1"), ("a", "2"), ("b", "1")]


def shards(folder, *parts: list[tuple[str, str]]):
    """One file of rows for each part; the value of a row is the number of its file."""
    paths = []
    for number, names in enumerate(parts):
        paths.append(folder / f"{number}.csv")
        write_rows(paths[-1], [{"series": s, "key": k, "value": number} for s, k in names], COLUMNS)
    return paths


def test_rows_have_the_order_of_the_study(tmp_path):
    """However the cells were cut. One key in two series is two cells."""
    rows = merge_cells.merge(shards(tmp_path, [ORDER[2]], [ORDER[1], ORDER[0]]), ORDER)
    assert [(row["series"], row["key"]) for row in rows] == ORDER
    assert [row["value"] for row in rows] == ["1", "1", "0"]


@pytest.mark.parametrize("parts", [[ORDER, [ORDER[1]]], [[*ORDER, ORDER[0]]]], ids=["two shards", "one shard"])
def test_a_cell_that_appears_twice_is_refused(parts, tmp_path):
    """Which of the two rows counts would depend on the order of the shards."""
    with pytest.raises(SystemExit, match="appears twice"):
        merge_cells.merge(shards(tmp_path, *parts), ORDER)


def test_a_missing_cell_is_refused(tmp_path):
    """The message counts the missing ones and names the first."""
    with pytest.raises(SystemExit, match=r"2 cells are missing, the first is \('a', '2'\)"):
        merge_cells.merge(shards(tmp_path, ORDER[:1]), ORDER)
