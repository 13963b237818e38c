"""What a fit costs on many workers: measured on this machine, and carried to more users on paper.

python bench/scale.py          measures, for a quarter of an hour, and writes docs/scale.csv and docs/scale.md
python bench/scale.py --text   writes docs/scale.md again
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import dask
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client
from jinja2 import Template

from privrep.data.dask_engine import KEEP_MEMORY
from privrep.data.engines import running_on, tasks
from privrep.data.given_users import GivenUsers
from privrep.data.known import Known
from privrep.data.passes import total
from privrep.data.problem import Block, Problem, Users
from privrep.data.schema import Number, Schema
from privrep.estimator import PrivateRepresentation
from privrep.run.csv_tables import read_rows, write_rows
from privrep.run.shell import fit

DOCS = Path(__file__).resolve().parents[1] / "docs"
TEMPLATE = Path(__file__).with_name("scale.md.jinja")
SAMPLES, DIM, RANK = 10, 50, 2
USERS, FEWER = 10**7, 10**6
SENT = 4000
TINY = GivenUsers(Known(SENT, 1, 1, 1), np.ones((1, SENT, 1)), np.ones((1, SENT)), block_size=1)
"""Users in blocks of one, which take no time."""
ROWS, COLUMNS, PEOPLE = 10**7, 11, 10**5
MANY = 10**9
OPTIONS = {"init_label_clip": 10.0}


NUMBERS = (1, DIM * RANK, DIM * DIM)
"""Of a sum: one, as many as of a gradient on the representation, as many as of second moments."""


def repeated(count: int, block: Block) -> np.ndarray:
    """A statistic of so many numbers."""
    return np.full(count, block.labels[0, 0], float)


def received() -> int:
    """Bytes that went over the loopback device since the start of the machine."""
    (line,) = [line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("lo:")]
    return int(line.split(":")[1].split()[0])


def peak() -> float:
    """MiB that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


@contextmanager
def workers(count: int):
    """A client of so many new workers."""
    alone = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with dask.config.set(KEEP_MEMORY), Client(**alone, memory_limit=0) as client:
        yield client


def on(client: Client) -> dict[str, str]:
    """Arguments of a fit on its workers."""
    return {"engine": "dask", "scheduler": client.scheduler.address}


def timed(work: Callable[[], object]) -> float:
    """Seconds."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def simulated(users: int, **engine: str) -> float:
    """Seconds of a fit of two passes: Algorithm 3 of jain2021, and the exact risk."""
    begun = time.perf_counter()
    fit(
        "spectral_init",
        users=users,
        samples=SAMPLES,
        dim=DIM,
        rank=RANK,
        label_noise_sd=0.5,
        epsilon=1.0,
        **OPTIONS,
        **engine,
    )
    return time.perf_counter() - begun


def table(path: Path) -> None:
    """Rows in no order."""
    rng = np.random.default_rng(0)
    columns = {f"x{number}": rng.random(ROWS, np.float32) for number in range(COLUMNS)}
    columns |= {"who": rng.integers(0, PEOPLE, ROWS), "y": rng.random(ROWS, np.float32)}
    pq.write_table(pa.table(columns), path)


def of_table(path: Path, **engine: object) -> None:
    """A fit of a table on disk."""
    schema = Schema({f"x{number}": Number(0, 1) for number in range(COLUMNS)}, Number(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the seed
        model = PrivateRepresentation(1.0, random_state=0, max_samples=200, **engine)
        model.fit_table(path, user="who", label="y", schema=schema)


def measure() -> list[dict]:
    """All numbers, one a row."""
    found = []

    def add(what: str, value: float, workers: int, users: int = USERS, numbers: int = 0) -> None:
        found.append(
            {"what": what, "workers": workers, "users": users, "numbers": numbers, "value": float(f"{value:.4g}")}
        )
        print(found[-1], flush=True)

    for users in (FEWER, USERS):
        add("fit", simulated(users), 0, users)
        for count in (1, 2):
            with workers(count) as client:
                add("fit", simulated(users, **on(client)), count, users)
                add("memory", max(client.run(peak).values()), count, users)
    for count in (2, 4):
        with workers(count) as client, running_on(**on(client)):
            for numbers in (1, *NUMBERS):  # the first one also sends the users
                before = received()
                total(TINY, partial(repeated, numbers))
                add("bytes", received() - before, count, SENT, numbers)
    with workers(1) as client, running_on(**on(client)):
        begun = time.process_time()
        total(TINY, partial(repeated, DIM * RANK))
        add("task", (time.process_time() - begun) / len(tasks(TINY, range(SENT))), 1, SENT)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PRIVREP_JOURNAL"] = str(Path(folder) / "journal")
        path = Path(folder) / "rows.parquet"
        table(path)
        add("table", timed(lambda: of_table(path)), 0, PEOPLE)
        with workers(2) as client:
            add("table", timed(lambda: of_table(path, **on(client))), 2, PEOPLE)
    return found


def document(rows: list[dict[str, str]]) -> str:
    """docs/scale.md.

    Parameters
    ----------
    rows : of docs/scale.csv.
    """
    found = {tuple(row[name] for name in ("what", "workers", "users", "numbers")): float(row["value"]) for row in rows}

    def value(what: str, workers: int, users: int = USERS, numbers: int = 0) -> float:
        return found[what, str(workers), str(users), str(numbers)]

    def cut(users: int) -> tuple[int, int]:
        """Tasks and blocks of a pass."""
        data = TINY if users == SENT else Users(Problem(users, SAMPLES, DIM, RANK))
        return len(tasks(data, range(users))), -(-users // data.block_size)

    few, blocks_of_few = cut(SENT)
    c = (value("bytes", 2, SENT, 1) - 16 * blocks_of_few) / few

    def by_model(users: int, numbers: int) -> float:
        count, blocks = cut(users)
        return count * c + 16 * blocks * numbers

    count, blocks = cut(MANY)
    pass_seconds, task_seconds = value("fit", 0) / 2, value("task", 1, SENT)
    block_seconds = pass_seconds / cut(USERS)[1]
    busy = block_seconds * blocks / count / task_seconds
    about = {
        "machine": rows[0]["machine"],
        **{"samples": SAMPLES, "dim": DIM, "rank": RANK, "rows": ROWS, "people": PEOPLE, "columns": COLUMNS},
        "fits": [
            [
                f"{users:,}",
                f"{value('fit', 0, users):.0f} s",
                *(f"{value('fit', 0, users) / value('fit', one, users):.2f} times as fast" for one in (1, 2)),
                *(f"{value('memory', one, users):.0f} MiB" for one in (1, 2)),
            ]
            for users in (FEWER, USERS)
        ],
        "table": value("table", 0, PEOPLE),
        "table_ratio": value("table", 0, PEOPLE) / value("table", 2, PEOPLE),
        **{"c": c, "sent": few, "sent_blocks": blocks_of_few, "many": MANY, "tasks": count, "blocks": blocks},
        "bytes": [
            [
                f"{numbers:,}",
                one,
                f"{value('bytes', one, SENT, numbers):,.0f}",
                f"{by_model(SENT, numbers):,.0f}",
                f"{value('bytes', one, SENT, numbers) / by_model(SENT, numbers):.2f}",
            ]
            for numbers in NUMBERS
            for one in (2, 4)
        ],
        **{"block_ms": 1000 * block_seconds, "task_ms": 1000 * task_seconds, "busy": busy},
        "seconds": MANY / USERS * pass_seconds / busy,
        "carried": [(numbers, by_model(MANY, numbers) / 1e9) for numbers in NUMBERS],
        "by_task": count * (c + 16 * DIM * DIM) / 1e9,
    }
    return Template(TEMPLATE.read_text(), keep_trailing_newline=True).render(about)


def main() -> None:
    """Measure, or write the text again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", action="store_true", help="from docs/scale.csv as it is")
    if not parser.parse_args().text:
        machine = f"{len(os.sched_getaffinity(0))} cores, {platform.machine()}, Python {platform.python_version()}"
        rows = [{**row, "machine": machine} for row in measure()]
        write_rows(DOCS / "scale.csv", rows, tuple(rows[0]))
    (DOCS / "scale.md").write_text(document(read_rows(DOCS / "scale.csv")))


if __name__ == "__main__":
    main()
