"""What jobs cost, as the last documented runs measured it: the order of a run and the time that it has left follow from
it.

A job is named as its benchmark file; the shards of a study have one name and share its cost.
Costs are CPU seconds of the machine that measured them. How fast this machine is shows as a run goes on.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from privrep.run.config import ROOT
from privrep.run.csv_tables import read_rows

TABLE = ROOT / "docs" / "job_costs.csv"
"""By scale and job; `make docs` writes it."""
COLUMNS = ("scale", "job", "cpu_seconds", "machine")

PRIOR_SECONDS = 30.0
"""Work of one job at the speed of the table that a run is supposed to have behind it:
what it shows of its own speed counts from then on."""


def job_of(benchmark: Path | str) -> str:
    """The name of a job.

    >>> job_of("benchmarks/quick/run_shard/figure2-3.tsv"), job_of("benchmarks/quick/measure_figure2.tsv")
    ('run_shard/figure2', 'measure_figure2')
    """
    name = "/".join(Path(benchmark).with_suffix("").parts[2:])
    return re.sub(r"-\d+$", "", name) if name.startswith("run_shard/") else name


def estimated(benchmarks: Sequence[str], scale: str, table: Path = TABLE) -> dict[str, float]:
    """CPU seconds of each job of a run.

    A scale that stands not in the table takes the costs of the default scale, and a job that nobody measured the mean
    of its kind, studies or other jobs.

    Parameters
    ----------
    benchmarks : files of all jobs of the run, done or not.
    """
    rows = read_rows(table)
    rows = [row for row in rows if row["scale"] == scale] or [row for row in rows if row["scale"] == "default"]
    known = {row["job"]: float(row["cpu_seconds"]) for row in rows}
    alike = {kind: [known[job] for job in known if is_study(job) == kind] for kind in (True, False)}
    parts = Counter(map(job_of, benchmarks))

    def whole(job: str) -> float:
        peers = alike[is_study(job)]
        return known.get(job, sum(peers) / max(len(peers), 1))

    return {path: whole(job_of(path)) / parts[job_of(path)] for path in benchmarks}


def bundles(costs: Mapping[Hashable, float], least: float) -> dict[Hashable, int]:
    """The number of the bundle of each job, so that a bundle costs at least so many seconds; jobs that are neighbours
    share one, and what is left at the end joins the last.

    >>> bundles({"a": 40, "b": 40, "c": 90, "d": 20}, least=60)
    {'a': 0, 'b': 0, 'c': 1, 'd': 1}

    Parameters
    ----------
    costs : seconds by job, in order.
    least : seconds that are worth a submission.
    """
    numbers, number, filled, left = {}, 0, 0.0, sum(costs.values())
    for job, seconds in costs.items():
        if filled >= least and left >= least:
            number, filled = number + 1, 0.0
        numbers[job] = number
        filled, left = filled + seconds, left - seconds
    return numbers


def is_study(job: str) -> bool:
    """Whether a name stands for the shards of a study."""
    return job.startswith("run_shard/")


def measured(run: str, folder: Path = Path()) -> dict[str, float]:
    """CPU seconds of the jobs of a finished run, by name; of shards that went on after a kill at least those of their
    cells."""
    shards = {
        path.parent.name: json.loads(path.read_text())["study"].get("shards")
        for path in (folder / "results" / run).glob("*/shards.json")
    }
    seconds: Counter[str] = Counter()
    for path in sorted((folder / "benchmarks" / run).rglob("*.tsv")):
        job = job_of(path.relative_to(folder))
        # An earlier division into more shards leaves its files.
        if not is_study(job) or int(path.stem.rsplit("-", 1)[1]) < (shards.get(job.partition("/")[2]) or 0):
            seconds[job] += _total(path, "cpu_time", "\t")
    for path in (folder / "results" / run).glob("*/timings.csv"):
        job = f"run_shard/{path.parent.name}"
        seconds[job] = max(seconds[job], _total(path, "cpu_seconds", ","))
    return {job: round(seconds[job], 1) for job in sorted(seconds)}


def _total(path: Path, column: str, delimiter: str) -> float:
    """Sum of a column; Snakemake writes NA for a job that was too short."""
    with open(path, newline="") as file:
        values = [row[column] for row in csv.DictReader(file, delimiter=delimiter)]
    return sum(float(value) for value in values if re.fullmatch(r"[\d.]+(e-?\d+)?", value))


@dataclass(frozen=True)
class Planned:
    """A job that a run has to do.

    seconds : what it costs. chain : from its start to the end of the run, with nothing to wait for but what must come
    before. share : what is done of it.
    """

    seconds: float
    chain: float
    share: float = 0.0


def outlook(jobs: Iterable[Planned], elapsed: float, at_once: int) -> tuple[float, float]:
    """Share of the cost of all jobs that is done, and seconds until the end of the run.

    What is left is spread over all jobs at once, and takes no less than the longest chain of jobs that wait for one
    another. The speed of one job is what this run has done, over the time that it took at once; at the start it is that
    of the table.

    >>> outlook([Planned(60, 70, share=0.5), Planned(10, 10)], elapsed=30, at_once=1)
    (0.42857142857142855, 40.0)
    """
    jobs = list(jobs)
    total, done = sum(job.seconds for job in jobs), sum(job.seconds * job.share for job in jobs)
    speed = (PRIOR_SECONDS + done) / (PRIOR_SECONDS + elapsed * at_once)
    chain = max((job.chain - job.seconds * job.share for job in jobs if job.share < 1), default=0.0)
    return done / total if total else 1.0, max((total - done) / at_once, chain) / speed
