"""Law F3 of jain2021's step for clips that bind: the error from noise when the threshold shrinks both signal and noise.

With A = n q (alpha I + noise) and b = n q (beta U* + noise) the minimiser is (beta / alpha) U* plus noise: noise of A
counts relative to alpha, that of b to beta (see `kept`). The law holds for heads of length sqrt(k), known to the step,
and labels without noise; without a clip, alpha = beta = 1.

Notation: n `users`, q `samples` of a user in the step, d `dim`, k `rank`, Delta `noise_multiplier`, eta `feature` (clip
of ||w||), zeta `label` (clip of labels)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaincinv

from privrep.theory.jain2021 import step_privacy_resolved
from privrep.theory.shared import Values, edge

POINTS = 400
"""Grid points of each of the two distributions in the expectations under the clip."""
FARTHEST = 8.0
"""Number of standard deviations beyond which a normal density is neglected."""


def sample_grid(dim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a grid for means over x ~ N(0, I): values of |x_1|, with x_1 along a user's model, and their weights,
    (POINTS,); and ||x||^2 for each value (row) and each quantile of x_2^2 + ... + x_d^2, (POINTS, POINTS)."""
    quantiles = (np.arange(POINTS) + 0.5) / POINTS
    along = quantiles * FARTHEST
    weights = np.exp(-(along**2) / 2)
    return along, weights / weights.sum(), along[:, None] ** 2 + 2 * gammaincinv((dim - 1) / 2, quantiles)


@lru_cache
def kept(dim: int, rank: int, feature: float, label: float) -> tuple[float, float]:
    """Return alpha = E[s^2 ||w||^2] / (d k) and beta = E[s c(y) y] / k of samples clipped one by one: s = min(1, eta /
    ||w||) with ||w|| = sqrt(k) ||x||, and c(y) the label clipped to zeta."""
    along, weights, squares = sample_grid(dim)  # |y| is sqrt(k) times `along`
    factor = np.minimum(1, feature / np.sqrt(rank * squares))
    alpha = weights @ (factor**2 * squares).mean(axis=1) / dim
    labels = np.minimum(along * math.sqrt(rank), label) * along / math.sqrt(rank)
    return float(alpha), float(weights @ (factor.mean(axis=1) * labels))


@dataclass(frozen=True)
class CutStep:
    """Noise of one step of Algorithm 2 for heads with lam_i = 1: the standard deviation on an entry of A and of b for
    each user and sample, divided by the signal."""

    second: Values  # 2 a Delta / (n q alpha), with a the bound on A_j
    first: Values  # 2 b Delta / (n q beta), with b the bound on b_j

    def ratio(self, dim: int, rank: int) -> Values:
        """Return x: operator norm of the noise on A over its signal."""
        return 2 * math.sqrt(dim * rank) * self.second

    def frobenius(self, dim: int, rank: int) -> float:
        """Return distF caused by privacy noise, for any x < 1."""
        labels = np.sqrt(1 + self.first**2 / (rank * self.second**2))
        return float(np.asarray(step_privacy_resolved(self.ratio(dim, rank), dim, rank) * labels))

    def spectral(self, dim: int, rank: int) -> float:
        """Return dist2 caused by privacy noise: all directions are alike, so the largest error is that of a matrix of
        unit normals."""
        return self.frobenius(dim, rank) * float(np.asarray(edge(dim, rank))) / math.sqrt((dim - rank) * rank)


def sample_step(users: int, dim: int, rank: int, noise_multiplier: float, feature: float, label: float) -> CutStep:
    """Return the noise of a step with samples clipped one by one, as printed in jain2021."""
    alpha, beta = kept(dim, rank, feature, label)
    return CutStep(
        2 * noise_multiplier * feature**2 / (users * alpha), 2 * noise_multiplier * feature * label / (users * beta)
    )


def user_step(
    users: Values, samples: int, noise_multiplier: Values, factors: tuple[float, float], units: tuple[float, float]
) -> CutStep:
    """Return the noise of a step with user-level clips of A_j and b_j to `factors` times their typical norms `units`;
    all users are assumed to have these norms."""
    second, first = (
        2 * noise_multiplier * unit * max(1.0, factor) / (users * samples)
        for factor, unit in zip(factors, units, strict=True)
    )
    return CutStep(second, first)
