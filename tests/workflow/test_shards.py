"""Shards run on one thread; their rows become one table, every cell once in the study's order, or no table at all."""

from __future__ import annotations

import pytest
from workflow_helpers import script

from replication.run.cli_errors import Unreadable
from replication.run.csv_tables import REMEDY, write_rows
from replication.run.grids import merge

run_shard = script("run_shard")

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
    parts = [[ORDER[2]], [ORDER[1], ORDER[0]]]
    rows = merge(shards(tmp_path, *parts), parts, ORDER)
    assert [(row["series"], row["key"]) for row in rows] == ORDER
    assert [row["value"] for row in rows] == ["1", "1", "0"]


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([[*ORDER, ORDER[0]]], "it has 4 rows and 3 of its 3 cells"),
        ([ORDER[:1]], "it has 1 rows and 1 of its 3 cells"),
        ([[]], "it has 0 rows and 0 of its 3 cells"),
        ([[*ORDER[:2], ("c", "1")]], "it has 3 rows and 2 of its 3 cells"),
    ],
)
def test_a_shard_with_other_cells_is_refused(parts, says, tmp_path):
    """One twice, some missing, one of another shard: the file is named, with what to do."""
    paths = shards(tmp_path, *parts)
    with pytest.raises(Unreadable) as caught:
        merge(paths, [ORDER], ORDER)
    assert str(caught.value) == f"{paths[0]}: {says}; {REMEDY}"


@pytest.mark.parametrize("threads", [2, 8])
def test_more_than_one_thread_is_refused(threads, monkeypatch):
    """Where BLAS does not let itself be limited, the last bits would depend on the machine."""
    pools = [{"user_api": "openmp", "num_threads": 4}, {"user_api": "blas", "num_threads": 1}]
    monkeypatch.setattr(run_shard, "threadpool_limits", lambda limit: None)
    monkeypatch.setattr(run_shard, "threadpool_info", lambda: pools)
    run_shard.assert_one_thread()
    pools.append({"user_api": "blas", "num_threads": threads})
    with pytest.raises(RuntimeError, match=f"BLAS runs on {threads} threads"):
        run_shard.assert_one_thread()


def test_a_shard_runs_no_cell_before_its_threads_are_counted(monkeypatch):
    """The check stands before everything else that the command does."""

    def refuse():
        raise RuntimeError("refused")

    monkeypatch.setattr(run_shard, "assert_one_thread", refuse)
    monkeypatch.setattr("sys.argv", ["run_shard.py", "--study", "no such study", "--shard", "0"])
    with pytest.raises(RuntimeError, match="refused"):
        run_shard.main()
