"""Passes over the users: the only code that reads their data.

Sums and rows follow the order of the blocks, which depends on the data alone: results are equal to the byte for blocks
kept or drawn again, and for any process that reads them (`privrep.users.engines`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from privrep.options import T
from privrep.users.blocks import Block, UserData

Sums = TypeVar("Sums", float, np.ndarray, tuple[np.ndarray, ...])


@dataclass(frozen=True, eq=False)
class UserRows:
    """Rows (B, ...) of the users from `start` on, kept on the users' side: only a statistic reads them."""

    rows: np.ndarray
    start: int = 0

    def of(self, block: Block) -> np.ndarray:
        first = block.start - self.start
        return self.rows[first : first + block.users]

    def updated(self, new: UserRows, who: np.ndarray | None) -> UserRows:
        """Return these rows, replaced by those of `new` for the users marked in `who` (n,), by default for all."""
        return new if who is None else UserRows(np.where(who[:, None], new.rows, self.rows), self.start)


def values(users: UserData, statistic: Callable[[Block], T], over: range, narrow: bool = False) -> Iterator[T]:
    """Yield a statistic of the blocks of some users, in order, in this process; `narrow` as in `total`."""
    blocks = users.blocks(over.start, over.stop)
    return map(statistic, chain.from_iterable(map(Block.streams, blocks)) if narrow else blocks)


ENGINE: ContextVar[Callable[[UserData, Callable, range, bool], Iterator]] = ContextVar("ENGINE", default=values)
"""Engine that yields a statistic's values in the order of the blocks, as `values` does; see `privrep.users.engines`."""
KEPT = 16  # number of named sums cached per set of users, the latest ones


def total(
    users: UserData,
    statistic: Callable[[Block], Sums],
    over: range | None = None,
    name: Hashable = None,
    narrow: bool = False,
) -> Sums:
    """Return the sum of a statistic over users, by default all, in float64.

    A statistic maps a block to an array or number, or a tuple of them. `UserRows` are concatenated; any other value
    must be the same in all blocks. `name` identifies all that the statistic depends on besides the data: a named sum is
    cached, since cells that differ in their noise alone begin with the same sums. `narrow` evaluates the statistic on
    the users of one stream at a time: a float32 sum over fewer users has smaller rounding errors.
    """
    kept = getattr(users, "sums", None)
    if name is None or kept is None:
        return _total(users, statistic, over, narrow)
    place = (name, over)
    if place not in kept:
        kept[place] = _total(users, statistic, over, narrow)
        for sum_ in kept[place] if isinstance(kept[place], tuple) else (kept[place],):
            if isinstance(sum_, np.ndarray):
                sum_.flags.writeable = False
    kept.move_to_end(place)
    while len(kept) > KEPT:
        kept.popitem(last=False)
    return kept[place]


def _total(users: UserData, statistic: Callable[[Block], Sums], over: range | None, narrow: bool) -> Sums:
    sums: list = []
    value: Any = None
    over = range(users.known.users) if over is None else over
    for value in ENGINE.get()(users, statistic, over, narrow):
        terms = value if isinstance(value, tuple) else (value,)
        sums = sums or list(map(_zero, terms))
        sums = [_added(sum_, term) for sum_, term in zip(sums, terms, strict=True)]
    for place, sum_ in enumerate(sums):
        if isinstance(sum_, UserRows):  # rows of a single block are not copied
            sums[place] = UserRows(sum_.rows[0] if len(sum_.rows) == 1 else np.concatenate(sum_.rows), sum_.start)
    return tuple(sums) if isinstance(value, tuple) else sums[0]  # pyright: ignore[reportReturnType] -- as the terms


def _zero(term: Any) -> Any:
    """Return the initial value of a sum."""
    if isinstance(term, UserRows):
        return UserRows([], term.start)  # pyright: ignore[reportArgumentType] -- the rows of all blocks, one array in the end
    return np.zeros(np.shape(term)) if isinstance(term, (np.ndarray, np.generic, float, int)) else term


def _added(sum_: Any, term: Any) -> Any:
    if isinstance(sum_, np.ndarray):
        sum_ += term
    elif isinstance(sum_, UserRows):
        sum_.rows.append(term.rows)  # pyright: ignore[reportAttributeAccessIssue] -- a list until the last block
    elif sum_ != term:
        raise ValueError(f"blocks of users differ in values that are not numbers: {sum_!r} and {term!r}")
    return sum_


def parts(users: UserData, statistic: Callable[[Block], tuple[np.ndarray, ...]]) -> list[tuple[np.ndarray, ...]]:
    """Return, for each array of a statistic, its values in all blocks, in order."""
    return list(zip(*ENGINE.get()(users, statistic, range(users.known.users), False), strict=True))


def rows(users: UserData, statistic: Callable[[Block], tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """Concatenate the arrays of a statistic, which have one row per user, over all users."""
    return tuple(np.concatenate(part) for part in parts(users, statistic))
