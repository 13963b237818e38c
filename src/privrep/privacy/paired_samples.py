"""Contributions of users in Algorithm 3 of jain2021: products of pairs of their samples.

A sample enters as z = x / |x| clip(y; zeta); the clip of a sum is zeta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privrep.privacy.clipping import clip_factor, clip_scalar, within_float32, zero_rows_except
from privrep.privacy.contributions import Neighbours, of_any_two
from privrep.privacy.noise import NoiseSpec


@dataclass(frozen=True, eq=False)
class LabelledDirections:
    """Samples as directions, x / |x|, times labels that are clipped to zeta, in pairs (jain2021, Algorithm 3)."""

    features: np.ndarray  # (q, B, d)
    labels: np.ndarray  # (q, B)
    feature_norms: np.ndarray  # (q, B), inf for a sample that counts as zero

    def bound(self, zeta: float) -> float:
        """Return a bound on the norm of a user's contribution."""
        raise NotImplementedError

    def sensitivity(self, zeta: float, neighbours: Neighbours = "replaced") -> float:
        return of_any_two(self.bound(zeta), neighbours)


class DisjointPairs(LabelledDirections):
    """sum_p sym(z_2p-1 z_2p^T) with z = x / |x| clip(y; zeta); the clip is zeta.
    sym() copies the upper triangle, it does not average.

    The upper triangle of each pair has norm at most zeta^2, so that of P pairs has P zeta^2; only the upper triangle,
    diagonal included, is released. Replacing a user moves it by at most 2 P zeta^2 (Lemma 4.5), attained by flipping
    the sign of one label in each pair.
    """

    def clipped(self, zeta: float, participating: np.ndarray | None = None) -> tuple[np.ndarray]:
        pairs, dim = len(self.labels) // 2, self.features.shape[2]
        # Additions: d squares in a norm, and P pairs in a sum.
        labels = clip_scalar(self.labels, within_float32(zeta, dim + pairs))
        sound = np.isfinite(self.feature_norms) & (True if participating is None else participating)
        weights = np.divide(labels, self.feature_norms, out=np.zeros_like(labels), where=sound)
        firsts, seconds = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
        left = (self.features[firsts] * weights[firsts, :, None]).reshape(-1, dim)
        right = (self.features[seconds] * weights[seconds, :, None]).reshape(-1, dim)
        product = left.T @ right
        return (np.triu(product) + np.triu(product, 1).T,)

    def bound(self, zeta: float) -> float:
        return len(self.labels) // 2 * zeta**2

    def noise_spec(self, zeta: float) -> NoiseSpec:
        return NoiseSpec.of_one(self.sensitivity(zeta), self.bound(zeta), "copied")


def pairs_bound(samples: int, zeta: float) -> float:
    """Return zeta^2 sqrt(P), the clip of the sum over all P pairs of a user."""
    return zeta**2 * math.sqrt(samples * (samples - 1) / 2)


class AllPairs(LabelledDirections):
    """clip(W_j; zeta^2 sqrt(P)) with W_j = sum_{a<b} (z_a z_b^T + z_b z_a^T) / 2 over the P = q (q - 1) / 2 pairs of a
    user; the clip is zeta.

    The pairs of a user are nearly orthogonal matrices of norm at most zeta^2: their sum is clipped to the norm of a sum
    of orthogonal ones. 2 W_j = s s^T - Z^T Z with s the sum of the rows of Z, so with K = Z Z^T its squared norm is
    (1^T K 1)^2 - 2 |K 1|^2 + |K|^2.
    """

    def clipped(self, zeta: float, participating: np.ndarray | None = None) -> tuple[np.ndarray]:
        labels = clip_scalar(self.labels, zeta).astype(np.float64)
        # A zero sample has norm inf and adds nothing.
        weights = labels / self.feature_norms
        rows = (self.features * weights[:, :, None]).transpose(1, 0, 2)
        if participating is not None:
            rows = zero_rows_except(participating, rows)
        sums = rows.sum(axis=1)
        kernel = rows @ rows.transpose(0, 2, 1)
        totals = kernel.sum(axis=2)
        squares = totals.sum(axis=1) ** 2 - 2 * (totals**2).sum(axis=1) + (kernel**2).sum(axis=(1, 2))
        # Float64 rounding is relative to the size of the terms before they cancel.
        terms = np.einsum("bqq->bq", kernel).sum(axis=1) * len(labels)
        bound = pairs_bound(len(labels), zeta)
        factor = clip_factor(np.sqrt(np.maximum(squares, 0) + 1e-12 * terms**2) / 2, bound) / 2
        flat = (rows * factor[:, None, None]).reshape(-1, rows.shape[2])
        return ((sums * factor[:, None]).T @ sums - flat.T @ rows.reshape(-1, rows.shape[2]),)

    def bound(self, zeta: float) -> float:
        return pairs_bound(len(self.labels), zeta)

    def noise_spec(self, zeta: float) -> NoiseSpec:
        return NoiseSpec.of_one(self.sensitivity(zeta), self.bound(zeta), "averaged")
