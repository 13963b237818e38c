"""Posterior means of heads under a Gaussian prior, and their errors on samples that were left out.

    theta ~ N(beta, s sigma^2 R R^T),   y = <x, theta> + noise of variance sigma^2

Only the ratio s of the two variances matters. With the singular values of X R one user's heads, fits and leverages are
sums for every s.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from privrep.users.problem import Block

LEAST_LEFT = 1e-6  # a leverage is taken to leave at least this of a sample


@dataclass(frozen=True, eq=False)
class Prior:
    """Gaussian prior of a head."""

    mean: np.ndarray  # beta, (d,)
    root: np.ndarray  # R, (d, p)
    strength: float  # s; 0 for the mean alone


@dataclass(frozen=True, eq=False)
class Mixture:
    """Priors that each user weighs by the evidence of its own samples."""

    priors: tuple[Prior, ...]
    variance: float  # guess of sigma^2, which has an inverse gamma law of shape 1 about it

    def heads(self, block: Block) -> np.ndarray:
        """Return heads of the users of a block, (B, d), averaged over the priors by their evidence."""
        pairs = [(Spectra(block, one.mean, one.root), one) for one in self.priors]
        heads = np.array([found.heads(one.strength) for found, one in pairs])
        if len(heads) == 1:
            return heads[0]
        logs = np.array([found.log_evidence(one.strength, self.variance, block.counts) for found, one in pairs])
        return np.einsum("cb,cbd->bd", softmax(logs, axis=0), heads)


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

    def heads(self, strength: float) -> np.ndarray:
        shrunk = strength * np.sqrt(self.squares) / (1 + strength * self.squares) * self.projected
        return self.mean + np.einsum("bqp,bp->bq", self.right, shrunk) @ self.root.T

    def log_evidence(self, strength: float, variance: float, counts: np.ndarray) -> np.ndarray:
        """Return the log density of the labels, sigma^2 integrated out, (B,), up to a term that priors share."""
        kept = strength * self.squares / (1 + strength * self.squares)
        left = np.einsum("bm,bm->b", self.residuals, self.residuals) - np.einsum("bp,bp->b", kept, self.projected**2)
        volume = np.log1p(strength * self.squares).sum(axis=1)
        return -volume / 2 - (1 + counts / 2) * np.log(variance + np.maximum(left, 0.0) / 2)

    def left_out(self, strength: float) -> np.ndarray:
        """Return the error of the head of all other samples on each, (B, m): residual / (1 - leverage)."""
        kept = strength * self.squares / (1 + strength * self.squares)
        fits = np.einsum("bmp,bp->bm", self.left, kept * self.projected)
        leverages = np.einsum("bmp,bp->bm", self.left**2, kept)
        return (self.residuals - fits) / np.maximum(1 - leverages, LEAST_LEFT)
