"""The linear model of both papers, drawn in blocks of users.

User j holds m samples x_ij ~ N(0, I_d) with labels y_ij = <x_ij, theta_j> + z_ij, z_ij ~ N(0, label_noise_sd^2), and
all theta_j lie in one subspace of rank k. Users are drawn block by block, each from some counter-based streams, so
memory is set by the block and not by the number of users: a block is either kept or drawn again, with the same numbers.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import InitVar, dataclass, field
from functools import cached_property

import numpy as np

from privrep.options import (
    Declared,
    T,
    among,
    check_any_sine,
    check_count,
    check_finite,
    check_positive,
    check_ratio,
    check_whole,
    option,
    requires,
)
from privrep.users import misspecification
from privrep.users.known import Known
from privrep.users.rng import BlockStreams, stream
from privrep.users.subspace import orthonormalise

HEAVY_EVERY = 100  # under the head law `heavy` one user in this many has a long head
FLOATS_PER_STREAM = 2**18  # feature entries drawn from one stream
STREAMS_PER_BLOCK = 4  # users of so many streams lie in one block, 4 MiB of float32 features
NORMS = (1e-12, 1e12)
"""Public domain of feature norms. Squares of smaller or larger ones are not exact in float32, and a norm that is wrong
would let a user through a clip; samples outside count as zero. Labels may be as large as the norms."""
OMITTED_AT_DEFAULT = ("head_condition", "head_factor", "head_bias", *misspecification.MISSPECIFICATIONS)
"""Parameters that are left out of a problem's name at their default, so that streams of older names stay."""


@dataclass(frozen=True)
class Problem(Declared):
    """The parameters of one data set. They, and nothing else, name its random stream.

    Signs of heads change as a whole under `head_bias`, so E v v^T and all lengths stay as they are, while the mean head
    moves away from 0: users have more in common. The heads of the law `heavy` are scaled so that E v v^T = I over whole
    hundreds of users; "we normalize U to unit norm" (jain2021, Section 6) is the truth law `unit-columns`.
    """

    users: int = option("number of users, n", check_count)
    samples: int = option("samples per user, m", check_count)
    dim: int = option("ambient dimension, d", check_count)
    rank: int = option("dimension of the shared subspace, k, at most dim", check_count)
    label_noise_sd: float = option("standard deviation of the label noise, sigma_F", check_finite, 0.0)
    head_law: str = option(
        "distribution of the heads v_j: gauss, N(0, I_k); sphere, uniform of norm sqrt(k); aniso, that times "
        f"diag(head_condition, ..., 1) in geometric steps; heavy, sphere with one head in {HEAVY_EVERY} of head_factor "
        "times the length of the others",
        among(("gauss", "sphere", "aniso", "heavy")),
        "gauss",
    )
    truth_law: str = option(
        "normalisation of U*: orthonormal columns, or independent Gaussian columns of unit norm",
        among(("orthonormal", "unit-columns")),
        "orthonormal",
    )
    seed: int = option("repetition", check_whole, 0)
    head_condition: float = option("condition number of the heads, sqrt(lam_1 / lam_k)", check_ratio, 1.0)
    head_factor: float = option("length of long heads over that of the others", check_ratio, 1.0)
    head_bias: float = option(
        "b: the first coordinate of a head is positive with probability (1 + b) / 2", check_any_sine, 0.0
    )
    feature_law: str = option(
        "distribution of the independent entries of features, of variance 1: gauss, rare (binary, probability 0.05) "
        "or skewed (exponential)",
        among(("gauss", "rare", "skewed")),
        "gauss",
    )
    feature_scale: float = option(
        "root mean square standard deviation of a feature's coordinate; labels follow the scaled features",
        check_positive,
        1.0,
    )
    feature_condition: float = option(
        "largest standard deviation of a feature's coordinate over the smallest", check_ratio, 1.0
    )
    feature_axes: str = option(
        "what the scales of features belong to: coordinates, or directions that mix them, those of a cosine transform",
        among(("coordinates", "mixed")),
        "coordinates",
    )
    feature_tail: float = option(
        "degrees of freedom of multivariate Student features; 0 for Gaussian ones",
        requires(lambda value: value == 0 or 2 < value < math.inf, "be greater than 2, or 0 for Gaussian features"),
        0.0,
    )
    fewest_samples: int = option(
        "a user has between this many samples and m of them, uniformly; 0: all have m", check_whole, 0
    )
    noise_spread: float = option(
        "largest label noise of a user over the smallest; label_noise_sd is the root of their mean square",
        check_ratio,
        1.0,
    )
    label_outliers: float = option(
        f"share of the labels that are {misspecification.OUTLIER:g} times as large", check_any_sine, 0.0
    )
    adversaries: int = option(
        "corrupted users, whose labels follow one long vector off the subspace; they have no head and no risk",
        check_whole,
        0,
    )

    def __post_init__(self):
        for name, value in vars(self).items():
            if isinstance(value, np.generic):  # a cell's key is made of plain numbers
                object.__setattr__(self, name, value.item())
        super().__post_init__()
        self._require("rank", self.rank <= self.dim, f"it must not exceed dim, which is {self.dim}")
        for name, most in (("fewest_samples", self.samples), ("adversaries", self.users - 1)):
            self._require(name, getattr(self, name) <= most, f"it must be at most {most}")
        for name, law in (("head_condition", "aniso"), ("head_factor", "heavy")):
            fits = getattr(self, name) == 1 or self.head_law == law
            self._require(name, fits, f"head_law {self.head_law!r} needs 1")
        room = not self.adversaries or self.rank < self.dim
        self._require("adversaries", room, f"there is nothing off a subspace of rank {self.rank}")

    def _require(self, name: str, sound: bool, what: str) -> None:
        if not sound:
            raise ValueError(f"{name} is {getattr(self, name)!r}; {what}")

    @property
    def axes(self) -> dict:
        """Names and values of all parameters, less newer ones at their default, so that older streams stay."""
        axes = dict(vars(self))
        for name in OMITTED_AT_DEFAULT:
            if axes[name] == getattr(Problem, name):
                del axes[name]
        return axes

    @property
    def known(self) -> Known:
        """The public sizes and laws that methods are given; another feature scale is a misspecification, not in it."""
        longest = None if self.head_law == "gauss" else self.longest_head
        sizes = self.users, self.samples, self.dim, self.rank
        return Known(*sizes, self.label_noise_sd, self.head_condition, longest_head=longest)

    @property
    def longest_head(self) -> float:
        """max ||v_j|| / sqrt(k lam_1) of heads of limited length: 1 unless they are `heavy`."""
        h = self.head_factor
        return h / (1 + (h**2 - 1) / HEAVY_EVERY) ** 0.5

    @property
    def stream_users(self) -> int:
        return users_of_a_stream(self.samples, self.dim)


def users_of_a_stream(samples: int, dim: int) -> int:
    """Return how many users are drawn from one stream, by sizes alone, so that numbers do not depend on the machine."""
    return max(1, FLOATS_PER_STREAM // (samples * dim))


@dataclass(frozen=True)
class Truth:
    """The subspace behind the labels, theta_j = basis @ mixing @ v_j; `mixing` is I, or the R factor of U*."""

    basis: np.ndarray
    mixing: np.ndarray


def draw_truth(problem: Problem, master_seed: int) -> Truth:
    """Draw U* from the problem's own stream."""
    columns = stream(master_seed, "truth", problem.axes).standard_normal((problem.dim, problem.rank))
    basis = orthonormalise(columns)
    if problem.truth_law == "orthonormal":
        return Truth(basis, np.eye(problem.rank))
    columns /= np.linalg.norm(columns, axis=0)
    return Truth(basis, basis.T @ columns)


def norms_in_domain(features: np.ndarray) -> np.ndarray:
    """Return ||x_ij||, (m, B), of features (m, B, d); inf outside `NORMS` and where an entry is NaN."""
    with np.errstate(over="ignore"):
        squared = np.einsum("mbd,mbd->mb", features, features)
    low, high = NORMS
    return np.sqrt(np.where((squared >= low**2) & (squared <= high**2), squared, np.float32(np.inf)))


@dataclass
class Block:
    """Users `start` to `start + B - 1`.

    A sample whose feature norm lies outside `NORMS`, or whose label is larger or NaN, has features and label zero: it
    counts as nothing in every statistic, and no sum meets an infinite number. Samples known to be `in_domain` are not
    checked. `features` are (m, B, d) and `labels` (m, B) float32, samples first, so that a range of samples is one
    contiguous matrix. `heads` (B, k), in the coordinates of `Truth.basis` and NaN for corrupted users, are for scoring
    only. `stream_users` is set where a block has users of several streams. `room` and `computed` are of `once`.
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
        """Samples of each user that are not zero, (B,)."""
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
        """Users, by their places (b,), with those whose last sample stands about as far behind, as blocks without the
        samples that nobody in them has. A user's block has so many samples as follow from that user's own alone."""
        last = (np.isfinite(self.feature_norms) * np.arange(1, len(self.labels) + 1)[:, None]).max(axis=0, initial=1)
        sizes, found = np.minimum(-(-last // 4) * 4, len(self.labels)), []
        for size in np.unique(sizes):
            of = np.flatnonzero(sizes == size)
            part = Block(self.start, self.features[:size, of], self.labels[:size, of], in_domain=True)
            part.feature_norms, part.room = self.feature_norms[:size, of], self.room * len(of) // self.users
            found.append((of, part))
        return found

    def once(self, name: Hashable, made: Callable[[], T]) -> T:
        """Return what is made of these users, and make it once while it is among the latest `room` bytes."""
        found = self.computed[name] = self.computed.pop(name) if name in self.computed else made()
        while sum(one.nbytes for one in self.computed.values()) > self.room:
            self.computed.popitem(last=False)
        return found

    def streams(self) -> Iterator[Block]:
        """Split the users by the stream that they were drawn from."""
        size = self.stream_users or self.start + self.users
        for first in range(self.start // size * size, self.start + self.users, size):
            yield self.take(first, first + size)


def true_heads(block: Block) -> np.ndarray:
    """Return the heads of simulated users in the coordinates of the true subspace, for analysis."""
    assert block.heads is not None
    return block.heads


def draw_stream(problem: Problem, truth: Truth, streams: BlockStreams, index: int) -> Block:
    """Draw the users of one stream: heads, features, label noise, in that order."""
    rng = streams[index]
    start = index * problem.stream_users
    users = min(problem.stream_users, problem.users - start)
    raw = rng.standard_normal((users, problem.rank), dtype=np.float32)
    if problem.head_law in ("sphere", "aniso", "heavy"):
        raw[~raw.any(axis=1), 0] = 1  # a normal draw in float32 may be 0, which has no direction
        raw *= np.float32(problem.rank**0.5) / np.linalg.norm(raw, axis=1, keepdims=True)
    if problem.head_condition > 1:
        raw *= problem.known.head_scales.astype(np.float32)
    if problem.head_factor > 1:
        lengths = np.where(np.arange(start, start + users) % HEAVY_EVERY == 0, problem.head_factor, 1.0)
        raw *= (lengths * (problem.longest_head / problem.head_factor)).astype(np.float32)[:, None]
    if problem.head_bias > 0:
        positive = rng.random(users) < (1 + problem.head_bias) / 2
        raw *= np.where(positive[:, None] == (raw[:, :1] >= 0), np.float32(1), np.float32(-1))
    heads = raw @ truth.mixing.T.astype(np.float32)
    features = misspecification.feature_entries(problem.feature_law, (problem.samples, users, problem.dim), rng)
    if problem.feature_axes == "mixed":
        features = features @ misspecification.feature_root(problem).astype(np.float32)
    elif misspecification.are_scaled(problem):
        features *= misspecification.feature_scales(problem).astype(np.float32)
    if problem.feature_tail:
        features *= misspecification.tail_factors(problem, users, rng)[:, :, None]
    labels = np.einsum("mbk,bk->mb", features @ truth.basis.astype(np.float32), heads)
    if problem.label_noise_sd > 0:
        noise = rng.standard_normal(labels.shape, dtype=np.float32)
        if problem.noise_spread > 1:
            noise *= misspecification.noise_factors(problem, users, rng)
        labels += np.float32(problem.label_noise_sd) * noise
    if problem.label_outliers:
        labels[rng.random(labels.shape) < problem.label_outliers] *= np.float32(misspecification.OUTLIER)
    if problem.adversaries:
        corrupted = misspecification.corrupted_users(problem, start, users)
        vector = misspecification.corrupted_vector(problem, truth.basis).astype(np.float32)
        labels[:, corrupted] = features[:, corrupted] @ vector
        heads[corrupted] = np.nan
    if problem.fewest_samples:
        present = misspecification.present_samples(problem, users, rng)
        features *= present[:, :, None]
        labels *= present
    return Block(start, features, labels, heads, in_domain=True)


class UserData:
    """Users as a method reads them: simulated, in memory, or in a table; `images.image_users` has the same names.

    `known` is public, and scoring also reads `problem` and `truth`; `block_size` is None where all are one
    block. Blocks stay in memory where all users fit into `memory_budget` bytes, and as much of what is computed of them
    does; they are read again otherwise, with the same numbers. What an object keeps is no field: a copy with other data
    has none of it.
    """

    known: Known
    problem: Problem
    block_size: int | None
    truth: Truth | None = None
    memory_budget = 400 * 2**20

    def read(self, first: int, last: int) -> Block:
        """Draw or read the users numbered first, ..., last - 1, which are a whole block."""
        raise NotImplementedError

    @cached_property
    def sums(self) -> OrderedDict:
        """Sums over the users that were taken before, see `privrep.users.passes.total`."""
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


@dataclass
class Users(UserData):
    """All users of a problem, streamed."""

    problem: Problem
    master_seed: int = 0
    memory_budget: int = UserData.memory_budget

    @property
    def known(self) -> Known:
        return self.problem.known

    @cached_property
    def truth(self) -> Truth:
        return draw_truth(self.problem, self.master_seed)

    @cached_property
    def _streams(self) -> BlockStreams:
        return BlockStreams(self.master_seed, "data", self.problem.axes)

    @property
    def block_size(self) -> int:
        return STREAMS_PER_BLOCK * self.problem.stream_users

    def read(self, first: int, last: int) -> Block:
        """Draw one block, the users of `STREAMS_PER_BLOCK` consecutive streams."""
        size = self.problem.stream_users
        streams = range(first // size, -(-last // size))
        drawn = [draw_stream(self.problem, self.truth, self._streams, one) for one in streams]
        if len(drawn) == 1:
            return drawn[0]
        features = np.concatenate([part.features for part in drawn], axis=1)
        labels = np.concatenate([part.labels for part in drawn], axis=1)
        heads = np.concatenate([true_heads(part) for part in drawn])
        return Block(first, features, labels, heads, size, in_domain=True)
