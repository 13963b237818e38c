"""Blocks of users, and the source of users that methods read.

A block holds the samples of consecutive users as arrays, so that no step loops over users and memory is set by the
block, not by the number of users.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import InitVar, dataclass, field
from functools import cached_property

import numpy as np

from privrep.options import T
from privrep.users.known import Known

FLOATS_PER_STREAM = 2**18  # feature entries of the users that share a random stream
STREAMS_PER_BLOCK = 4  # streams whose users lie in one block, 4 MiB of float32 features
NORMS = (1e-12, 1e12)
"""Public range of feature norms. In float32, squares of smaller or larger norms are inexact, and a wrong norm would let
a user exceed a clip; samples outside the range count as zero. The upper limit holds for absolute labels, too."""


def users_of_a_stream(samples: int, dim: int) -> int:
    """Return the number of users per random stream; it depends on sizes alone, so that no machine changes results."""
    return max(1, FLOATS_PER_STREAM // (samples * dim))


@dataclass(frozen=True)
class Truth:
    """The true subspace: theta_j = basis @ mixing @ v_j, where `mixing` (k, k) is I or the R factor of U*."""

    basis: np.ndarray
    mixing: np.ndarray


def norms_in_domain(features: np.ndarray) -> np.ndarray:
    """Return ||x_ij||, (m, B), of features (m, B, d); inf outside `NORMS` and where an entry is NaN."""
    with np.errstate(over="ignore"):
        squared = np.einsum("mbd,mbd->mb", features, features)
    low, high = NORMS
    return np.sqrt(np.where((squared >= low**2) & (squared <= high**2), squared, np.float32(np.inf)))


@dataclass
class Block:
    """Samples of the users numbered `start` to `start + B - 1`.

    A sample with a feature norm outside `NORMS`, or with a label that is NaN or larger than the upper limit, is set to
    zero: it adds nothing to any statistic, and every sum stays finite. `in_domain` skips this check. `features` (m, B,
    d) and `labels` (m, B) are float32, samples first, so that a range of samples is one contiguous matrix. `heads` (B,
    k), in the coordinates of `Truth.basis` and NaN for corrupted users, are for scoring only. `stream_users` is the
    number of users per stream in a block of several streams. `room`, in bytes, and `computed` are the cache of `once`.
    """

    start: int
    features: np.ndarray
    labels: np.ndarray
    heads: np.ndarray | None = None
    stream_users: int | None = None
    in_domain: InitVar[bool] = False
    room: int = 2**26
    computed: OrderedDict = field(default_factory=OrderedDict, repr=False)

    def __post_init__(self, in_domain: bool):
        if in_domain:
            return
        norms = norms_in_domain(self.features)
        sound = np.isfinite(norms) & (np.abs(self.labels) <= NORMS[1])
        if sound.all():
            self.feature_norms = norms
        else:
            self.features = np.where(sound[:, :, None], self.features, np.zeros_like(self.features))
            self.labels = np.where(sound, self.labels, np.zeros_like(self.labels))

    @property
    def users(self) -> int:
        return self.labels.shape[1]

    @cached_property
    def feature_norms(self) -> np.ndarray:
        """||x_ij||, (m, B) float32; inf for a sample that is zero, so that every clip reduces it to nothing."""
        return norms_in_domain(self.features)

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of nonzero samples of each user, (B,)."""
        return np.isfinite(self.feature_norms).sum(axis=0)

    def take(self, start: int, stop: int) -> Block:
        """Return the users of this block numbered start, ..., stop - 1."""
        first, last = max(start - self.start, 0), min(stop - self.start, self.users)
        if (first, last) == (0, self.users):
            return self
        heads = None if self.heads is None else self.heads[first:last]
        part = slice(first, last)
        start, features, labels = self.start + first, self.features[:, part], self.labels[:, part]
        taken = Block(start, features, labels, heads, self.stream_users, in_domain=True)
        taken.feature_norms = self.feature_norms[:, part]
        return taken

    @cached_property
    def by_size(self) -> list[tuple[np.ndarray, Block]]:
        """Users grouped by number of samples, rounded up to a multiple of 4: each group's indices (b,), and its block
        without the padding. A user's group depends on that user's samples alone."""
        last = (np.isfinite(self.feature_norms) * np.arange(1, len(self.labels) + 1)[:, None]).max(axis=0, initial=1)
        sizes, groups = np.minimum(-(-last // 4) * 4, len(self.labels)), []
        for size in np.unique(sizes):
            of = np.flatnonzero(sizes == size)
            part = Block(self.start, self.features[:size, of], self.labels[:size, of], in_domain=True)
            part.feature_norms, part.room = self.feature_norms[:size, of], self.room * len(of) // self.users
            groups.append((of, part))
        return groups

    def once(self, name: Hashable, made: Callable[[], T]) -> T:
        """Return the result cached under a name, computed at the first call; the latest `room` bytes are kept."""
        result = self.computed[name] = self.computed.pop(name) if name in self.computed else made()
        while sum(cached.nbytes for cached in self.computed.values()) > self.room:
            self.computed.popitem(last=False)
        return result

    def streams(self) -> Iterator[Block]:
        """Split the users by their random streams."""
        size = self.stream_users or self.start + self.users
        for first in range(self.start // size * size, self.start + self.users, size):
            yield self.take(first, first + size)


def true_heads(block: Block) -> np.ndarray:
    """Return the heads of simulated users in the coordinates of the true subspace, for analysis."""
    assert block.heads is not None
    return block.heads


class UserData:
    """Users as methods read them: simulated, in memory, or in a table; `images.image_users` has the same interface.

    `known` is public, `truth` is for scoring only, and `block_size` is None where all users form one block. Blocks stay
    in memory if all users fit into `memory_budget` bytes, with cached results of at most that size; otherwise blocks
    are read again, with the same numbers. Caches are not fields, so that a copy with other data starts without them.
    """

    known: Known
    block_size: int | None
    truth: Truth | None = None
    memory_budget = 400 * 2**20

    def read(self, first: int, last: int) -> Block:
        """Draw or read one whole block: the users numbered first, ..., last - 1."""
        raise NotImplementedError

    @cached_property
    def sums(self) -> OrderedDict:
        """Cache of sums over the users, see `privrep.users.passes.total`."""
        return OrderedDict()

    @cached_property
    def _kept(self) -> dict[int, Block]:
        return {}

    def __getstate__(self) -> dict:
        return {name: value for name, value in vars(self).items() if name not in ("sums", "_kept")}

    @property
    def kept(self) -> bool:
        """Whether blocks stay in memory between passes."""
        return self.known.bytes <= self.memory_budget

    def _block(self, first: int, last: int) -> Block:
        if first in self._kept:
            return self._kept[first]
        block = self.read(first, last)
        if self.kept:
            self._kept[first] = block
            block.room = self.memory_budget * block.users // self.known.users
        return block

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """Yield the users numbered start, ..., stop - 1, block by block."""
        users = self.known.users
        stop = users if stop is None else stop
        if not 0 <= start <= stop <= users:
            raise ValueError(f"users {start} to {stop} are asked for; there are {users}")
        size = self.block_size or users
        for first in range(start // size * size, stop, size):
            yield self._block(first, min(first + size, users)).take(start, stop)
