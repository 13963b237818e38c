"""Shards run on one thread; their rows become one table, every cell once in the study's order, or no table at all."""

import re
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from workflow_helpers import script

from replication.run.cli_errors import Unreadable
from replication.run.config import read_config, read_study
from replication.run.csv_tables import REMEDY, read_rows, write_rows
from replication.run.grids import merge, shards
from replication.run.resolved import as_json, resolved

run_shard = script("run_shard")

COLUMNS = ("series", "key", "value")
ORDER = [("a", "1"), ("a", "2"), ("b", "1")]


def written(folder, *parts: list[tuple[str, str]]):
    """One file of rows for each part; the value of a row is the number of its file."""
    paths = []
    for number, names in enumerate(parts):
        paths.append(folder / f"{number}.csv")
        write_rows(paths[-1], [{"series": s, "key": k, "value": number} for s, k in names], COLUMNS)
    return paths


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
    paths = written(tmp_path, *parts)
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


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Run the command on made-up settings, none of them the default -> what it hands on, as it should be and as it is:
    cells, with the problem, seed and memory of their users, and the engine around them."""
    overlay, resolved_file, seen = tmp_path / "overlay.yaml", tmp_path / "shards.json", []
    engine = "memory_budget_mb: 3\noverrides: {init_rates: {shards: 3, engine: dask, scheduler: tcp://here}}\n"
    overlay.write_text(f"scale: tiny\n{engine}")
    config = read_config([overlay], 0)
    study = read_study(config, "init_rates", overlays=[overlay])
    resolved_file.write_text(as_json(resolved(study, config, [], {})["shards"]))

    @contextmanager
    def running_on(*where):
        seen.append(where)
        yield
        seen.append("left")

    def run_cell(cell, users):
        seen.append((cell, users))
        row = {"series": cell.series, "key": cell.key}
        return row, row, "no ledger"

    monkeypatch.setattr(run_shard, "Users", lambda *given: SimpleNamespace(problem=given[0], given=given))
    monkeypatch.setattr(run_shard, "running_on", running_on)
    monkeypatch.setattr(run_shard, "run_cell", run_cell)

    def call(by_settings: bool, *words: str) -> tuple[list, Path]:
        chosen = ["--settings", resolved_file] if by_settings else ["--configfile", overlay, "--master-seed", "0"]
        monkeypatch.setattr("sys.argv", ["run_shard.py", "--study", "init_rates", *map(str, chosen), *words])
        run_shard.main()
        assert (seen[0], seen[-1]) == (("dask", "tcp://here"), "left")
        for cell, users in seen[1:-1]:
            assert users.given == (cell.problem, 0, 3 * 2**20)
        return shards(study)[1], seen[1:-1]

    return call


@pytest.mark.parametrize("by_settings", [False, True])
def test_a_shard_runs_what_it_is_asked_for(by_settings, asked, tmp_path):
    """Its own cells, in their order, each on users of its own problem, who are drawn once for all cells that share
    them; another master seed, 0 included, memory and engine are those that were asked for. So it is with one cell."""
    files = [str(tmp_path / name) for name in ("rows.csv", "timings.csv")]
    groups, ran = asked(by_settings, "--shard", "1", "--output", files[0], "--timings", files[1])
    cells = [cell for group in groups for cell in group]
    assert [cell for cell, _ in ran] == cells and len(cells) > len(groups) > 1
    assert len({id(users) for _, users in ran}) == len({cell.problem for cell in cells})
    for file in files:
        rows = read_rows(Path(file))
        assert [(row["series"], row["key"]) for row in rows] == [(cell.series, cell.key) for cell in cells]


@pytest.mark.parametrize("by_settings", [False, True])
def test_a_cell_is_run_alone(by_settings, asked, capsys):
    key = shards(read_study(read_config().model_copy(update={"scale": "tiny"}), "init_rates"))[0][-1][-1].key
    _, ((cell, _),) = asked(by_settings, "--cell", key)
    assert cell.key == key
    assert re.findall(r"key +(\w+)", capsys.readouterr().out) == [key]


def test_a_shard_runs_no_cell_before_its_threads_are_counted(monkeypatch):
    """The check stands before everything else that the command does."""

    def refuse():
        raise RuntimeError("refused")

    monkeypatch.setattr(run_shard, "assert_one_thread", refuse)
    monkeypatch.setattr("sys.argv", ["run_shard.py", "--study", "no such study", "--shard", "0"])
    with pytest.raises(RuntimeError, match="refused"):
        run_shard.main()
