"""A game that bounds privacy from below: an adversary guesses which of two users took part.

A coin picks the user; the adversary guesses by the likelihood ratio, against a threshold of 0. The accuracy of the best
attack is (1 + delta(0)) / 2: Phi(mu/2) for mu-GDP, 1 / (1 + e^-epsilon) for one epsilon-DP release. The number of
hits is binomial and gives an exact lower limit of the accuracy, hence of epsilon: epsilon of the same releases with
noise at which the best attack is as accurate. Three further limits are weaker or assume more: z-test, AUC, TPR and FPR.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from privrep.privacy.accounting import composed_advantage, composed_epsilon, gdp_epsilon
from privrep.privacy.ledger import GaussianRelease, Ledger

LEVEL = 0.95


def lower(hits: int, runs: int, level: float = LEVEL) -> float:
    """Return the exact one-sided lower limit of a probability, given the number of hits."""
    return float(scipy.stats.binomtest(hits, runs, alternative="greater").proportion_ci(level).low)


@dataclass(frozen=True)
class Game:
    """For each of r runs: whether it had the first user, its log-likelihood ratio, and whether the guess was right."""

    first: np.ndarray
    scores: np.ndarray
    right: np.ndarray

    @property
    def share(self) -> float:
        return float(self.right.mean())

    def low(self, level: float = LEVEL) -> float:
        """Return the lower limit of the attack accuracy."""
        return lower(int(self.right.sum()), len(self.right), level)

    def by_score(self, distances: np.ndarray) -> float:
        """Return a z-test's lower limit of mu, given distances d, (r,): log ratios over d have mean +-d/2, sd 1."""
        scaled = np.divide(self.scores, distances, out=np.zeros(len(distances)), where=distances > 0)
        signed = np.where(self.first, 1, -1) * scaled
        return max(0.0, 2 * float(signed.mean() - ndtri(LEVEL) / math.sqrt(len(signed))))

    def by_order(self) -> float:
        """Return the lower limit of mu from the AUC, which is at most Phi(mu / sqrt 2), by disjoint pairs of runs."""
        ones, others = self.scores[self.first], self.scores[~self.first]
        pairs = min(len(ones), len(others))
        hits = int((ones[:pairs] > others[:pairs]).sum())
        return max(0.0, float(math.sqrt(2) * ndtri(lower(hits, pairs)))) if pairs else 0.0

    def by_rates(self, threshold: float, delta: float) -> float:
        """Return the lower limit of epsilon from exact limits of TPR <= e^epsilon FPR + delta at one threshold."""
        ones, others = self.scores[self.first] > threshold, self.scores[~self.first] > threshold
        if not len(ones) or not len(others):
            return 0.0
        level = (1 + LEVEL) / 2
        tpr, tnr = lower(int(ones.sum()), len(ones), level), lower(int((~others).sum()), len(others), level)
        return max(0.0, math.log((tpr - delta) / (1 - tnr))) if tpr > delta and tnr < 1 else 0.0


def play(score: Callable[[bool, int], float], runs: int, rng: np.random.Generator) -> Game:
    """Play a game; `score` maps whether the first user was drawn, and the run's number, to a log-likelihood ratio."""
    first = rng.random(runs) < 0.5
    ties = rng.random(runs) < 0.5
    scores = np.array([score(bool(world), run) for run, world in enumerate(first)])
    return Game(first, scores, np.where(scores == 0, ties, (scores > 0) == first))


@dataclass(frozen=True)
class PrivacyClaim:
    """The privacy that a ledger claims for all releases of one user's data."""

    ledger: Ledger

    @cached_property
    def _parts(self) -> tuple[tuple[tuple[float, float], ...], tuple[float, ...]]:
        gaussian = tuple((entry.mu, entry.rate) for entry in self.ledger.entries if isinstance(entry, GaussianRelease))
        return gaussian, tuple(entry.epsilon for entry in self.ledger.entries if not isinstance(entry, GaussianRelease))

    @cached_property
    def mu(self) -> float:
        """mu of the Gaussian releases, for a user who takes part in all."""
        return math.sqrt(sum(mu**2 for mu, _ in self._parts[0]))

    @property
    def pure(self) -> float:
        """Sum of the epsilons of the other releases."""
        return sum(self._parts[1])

    def attained(self, distance: float, loss: float) -> float:
        """Return the larger of a pair's mu over the claimed one and of its privacy loss over the claimed epsilon."""
        return max(value / limit for value, limit in ((distance, self.mu), (loss, self.pure)) if limit)

    @property
    def gaussian(self) -> bool:
        """Whether all releases are Gaussian and every user takes part in each."""
        gaussian, pure = self._parts
        return not pure and all(rate == 1 for _, rate in gaussian)

    def _scaled(self, factor: float) -> tuple[tuple[tuple[float, float], ...], tuple[float, ...]]:
        gaussian, pure = self._parts
        return tuple((factor * mu, rate) for mu, rate in gaussian), tuple(factor * epsilon for epsilon in pure)

    def right(self, noise_reduction: float = 1.0) -> float:
        """Return the accuracy of the best attack, in [1/2, 1], with the noise divided by `noise_reduction`."""
        gaussian, pure = self._scaled(noise_reduction)
        if self.gaussian:
            return float(ndtr(noise_reduction * self.mu / 2))
        if not gaussian and len(pure) == 1:
            return 1 / (1 + math.exp(-pure[0]))
        return (1 + composed_advantage(gaussian, pure)) / 2

    def epsilon(self, delta: float, noise_reduction: float = 1.0) -> float:
        """Return epsilon with the noise divided by `noise_reduction`; above 3, an upper bound that ignores rates."""
        gaussian, pure = self._scaled(noise_reduction)
        if self.gaussian or noise_reduction > NOISE_REDUCTIONS[1]:
            return gdp_epsilon(noise_reduction * self.mu, delta) + sum(pure) if gaussian else sum(pure)
        return composed_epsilon(gaussian, delta, pure) if gaussian else sum(pure)

    def epsilon_at(self, share: float, delta: float) -> float:
        """Return epsilon of the releases at the noise that gives the best attack accuracy `share`; 0 up to 1/2."""
        if share <= 0.5:
            return 0.0
        if self.gaussian:
            return gdp_epsilon(2 * float(ndtri(share)), delta)
        least, most = NOISE_REDUCTIONS
        if share <= self.right(least):
            return 0.0
        if share >= self.right(most):
            return math.inf
        factor = brentq(lambda noise_reduction: self.right(noise_reduction) - share, least, most, xtol=1e-2, rtol=1e-2)
        return self.epsilon(delta, factor)


NOISE_REDUCTIONS = (0.05, 3.0)  # range of factors by which noise is reduced
