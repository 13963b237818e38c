"""Departures from the linear model of the papers: features that are not N(0, I_d), users with fewer samples, users against the others.

Each is an axis of `privrep.data.problem.Problem` and off by default. What is drawn for one moves no draw of a problem without it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

ADVERSARY_LENGTH = 10.0
"""Length of the vector behind an adversary's labels, over sqrt(k)."""


class Departures(Protocol):
    """What of a problem decides them."""

    users: int
    samples: int
    dim: int
    rank: int
    feature_condition: float
    feature_tail: float
    fewest_samples: int
    adversaries: int


def feature_scales(problem: Departures) -> np.ndarray:
    """Standard deviations of the coordinates of a feature, in geometric steps, with mean square 1; (d,)."""
    scales = np.geomspace(problem.feature_condition, 1.0, problem.dim)
    return scales / np.sqrt((scales**2).mean())


def tail_factors(problem: Departures, users: int, rng: np.random.Generator) -> np.ndarray:
    """What makes Gaussian samples multivariate Student ones of `feature_tail` degrees of freedom, with the same covariance; (m, users)."""
    tail = problem.feature_tail
    return np.sqrt((tail - 2) / rng.chisquare(tail, (problem.samples, users))).astype(np.float32)


def present(problem: Departures, users: int, rng: np.random.Generator) -> np.ndarray:
    """Which samples a user has: m_j of them, uniform on fewest_samples, ..., m; (m, users)."""
    counts = rng.integers(problem.fewest_samples, problem.samples + 1, users)
    return np.arange(problem.samples)[:, None] < counts


def against(problem: Departures, start: int, users: int) -> np.ndarray:
    """Which of the users from number `start` on are adversaries, evenly spread; (users,)."""
    number = np.arange(start, start + users)
    return (number * problem.adversaries) % problem.users < problem.adversaries


def adversary_vector(problem: Departures, basis: np.ndarray) -> np.ndarray:
    """theta of all adversaries, (d,): halfway between a direction of the subspace (d, k) and one outside, to tilt it as far as they can."""
    outside = np.eye(problem.dim)[np.abs(basis).max(axis=1).argmin()]
    outside = outside - basis @ (basis.T @ outside)
    halfway = basis[:, 0] + outside / np.linalg.norm(outside)
    return ADVERSARY_LENGTH * np.sqrt(problem.rank / 2) * halfway
