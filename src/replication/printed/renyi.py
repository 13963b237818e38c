"""Rényi divergences between mixtures of Gaussians on the line, by quadrature.

R_alpha(p || q) = ln( int p^alpha q^(1 - alpha) ) / (alpha - 1), as in shen2023 Definition 2.1; a round with Poisson
participation gives two such mixtures, along the direction in which one user moves the sum, in units of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

POINTS = 8_001
REACH = 14  # standard deviations on either side; beyond lies less than 1e-40 of a Gaussian


@dataclass(frozen=True)
class Mixture:
    """The mixture of Gaussians sum_i w_i N(mean_i, sd_i^2)."""

    weights: tuple[float, ...]  # need not sum to 1: printed measures may have another mass
    means: tuple[float, ...]
    sds: tuple[float, ...]

    def log_density(self, x: np.ndarray) -> np.ndarray:
        means, sds = np.array(self.means)[:, None], np.array(self.sds)[:, None]
        logs = -0.5 * ((x - means) / sds) ** 2 - np.log(sds * math.sqrt(2 * math.pi))
        return logsumexp(logs, axis=0, b=np.array(self.weights)[:, None])


def renyi_divergence(alpha: float, p: Mixture, q: Mixture) -> float:
    """Return R_alpha(p || q); inf where p's tails are too wide for q (shen2023 Definition 2.1)."""
    if alpha * max(p.sds) ** -2 <= (alpha - 1) * max(q.sds) ** -2:
        return math.inf
    # p^alpha q^(1 - alpha) peaks up to alpha times the span beyond the means.
    span = max(*p.means, *q.means) - min(*p.means, *q.means)
    width = alpha * span + REACH * max(*p.sds, *q.sds)
    x = np.linspace(-width, width, POINTS)
    logs = alpha * p.log_density(x) + (1 - alpha) * q.log_density(x)
    return float((logsumexp(logs) + math.log(x[1] - x[0])) / (alpha - 1))


def participation(rate: float, mean: float, sd: float) -> Mixture:
    """Return (1 - p) N(0, sd^2) + p N(mean, sd^2): a round in which a user takes part with probability p."""
    return Mixture((1 - rate, rate), (0.0, mean), (sd, sd))
