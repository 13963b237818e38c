"""Law F3 of jain2021's step where the clip cuts: what noise leaves when both signal and noise shrink with the
threshold.

With A = n q (alpha I + noise) and b = n q (beta U* + noise) the minimiser is (beta / alpha) U* plus noise, so an entry
of the noise counts over alpha. For heads of length sqrt(k), known to the step, and labels without noise; uncut,
alpha = beta = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaincinv

from privrep.laws.jain2021 import step_privacy_resolved
from privrep.laws.shared import edge

POINTS = 400
"""Points of each of the two laws in the expectations under the clip."""
FARTHEST = 8.0
"""Standard deviations beyond which a normal variable is neglected."""


@lru_cache
def kept(dim: int, rank: int, feature: float, label: float) -> tuple[float, float]:
    """alpha = E[s^2 ||w||^2] / (d k) and beta = E[s c(y) y] / k of samples clipped one by one: s = min(1, eta / ||w||)
    with ||w|| = sqrt(k) ||x||, and c(y) the label clipped to zeta.

    Parameters
    ----------
    dim : d.
    rank : k.
    feature : eta, clip of ||w||.
    label : zeta, clip of labels.
    """
    along = (np.arange(POINTS) + 0.5) / POINTS * FARTHEST  # |x| along the user's model: |y| is sqrt(k) times it
    weights = np.exp(-(along**2) / 2)
    weights /= weights.sum()
    rest = 2 * gammaincinv((dim - 1) / 2, (np.arange(POINTS) + 0.5) / POINTS)
    squares = along[:, None] ** 2 + rest
    factor = np.minimum(1, feature / np.sqrt(rank * squares))
    alpha = weights @ (factor**2 * squares).mean(axis=1) / dim
    labels = np.minimum(along * math.sqrt(rank), label) * along / math.sqrt(rank)
    return float(alpha), float(weights @ (factor.mean(axis=1) * labels))


@dataclass(frozen=True)
class CutStep:
    """One step of Algorithm 2 on n users, heads with lam_i = 1: the noise's sd on an entry of A and of b per user and
    sample, over Delta and the signal.

    Attributes
    ----------
    second, first : 2 a Delta / (n q alpha) and 2 b Delta / (n q beta), with a and b the bounds on A_j and b_j.
    """

    second: float
    first: float

    def ratio(self, dim: int, rank: int) -> float:
        """x: operator norm of the noise on A over its signal.

        Parameters
        ----------
        dim : d.
        rank : k.
        """
        return 2 * math.sqrt(dim * rank) * self.second

    def frobenius(self, dim: int, rank: int) -> float:
        """distF by privacy noise over the whole range of x < 1.

        Parameters
        ----------
        dim : d.
        rank : k.
        """
        labels = math.sqrt(1 + self.first**2 / (rank * self.second**2))
        return float(step_privacy_resolved(self.ratio(dim, rank), dim, rank)) * labels

    def spectral(self, dim: int, rank: int) -> float:
        """dist2 of the same: its directions are alike, so the largest is that of a matrix of unit normals.

        Parameters
        ----------
        dim : d.
        rank : k.
        """
        return self.frobenius(dim, rank) * float(edge(dim, rank)) / math.sqrt((dim - rank) * rank)


def sample_step(users: int, dim: int, rank: int, noise_multiplier: float, feature: float, label: float) -> CutStep:
    """Samples clipped one by one, as printed.

    Parameters
    ----------
    users : n.
    dim : d.
    rank : k.
    noise_multiplier : Delta.
    feature : eta, clip of ||w||.
    label : zeta, clip of labels.
    """
    alpha, beta = kept(dim, rank, feature, label)
    return CutStep(
        2 * noise_multiplier * feature**2 / (users * alpha), 2 * noise_multiplier * feature * label / (users * beta)
    )


def user_step(
    users: int, samples: int, noise_multiplier: float, factors: tuple[float, float], units: tuple[float, float]
) -> CutStep:
    """User-level clipping to `factors` times `units`; norms of users are taken as equal.

    Parameters
    ----------
    users : n.
    samples : q per user in the step.
    noise_multiplier : Delta.
    factors : clips of A_j and b_j over their typical norms.
    units : those norms.
    """
    second, first = (
        2 * noise_multiplier * unit * max(1.0, one) / (users * samples)
        for one, unit in zip(factors, units, strict=True)
    )
    return CutStep(second, first)
