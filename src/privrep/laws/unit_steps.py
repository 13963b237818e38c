"""What is known beforehand of the error of unit steps (`privrep.algorithms.unit_steps`):
gain, start, schedule, error after each round.

Lengths are in units of a head's root mean square coordinate. e^2 is the mean square of an entry of the error (I - P) U*
in the d - k directions outside of P, so that distF^2 = (d - k) k e^2; s^2 is the variance of the label noise; what a
user's head leaves of a label has variance (d - k) k e^2 + s^2, the residual.
Derivations stand in the chapter on unit steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

SCALE = 0.005
"""Share of the whole mu^2 for the scale of the heads."""
LEVEL = 0.0025
"""Share of the whole mu^2 for the size of the features."""
COORDINATES = 0.01
"""Share of the whole mu^2 for the scales of the features' coordinates."""
COVARIANCE, WHITENINGS = 0.05, 3
"""Share of the whole mu^2 for a release of the features' covariance, and how many there are at most."""
START_SIGNAL, START_SHARES = 1.75, (0.1, 0.4)
"""Signal over noise of the start that is aimed at, and the least and largest share of mu^2 for it."""
START_NOISE, START_ERROR = 1.3, 0.95
"""Of the error of the start: of what noise adds, and of the whole, over the leading order; measured."""
STEPS, SCALARS, METRICS = 0.96, 0.02, 0.02
"""Shares of a round's mu^2: for the step, for the residual, for the second moments of the heads."""
ROUNDS = (20, 40, 60)
GROWTHS = (1.0, 1.05, 1.1, 1.25, 1.4)
"""Numbers of rounds, and ratios of successive rounds' mu^2, among which the schedule is chosen."""
WORTH = 0.99
"""More rounds are taken where the expected risk falls below this share of that of fewer."""
CONTRACTION = 0.9
"""A round of gain eta leaves 1 - 0.9 eta of the error: a margin for what the gain leaves out."""
SMALLEST = 1e-30
"""Errors are not followed below this."""


def descent_share(whitenings: int) -> float:
    """Share of the whole mu^2 that is left for the start and the rounds after so many releases of the covariance.

    Parameters
    ----------
    whitenings : releases of the covariance, from 0 to `WHITENINGS`.
    """
    return 1 - LEVEL - COORDINATES - SCALE - COVARIANCE * whitenings


@dataclass(frozen=True)
class Sizes:
    """n, m, d, k."""

    users: int
    samples: int
    dim: int
    rank: int

    @property
    def freedom(self) -> int:
        """m - k, what a head leaves of a user's samples, and at least 1."""
        return max(self.samples - self.rank, 1)

    @property
    def outside(self) -> int:
        """d - k, and at least 1."""
        return max(self.dim - self.rank, 1)

    def dist2(self, error2: float) -> float:
        """distF^2 = (d - k) k e^2.

        Parameters
        ----------
        error2 : e^2.
        """
        return self.outside * self.rank * error2

    def residual(self, error2: float, noise2: float) -> float:
        """(d - k) k e^2 + s^2.

        Parameters
        ----------
        error2 : e^2.
        noise2 : s^2, variance of the label noise.
        """
        return self.dist2(error2) + noise2

    def length2(self, error2: float, noise2: float) -> float:
        """Mean square of |g| |w|.

        g = (I - P) X^T r has m - k degrees of freedom; its mean square is (m - k)
        ((d - k) s^2 + (d + m - 2k + 1) (d - k) k e^2), that of a Wishart matrix times a vector. A head w strays from v
        by the residual over m - k - 1 in each coordinate; |v|^2 is k.

        Parameters
        ----------
        error2 : e^2.
        noise2 : s^2, variance of the label noise.
        """
        out, left = self.outside, self.freedom
        gradient2 = left * (out * noise2 + (out + left + 1) * self.dist2(error2))
        strayed = self.residual(error2, noise2) / max(left - 1, 1)
        return gradient2 * self.rank * (1 + strayed)

    def length(self, error2: float, noise2: float) -> float:
        """Root mean square of |g| |w|.

        Parameters
        ----------
        error2 : e^2.
        noise2 : s^2, variance of the label noise.
        """
        return math.sqrt(self.length2(error2, noise2))

    def gain(self, error2: float, noise2: float) -> float:
        """kappa: the mean over users of (g/|g|)(w/|w|)^T is kappa times the error (I - P) U*, since g holds (m - k)
        times the error at v.

        Parameters
        ----------
        error2 : e^2.
        noise2 : s^2, variance of the label noise.
        """
        return self.freedom / self.length(error2, noise2)

    def step_noise2(self, mu: float, error2: float, noise2: float) -> float:
        """Variance of an entry of the released mean over kappa: a sum of sensitivity 2.

        Parameters
        ----------
        mu : of the step.
        error2 : e^2.
        noise2 : s^2, variance of the label noise.
        """
        return (2 / (self.users * mu * self.gain(error2, noise2))) ** 2

    def covariance_noise(self, mu: float) -> float:
        """Norm of the noise in the released covariance, whose eigenvalues are about 1, with its share of mu^2: 2
        d^1.5 / (n mu sqrt(share)).

        Parameters
        ----------
        mu : of all releases of the method together.
        """
        return 2 * self.dim**1.5 / (self.users * mu * math.sqrt(COVARIANCE))

    def isotropic_share(self, mu: float) -> float:
        """`descent_share` where features are isotropic: one release of their covariance finds that,
        if its noise would not hide another.

        Parameters
        ----------
        mu : of all releases of the method together.
        """
        return descent_share(self.covariance_noise(mu) <= 1)

    def kept(self, noise2: float) -> float:
        """q = min(m, d)/d k/(k + s^2), the part of a user's direction that lies in the subspace.

        Parameters
        ----------
        noise2 : s^2, variance of the label noise.
        """
        return min(self.samples, self.dim) / self.dim * self.rank / (self.rank + noise2)

    def start_signal(self, mu: float, noise2: float) -> float:
        """n q mu / (k sqrt(d)): signal over noise of the start if it had all of mu.

        Parameters
        ----------
        mu : of the start.
        noise2 : s^2, variance of the label noise.
        """
        return self.users * self.kept(noise2) * mu / (self.rank * math.sqrt(self.dim))

    def start_share(self, mu: float, noise2: float) -> float:
        """Share of mu^2 for the start: what brings its signal to `START_SIGNAL` times the noise, within
        `START_SHARES`.

        Parameters
        ----------
        mu : of the start and the rounds together.
        noise2 : s^2, variance of the label noise.
        """
        least, most = START_SHARES
        return min(max((START_SIGNAL / self.start_signal(mu, noise2)) ** 2, least), most)

    def start_error2(self, mu: float, noise2: float) -> float:
        """e^2 after a start with this mu: that of the noise, and k/(q d n) of the users being few;
        at most that of a subspace at random.

        Parameters
        ----------
        mu : of the start.
        noise2 : s^2, variance of the label noise.
        """
        private = START_NOISE / self.start_signal(mu, noise2) ** 2
        return min(1.0, private + self.rank / (self.kept(noise2) * self.users)) * START_ERROR / self.dim

    def path(self, error2: float, noise2: float, mus: np.ndarray) -> list[float]:
        """e^2 before and after rounds.

        Parameters
        ----------
        error2 : e^2 before the first round.
        noise2 : s^2, variance of the label noise.
        mus : of the steps, one a round.
        """
        path = [error2]
        for mu in mus:
            eta = path[-1] / (path[-1] + self.step_noise2(mu, path[-1], noise2))
            path.append(max(path[-1] * (1 - CONTRACTION * eta), SMALLEST))
        return path

    def risk(self, error2: float, noise2: float) -> float:
        """Mean excess risk with heads by least squares on all samples: (distF^2 (m - 1) + k s^2) / (m - k - 1).

        Parameters
        ----------
        error2 : e^2.
        noise2 : s^2, variance of the label noise.
        """
        return (self.dist2(error2) * (self.samples - 1) + self.rank * noise2) / max(self.freedom - 1, 1)


@dataclass(frozen=True)
class Schedule:
    """Shares of mu^2 for the start and for each round, and e^2 expected after them."""

    start: float
    rounds: np.ndarray
    path: list[float]

    def without_start(self) -> Schedule:
        """The same rounds, with what a start that releases nothing leaves."""
        return replace(self, start=0.0, rounds=self.rounds / (1 - self.start))


@lru_cache
def schedule(sizes: Sizes, mu: float, noise2: float) -> Schedule:
    """The division of mu^2 that is expected to leave the least error; the fewest rounds that come near it (`WORTH`).

    Parameters
    ----------
    sizes : n, m, d and k.
    mu : of the start and the rounds together.
    noise2 : s^2, variance of the label noise.
    """
    start = sizes.start_share(mu, noise2)
    error2 = sizes.start_error2(math.sqrt(start) * mu, noise2)

    def divided(rounds: int, growth: float) -> Schedule:
        shares = growth ** np.arange(rounds)
        shares *= (1 - start) / shares.sum()
        return Schedule(start, shares, sizes.path(error2, noise2, np.sqrt(STEPS * shares) * mu))

    def risk(found: Schedule) -> float:
        return sizes.risk(found.path[-1], noise2)

    best = None
    for rounds in ROUNDS:
        found = min((divided(rounds, growth) for growth in GROWTHS), key=risk)
        if best is None or risk(found) < WORTH * risk(best):
            best = found
    return best
