"""Users with data in memory, from arrays with a row for each sample or laid out by user."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np

from privrep.users.known import Known
from privrep.users.problem import Block, Truth


def laid_out(
    features: np.ndarray, labels: np.ndarray, user: np.ndarray, samples: int, users: int
) -> tuple[np.ndarray, np.ndarray]:
    """Arrange rows with features (N, d), labels (N,) and ascending user numbers (N,) as float32 arrays (samples,
    users, d) and (samples, users), zero past a user's last sample."""
    position = np.arange(len(user)) - np.searchsorted(user, user)
    by_user = np.zeros((samples, users, features.shape[1]), np.float32), np.zeros((samples, users), np.float32)
    for array, rows in zip(by_user, (features, labels), strict=True):
        array[position, user] = rows
    return by_user


def held_out_rows(user: np.ndarray, share: float) -> np.ndarray:
    """Mark the rows (N,) that are held out, for ascending user numbers (N,): the last of each user's rows, `share` of
    them rounded down."""
    first, last = np.searchsorted(user, user), np.searchsorted(user, user, side="right")
    return np.arange(len(user)) >= last - np.floor(share * (last - first))


@dataclass(frozen=True, eq=False)
class GivenUsers:
    """Users with given arrays, `features` (m, n, d) and `labels` (m, n); `heads` (n, k) and `truth` where they are
    known, `held_out` with samples that no fit reads, blocks of `block_size` users (by default all in one), and `sums`,
    the cache of `privrep.users.passes.total`."""

    known: Known
    features: np.ndarray
    labels: np.ndarray
    heads: np.ndarray | None = None
    truth: Truth | None = None
    held_out: GivenUsers | None = None
    block_size: int | None = None
    sums: OrderedDict = field(default_factory=OrderedDict, repr=False)

    @classmethod
    def from_rows(
        cls, features: np.ndarray, labels: np.ndarray, user: np.ndarray, *, rank: int, held_out: float = 0.0, **known
    ) -> GivenUsers:
        """Users from one row a sample, in any order.

        Features are divided by `feature_scale` and labels by `label_scale`, as `Known` says.

        Parameters
        ----------
        features : (N, d).
        labels : (N,).
        user : (N,), whose the rows are.
        rank : of the subspace that is sought.
        held_out : share of each user's samples that no fit sees, in [0, 1).
        **known : further fields of `Known`.

        Raises
        ------
        ValueError
            If the arrays do not fit together, or no user keeps a sample.
        """
        features, labels, user = np.asarray(features), np.asarray(labels), np.asarray(user)
        if features.ndim != 2 or not len(features) == len(labels) == len(user):
            shapes = ", ".join(str(array.shape) for array in (features, labels, user))
            raise ValueError(f"features, labels and user are {shapes}; they must be (N, d), (N,) and (N,)")
        if not 0 <= held_out < 1:
            raise ValueError(f"held_out is {held_out!r}; it must be at least 0 and less than 1")
        names, number = np.unique(user, return_inverse=True)
        order = np.argsort(number, kind="stable")
        number, (users, dim) = number[order], (len(names), features.shape[1])
        held = held_out_rows(number, held_out)
        parts = []
        for rows in (~held, held):
            kept, of = order[rows], number[rows]
            samples = int(np.bincount(of, minlength=1).max())
            facts = Known(users, samples, dim, rank, **known)
            scaled = features[kept] / facts.feature_scale, labels[kept] / facts.label_scale
            parts.append(cls(facts, *laid_out(*scaled, of, samples, users)))
        if not parts[0].known.samples:
            raise ValueError("no user has a sample")
        return replace(parts[0], held_out=parts[1] if held_out else None)

    def __getstate__(self) -> dict:
        """Drop caches."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return given | {"sums": self.sums and OrderedDict()}

    @cached_property
    def _blocks(self) -> list[Block]:
        size = self.block_size or self.known.users
        parts = [slice(first, first + size) for first in range(0, self.known.users, size)]
        return [
            Block(
                part.start,
                *(np.ascontiguousarray(array[:, part], np.float32) for array in (self.features, self.labels)),
                None if self.heads is None else self.heads[part],
            )
            for part in parts
        ]

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Yield the users numbered start, ..., stop - 1, block by block."""
        stop = self.known.users if stop is None else stop
        for block in self._blocks:
            if block.start < stop and start < block.start + block.users:
                yield block.take(start, stop)
