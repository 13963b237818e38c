"""Largest change of the statistics of jain2021 by replacing a user, from a search for the worst pair of users."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privrep.methods.spectral_init import SamplePairs
from privrep.methods.steps.moment_step import UserMoments
from privrep.privacy.mechanisms import clipped_sums
from privrep.privacy.paired_samples import DisjointPairs
from privrep.privacy.regression_moments import SampleClip
from privrep.users.blocks import true_heads
from privrep.users.given_users import GivenUsers
from privrep.users.known import Known
from privrep.users.simulated import Problem
from replication.experiments.auditing.canaries import Canary, worst_pair

DRAWS, CHANGES = 300, 5000  # numbers of pairs of users drawn, and of changes of the best pair tried
ONES = SampleClip(1.0, 1.0)  # both thresholds 1


def single_user(user: Canary) -> GivenUsers:
    """Return a data set with this user alone, at rank 1 with head 1; a head h would equal features times h."""
    samples, dim = user.features.shape
    return GivenUsers(Known(1, samples, dim, 1), user.features[:, None], user.labels[:, None], np.ones((1, 1)))


def largest_change(
    change: Callable[[GivenUsers, GivenUsers], float], samples: int, dim: int, rng: np.random.Generator
) -> float:
    """Return the largest change found when one user of rank 1 replaces another."""
    problem = Problem(2, samples, dim, 1)
    return worst_pair(lambda pair: change(*map(single_user, pair)), problem, DRAWS, CHANGES, rng)[1]


def moved(statistic: str, samples: int, rng: np.random.Generator, clip: SampleClip = ONES, dim: int = 2) -> float:
    """Return the largest change over bound of A ("second"), b ("first"), or both squared ("joint", up to 8), k = 1."""
    contribution = UserMoments(true_heads, slice(0, samples))

    def change(*pair: GivenUsers) -> float:
        sums = [clipped_sums(user, contribution, clip) for user in pair]
        (second, first), bounds = map(np.subtract, *sums), clip.bounds(samples)
        lengths = [
            float(np.linalg.norm(part)) / bound for part, bound in zip((np.triu(second), first), bounds, strict=True)
        ]
        return {"second": lengths[0], "first": lengths[1], "joint": lengths[0] ** 2 + lengths[1] ** 2}[statistic]

    return largest_change(change, samples, dim, rng)


def matrix_moved(samples: int, rng: np.random.Generator) -> float:
    """Return the largest change of Algorithm 3's upper triangle by replacing a user, in zeta^2 per pair; d = 2."""
    pairs_of = SamplePairs(slice(0, samples), DisjointPairs)

    def change(*pair: GivenUsers) -> float:
        difference = np.subtract(*(clipped_sums(user, pairs_of, 1.0)[0] for user in pair))
        return float(np.linalg.norm(np.triu(difference)) / (samples // 2))

    return largest_change(change, samples, 2, rng)
