"""A pass over users as tasks of whole blocks, whose values come in the order of the blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from privrep.options import T
from privrep.users.blocks import Block, UserData
from privrep.users.passes import values

BLOCKS = 8  # least blocks of a task: with fewer, Dask's cost of a task counts; with more, workers idle
TASKS = 4000  # most tasks of a pass: the sum spends some milliseconds on each
AHEAD = 3  # tasks for each thread of a worker that run, wait or are done: memory is set by them, not by n


def tasks(users: UserData, over: range) -> list[range]:
    """Split users into ranges of whole blocks, one a task, or leave all in one where blocks go together."""
    if users.block_size is None:
        return [over]
    size = max(BLOCKS, -(-len(over) // (TASKS * users.block_size))) * users.block_size
    starts = range(over.start // size * size, over.stop, size)
    return [range(max(start, over.start), min(start + size, over.stop)) for start in starts]


def in_order(submit: Callable, tasks: list[range], ahead: int) -> Iterator:
    """Yield the entries of the tasks' lists in the order of the tasks, with at most `ahead` of them submitted."""
    waiting = deque()
    for task in tasks:
        waiting.append(submit(task))
        if len(waiting) >= ahead:
            yield from waiting.popleft().result()
    while waiting:
        yield from waiting.popleft().result()


def task_values(users: UserData, statistic: Callable[[Block], T], over: range, narrow: bool) -> list[T]:
    """Return the statistic's values of a task's blocks."""
    return list(values(users, statistic, over, narrow))
