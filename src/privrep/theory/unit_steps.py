"""Constants, conditions and bounds of the theorems on plain unit steps (docs/unit_steps_theorem.md).

Lengths are in units of the labels: a head has length sqrt(k), `noise` is the standard deviation s of the label noise, d
the dimension, k the rank, m the samples of a user, and mu the parameter of Gaussian differential privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, roots_legendre

FIRST_ERROR = 0.5  # largest distance of the start in Theorem 1
NODES = 200  # quadrature nodes of the integrals over an angle


def chi_mean(freedom: float) -> float:
    """Return mu_nu, the mean of a chi variable with these degrees of freedom."""
    return math.sqrt(2) * math.exp(gammaln((freedom + 1) / 2) - gammaln(freedom / 2))


def angle_mean(power: int, exponent: float, share: np.ndarray | float) -> np.ndarray:
    """Return the mean of (1 - A^2 sin^2 theta)^exponent over angles from 0 to pi/2 of density cos(theta)^power."""
    nodes, weights = roots_legendre(NODES)
    angles = (nodes + 1) * math.pi / 4
    weights = weights * np.cos(angles) ** power
    return (1 - np.square(np.asarray(share))[..., None] * np.sin(angles) ** 2) ** exponent @ (weights / weights.sum())


@dataclass(frozen=True)
class Plain:
    """Plain unit steps, for heads whose second moments lie between alpha and beta (assumptions A1 to A4).

    Parameters
    ----------
    samples, dim, rank : m, d and k; m and d exceed k.
    noise : largest noise of a user, over the head's root mean square coordinate; positive.
    noise_ratio : q, largest over smallest noise.
    alpha, beta : bounds of the eigenvalues of E v v^T.
    spread : D of assumption A3, by default that of heads on the sphere.
    """

    samples: int
    dim: int
    rank: int
    noise: float
    noise_ratio: float = 1.0
    alpha: float = 1.0
    beta: float = 1.0
    spread: float | None = None

    @property
    def freedom(self) -> int:
        """f = m - k."""
        return self.samples - self.rank

    @property
    def outside(self) -> int:
        """p = d - k."""
        return self.dim - self.rank

    @property
    def heads_spread(self) -> float:
        """D of assumption A3."""
        return 3 * self.rank / (self.rank + 2) if self.spread is None else self.spread

    def gamma(self, share: np.ndarray | float) -> np.ndarray:
        """Return gamma, the mean cosine between gradient and error b of a user, for A = |b| / sigma (step 2)."""
        f, p = self.freedom, self.outside
        return chi_mean(f) / chi_mean(p + 1) * share * angle_mean(p, f / 2 - 1, share)

    def omega(self, share: np.ndarray | float) -> np.ndarray:
        """Return omega, the mean cosine between a user's fitted head and a, for A = |a| / sqrt(k + s^2) (step 3)."""
        f, k = self.freedom, self.rank
        return chi_mean(f + 1) / chi_mean(k + 1) * share * angle_mean(k, (f - k) / 2, share)

    @property
    def gamma_bounds(self) -> tuple[float, float]:
        """Gamma and Gamma', bounds of gamma over A."""
        f, p = self.freedom, self.outside
        first, second = chi_mean(f) / chi_mean(f + p - 1), chi_mean(f) / chi_mean(p + 1)
        return min(first, second), max(first, second)

    @property
    def omega_bounds(self) -> tuple[float, float]:
        """omega_0 and rho_0, bounds of omega over A."""
        ratio = chi_mean(self.freedom + 1) / chi_mean(self.rank + 1)
        return min(1.0, ratio), max(1.0, ratio)

    @property
    def steepness(self) -> float:
        """L_0^2 of Theorem 1."""
        (low, high), (least, _) = self.gamma_bounds, self.omega_bounds
        heads = self.beta * max(self.heads_spread, self.noise_ratio**2 * self.beta)
        return 4 / 3 * heads * (1 + self.noise**2 / self.rank) * (high / (low * least * self.alpha)) ** 2

    def error(self, rounds: int) -> float:
        """Return the bound of Theorem 1 on the distance after some rounds."""
        return FIRST_ERROR * (1 - 9 / (64 * self.steepness)) ** rounds

    def pull(self, error: float) -> float:
        """Return the lower bound (4) on the least eigenvalue of K at this distance."""
        (low, _), (least, _) = self.gamma_bounds, self.omega_bounds
        lengths = math.sqrt((self.rank + self.noise**2) * (self.heads_spread * error**2 + self.noise**2))
        return low * least * self.alpha / lengths

    def step(self, error: float) -> float:
        """Return c of Theorem 1 at this distance."""
        return 3 / (4 * self.steepness) / self.pull(error)

    @property
    def mean_pull(self) -> float:
        """lambda of Theorem 3: the least eigenvalue of K anywhere, for rotation-invariant heads."""
        return self.gamma_bounds[0] * self.omega_bounds[0] * self.alpha / (self.rank + self.noise**2)

    @property
    def farthest_turn(self) -> float:
        """c_0 of Theorem 3 (R): tangent of the largest angle that a step turns."""
        (low, high), (least, _), noise2 = self.gamma_bounds, self.omega_bounds, self.noise**2
        return low * least / (4 * high) * math.sqrt(self.rank / ((self.rank + noise2) * (3 + 4 * noise2)))

    @property
    def random_step(self) -> float:
        """c of Theorem 3 (R)."""
        return self.farthest_turn * math.sqrt(self.rank) / self.gamma_bounds[1]

    def users_needed(self, error: float, noise_multiplier: float, tail: float) -> float:
        """Return the users per round required by condition (1) at this distance; the noise is 1 / mu, l is `tail`."""
        allowed = 3 / 16 * error * self.pull(error)
        private, sampled = 2 * (math.sqrt(self.outside * self.rank) + tail) * noise_multiplier, 1 + tail
        return ((sampled + math.sqrt(sampled**2 + 4 * allowed * private)) / (2 * allowed)) ** 2

    def lower_bound(self, users: int, mu: float) -> float:
        """Return r of Theorem 4: near every subspace, no method has a root mean square distance much below r, which
        is the larger of the limits from privacy and from the number of users."""
        entries, information = self.rank * self.outside, self.beta * self.samples
        private = entries / (users * math.sqrt(math.expm1(mu**2) * information))
        return self.noise * max(private, math.sqrt(entries / (users * information)))
