"""Adversarial search for the pair of users that moves a statistic most.

The search runs the library's own statistics on synthetic users, so a clip or a sum that lets more through than its
sensitivity says is found here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from privrep.algorithms.parts.moment_step import UserMoments
from privrep.algorithms.spectral_init import SamplePairs
from privrep.data.given_users import GivenUsers
from privrep.data.heads import true_heads
from privrep.data.known import Known
from privrep.privacy.mechanisms import clipped_sums
from privrep.privacy.paired_samples import DisjointPairs
from privrep.privacy.regression_moments import MomentClip

of_one_user = functools.cache(functools.partial(Known, 1))
"""Of one user with so many samples, dimensions and rank."""


def synthetic_user(vector: np.ndarray, samples: int, dim: int, rank: int) -> GivenUsers:
    """A user from free numbers: features, labels, head; in float32, as all users are.

    Parameters
    ----------
    vector : (samples (dim + 1) + rank,).
    samples : m.
    dim : d.
    rank : k.
    """
    features, labels, head = np.split(vector.astype(np.float32), [samples * dim, samples * (dim + 1)])
    shaped = features.reshape(samples, 1, dim), labels.reshape(samples, 1), head.reshape(1, rank)
    return GivenUsers(of_one_user(samples, dim, rank), *shaped)


def largest(
    change: Callable[[GivenUsers, GivenUsers], float],
    *,
    samples: int,
    dim: int,
    rank: int,
    rng: np.random.Generator,
    starts: int = 4,
) -> float:
    """The largest change found by local search from random pairs of users.

    Parameters
    ----------
    change : (user, other) -> what is to be large.
    samples : m of each.
    dim : d.
    rank : k of the heads.
    rng : draws the starts.
    starts : of the search.
    """
    size = samples * (dim + 1) + rank

    def loss(pair: np.ndarray) -> float:
        return -change(*(synthetic_user(vector, samples, dim, rank) for vector in np.split(pair, 2)))

    found = [
        minimize(loss, 3 * rng.standard_normal(2 * size), method="Powell", options={"maxiter": 40, "xtol": 1e-4}).fun
        for _ in range(starts)
    ]
    return -min(found)


@dataclass(frozen=True)
class MomentChange:
    """How far replacing a user moves (A, b) of Algorithm 2, in units of the bounds on ||A_j|| and ||b_j||."""

    second: float
    first: float

    @property
    def joint(self) -> float:
        """||dA||^2 + ||db||^2 in these units; the triangle inequality gives 8."""
        return self.second**2 + self.first**2


def moment_change(user: GivenUsers, other: GivenUsers, samples: slice, clip: MomentClip) -> MomentChange:
    """The change of the released upper triangle of A and of b when a user is replaced.

    Parameters
    ----------
    user : before.
    other : after.
    samples : that are used.
    clip : of Algorithm 2.
    """
    statistics = [clipped_sums(each, UserMoments(true_heads, samples), clip) for each in (user, other)]
    (second, first), (other_second, other_first) = statistics
    second_bound, first_bound = clip.bounds(samples.stop - samples.start)
    return MomentChange(
        float(np.linalg.norm(np.triu(second - other_second)) / second_bound),
        float(np.linalg.norm(first - other_first) / first_bound),
    )


def spectral_change(user: GivenUsers, other: GivenUsers, samples: slice, label_clip: float) -> float:
    """The change of the released upper triangle of M when a user is replaced, in units of zeta^2 per pair.

    Parameters
    ----------
    user : before.
    other : after.
    samples : whose pairs are used.
    label_clip : zeta, > 0.

    References
    ----------
    jain2021, Algorithm 3.
    """
    pairs_of = SamplePairs(samples, DisjointPairs)
    difference = np.subtract(*(clipped_sums(each, pairs_of, label_clip)[0] for each in (user, other)))
    pairs = (samples.stop - samples.start) // 2
    return float(np.linalg.norm(np.triu(difference)) / (pairs * label_clip**2))
