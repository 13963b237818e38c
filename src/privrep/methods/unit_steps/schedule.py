"""Predicted error of unit steps (`privrep.methods.unit_steps`), before any data: gain, start, schedule, error after
each round.

Lengths are in units of a head's root mean square coordinate. e^2 is the mean square of an entry of the error (I - P) U*
in the d - k directions outside of P, so that distF^2 = (d - k) k e^2; s^2 is the variance of the label noise; the
residual of a label under the user's head has variance (d - k) k e^2 + s^2. Derivations are in the chapter on unit
steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np

from privrep.privacy.contributions import Outer, Semidefinite

SCALE = 0.005  # share of the whole mu^2 for the scale of the heads
LEVEL = 0.0025  # share of the whole mu^2 for the size of the features
COORDINATES = 0.01  # share of the whole mu^2 for the scales of the features' coordinates
COVARIANCE, WHITENINGS = 0.05, 3  # share of mu^2 of each release of the covariance; largest number of these
START = 0.1  # share of mu^2 for the start
START_NOISE, START_ERROR = 1.3, 0.95  # factors, measured, on the leading order of the start's noise and whole error
STEPS, SCALARS, METRICS = 0.96, 0.02, 0.02  # shares of a round's mu^2: step, residual, moments of the heads
ROUNDS = (20, 40, 60)
GROWTHS = (1.0, 1.05, 1.1, 1.25, 1.4)
"""Numbers of rounds, and ratios of successive rounds' mu^2, among which the schedule is chosen."""
WORTH = 0.99  # more rounds are taken if the expected risk falls below this share of that with fewer
CONTRACTION = 0.9  # a round of gain eta leaves 1 - 0.9 eta of the error: a margin for terms that the gain leaves out
SMALLEST = 1e-30  # least e^2 that is tracked


Values = float | np.ndarray
"""A number, or an array of one number per case."""


def descent_share(whitenings: Values) -> Values:
    """Return the share of mu^2 left for start and rounds after this number of releases of the covariance."""
    return 1 - LEVEL - COORDINATES - SCALE - COVARIANCE * whitenings


@dataclass(frozen=True)
class Sizes:
    """Sizes n, m, d, k, and what follows from them for an error e^2 (`error2`) and a label noise s^2 (`noise2`)."""

    users: Values
    samples: int
    dim: int
    rank: int

    @property
    def freedom(self) -> int:
        """Degrees of freedom of a user's samples after the fit of a head, m - k, at least 1."""
        return max(self.samples - self.rank, 1)

    @property
    def outside(self) -> int:
        """Number of directions outside of the subspace, d - k, at least 1."""
        return max(self.dim - self.rank, 1)

    def dist2(self, error2: Values) -> Values:
        """Return distF^2 = (d - k) k e^2."""
        return self.outside * self.rank * error2

    def residual(self, error2: Values, noise2: Values) -> Values:
        """Return the variance of a label's residual under a head, (d - k) k e^2 + s^2."""
        return self.dist2(error2) + noise2

    @property
    def entries(self) -> int:
        """Number of entries of the error, (d - k) k."""
        return self.outside * self.rank

    def lengths2(self, error2: Values, noise2: Values) -> tuple[Values, Values]:
        """Return the mean squares of a user's gradient X^T C^-1 r outside of the subspace, and of its head.

        C = k e^2 X X^T + s^2 I of Gaussian features, m - k by d - k, is the covariance of the labels' residuals under a
        head: with t = k e^2 the trace x = E tr C^-1 solves s^2 x + (d - k) t x / (1 + t x) = m - k up to the order of
        1/m, and the gradient has (d - k) x / (1 + t x). The mean square of a head w less v is, in each coordinate,
        (m - k) / ((m - k - 1) x); |v|^2 is k."""
        t, out, left = self.rank * error2, self.outside, self.freedom
        linear = noise2 + t * (out - left)
        trace = 2 * left / (linear + np.sqrt(linear**2 + 4 * noise2 * t * left))
        return out * trace / (1 + t * trace), self.rank * (self.cosine2(error2) + left / (max(left - 1, 1) * trace))

    def cosine2(self, error2: Values) -> Values:
        """Return the mean square cosine of the angles to the subspace, at least that of a random subspace."""
        return np.maximum(1 - self.outside * error2, self.rank / self.dim)

    def turned(self, error2: Values, eta: Values, variance: Values) -> Values:
        """Return e^2 after a step by eta times the error, with noise of this variance in each entry.

        The step is eta S C for S = sin and C = cos of an angle of U to a basis B: U's part outside the span of B + eta
        S C is S - eta S C^2 and noise, that inside is C + eta S^2 C: a weak subspace turns at the same rate."""
        cosine2 = self.cosine2(error2)
        left = ((1 - eta * cosine2) ** 2 + (1 - CONTRACTION) * eta * cosine2) * error2 + variance
        return np.maximum(left / (cosine2 * (1 + eta * (1 - cosine2)) ** 2 + self.outside * left), SMALLEST)

    def gain(self, error2: Values, noise2: Values) -> Values:
        """Return kappa: the mean over users of (g/|g|)(w/|w|)^T is kappa times the error (I - P) U*."""
        gradient2, head2 = self.lengths2(error2, noise2)
        return np.sqrt(gradient2 / head2) / self.outside

    def step_noise2(self, mu: Values, error2: Values, noise2: float) -> Values:
        """Return the variance of an entry of the released mean, a sum of products of norm 1, over kappa, for C = I,
        with which the schedule is planned.

        X^T r has m - k degrees of freedom; its mean square is (m - k) ((d - k) s^2 + (d + m - 2k + 1) (d - k) k e^2),
        that of a Wishart matrix times a vector. A head deviates by the residual over m - k - 1."""
        out, left = self.outside, self.freedom
        gradient2 = left * (out * noise2 + (out + left + 1) * self.dist2(error2))
        head2 = self.rank * (self.cosine2(error2) + self.residual(error2, noise2) / max(left - 1, 1))
        return (Outer.sensitivity(1.0) / (self.users * mu * left)) ** 2 * gradient2 * head2

    def covariance_noise(self, mu: Values) -> Values:
        """Return the norm of the noise in the released covariance with its share of mu^2."""
        sd = Semidefinite.sensitivity(1.0) / (mu * math.sqrt(COVARIANCE))
        return math.sqrt(2 * self.dim) * sd * self.dim / self.users

    def isotropic_share(self, mu: Values) -> Values:
        """Return `descent_share` after one release of the covariance, or after none where its noise would hide it."""
        return descent_share(self.covariance_noise(mu) <= 1)

    def kept(self, noise2: float) -> float:
        """Return q = min(m, d)/d k/(k + s^2), the part of a user's direction that lies in the subspace."""
        return min(self.samples, self.dim) / self.dim * self.rank / (self.rank + noise2)

    def start_signal(self, mu: Values, noise2: float) -> Values:
        """Return n q mu / (k sqrt(d)): signal over noise of the start if it had all of mu."""
        return self.users * self.kept(noise2) * mu / (self.rank * math.sqrt(self.dim))

    def start_error2(self, mu: Values, noise2: float) -> Values:
        """Return e^2 after a start with this mu, from noise and from few users, at most that of a random subspace."""
        private = START_NOISE / self.start_signal(mu, noise2) ** 2
        return np.minimum(1.0, START_ERROR * (private + self.rank / (self.kept(noise2) * self.users))) / self.dim

    def path(self, error2: float, noise2: float, mus: np.ndarray) -> list[float]:
        """Return e^2 before the first round and after each round, where `mus` has the rounds' mu."""
        path = [error2]
        for mu in mus:
            path.append(float(self.planned(path[-1], mu, noise2)))
        return path

    def planned(self, error2: Values, mu: Values, noise2: float) -> Values:
        """Return e^2 after a round with this mu and the best step length."""
        eta = error2 / (error2 + self.step_noise2(mu, error2, noise2))
        return self.turned(error2, eta, eta * (1 - eta) * error2)

    def risk(self, error2: Values, noise2: float) -> Values:
        """Return the mean excess risk with heads by least squares: (distF^2 (m - 1) + k s^2) / (m - k - 1)."""
        return (self.dist2(error2) * (self.samples - 1) + self.rank * noise2) / max(self.freedom - 1, 1)


@dataclass(frozen=True)
class Schedule:
    """Shares of mu^2 for the start and for each round, and e^2 expected after them."""

    start: float
    rounds: np.ndarray
    path: list[float]


@lru_cache
def schedule(sizes: Sizes, mu: float, noise2: float) -> Schedule:
    """Return the division of mu^2 with the least expected risk; more rounds must lower it by the factor `WORTH`."""
    error2 = float(sizes.start_error2(math.sqrt(START) * mu, noise2))

    def divided(rounds: int, growth: float) -> Schedule:
        shares = growth ** np.arange(rounds)
        shares *= (1 - START) / shares.sum()
        return Schedule(START, shares, sizes.path(error2, noise2, np.sqrt(STEPS * shares) * mu))

    def risk(plan: Schedule) -> float:
        return float(sizes.risk(plan.path[-1], noise2))

    each = (min((divided(rounds, growth) for growth in GROWTHS), key=risk) for rounds in ROUNDS)
    return reduce(lambda best, plan: plan if risk(plan) < WORTH * risk(best) else best, each)
