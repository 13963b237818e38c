"""Engines for passes over users: this process, its threads, or the workers of Dask.

Values are summed in the order of the blocks, not by task, so that a fit has the same bytes wherever it runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial

from threadpoolctl import threadpool_limits

from privrep.options import among, ensure
from privrep.users.blocks import UserData
from privrep.users.passes import ENGINE, values
from privrep.users.tasks import AHEAD, in_order, task_values, tasks

ENGINES = ("process", "threads", "dask")


def on_threads(
    pool: ThreadPoolExecutor, count: int, users: UserData, statistic: Callable, over: range, narrow: bool
) -> Iterator:
    """Yield a statistic's values from threads of this process; NumPy releases the interpreter while it works."""
    return in_order(partial(pool.submit, task_values, users, statistic, narrow), tasks(users, over), AHEAD * count)


@contextmanager
def running_on(engine: str = "process", scheduler: str | None = None) -> Iterator[None]:
    """Run passes over users on an engine within this context, and BLAS on one thread: several threads round otherwise.

    Parameters
    ----------
    engine : one of `ENGINES`. "dask" without a scheduler starts a worker for each core; a script that does so needs
        `if __name__ == "__main__":`.
    scheduler : address of a Dask scheduler, such as tcp://host:8786.

    Raises
    ------
    ValueError
        If the engine is unknown, a scheduler is given for an engine other than dask or cannot be reached, Dask is not
        installed, or a worker runs other code.
    """
    among(ENGINES)("engine", engine)
    fits = scheduler is None or engine == "dask"
    ensure(fits, "scheduler", scheduler, f"engine {engine!r} takes none: it must be None")
    # Cores that this process may use; macOS does not say, so all cores count.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ExitStack() as stack:
        stack.enter_context(threadpool_limits(1))
        runner = values
        if engine == "threads":
            runner = partial(on_threads, stack.enter_context(ThreadPoolExecutor(cores)), cores)
        if engine == "dask":
            try:
                from privrep.users.dask_engine import connected
            except ImportError as error:
                needed = f"it needs the package {error.name}: pip install 'privrep[dask]'"
                raise ValueError(f"engine is 'dask'; {needed}") from None
            runner = stack.enter_context(connected(scheduler, cores))
        before = ENGINE.set(runner)
        stack.callback(ENGINE.reset, before)
        yield
