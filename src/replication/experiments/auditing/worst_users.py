"""Largest change of the statistics of jain2021 by replacing a user, from a search for the worst pair of users."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

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
from replication.experiments.auditing.canaries import Canary, Pair, worst_pair

DRAWS, CHANGES = 300, 5000  # numbers of pairs of users drawn, and of changes of the best pair tried
ONES = SampleClip(1.0, 1.0)  # both thresholds 1


def single_user(user: Canary) -> GivenUsers:
    """Return a data set with this user alone, at rank 1 with head 1; a head h would equal features times h."""
    samples, dim = user.features.shape
    return GivenUsers(Known(1, samples, dim, 1), user.features[:, None], user.labels[:, None], np.ones((1, 1)))


def largest_change(
    contribution: Callable, clip: object, length: Callable[..., float], samples: int, dim: int, rng: np.random.Generator
) -> float:
    """Return the largest length of the change of clipped sums when one user of rank 1 replaces another."""

    @lru_cache(64)  # a step of the search changes one of the two
    def sums(user: Canary) -> tuple[np.ndarray, ...]:
        return clipped_sums(single_user(user), contribution, clip)

    def change(pair: Pair) -> float:
        return length(*map(np.subtract, *map(sums, pair)))

    return worst_pair(change, Problem(2, samples, dim, 1), DRAWS, CHANGES, rng)[1]


def moved(statistic: str, samples: int, rng: np.random.Generator, clip: SampleClip = ONES, dim: int = 2) -> float:
    """Return the largest change over bound of A ("second"), b ("first"), or both squared ("joint", up to 8), k = 1."""
    bounds = clip.bounds(samples)

    def length(second: np.ndarray, first: np.ndarray) -> float:
        lengths = [
            float(np.linalg.norm(part)) / bound for part, bound in zip((np.triu(second), first), bounds, strict=True)
        ]
        return {"second": lengths[0], "first": lengths[1], "joint": lengths[0] ** 2 + lengths[1] ** 2}[statistic]

    return largest_change(UserMoments(true_heads, slice(0, samples)), clip, length, samples, dim, rng)


def matrix_moved(samples: int, rng: np.random.Generator) -> float:
    """Return the largest change of Algorithm 3's upper triangle by replacing a user, in zeta^2 per pair; d = 2."""

    def length(change: np.ndarray) -> float:
        return float(np.linalg.norm(np.triu(change)) / (samples // 2))

    return largest_change(SamplePairs(slice(0, samples), DisjointPairs), 1.0, length, samples, 2, rng)
