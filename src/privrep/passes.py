"""A pass over the users: the one way in which their data are read.

A statistic of a block of users is summed, or its rows are laid one below the other, in the order of the blocks, which depends on the
data alone: the same bytes come out wherever the blocks lie, kept, drawn again or somebody else's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from privrep.problem import Block, UserData

Sums = TypeVar("Sums", np.ndarray, tuple[np.ndarray, ...])


def total(users: UserData, statistic: Callable[[Block], Sums], over: range | None = None) -> Sums:
    """Sum of a statistic over users.

    Parameters
    ----------
    statistic : block -> an array, or a tuple of arrays that are summed each, which nobody else writes to.
    over : the users numbered start, ..., stop - 1; all by default.
    """
    sums = None
    for block in users.blocks() if over is None else users.blocks(over.start, over.stop):
        part = statistic(block)
        sums = part if sums is None else _added(sums, part)
    return sums


def _added(sums: Sums, part: Sums) -> Sums:
    return tuple(map(np.add, sums, part)) if isinstance(part, tuple) else sums + part


def parts(users: UserData, statistic: Callable[[Block], tuple[np.ndarray, ...]]) -> list[tuple[np.ndarray, ...]]:
    """For each array of a statistic, its values in all blocks, in order."""
    return list(zip(*(statistic(block) for block in users.blocks()), strict=True))


def rows(users: UserData, statistic: Callable[[Block], tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """Rows of all users, from statistics with one row per user of a block."""
    return tuple(np.concatenate(part) for part in parts(users, statistic))
