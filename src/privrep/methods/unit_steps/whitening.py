"""Coordinates in which features look isotropic, from private estimates of their size, of the scale of each coordinate,
and of their covariance.

    f           <- half the mean over users of log(|X|^2 / m d), each clipped to +-4.6, + noise, as a power of two;
                1 within three sd of noise
    l_i         <- log sum_l x_ijl^2 over j, less its mean over j, clipped to norm 2 sqrt(d)
    l           <- ( sum_i l_i + noise ) / n;
    W           <- diag(exp(-c (l - mean) / 2)) / f,   c in [0, 1] the part of |l|^2 that noise does not explain
    up to three times, where noise would not hide a covariance:
        C       <- ( sum_i (1/m) sum_l W x_il x_il^T W^T / max(|W x_il|^2, d) + noise ) d/n
        C       <- I + c (C - I) over its mean eigenvalue, c as before (James and Stein);  small eigenvalues are raised
        W       <- C^-1/2 W

Features are replaced by W x. Only the shape of W matters, and f only roughly, since labels have a scale of their own.
Samples are clipped in norm and not divided by it: short samples, such as those in which all rare binary features are
absent, may all have one direction, and say little about a covariance. Each further release works on the remaining
covariance, so that the condition number falls each time by the factor that one release resolves above noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from privrep.methods.running.method import Iterate, LowRank
from privrep.methods.unit_steps import schedule as shares
from privrep.methods.unit_steps.schedule import Sizes
from privrep.privacy.contributions import Rows, Scalars, Semidefinite
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import Block, UserData
from privrep.users.heads import FittedHeads
from privrep.users.known import Known
from privrep.users.subspace import orthonormalise

LEVEL_WIDTH = 4.6  # clip of a user's log size about the public guess: a factor of 10 in length
SURE = 3.0  # standard deviations of noise from which on a size counts as different from the guess
LOG_LENGTH = 2.0  # clip of a user's log scales, over sqrt(d): about that of normal features, scales a factor 30 apart
LEAST_SQUARE = 1e-6  # a coordinate's mean square is taken to be at least this share of their mean
LEAST_VARIANCE = 1e-4  # variances of the features are taken to be at least this share of their mean


def learned_level(users: UserData, release: Release) -> float:
    """Release f, a coordinate's size over the public guess 1, as a power of two; 1 if noise may explain f."""
    n = users.known.users
    mean = release.sum("unit_level", users, log_levels, clip=LEVEL_WIDTH) / n
    logs = min(max(float(mean.value), -LEVEL_WIDTH), LEVEL_WIDTH) if abs(mean.value) > SURE * mean.sd else 0.0
    return 2.0 ** round(logs / math.log(4))


def mean_squares(block: Block) -> np.ndarray:
    """Return the mean square of each coordinate over a user's samples, (B, d) float64; 0 for a user without samples."""
    squares = np.einsum("qbd,qbd->bd", block.features, block.features).astype(np.float64)
    return squares / np.maximum(block.counts, 1)[:, None]


def log_levels(block: Block) -> Scalars:
    """Contribution of users: log(|X|^2 / m d); a user without samples adds 0."""
    squares = mean_squares(block).mean(axis=1)
    return Scalars(np.log(np.where(squares > 0, squares, 1.0)))


log_levels.key = "log levels"


def learned_scales(users: UserData, release: Release) -> np.ndarray:
    """Release scales of the coordinates, (d,), of mean square 1; all 1 if noise explains half of the spread."""
    n, d = users.known.users, users.known.dim
    bound = LOG_LENGTH * math.sqrt(d)
    logs = release.sum("unit_coordinates", users, log_coordinates, clip=bound) / n
    differs = logs.value - logs.value.mean()
    differs = differs * (bound / max(float(np.linalg.norm(differs)), bound))  # a longer vector is noise
    energy, noise = (differs**2).sum(), (d - 1) * logs.sd**2
    kept = 1 - noise / energy if energy > 2 * noise else 0.0
    scales = np.exp(kept * differs / 2)
    return scales / np.sqrt((scales**2).mean())


def log_coordinates(block: Block) -> Rows:
    """Contribution of users: logs of their mean squares of coordinates, less their mean, (B, d)."""
    squares = mean_squares(block)
    means = squares.mean(axis=1, keepdims=True)
    logs = np.log(np.maximum(squares, np.where(means > 0, LEAST_SQUARE * means, 1.0)))
    return Rows(logs - logs.mean(axis=1, keepdims=True))


log_coordinates.key = "log coordinates"


@dataclass(frozen=True, eq=False)
class Whitening:
    """Linear map W of the features, (d, d), or its diagonal, (d,)."""

    matrix: np.ndarray

    def rows(self, vectors: np.ndarray) -> np.ndarray:
        """Return W v for each row v: features x, or a gradient in the given coordinates."""
        matrix = self.matrix.astype(vectors.dtype)
        return vectors @ matrix.T if matrix.ndim == 2 else vectors * matrix

    def frame(self, columns: np.ndarray) -> np.ndarray:
        """Return W^T A: <W^T A, x> is <A, W x>."""
        return self.matrix.T @ columns if self.matrix.ndim == 2 else self.matrix[:, None] * columns

    def given(self, iterate: Iterate) -> Iterate:
        """Convert an iterate of a method that ran on features W x to the given coordinates."""
        frame, own = self.frame(iterate.basis), iterate.personal
        if own is not None:
            assert isinstance(own, LowRank) and isinstance(own.heads, FittedHeads)
            own = LowRank(frame, replace(own.heads, basis=frame))
        return replace(iterate, subspace=orthonormalise(frame), personal=own)

    def then(self, matrix: np.ndarray) -> Whitening:
        return Whitening(matrix @ self.matrix if self.matrix.ndim == 2 else matrix * self.matrix)


def whitened_samples(whitening: Whitening, block: Block) -> Semidefinite:
    """Contribution of users: (1/m) sum_l x x^T / max(|x|^2, d), (d, d), of x in the coordinates of W: of trace at most
    1.

    In float64: in float32 the rounding of a large block would change with a user's data by more than the sensitivity
    allows. A sample that is not finite in these coordinates adds nothing."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows = whitening.rows(block.features).astype(np.float64)
        norms = np.sqrt(np.einsum("qbi,qbi->qb", rows, rows)) * (1 + 1e-12)
    rows[~np.isfinite(norms)] = 0
    bounds = np.fmax(norms, math.sqrt(rows.shape[2])) * math.sqrt(len(block.labels))
    rows /= np.where(np.isfinite(bounds), bounds, 1.0)[:, :, None]
    return Semidefinite(rows)


def shrunk(matrix: np.ndarray, noise_sd: float) -> tuple[np.ndarray, np.ndarray, bool]:
    """Divide a matrix by its mean eigenvalue and shrink it towards I.

    Return eigenvalues, eigenvectors, and whether more than half of the difference from I remains.
    """
    size = len(matrix)
    level = max(np.trace(matrix) / size, 0.1)  # below 1 where users lack samples; less is taken for noise
    differs = (matrix - np.trace(matrix) / size * np.eye(size)) / level
    energy, noise = (differs**2).sum(), (noise_sd / level) ** 2 * size * (size + 1) / 2
    kept = 1 - noise / energy if energy > noise else 0.0
    values, vectors = np.linalg.eigh(np.eye(size) + kept * differs)
    return values, vectors, kept > 0.5


def released_whitening(users: UserData, whitening: Whitening, release: Release, floor: float) -> tuple[Whitening, bool]:
    """Release a better W at mu^2 = 1 / noise_multiplier^2, and whether the covariance differs from I beyond noise."""
    n, d = users.known.users, users.known.dim
    covariance = release.sum("unit_covariance", users, partial(whitened_samples, whitening), clip=1.0)
    values, vectors, differs = shrunk(covariance.value * (d / n), covariance.sd * d / n)
    values = np.maximum(values, floor)
    return whitening.then((vectors / np.sqrt(values * (d / values.sum()))) @ vectors.T), differs


def learned_whitening(users: UserData, release: Release) -> tuple[float, Whitening, int]:
    """Release f and W, from the coordinates' scales and, where noise would not hide it, the covariance, with shares of
    a whole budget's mu^2; return them, and the number of releases of the covariance.

    Another release follows while the last one found a covariance other than I. Their number depends on released numbers
    alone, and later steps get the unspent share: all shares of mu^2 add up to one (adaptive Gaussian releases whose
    mu^2 have a fixed sum compose as if each mu^2 were fixed; Smith and Thakurta 2022)."""
    known = users.known
    mu = 1 / release.noise_multiplier if release.noise_multiplier else math.inf
    noise = float(Sizes(known.users, known.samples, known.dim, known.rank).covariance_noise(mu))
    level = learned_level(users, release.share(shares.LEVEL))
    whitening = Whitening(1 / (level * learned_scales(users, release.share(shares.COORDINATES))))
    releases, more = 0, noise <= 1
    while more and releases < shares.WHITENINGS:
        handle = release.share(shares.COVARIANCE)
        whitening, more = released_whitening(users, whitening, handle, max(noise / 2, LEAST_VARIANCE))
        releases += 1
    return level, whitening, releases


@dataclass(frozen=True, eq=False)
class WhitenedUsers(UserData):
    """The same users with features W x. There is no truth in these coordinates."""

    users: UserData
    whitening: Whitening

    @property
    def known(self) -> Known:
        return self.users.known

    @property
    def block_size(self) -> int | None:
        return self.users.block_size

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        for block in self.users.blocks(start, stop):
            features = block.once(("W", self.whitening.matrix.tobytes()), partial(self.whitening.rows, block.features))
            yield Block(block.start, features, block.labels, stream_users=block.stream_users)
