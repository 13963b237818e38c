"""What jobs cost decides the order of a run, and the time that it says it has left."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest
from workflow_helpers import ROOT

from privrep.run.costs import COLUMNS, Planned, estimated, measured, outlook
from privrep.run.csv_tables import write_rows

spec = importlib.util.spec_from_file_location("run_all", ROOT / "workflow" / "scripts" / "run_all.py")
run_all = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_all)


def shards(share: float, seconds: float = 60, count: int = 20) -> list[Planned]:
    return [Planned(seconds, seconds + 10, share)] * count


def test_time_left_is_work_left_over_the_speed_of_this_run():
    """Twenty shards of a minute on two cores take ten minutes by the table, and on a machine of half its speed
    twenty."""
    assert outlook(shards(0), elapsed=0, at_once=2) == (0, 600)
    share, left = outlook(shards(0.5), elapsed=300, at_once=2)
    assert (share, left) == (0.5, 300)
    share, left = outlook(shards(0.5), elapsed=600, at_once=2)
    assert share == 0.5 and left == pytest.approx(600, rel=0.03)


def test_the_end_of_a_run_is_no_shorter_than_its_longest_chain():
    """One shard is left of twenty, and a page after it: a second core does not help."""
    jobs = [*shards(1, count=19), Planned(60, 80, 0.5), Planned(20, 20)]
    share, left = outlook(jobs, elapsed=585, at_once=2)
    assert share == pytest.approx(1170 / 1220)
    assert left == 50


def test_a_rerun_speaks_of_what_it_has_to_do():
    """Nothing of earlier runs stands in its plan: little is left from the start."""
    assert outlook([Planned(6, 18), Planned(12, 12)], elapsed=0, at_once=2) == (0, 18)
    assert outlook([Planned(6, 18, 1), Planned(12, 12, 1)], elapsed=20, at_once=2)[1] == 0
    assert outlook([Planned(0, 0)], elapsed=3, at_once=2) == (1, 0)


@pytest.fixture
def table(tmp_path) -> Path:
    rows = [
        ("default", "run_shard/a", 90),
        ("default", "run_shard/b", 30),
        ("default", "plot_a", 4),
        ("quick", "plot_a", 2),
    ]
    listed = [dict(zip(COLUMNS, (*row, "some machine"), strict=True)) for row in rows]
    write_rows(tmp_path / "costs.csv", listed, COLUMNS)
    return tmp_path / "costs.csv"


def test_costs_of_jobs_follow_from_the_table(table):
    """Shards share the cost of their study; a new study costs what studies cost, a new step what steps do,
    and a scale without rows as the default one."""
    jobs = [f"benchmarks/record/run_shard/{shard}.tsv" for shard in ("a-0", "a-1", "b-0", "new-0", "new-1")]
    steps = ["benchmarks/record/plot_a.tsv", "benchmarks/paper/plot_new.tsv"]
    assert list(estimated([*jobs, *steps], "record", table).values()) == [45, 45, 30, 30, 30, 4, 4]
    assert estimated(["benchmarks/quick/plot_a.tsv"], "quick", table) == {"benchmarks/quick/plot_a.tsv": 2}


def test_a_finished_run_says_what_its_jobs_cost(tmp_path):
    """Shards of an earlier division are left out, a job too short to be sampled costs nothing, and cells count that ran
    before a kill."""
    benchmarks, results = tmp_path / "benchmarks" / "quick", tmp_path / "results" / "quick"
    for job, seconds in {
        "run_shard/a-0": 5.0,
        "run_shard/a-1": 7.0,
        "run_shard/a-2": 9.0,
        "plot_a": 3.5,
        "judge": "NA",
    }.items():
        (benchmarks / job).parent.mkdir(parents=True, exist_ok=True)
        (benchmarks / f"{job}.tsv").write_text(f"s\tcpu_time\n1.0\t{seconds}\n")
    (results / "a").mkdir(parents=True)
    (results / "a" / "shards.json").write_text(json.dumps({"study": {"shards": 2}}))
    (results / "a" / "timings.csv").write_text("key,cpu_seconds\nx,4.0\ny,4.5\n")
    assert measured("quick", tmp_path) == {"judge": 0, "plot_a": 3.5, "run_shard/a": 12}
    (results / "a" / "timings.csv").write_text("key,cpu_seconds\nx,40.0\ny,4.5\n")
    assert measured("quick", tmp_path)["run_shard/a"] == 44.5


def test_what_is_shown_while_a_run_goes_on(tmp_path, monkeypatch):
    """Finished jobs and cells of shards under way count; the log of an earlier run does not."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    watch = run_all.Watch(tmp_path / "plan.csv", jobs=8)
    assert watch.at_once == 2 and watch.seen() is None
    rows = [{"jobid": i, "log": str(tmp_path / f"{i}.log"), "cpu_seconds": 20, "chain": 25} for i in range(4)]
    write_rows(tmp_path / "plan.csv", rows, tuple(rows[0]))
    now = watch.plan.stat().st_mtime
    (tmp_path / "1.log").write_text("a shard 1: 1 of 4 done, 15 s left, now noise seed=2\n")
    (tmp_path / "2.log").write_text("a shard 2: 9 of 9 done in 30 s\n")
    os.utime(tmp_path / "1.log", (now + 1, now + 1))
    os.utime(tmp_path / "2.log", (now - 60, now - 60))
    watch.finished.add("0")
    share, words = watch.seen()
    assert share == 25 / 80
    assert words.endswith(" left, 1 of 4 jobs; a shard 1: noise seed=2")
