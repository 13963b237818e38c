"""Users in memory, from arrays with one row per sample or laid out by user."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from privrep.users.blocks import STREAMS_PER_BLOCK, Block, Truth, UserData, users_of_a_stream
from privrep.users.known import Known


def laid_out(
    features: np.ndarray, labels: np.ndarray, counts: np.ndarray, samples: int
) -> tuple[np.ndarray, np.ndarray]:
    """Lay out rows (N, d) and labels (N,), sorted by user, as float32 (samples, B, d) and (samples, B), zero-padded."""
    user = np.repeat(np.arange(len(counts)), counts)
    shape = samples, len(counts)
    by_user = np.zeros((*shape, features.shape[1]), np.float32), np.zeros(shape, np.float32)
    for array, rows in zip(by_user, (features, labels), strict=True):
        array[positions(user), user] = rows
    return by_user


def positions(user: np.ndarray) -> np.ndarray:
    """Return the position of each row among its user's rows, from 0, for ascending user numbers (N,)."""
    return np.arange(len(user)) - np.searchsorted(user, user)


@dataclass(frozen=True, eq=False)
class GivenUsers(UserData):
    """Users in memory: `features` (m, n, d) and `labels` (m, n); or, where `counts` (n,) gives the rows per user,
    `features` (N, d) and `labels` (N,) sorted by user, padded block by block.
    """

    known: Known
    features: np.ndarray
    labels: np.ndarray
    heads: np.ndarray | None = None
    truth: Truth | None = None
    block_size: int | None = None
    counts: np.ndarray | None = None
    stream_users: int | None = None

    @classmethod
    def capped(
        cls, labels: np.ndarray, features: np.ndarray, number: np.ndarray, users: int, cap: int, rank: int
    ) -> GivenUsers:
        """Return users from rows in any order, with labels (N,), features (N, d) and user numbers (N,) below `users`,
        padded to a public cap: the rows of one user change no other user and no array shape.

        Rows with a NaN label are dropped. A user with more than `cap` rows keeps a public selection of them, which does
        not depend on values.
        """
        from pandas.util import hash_array  # here, since it takes half a second and other users do not need it

        order = np.flatnonzero(~np.isnan(labels))
        order = order[np.argsort(number[order], kind="stable")]
        of = number[order]
        # Hashes of user and position: hashes of the place in the table would let other users' rows change a selection.
        turn = hash_array(of.astype(np.uint64) << np.uint64(32) | positions(of).astype(np.uint64))
        order = order[np.lexsort((turn, of))][positions(of) < cap]
        size = users_of_a_stream(cap, features.shape[1])
        return cls(
            Known(users, cap, features.shape[1], rank),
            features[order].astype(np.float32),
            labels[order].astype(np.float32),
            block_size=STREAMS_PER_BLOCK * size,
            counts=np.bincount(number[order], minlength=users),
            stream_users=size,
        )

    @cached_property
    def _ends(self) -> np.ndarray:
        """Number of rows before each user, and of all users, (n + 1,)."""
        return np.concatenate([[0], np.cumsum(np.asarray(self.counts))])

    def read(self, first: int, last: int) -> Block:
        if self.counts is None:
            cut = [np.ascontiguousarray(array[:, first:last], np.float32) for array in (self.features, self.labels)]
        else:
            rows = slice(self._ends[first], self._ends[last])
            cut = laid_out(self.features[rows], self.labels[rows], self.counts[first:last], self.known.samples)
        return Block(first, cut[0], cut[1], None if self.heads is None else self.heads[first:last], self.stream_users)
