"""How far replacing a user moves the statistics of jain2021, for the worst pair of users that is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from privrep.methods.spectral_init import SamplePairs
from privrep.methods.steps.moment_step import UserMoments
from privrep.privacy.mechanisms import clipped_sums
from privrep.privacy.paired_samples import DisjointPairs
from privrep.privacy.regression_moments import MomentClip, SampleClip
from privrep.users.given_users import GivenUsers
from privrep.users.heads import true_heads
from privrep.users.known import Known
from privrep.users.problem import Problem
from replication.experiments.auditing.canaries import Canary, worst_pair

DRAWS, CHANGES = 300, 5000
"""Pairs of users that are drawn, and changes of the best that are tried."""
ONES = SampleClip(1.0, 1.0)
"""Both thresholds 1."""


def single_user(user: Canary) -> GivenUsers:
    """Return the data set of one user, at rank 1 and with the head 1: a longer head does what longer features do."""
    samples, dim = user.features.shape
    return GivenUsers(Known(1, samples, dim, 1), user.features[:, None], user.labels[:, None], np.ones((1, 1)))


def largest_change(
    change: Callable[[GivenUsers, GivenUsers], float], samples: int, dim: int, rng: np.random.Generator
) -> float:
    """Return the largest change found when one user of rank 1 replaces another."""
    problem = Problem(2, samples, dim, 1)
    return worst_pair(lambda pair: change(*map(single_user, pair)), problem, DRAWS, CHANGES, rng)[1]


@dataclass(frozen=True)
class MomentChange:
    """Change of A and of b of Algorithm 2 when a user is replaced, in units of the bounds on ||A_j|| and ||b_j||."""

    second: float
    first: float

    @property
    def joint(self) -> float:
        """||dA||^2 + ||db||^2 in these units; the triangle inequality gives 8."""
        return self.second**2 + self.first**2


def moment_change(user: GivenUsers, other: GivenUsers, samples: slice, clip: MomentClip) -> MomentChange:
    """Return the change of the released upper triangle of A and of b when a user is replaced."""
    statistics = [clipped_sums(each, UserMoments(true_heads, samples), clip) for each in (user, other)]
    (second, first), (other_second, other_first) = statistics
    second_bound, first_bound = clip.bounds(samples.stop - samples.start)
    return MomentChange(
        float(np.linalg.norm(np.triu(second - other_second)) / second_bound),
        float(np.linalg.norm(first - other_first) / first_bound),
    )


def spectral_change(user: GivenUsers, other: GivenUsers, samples: slice, label_clip: float) -> float:
    """Return the change of the released upper triangle of M of Algorithm 3, in units of zeta^2 per pair of samples."""
    pairs_of = SamplePairs(samples, DisjointPairs)
    difference = np.subtract(*(clipped_sums(each, pairs_of, label_clip)[0] for each in (user, other)))
    pairs = (samples.stop - samples.start) // 2
    return float(np.linalg.norm(np.triu(difference)) / (pairs * label_clip**2))


def moved(statistic: str, samples: int, rng: np.random.Generator, clip: SampleClip = ONES, dim: int = 2) -> float:
    """Return how far replacing a user moves "first", "second" or "joint" of `MomentChange` at most, k = 1."""

    def change(*pair: GivenUsers) -> float:
        return getattr(moment_change(*pair, slice(0, samples), clip), statistic)

    return largest_change(change, samples, dim, rng)


def matrix_moved(samples: int, rng: np.random.Generator) -> float:
    """Return how far replacing a user moves the matrix of Algorithm 3 at most, in zeta^2 per pair, d = 2."""
    return largest_change(partial(spectral_change, samples=slice(0, samples), label_clip=1.0), samples, 2, rng)
