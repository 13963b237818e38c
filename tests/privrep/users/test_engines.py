"""Passes over users on threads and on the workers of Dask: the same bytes as in one process."""

import os
import subprocess
import sys
import time
import warnings
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import get_args

import cloudpickle
import dask
import numpy as np
import pytest
from distributed import Client
from test_scattered import COLUMNS, people, written
from threadpoolctl import threadpool_info, threadpool_limits
from workflow_helpers import ROOT, patience

from privrep.estimator.private_representation import PrivateRepresentation
from privrep.simulate import fit
from privrep.users import dask_engine, engines
from privrep.users.blocks import Block
from privrep.users.engines import running_on
from privrep.users.given_users import GivenUsers
from privrep.users.known import Known
from privrep.users.passes import ENGINE, UserRows, total
from privrep.users.scattered import ScatteredUsers
from privrep.users.simulated import Problem, Users
from privrep.users.tasks import in_order, tasks
from replication.run.settings import Simulation

pytestmark = pytest.mark.filterwarnings("ignore:column 'kind'.*not listed")
PROBLEM = Problem(1500, 64, 64, 2, label_noise_sd=0.5)
"""Of six blocks, the last of which is short."""


@pytest.fixture(scope="module")
def scheduler():
    """The address of one with two workers."""
    with (
        dask.config.set(dask_engine.KEEP_MEMORY),
        Client(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as one,
    ):
        yield one.scheduler.address


@pytest.fixture
def single_blocks(monkeypatch):
    """A task for each block."""
    monkeypatch.setattr("privrep.users.tasks.BLOCKS", 1)


@pytest.fixture(params=["threads", "dask"])
def engine(request, single_blocks, scheduler):
    """What `running_on` takes."""
    return {"engine": request.param, "scheduler": scheduler if request.param == "dask" else None}


METHODS = {
    "unit_steps": {},
    "ppsgd": {"rounds": 2, "participation": 0.5, "clip": 1.0, "batch_samples": 8},
    "altmin": {"init": "spectral", "split": "text", "clip_feature": 9.0, "clip_label": 2.0, "init_label_clip": 2.0},
    "mixed_model": {"dim": 16},
}
"""One with kept sums, one whose users keep something and take part at random, one with narrow sums, and one for
tables."""


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_has_the_same_bytes(method, engine):
    sizes = {name: getattr(PROBLEM, name) for name in ("users", "samples", "dim", "rank", "label_noise_sd")}
    alone, there = (fit(method, **sizes | METHODS[method], epsilon=4.0, **on) for on in ({}, engine))
    assert alone[0] == there[0] and str(alone[1]) == str(there[1])


def test_an_estimator_has_the_same_bytes(engine, tmp_path, monkeypatch):
    """Of a table on disk, whose rows lie nowhere any more afterwards."""
    monkeypatch.setenv("PRIVREP_JOURNAL", str(tmp_path / "journal"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = written(people(3000, 40), tmp_path / "people.parquet")
    found = []
    for on in ({}, engine):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the seed
            model = PrivateRepresentation(2.0, random_state=3, **on)
            model.fit_table(path, user="who", label="y", schema=COLUMNS["schema"])
        found.append((model.shared_.mean.tobytes(), model.local_.vectors.tobytes(), model.advice_))
    assert found[0] == found[1]
    assert {one.name for one in tmp_path.iterdir()} == {"people.parquet", "journal"}


def test_a_table_without_a_name_is_not_sent(tmp_path):
    users = ScatteredUsers.of(written(people(), tmp_path / "people.parquet"), **COLUMNS)
    with pytest.raises(ValueError, match="without a name"):
        cloudpickle.dumps(users)


def told(block: Block) -> tuple[float, np.ndarray, UserRows]:
    """That it is asked, a sum that rounds, and rows of the users; every seventh block takes its time."""
    time.sleep(0.02 * (block.start % 84 == 0))
    return 1.0, block.features.sum(axis=(0, 1)), UserRows(block.labels.T, block.start)


def test_sums_have_the_same_bytes(engine):
    """Of two sets of users in turn, of all and of some, block by block and of the users of one stream at a time. There
    are sixty tasks of one block, ten times as many as may wait: not the end of a task counts, but its place."""
    known, rng, over = Known(720, 5, 3, 2), np.random.default_rng(0), range(100, 500)
    both = [
        GivenUsers(known, rng.random((5, 720, 3)), rng.random((5, 720)), block_size=12, stream_users=3) for _ in "12"
    ]
    assert len(tasks(both[0], range(720))) == 60 and [task.start % 12 for task in tasks(both[0], over)] == [4] + 33 * [
        0
    ]

    def found() -> list[bytes]:
        asked = [(0, None, False), (1, over, True), (0, over, False)]
        sums = [total(both[one], told, over, narrow=narrow) for one, over, narrow in asked]
        assert [count for count, *_ in sums] == [60, 134, 34]
        return [part.tobytes() for _, sum_, own in sums for part in (sum_, own.rows)]

    alone = found()
    with running_on(**engine):
        assert found() == alone


def dies_once(marker: Path, block: Block) -> np.ndarray:
    """A sum; the worker that takes that of the third block first is gone."""
    if block.start == 512 and not marker.exists():
        marker.touch()
        os._exit(1)
    return block.labels.sum(axis=1)


def test_a_worker_may_die_in_the_middle(single_blocks, tmp_path):
    """The only one, too, with all that it had of the users."""
    users, marker = Users(PROBLEM), tmp_path / "died"
    alone = Client(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    with alone, running_on("dask", alone.scheduler.address):
        total(users, partial(dies_once, tmp_path))
        found = total(users, partial(dies_once, marker))
    assert marker.exists()
    assert found.tobytes() == total(users, partial(dies_once, marker)).tobytes()


def blas_threads(block: Block) -> np.ndarray:
    """Of the process that takes this."""
    return np.array([float(pool["num_threads"]) for pool in threadpool_info() if pool["user_api"] == "blas"])


@pytest.mark.parametrize("where", ["process", "threads", "dask"])
def test_blas_has_one_thread_everywhere(where):
    """More round otherwise. A worker that begins with two has one, too; afterwards this process is the engine again."""
    users = Users(replace(PROBLEM, users=10))
    with threadpool_limits(2), running_on(where):
        assert set(total(users, blas_threads)) == {1.0}
    assert ENGINE.get() is engines.values
    with threadpool_limits(2):
        (found,) = dask_engine.worker_values(users, cloudpickle.dumps(blas_threads), range(10), False)
    assert set(found) == {1.0}


def test_few_results_wait():
    """However many tasks there are."""
    begun, taken = [], 0

    def submit(task: range) -> Future:
        begun.append(task)
        done = Future()
        done.set_result([task])
        return done

    for taken, found in enumerate(in_order(submit, list(range(100)), 6)):
        assert found == taken and len(begun) - taken <= 6
    assert taken == 99


@pytest.mark.parametrize("start", [0, 700])
def test_a_task_gets_rows_of_its_users_alone(start):
    """Also where rows begin with a later user."""
    kept = UserRows(np.arange(2e6).reshape(-1, 2), start)
    message = dask_engine.pickled(partial(lambda own, block: own.of(block), kept), range(1000, 1010))
    assert len(message) < 5000
    block = Block(1003, np.ones((1, 4, 1), np.float32), np.ones((1, 4), np.float32))
    np.testing.assert_array_equal(cloudpickle.loads(message)(block), kept.rows[1003 - start : 1007 - start])


@pytest.mark.parametrize("given", [False, True])
def test_users_are_sent_without_what_they_keep(given):
    users = Users(replace(PROBLEM, users=300))
    if given:
        users = GivenUsers(users.known, np.ones((64, 300, 64)), np.ones((64, 300)), block_size=10)
    before = len(cloudpickle.dumps(users))
    total(users, lambda block: block.labels.sum(axis=1), name="sum")
    sent = cloudpickle.dumps(users)
    assert users.sums and abs(len(sent) - before) < 5000
    again = cloudpickle.loads(sent)
    assert again.known == users.known and not again.sums
    assert [block.labels.tobytes() for block in again.blocks()] == [block.labels.tobytes() for block in users.blocks()]


def test_a_study_may_say_where_it_runs(tmp_path):
    assert get_args(Simulation.model_fields["engine"].annotation) == engines.ENGINES
    threads = tmp_path / "threads.yaml"
    threads.write_text("overrides:\n  figure2:\n    engine: threads\n")
    command = [sys.executable, "workflow/scripts/run_shard.py", "--study", "figure2", "--shard", "1"]
    command += ["--timings", str(tmp_path / "timings.csv"), "--configfile", "config/scales/tiny.yaml"]
    for name, overlay in (("alone", []), ("there", [str(threads)])):
        subprocess.run([*command, *overlay, "--output", str(tmp_path / name)], cwd=ROOT, check=True, timeout=patience())
    assert (tmp_path / "alone").read_bytes() == (tmp_path / "there").read_bytes()


def test_what_cannot_run_is_said(scheduler, monkeypatch):
    for on, says in (
        ({"engine": "spark"}, "engine is 'spark'; it must be one of process, threads, dask"),
        ({"engine": "threads", "scheduler": "tcp://a:1"}, "scheduler is 'tcp://a:1'; engine 'threads' takes none"),
        (
            {"engine": "dask", "scheduler": "tcp://127.0.0.1:1"},
            "scheduler is 'tcp://127.0.0.1:1'; it cannot be reached",
        ),
        ({"engine": "dask", "scheduler": "nowhere"}, "scheduler is 'nowhere'; it cannot be reached"),
    ):
        impatient = dask.config.set({"distributed.comm.timeouts.connect": "1s"})
        with impatient, pytest.raises(ValueError, match=says), running_on(**on):
            pass
    monkeypatch.setattr(Client, "run", lambda *_: {"tcp://b:2": "of others"})
    with pytest.raises(ValueError, match="has another version of privrep or NumPy"), running_on("dask", scheduler):
        pass
    ours = dask_engine.code_checksum()
    monkeypatch.setattr(np, "__version__", "0")
    assert dask_engine.code_checksum() != ours
