"""Users with rows of their own, laid out block by block, and padded to a cap that is public.

What rows a user has moves no other user and no shape, by which a statistic might divide or draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from privrep.users.given_users import laid_out
from privrep.users.known import Known
from privrep.users.problem import FLOATS_PER_STREAM, STREAMS_PER_BLOCK, Block


@dataclass(frozen=True, eq=False)
class CappedUsers:
    """Users whose rows a subclass reads: `counts` (n,) of them, at most the public cap `known.samples`."""

    known: Known
    counts: np.ndarray

    truth = held_out = None

    def rows(self, begin: int, end: int) -> np.ndarray:
        """Read labels and features of the rows numbered begin, ..., end - 1, user by user, as (end - begin, 1 + d)
        float32."""
        raise NotImplementedError

    @property
    def _stream_users(self) -> int:
        """As many as `privrep.users.problem.Problem` draws from one stream."""
        return max(1, FLOATS_PER_STREAM // (self.known.samples * self.known.dim))

    @property
    def block_size(self) -> int:
        return STREAMS_PER_BLOCK * self._stream_users

    @cached_property
    def _ends(self) -> np.ndarray:
        """Rows of the users before each one, and of all, (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Yield the users numbered start, ..., stop - 1, block by block."""
        users = self.known.users
        stop = users if stop is None else stop
        if not 0 <= start <= stop <= users:
            raise ValueError(f"users {start} to {stop} are asked for; there are {users}")
        size = self.block_size
        for first in range(start // size * size, stop, size):
            yield self._block(first, min(first + size, users)).take(start, stop)

    def _block(self, first: int, last: int) -> Block:
        rows = self.rows(int(self._ends[first]), int(self._ends[last]))
        number = np.repeat(np.arange(last - first), self.counts[first:last])
        arrays = laid_out(rows[:, 1:], rows[:, 0], number, self.known.samples, last - first)
        return Block(first, *arrays, stream_users=self._stream_users)


@dataclass(frozen=True, eq=False)
class MemoryUsers(CappedUsers):
    """Users whose rows are in memory, as a table (N, 1 + d) float32, user by user."""

    table: np.ndarray

    @classmethod
    def of(
        cls, labels: np.ndarray, features: np.ndarray, number: np.ndarray, users: int, cap: int, rank: int
    ) -> MemoryUsers:
        """Lay out rows in any order, with labels (N,), features (N, d) and user numbers (N,) below `users`.

        Rows with a NaN label are dropped. Of more than `cap` rows a user keeps a choice that is public and does not
        look at values.
        """
        labelled = np.flatnonzero(~np.isnan(labels))
        labelled = labelled[np.argsort(number[labelled], kind="stable")]
        of = number[labelled].astype(np.uint64)
        position = np.arange(len(of), dtype=np.uint64) - np.searchsorted(of, of).astype(np.uint64)
        # Hashes of user and position: by its place in the table, rows of others would move a user's choice.
        turn = pd.util.hash_array(of << np.uint64(32) | position)
        order = np.lexsort((turn, of))
        labelled, of = labelled[order], number[labelled[order]]
        position = np.arange(len(of)) - np.searchsorted(of, of)
        labelled, of = labelled[position < cap], of[position < cap]
        table = np.concatenate([labels[labelled, None], features[labelled]], axis=1, dtype=np.float32)
        known = Known(users, cap, features.shape[1], rank)
        return cls(known, np.bincount(of, minlength=users), table)

    def rows(self, begin: int, end: int) -> np.ndarray:
        return self.table[begin:end]
