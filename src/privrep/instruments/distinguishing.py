"""A game that bounds privacy from below: an adversary guesses which of two users took part.

A coin picks the world, the adversary sees the run and guesses by the likelihood ratio, at the threshold 0 that is fixed beforehand. Under mu-GDP a
guess is right with probability at most Phi(mu/2), whatever the adversary does. The number of right guesses is binomial, so its exact lower limit gives
one for mu in finite samples and without a search over thresholds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binomtest

LEVEL = 0.95


@dataclass(frozen=True)
class Game:
    """right : guesses of `runs` that were right."""

    right: int
    runs: int

    def mu(self, level: float = LEVEL) -> float:
        """One-sided lower limit of mu; 0 where guessing does as well."""
        found = binomtest(self.right, self.runs, alternative="greater").proportion_ci(level)
        return max(0.0, float(2 * ndtri(found.low)))


def attainable(mu: float) -> float:
    """The share of right guesses of the best adversary against mu-GDP."""
    return float(ndtr(mu / 2))


def play(score: Callable[[bool, int], float], runs: int, rng: np.random.Generator) -> Game:
    """Play so many times. score : the world, as a coin, and the number of a run -> log-likelihood of the first world over the second."""
    worlds = rng.random(runs) < 0.5
    ties = rng.random(runs) < 0.5
    right = 0
    for run, first in enumerate(worlds):
        found = score(bool(first), run)
        right += bool((found > 0) == first) if found else bool(ties[run])
    return Game(right, runs)
