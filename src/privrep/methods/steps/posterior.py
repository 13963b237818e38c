"""Posterior means of heads under a Gaussian prior, and their errors on samples that were left out.

    theta ~ N(beta, s sigma^2 R R^T),   y = <x, theta> + noise of variance sigma^2

Only the ratio s of the two variances matters. From the singular values of X R, a user's heads, fits, leverages are sums
for every s. A new label at x has variance sigma_i^2 (1 + x^T C_i x), where C_i is the posterior covariance over sigma^2
under one prior in place of all, exact in the best known direction and averaged over the other directions, and

    sigma_i^2 <- (2 typical squared error + sum_j (left-out error)^2 (1 - leverage)) / (2 + m)

A prior with a given sigma bounds the influence of a label on a head: a label is moved to within 4 standard deviations,
sigma / (1 - leverage)^1/2 each, of its prediction by the user's other labels. The shifts o_j of labels minimise

    (y - o)^T C^-1 (y - o) / 2 + 4 sum_j |o_j| (C^-1)_jj^1/2        with C the covariance of the labels y

which is convex, like Huber's loss, and is solved by reweighting: o_j is the residual of y_j times v_j / (1 + v_j),
where the noise of y_j has variance sigma^2 (1 + v_j), and v_j <- |o_j| / (4 sigma (1 - leverage)^1/2).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from privrep.privacy.contributions import Rows
from privrep.users.blocks import Block

LEAST_LEFT = 1e-6  # least value of 1 - leverage
TYPICAL_ROWS = 2  # number of rows that the typical error counts for in a user's noise variance
FARTHEST = 4.0  # largest distance of a label from its prediction by the user's other labels, in standard deviations
PASSES = 15  # iterations of reweighting, for users with a label farther away than `FARTHEST`


def by_size(statistic: Callable, *given: object) -> Rows:
    """Evaluate a statistic (B, ...) of `given`, the last of which is a block, on groups of users by number of samples.
    A user's result does not depend on other users, even in its last bit: each has a matrix product of its own."""
    *others, block = given
    assert isinstance(block, Block)
    places, parts = zip(*((of, statistic(*others, part)) for of, part in block.by_size), strict=True)
    order = np.argsort(np.concatenate(places))
    return Rows(np.concatenate(parts)[order])


@dataclass(frozen=True, eq=False)
class Prior:
    """Gaussian priors of a head that differ in strength alone, each with a weight in a mixture."""

    mean: np.ndarray  # beta, (d,)
    root: np.ndarray  # R, (d, p)
    strengths: np.ndarray  # s, (c,); 0 for the mean alone
    weights: np.ndarray  # (c,)
    noise: np.ndarray | float = 0.0  # sigma^2, which bounds labels and needs a single strength; 0: no bound


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mean of heads under several priors, with weights that are the same for all users."""

    priors: tuple[Prior, ...]

    def heads(self, block: Block) -> np.ndarray:
        """Return heads of the users of a block, (B, d)."""
        pairs = zip(self.priors, spectra(self.priors, block), strict=True)
        return sum((each.bounded(prior).heads(prior.strengths, prior.weights) for prior, each in pairs), np.zeros(()))

    __call__ = heads

    @property
    def covariance(self) -> np.ndarray:
        """Covariance over sigma^2, (d, d), of one prior that keeps as much of a label as the mixture does, for labels
        of variance 1 under each root."""
        kept = [prior.strengths / (1 + prior.strengths) @ prior.weights for prior in self.priors]
        products = (k * prior.root @ prior.root.T for k, prior in zip(kept, self.priors, strict=True))
        return sum(products, np.zeros(())) / (1 - sum(kept))

    def doubts(self, error: float, block: Block) -> np.ndarray:
        """Return input of `variances` for a block's users, (B, 2 + d) float32: noise variance; share of prior variance
        left in all directions but the best known; that direction, times the root of its share's deficit.

        error : typical squared error of users on left-out samples."""
        values, vectors = np.linalg.eigh(self.covariance)
        whole = Spectra(block, np.zeros(len(values)), vectors * np.sqrt(np.maximum(values, 0.0)))
        unit, dim = np.ones(1), len(values)
        kept, alone = whole.kept(unit)[0], whole.remainders(unit)[1][0]
        mixed = sum(
            sum(map(np.multiply, prior.weights, each.left_out(prior.strengths)))
            for prior, each in zip(self.priors, spectra(self.priors, block), strict=True)
        )
        noise = (TYPICAL_ROWS * error + (mixed**2 * alone).sum(axis=1)) / (TYPICAL_ROWS + block.counts)
        left = 1 - kept[:, :-1].sum(axis=1) / max(dim - 1, 1)
        less = np.sqrt(np.maximum(left - 1 + kept[:, -1], 0.0))[:, None] * whole.right[:, :, -1]
        return np.column_stack([noise, left, (whole.root @ less[:, :, None])[:, :, 0]]).astype(np.float32)

    def variances(self, features: np.ndarray, doubts: np.ndarray) -> np.ndarray:
        """Return variances of new labels (N,) at rows of features (N, d) of users whose `doubts` are (N, 2 + d)."""
        noise, left, known = doubts[:, 0], doubts[:, 1], np.einsum("nd,nd->n", features, doubts[:, 2:])
        spread = left * np.einsum("nd,de,ne->n", features, self.covariance, features, optimize=True)
        return noise * (1 + np.maximum(spread - known**2, 0.0))


def eigh_of_each(grams: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and vectors of each user's matrix; zeros where the solver fails: its error would stop all."""
    try:
        return np.linalg.eigh(grams)
    except np.linalg.LinAlgError:
        values, vectors = np.zeros(grams.shape[:2]), np.zeros_like(grams)
        for user, gram in enumerate(grams):
            with suppress(np.linalg.LinAlgError):
                values[user], vectors[user] = np.linalg.eigh(gram)
        return values, vectors


def by_user(block: Block) -> np.ndarray:
    """Return the features by user, (B, m, d) float64."""
    return block.once("features", lambda: np.ascontiguousarray(block.features.transpose(1, 0, 2), np.float64))


class Spectra:
    """Singular value decomposition of each user of a block, X R = L diag(l) V^T, by the smaller Gram matrix."""

    def __init__(self, block: Block, mean: np.ndarray, root: np.ndarray):
        self.root = root
        rows = by_user(block) @ root
        by_kernel = rows.shape[1] < rows.shape[2]
        gram = rows @ rows.transpose(0, 2, 1) if by_kernel else rows.transpose(0, 2, 1) @ rows
        squares, vectors = eigh_of_each(gram)
        # Rounding errors in zero eigenvalues would blow up the singular vectors of the other side.
        sound = squares > 1e-12 * squares[:, -1:]
        self.squares = np.where(sound, squares, 0.0)
        inverse = np.where(sound, 1 / np.sqrt(np.where(sound, squares, 1.0)), 0.0)[:, None, :]
        if by_kernel:
            self.left, self.right = vectors, rows.transpose(0, 2, 1) @ (vectors * inverse)
        else:
            self.left, self.right = rows @ (vectors * inverse), vectors
        self.nbytes = self.squares.nbytes + self.left.nbytes + self.right.nbytes
        self.about(block, mean)

    def about(self, block: Block, mean: np.ndarray) -> Spectra:
        """Set the residuals for another mean; return self."""
        self.mean, self.residuals = mean, np.ascontiguousarray(block.labels.T) - by_user(block) @ mean
        self.projected = (self.residuals[:, None] @ self.left)[:, 0]
        return self

    def bounded(self, prior: Prior) -> Spectra:
        """Move labels nearer to their prediction by the user's other labels where they are too far; return self."""
        if not prior.noise:
            return self
        residuals, left = (array[0] for array in self.remainders(prior.strengths))
        sd, most = np.sqrt(prior.noise), FARTHEST * np.sqrt(np.maximum(left, LEAST_LEFT))
        users = np.flatnonzero((np.abs(residuals) > most * sd).any(axis=1))
        labels, most = self.residuals[users] / sd, most[users]
        rows = self.left[users] * np.sqrt(prior.strengths * self.squares[users])[:, None]
        # As in `ridge_models`: one singular system would stop all users.
        unit = (1 + 1e-12 * np.einsum("bmp,bmp->b", rows, rows))[:, None, None] * np.eye(rows.shape[2])
        doubts = (1 + np.abs(labels)) / most
        moved = labels
        for _ in range(PASSES):
            weighed = rows.transpose(0, 2, 1) / (1 + doubts[:, None])
            heads = np.linalg.solve(unit + weighed @ rows, weighed @ labels[:, :, None])
            moved = (labels - (rows @ heads)[:, :, 0]) * (doubts / (1 + doubts))
            doubts = np.abs(moved) / most
        self.projected[users] -= sd * (moved[:, None] @ self.left[users])[:, 0]
        return self

    def kept(self, strengths: np.ndarray) -> np.ndarray:
        """Return the shares of the labels' coordinates that remain in the fits, (c, B, p)."""
        scaled = strengths[:, None, None] * self.squares
        return scaled / (1 + scaled)

    def heads(self, strengths: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum, over strengths, of heads, (B, d)."""
        return weights.sum() * self.mean + (self.root @ self.changes(strengths, weights)[:, :, None])[:, :, 0]

    def changes(self, strengths: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum, over strengths, of heads less the mean, in coordinates of the root, (B, p)."""
        sizes = np.sqrt(np.where(self.squares > 0, self.squares, 1.0))
        shrunk = sum(map(np.multiply, weights, self.kept(strengths))) / sizes * self.projected
        return (self.right @ shrunk[:, :, None])[:, :, 0]

    def left_out(self, strengths: np.ndarray) -> np.ndarray:
        """Return leave-one-out errors, (c, B, m): residual / (1 - leverage)."""
        residuals, left = self.remainders(strengths)
        return residuals / np.maximum(left, LEAST_LEFT)

    def two_left_out(self, strengths: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return errors on each sample where it and one `other` sample (B, m) are left out, (c, B, m)."""
        residuals, left = self.remainders(strengths)
        shared = -_by_sample(self.left * np.take_along_axis(self.left, other[:, :, None], 1), self.kept(strengths))
        others, both = (np.take_along_axis(array, other[None], 2) for array in (residuals, left))
        return (both * residuals - shared * others) / np.maximum(left * both - shared**2, LEAST_LEFT)

    def remainders(self, strengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return residuals of the fits, and 1 - leverage; (c, B, m) each."""
        kept = self.kept(strengths)
        fits = _by_sample(self.left, kept * self.projected)
        return self.residuals - fits, 1 - _by_sample(self.left**2, kept)


def _by_sample(left: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return sums over p of left (B, m, p) times values (c, B, p), (c, B, m)."""
    return (left @ values.transpose(1, 2, 0)).transpose(2, 0, 1)


def spectra(priors: Sequence[Prior], block: Block) -> Iterator[Spectra]:
    """Yield the spectra of a block under each prior; a root that priors or releases share is decomposed once."""
    for prior in priors:
        cached = block.once((prior.root.shape, prior.root.tobytes()), partial(Spectra, block, prior.mean, prior.root))
        yield copy.copy(cached).about(block, prior.mean)
