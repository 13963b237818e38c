"""Engine that runs passes on Dask workers; the statistic of a task carries `UserRows` of the task's users alone."""

from __future__ import annotations

import gc
import hashlib
import io
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import cloudpickle
import dask
import numpy as np
from distributed import Client
from threadpoolctl import threadpool_limits

from privrep.users.blocks import Block, UserData
from privrep.users.passes import UserRows
from privrep.users.tasks import AHEAD, in_order, task_values, tasks

KEEP_MEMORY = {
    f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": size
    for name, size in (("TRIM", 2**30), ("MMAP", 2**25))
}
"""Settings with which malloc keeps freed memory for the next block; this saves a third of a pass."""


class _TaskPickler(cloudpickle.Pickler):
    """A pickler that reduces `UserRows` to the rows of one task's users."""

    def __init__(self, file: io.BytesIO, task: range):
        super().__init__(file)
        self._task = task

    def reducer_override(self, obj: object) -> object:
        if isinstance(obj, UserRows) and isinstance(obj.rows, np.ndarray):
            first = self._task.start - obj.start
            return UserRows, (obj.rows[first : first + len(self._task)], self._task.start)
        return super().reducer_override(obj)


def pickled(statistic: Callable[[Block], object], task: range) -> bytes:
    """Pickle a statistic for the users of a task."""
    file = io.BytesIO()
    _TaskPickler(file, task).dump(statistic)
    return file.getvalue()


def worker_values(users: UserData, statistic: bytes, over: range, narrow: bool) -> list:
    """Run `task_values` on a worker, with BLAS on one thread from then on, since a reset would change roundings."""
    threadpool_limits(1)
    return task_values(users, pickle.loads(statistic), narrow, over)


def code_checksum() -> str:
    """Return a checksum of NumPy's version and privrep's source files, in a checkout also of the packages beside it."""
    package, beside = Path(__file__).parents[1:3]
    digest = hashlib.sha256(np.__version__.encode())
    for path in sorted((beside if beside.name == "src" else package).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


class Dask:
    """Engine on a scheduler's workers, which must run the same code; the tasks of a lost worker run on another."""

    def __init__(self, client):
        self._client, self._users, self._remote = client, None, None
        for worker, checksum in client.run(code_checksum).items():
            if checksum != code_checksum():
                raise ValueError(f"worker {worker} has another version of privrep or NumPy; start it with this one")

    def __call__(self, users: UserData, statistic: Callable, over: range, narrow: bool) -> Iterator:
        if users is not self._users:
            # As a task, not scattered: after the loss of workers, others can recompute the users.
            self._remote = self._client.submit(pickle.loads, cloudpickle.dumps(users), pure=False)
            self._users = users

        def submit(task: range):
            return self._client.submit(worker_values, self._remote, pickled(statistic, task), task, narrow, pure=False)

        threads = sum(self._client.nthreads().values())
        return in_order(submit, tasks(users, over), AHEAD * max(threads, 1))


@contextmanager
def connected(scheduler: str | None, cores: int) -> Iterator[Dask]:
    """Connect to a scheduler, or start a worker on each core of this machine, within this context."""
    gc.collect()  # closes a client that failed before: collected later, it and the new one would wait for each other
    if scheduler is None:
        with (
            dask.config.set(KEEP_MEMORY),
            Client(n_workers=cores, threads_per_worker=1, dashboard_address="127.0.0.1:0") as client,
        ):
            yield Dask(client)
        return
    try:
        client = Client(scheduler)
    except (OSError, ValueError) as error:
        raise ValueError(f"scheduler is {scheduler!r}; it cannot be reached: {error}") from None
    with client:
        yield Dask(client)
