"""A pass over users as tasks of whole blocks, with values in the order of the blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from privrep.options import T
from privrep.users.blocks import Block, UserData
from privrep.users.passes import values

BLOCKS = 8  # fewest blocks per task: with fewer, Dask's cost per task counts; with more, workers idle
TASKS = 4000  # most tasks per pass: the sum spends some milliseconds on each
AHEAD = 3  # tasks per worker thread that run, wait or are done but not summed: they set the memory, not n


def tasks(users: UserData, over: range) -> list[range]:
    """Split users into ranges of whole blocks, one per task; all in one task where all users form one block."""
    if users.block_size is None:
        return [over]
    size = max(BLOCKS, -(-len(over) // (TASKS * users.block_size))) * users.block_size
    starts = range(over.start // size * size, over.stop, size)
    return [range(max(start, over.start), min(start + size, over.stop)) for start in starts]


def in_order(submit: Callable, tasks: list[range], ahead: int) -> Iterator:
    """Yield the values of tasks in the order of the tasks, with at most `ahead` tasks submitted at a time."""
    waiting = deque()
    for task in tasks:
        waiting.append(submit(task))
        if len(waiting) >= ahead:
            yield from waiting.popleft().result()
    while waiting:
        yield from waiting.popleft().result()


def task_values(users: UserData, statistic: Callable[[Block], T], narrow: bool, over: range) -> list[T]:
    """Return the statistic's values of a task's blocks."""
    return list(values(users, statistic, over, narrow))
