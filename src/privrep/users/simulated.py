"""The linear model of both papers, with departures from it, drawn in blocks of users.

User j holds m samples x_ij ~ N(0, I_d) with labels y_ij = <x_ij, theta_j> + z_ij, z_ij ~ N(0, label_noise_sd^2), and
all theta_j lie in one subspace of rank k. Users are drawn block by block, each from its own counter-based streams: a
block is either kept or drawn again, with the same numbers. Departures are off by default, and their draws do not change
those of a problem without them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from privrep.options import (
    Declared,
    among,
    check_any_sine,
    check_count,
    check_finite,
    check_positive,
    check_ratio,
    check_whole,
    ensure,
    option,
    requires,
)
from privrep.users.blocks import STREAMS_PER_BLOCK, Block, Truth, UserData, true_heads, users_of_a_stream
from privrep.users.known import Known
from privrep.users.rng import BlockStreams, stream
from privrep.users.subspace import orthonormalise

HEAVY_EVERY = 100  # under the head law `heavy` one user in this many has a long head
RARE = 0.05  # probability that a rare binary feature is 1
OUTLIER = 50.0  # factor on a label that is an outlier
CORRUPTED_LENGTH = 10.0  # length of the vector behind a corrupted user's labels, over sqrt(k)


@dataclass(frozen=True)
class Problem(Declared):
    """The parameters of one data set, each group followed by the methods that draw by it.

    They alone name the random streams. A parameter after `seed` is part of the name unless it has its default, so that
    a new parameter changes no older stream. `head_bias` flips the signs of whole heads: E v v^T and all lengths stay
    the same, while the mean head moves away from 0, and users have more in common. The heads of the law `heavy` are
    scaled so that E v v^T = I over whole hundreds of users; "we normalize U to unit norm" (jain2021, Section 6) is the
    truth law `unit-columns`.
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

    @property
    def axes(self) -> dict:
        """The name of the streams: the parameters up to `seed`, and later ones that differ from their default."""
        values = list(vars(self).items())
        first = 1 + list(vars(self)).index("seed")
        return dict(values[:first]) | {name: value for name, value in values[first:] if value != getattr(Problem, name)}

    @property
    def stream_users(self) -> int:
        return users_of_a_stream(self.samples, self.dim)

    @property
    def known(self) -> Known:
        """The public sizes and laws given to methods; the feature scale, a misspecification, is not among them."""
        longest = None if self.head_law == "gauss" else self.longest_head
        sizes = self.users, self.samples, self.dim, self.rank
        return Known(*sizes, self.label_noise_sd, self.head_condition, longest_head=longest)

    def draw_truth(self, rng: np.random.Generator) -> Truth:
        """Draw the true subspace, U*."""
        columns = rng.standard_normal((self.dim, self.rank))
        basis = orthonormalise(columns)
        if self.truth_law == "orthonormal":
            return Truth(basis, np.eye(self.rank))
        columns /= np.linalg.norm(columns, axis=0)
        return Truth(basis, basis.T @ columns)

    head_condition: float = option("condition number of the heads, sqrt(lam_1 / lam_k)", check_ratio, 1.0)
    head_factor: float = option("length of long heads over that of the others", check_ratio, 1.0)
    head_bias: float = option("b: a first coordinate is positive with probability (1 + b) / 2", check_any_sine, 0.0)

    @property
    def longest_head(self) -> float:
        """max ||v_j|| / sqrt(k lam_1) of heads of limited length: 1 unless they are `heavy`."""
        h = self.head_factor
        return h / (1 + (h**2 - 1) / HEAVY_EVERY) ** 0.5

    def draw_heads(self, start: int, users: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the heads v_j of the users numbered from `start` on, (users, k)."""
        heads = rng.standard_normal((users, self.rank), dtype=np.float32)
        if self.head_law in ("sphere", "aniso", "heavy"):
            heads[~heads.any(axis=1), 0] = 1  # a normal draw in float32 may be 0, which has no direction
            heads *= np.float32(self.rank**0.5) / np.linalg.norm(heads, axis=1, keepdims=True)
        if self.head_condition > 1:
            heads *= self.known.head_scales.astype(np.float32)
        if self.head_factor > 1:
            lengths = np.where(np.arange(start, start + users) % HEAVY_EVERY == 0, self.head_factor, 1.0)
            heads *= (lengths * (self.longest_head / self.head_factor)).astype(np.float32)[:, None]
        if self.head_bias > 0:
            positive = rng.random(users) < (1 + self.head_bias) / 2
            heads *= np.where(positive[:, None] == (heads[:, :1] >= 0), np.float32(1), np.float32(-1))
        return heads

    feature_law: str = option(
        "distribution of the independent entries of features, of variance 1: gauss, rare (binary, probability "
        f"{RARE:g}) or skewed (exponential)",
        among(("gauss", "rare", "skewed")),
        "gauss",
    )
    feature_scale: float = option(
        "root mean square standard deviation of a feature's coordinate; labels follow the scaled features",
        check_positive,
        1.0,
    )
    feature_condition: float = option("largest over smallest standard deviation of the coordinates", check_ratio, 1.0)
    feature_axes: str = option(
        "axes of the feature scales: coordinates, or the directions of a cosine transform, which mix coordinates",
        among(("coordinates", "mixed")),
        "coordinates",
    )
    feature_tail: float = option(
        "degrees of freedom of multivariate Student features; 0 for Gaussian ones",
        requires(lambda value: value == 0 or 2 < value < math.inf, "be greater than 2, or 0 for Gaussian features"),
        0.0,
    )

    @property
    def feature_scales(self) -> np.ndarray:
        """Standard deviations (d,) of a feature's coordinates, in geometric steps, of root mean square
        `feature_scale`."""
        scales = np.geomspace(self.feature_condition, 1.0, self.dim)
        return scales * (self.feature_scale / np.sqrt((scales**2).mean()))

    @property
    def feature_root(self) -> np.ndarray:
        """R, (d, d), with features R^T z, z of covariance I: scales, then a cosine transform for mixed axes."""
        scales = np.diag(self.feature_scales)
        if self.feature_axes != "mixed":
            return scales
        from scipy.fft import dct  # here, since importing it takes a tenth of a second, also for readers of settings

        return scales @ dct(np.eye(self.dim), norm="ortho")

    @property
    def scales_features(self) -> bool:
        """Whether the covariance of features differs from I."""
        return self.feature_condition > 1 or self.feature_scale != 1

    def draw_features(self, users: int, rng: np.random.Generator) -> np.ndarray:
        """Draw features (m, users, d) float32."""
        shape = self.samples, users, self.dim
        if self.feature_law == "rare":
            sd = np.float32((RARE * (1 - RARE)) ** 0.5)
            features = ((rng.random(shape, dtype=np.float32) < RARE) - np.float32(RARE)) / sd
        elif self.feature_law == "skewed":
            features = rng.standard_exponential(shape, dtype=np.float32) - 1
        else:
            features = rng.standard_normal(shape, dtype=np.float32)
        if self.feature_axes == "mixed":
            features = features @ self.feature_root.astype(np.float32)
        elif self.scales_features:
            features *= self.feature_scales.astype(np.float32)
        if tail := self.feature_tail:
            features *= np.sqrt((tail - 2) / rng.chisquare(tail, shape[:2])).astype(np.float32)[:, :, None]
        return features

    fewest_samples: int = option("fewest samples of a user, uniform from it to m; 0: all users have m", check_whole, 0)

    def draw_present(self, users: int, rng: np.random.Generator) -> np.ndarray:
        """Draw a mask (m, users) of present samples: m_j for user j, uniform on fewest_samples, ..., m."""
        counts = rng.integers(self.fewest_samples, self.samples + 1, users)
        return np.arange(self.samples)[:, None] < counts

    noise_spread: float = option(
        "largest label noise of a user over the smallest; label_noise_sd is the root of their mean square",
        check_ratio,
        1.0,
    )
    label_outliers: float = option(f"share of the labels that are multiplied by {OUTLIER:g}", check_any_sine, 0.0)

    def draw_noise(self, users: int, rng: np.random.Generator) -> np.ndarray:
        """Draw label noise (m, users), whose standard deviation is log-uniform over users up to `noise_spread`."""
        noise = rng.standard_normal((self.samples, users), dtype=np.float32)
        if self.noise_spread > 1:
            log = np.log(self.noise_spread)
            factors = np.exp(log * rng.random(users)) / np.sqrt((self.noise_spread**2 - 1) / (2 * log))
            noise *= factors.astype(np.float32)
        return np.float32(self.label_noise_sd) * noise

    adversaries: int = option(
        "corrupted users, whose labels follow one long vector off the subspace; they have no head and no risk",
        check_whole,
        0,
    )

    def corrupted_users(self, start: int, users: int) -> np.ndarray:
        """Mark the corrupted users, evenly spread, among the users numbered from `start` on; (users,)."""
        number = np.arange(start, start + users)
        return (number * self.adversaries) % self.users < self.adversaries

    def corrupted_vector(self, basis: np.ndarray) -> np.ndarray:
        """Return theta (d,) of corrupted users, at 45 degrees to the true subspace: the worst tilt."""
        outside = np.eye(self.dim)[np.abs(basis).max(axis=1).argmin()]
        outside = outside - basis @ (basis.T @ outside)
        halfway = basis[:, 0] + outside / np.linalg.norm(outside)
        return CORRUPTED_LENGTH * np.sqrt(self.rank / 2) * halfway

    def __post_init__(self):
        for name, value in vars(self).items():
            if isinstance(value, np.generic):  # a cell's key is made of plain numbers
                object.__setattr__(self, name, value.item())
        super().__post_init__()
        ensure(self.rank <= self.dim, "rank", self.rank, f"it must not exceed dim, which is {self.dim}")
        for name, most in (("fewest_samples", self.samples), ("adversaries", self.users - 1)):
            ensure(getattr(self, name) <= most, name, getattr(self, name), f"it must be at most {most}")
        for name, law in (("head_condition", "aniso"), ("head_factor", "heavy")):
            fits = getattr(self, name) == 1 or self.head_law == law
            ensure(fits, name, getattr(self, name), f"head_law {self.head_law!r} needs 1")
        room = not self.adversaries or self.rank < self.dim
        ensure(room, "adversaries", self.adversaries, f"no direction is off a subspace of rank {self.rank}")


_NAMES = tuple(parameter.name for parameter in fields(Problem))
MISSPECIFICATIONS = _NAMES[_NAMES.index("feature_law") :]
"""Parameters of departures from the model of the papers."""


def draw_stream(problem: Problem, truth: Truth, streams: BlockStreams, index: int) -> Block:
    """Draw the users of one stream: heads, features, label noise, in that order."""
    rng = streams[index]
    start = index * problem.stream_users
    users = min(problem.stream_users, problem.users - start)
    heads = problem.draw_heads(start, users, rng) @ truth.mixing.T.astype(np.float32)
    features = problem.draw_features(users, rng)
    labels = np.einsum("mbk,bk->mb", features @ truth.basis.astype(np.float32), heads)
    if problem.label_noise_sd > 0:
        labels += problem.draw_noise(users, rng)
    if problem.label_outliers:
        labels[rng.random(labels.shape) < problem.label_outliers] *= np.float32(OUTLIER)
    if problem.adversaries:
        corrupted = problem.corrupted_users(start, users)
        labels[:, corrupted] = features[:, corrupted] @ problem.corrupted_vector(truth.basis).astype(np.float32)
        heads[corrupted] = np.nan
    if problem.fewest_samples:
        present = problem.draw_present(users, rng)
        features *= present[:, :, None]
        labels *= present
    return Block(start, features, labels, heads, in_domain=True)


@dataclass
class Users(UserData):
    """All users of a problem, drawn block by block."""

    problem: Problem
    master_seed: int = 0
    memory_budget: int = UserData.memory_budget

    @property
    def known(self) -> Known:
        return self.problem.known

    @cached_property
    def truth(self) -> Truth:
        return self.problem.draw_truth(stream(self.master_seed, "truth", self.problem.axes))

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
        drawn = [draw_stream(self.problem, self.truth, self._streams, index) for index in streams]
        if len(drawn) == 1:
            return drawn[0]
        features = np.concatenate([part.features for part in drawn], axis=1)
        labels = np.concatenate([part.labels for part in drawn], axis=1)
        heads = np.concatenate([true_heads(part) for part in drawn])
        return Block(first, features, labels, heads, size, in_domain=True)
