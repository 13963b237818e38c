"""Posterior means of heads under a Gaussian prior, and their errors on samples that were left out.

    theta ~ N(beta, s sigma^2 R R^T),   y = <x, theta> + noise of variance sigma^2

Only the ratio s of the two variances matters. With the singular values of X R one user's heads, fits and leverages are
sums for every s.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from privrep.users.problem import Block

LEAST_LEFT = 1e-6  # a leverage is taken to leave at least this of a sample


@dataclass(frozen=True, eq=False)
class Prior:
    """Gaussian priors of a head that differ in their strengths alone, each with a weight in a mixture."""

    mean: np.ndarray  # beta, (d,)
    root: np.ndarray  # R, (d, p)
    strengths: np.ndarray  # s, (c,); 0 for the mean alone
    weights: np.ndarray  # (c,)


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mean of heads under several priors, with weights that are the same for all users."""

    priors: tuple[Prior, ...]

    def heads(self, block: Block) -> np.ndarray:
        """Return heads of the users of a block, (B, d)."""
        return sum(Spectra(block, one.mean, one.root).heads(one.strengths, one.weights) for one in self.priors)


def eigh_of_each(grams: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and vectors of each user's matrix, zeros where not found: one would stop them all."""
    try:
        return np.linalg.eigh(grams)
    except np.linalg.LinAlgError:
        values, vectors = np.zeros(grams.shape[:2]), np.zeros_like(grams)
        for user, gram in enumerate(grams):
            with suppress(np.linalg.LinAlgError):
                values[user], vectors[user] = np.linalg.eigh(gram)
        return values, vectors


class Spectra:
    """X R = L diag(l) V^T of each user of a block, by the smaller of its two Gram matrices."""

    def __init__(self, block: Block, mean: np.ndarray, root: np.ndarray):
        self.mean, self.root = mean, root
        features = block.features.transpose(1, 0, 2).astype(np.float64)
        self.residuals = block.labels.T - features @ mean
        rows = features @ root
        by_kernel = rows.shape[1] < rows.shape[2]
        gram = rows @ rows.transpose(0, 2, 1) if by_kernel else rows.transpose(0, 2, 1) @ rows
        squares, vectors = eigh_of_each(gram)
        # What rounding leaves of an eigenvalue that is zero would blow up the other side's vectors.
        sound = squares > 1e-12 * squares[:, -1:]
        self.squares = np.where(sound, squares, 0.0)
        inverse = np.where(sound, 1 / np.sqrt(np.where(sound, squares, 1.0)), 0.0)[:, None, :]
        if by_kernel:
            self.left, self.right = vectors, rows.transpose(0, 2, 1) @ vectors * inverse
        else:
            self.left, self.right = rows @ vectors * inverse, vectors
        self.projected = np.einsum("bmp,bm->bp", self.left, self.residuals)

    def kept(self, strengths: np.ndarray) -> np.ndarray:
        """Return the parts of the labels' coordinates that fits keep, (c, B, p)."""
        strengths = strengths[:, None, None]
        return strengths * self.squares / (1 + strengths * self.squares)

    def heads(self, strengths: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the weighted mean of heads, (B, d), times the sum of the weights."""
        return weights.sum() * self.mean + self.changes(strengths, weights) @ self.root.T

    def changes(self, strengths: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return what the heads' coordinates in the root differ by from the mean's, (B, p), weighted and summed."""
        sizes = np.sqrt(np.where(self.squares > 0, self.squares, 1.0))
        shrunk = np.einsum("c,cbp->bp", weights, self.kept(strengths)) / sizes * self.projected
        return np.einsum("bqp,bp->bq", self.right, shrunk)

    def left_out(self, strengths: np.ndarray) -> np.ndarray:
        """Return the error of the head of all other samples on each, (c, B, m): residual / (1 - leverage)."""
        residuals, left = self._residuals(strengths)
        return residuals / np.maximum(left, LEAST_LEFT)

    def two_left_out(self, strengths: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the errors where one `other` sample (B, m) is left out beside each, (c, B, m)."""
        residuals, left = self._residuals(strengths)
        shared = -np.einsum("bmp,cbp,bmp->cbm", self.left, self.kept(strengths), at(self.left, other[:, :, None]))
        others, both = (at(one, other[None], 2) for one in (residuals, left))
        return (both * residuals - shared * others) / np.maximum(left * both - shared**2, LEAST_LEFT)

    def _residuals(self, strengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return residuals of the fits, and what leverages leave; (c, B, m) each."""
        kept = self.kept(strengths)
        fits = np.einsum("bmp,cbp->cbm", self.left, kept * self.projected)
        return self.residuals - fits, 1 - np.einsum("bmp,cbp->cbm", self.left**2, kept)


def at(values: np.ndarray, places: np.ndarray, axis: int = 1) -> np.ndarray:
    """Return values at places along an axis."""
    return np.take_along_axis(values, places, axis)
