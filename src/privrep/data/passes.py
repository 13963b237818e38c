"""A pass over the users: the one way in which their data are read.

A statistic of a block of users is summed, or its rows are laid one below the other, in the order of the blocks,
which depends on the data alone: the same bytes come out wherever the blocks lie, kept, drawn again or somebody else's,
and wherever they are looked at, here or on other processes (`privrep.data.engines`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from privrep.data.problem import Block, UserData

Sums = TypeVar("Sums", np.ndarray, tuple[np.ndarray, ...])


@dataclass(frozen=True, eq=False)
class Own:
    """What users keep: one row for each, (B, ...), of the users from number `start` on.
    It is theirs: only a statistic looks at it, on their side."""

    rows: np.ndarray
    start: int = 0

    def of(self, block: Block) -> np.ndarray:
        """The rows of the users of a block.

        Parameters
        ----------
        block : of users who have rows here.
        """
        first = block.start - self.start
        return self.rows[first : first + block.users]

    def updated(self, new: Own, who: np.ndarray | None) -> Own:
        """New rows of some users.

        Parameters
        ----------
        new : rows of all these users, of which some count.
        who : (n,) whose rows are replaced, by default of all.
        """
        return new if who is None else Own(np.where(who[:, None], new.rows, self.rows), self.start)


def values(users: UserData, statistic: Callable[[Block], Any], over: range, narrow: bool = False) -> Iterator:
    """A statistic of the blocks of some users, one behind the other in this process.

    Parameters
    ----------
    users : whose data are read.
    statistic : block -> something.
    over : numbers of the users.
    narrow : see `total`.
    """
    blocks = users.blocks(over.start, over.stop)
    return map(statistic, chain.from_iterable(map(Block.streams, blocks)) if narrow else blocks)


ENGINE: ContextVar[Callable[[UserData, Callable, range, bool], Iterator]] = ContextVar("ENGINE", default=values)
"""What takes the values of a statistic, as `values` does, in the order of the blocks; see `privrep.data.engines`."""


KEPT = 16
"""Named sums that are kept of one set of users, the latest ones."""


def total(
    users: UserData,
    statistic: Callable[[Block], Sums],
    over: range | None = None,
    name: Hashable = None,
    narrow: bool = False,
) -> Sums:
    """Sum of a statistic over users, in float64.

    Parameters
    ----------
    users : whose data are read.
    statistic : block -> an array or a number, or a tuple of them, which are summed each.
        Rows that are the users' `Own` are laid one below the other; what is no number must be the same in all blocks.
    over : the users numbered start, ..., stop - 1; all by default.
    name : of the statistic, by all that it depends on besides the data.
        A sum with a name is taken once: cells that differ in their noise alone begin with the same ones.
    narrow : the statistic is taken of the users of one stream at a time.
        One that sums in float32 rounds the less, the fewer they are.

    Raises
    ------
    ValueError
        If what is no number differs between blocks.
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
    over = range(users.known.users) if over is None else over
    for found in ENGINE.get()(users, statistic, over, narrow):
        terms = found if isinstance(found, tuple) else (found,)
        sums = sums or list(map(_nothing, terms))
        sums = [_added(sum_, term) for sum_, term in zip(sums, terms, strict=True)]
    sums = [Own(_together(sum_.rows), sum_.start) if isinstance(sum_, Own) else sum_ for sum_ in sums]
    return tuple(sums) if isinstance(found, tuple) else sums[0]


def _nothing(term: object) -> object:
    """What is added to."""
    if isinstance(term, Own):
        return Own([], term.start)
    return np.zeros(np.shape(term)) if isinstance(term, (np.ndarray, np.generic, float, int)) else term


def _together(rows: list[np.ndarray]) -> np.ndarray:
    """One below the other; those of a single block stay where they are."""
    return rows[0] if len(rows) == 1 else np.concatenate(rows)


def _added(sum_: object, term: object) -> object:
    if isinstance(sum_, np.ndarray):
        sum_ += term
    elif isinstance(sum_, Own):
        sum_.rows.append(term.rows)
    elif sum_ != term:
        raise ValueError(f"blocks of users differ in what is no number: {sum_!r} and {term!r}")
    return sum_


def parts(users: UserData, statistic: Callable[[Block], tuple[np.ndarray, ...]]) -> list[tuple[np.ndarray, ...]]:
    """For each array of a statistic, its values in all blocks, in order.

    Parameters
    ----------
    users : whose data are read.
    statistic : block -> a tuple of arrays.
    """
    return list(zip(*ENGINE.get()(users, statistic, range(users.known.users), False), strict=True))


def rows(users: UserData, statistic: Callable[[Block], tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """Rows of all users.

    Parameters
    ----------
    users : whose data are read.
    statistic : block -> a tuple of arrays with one row per user.
    """
    return tuple(np.concatenate(part) for part in parts(users, statistic))
