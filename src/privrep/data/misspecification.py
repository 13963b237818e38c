"""Misspecification of the linear model of the papers: features that are not N(0, I_d), users with fewer samples or
labels of another noise, corrupted users.

Each is an axis of `privrep.data.problem.Problem` and off by default.
What is drawn for one moves no draw of a problem without it.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.fft import dct

MISSPECIFICATIONS = (
    *("feature_law", "feature_scale", "feature_condition", "feature_axes", "feature_tail"),
    *("fewest_samples", "noise_spread", "adversaries"),
)
"""Their axes, in the order of `privrep.data.problem.Problem`."""
FEATURE_LAWS = ("gauss", "rare", "skewed")
FEATURE_AXES = ("coordinates", "mixed")
RARE = 0.05
"""Probability that a rare binary feature is there."""

CORRUPTED_LENGTH = 10.0
"""Length of the vector behind a corrupted user's labels, over sqrt(k)."""


class Misspecification(Protocol):
    """What of a problem decides them."""

    users: int
    samples: int
    dim: int
    rank: int
    feature_law: str
    feature_scale: float
    feature_condition: float
    feature_axes: str
    feature_tail: float
    fewest_samples: int
    noise_spread: float
    adversaries: int


def feature_entries(law: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Independent entries of mean 0 and variance 1, float32.

    Parameters
    ----------
    law : `gauss`, normal; `rare`, there with probability `RARE`; `skewed`, exponential.
    shape : of the array.
    rng : of the draw.
    """
    if law == "rare":
        return ((rng.random(shape, dtype=np.float32) < RARE) - np.float32(RARE)) / np.float32(
            (RARE * (1 - RARE)) ** 0.5
        )
    if law == "skewed":
        return rng.standard_exponential(shape, dtype=np.float32) - 1
    return rng.standard_normal(shape, dtype=np.float32)


def feature_scales(problem: Misspecification) -> np.ndarray:
    """Standard deviations of the coordinates of a feature, in geometric steps, with root mean square `feature_scale`;
    (d,).

    Parameters
    ----------
    problem : whose features they are.
    """
    scales = np.geomspace(problem.feature_condition, 1.0, problem.dim)
    return scales * (problem.feature_scale / np.sqrt((scales**2).mean()))


def feature_root(problem: Misspecification) -> np.ndarray:
    """R, (d, d), such that features are R^T z with z of covariance I: scales, and for mixed axes the orthonormal cosine
    transform behind them.

    Parameters
    ----------
    problem : whose features they are.
    """
    scales = np.diag(feature_scales(problem))
    return scales @ dct(np.eye(problem.dim), norm="ortho") if problem.feature_axes == "mixed" else scales


def are_scaled(problem: Misspecification) -> bool:
    """Whether the covariance of features is not I.

    Parameters
    ----------
    problem : whose features they are.
    """
    return problem.feature_condition > 1 or problem.feature_scale != 1


def tail_factors(problem: Misspecification, users: int, rng: np.random.Generator) -> np.ndarray:
    """What makes Gaussian samples multivariate Student ones of `feature_tail` degrees of freedom, with the same
    covariance; (m, users).

    Parameters
    ----------
    problem : with `feature_tail` above 2.
    users : how many.
    rng : of the draw.
    """
    tail = problem.feature_tail
    return np.sqrt((tail - 2) / rng.chisquare(tail, (problem.samples, users))).astype(np.float32)


def noise_factors(problem: Misspecification, users: int, rng: np.random.Generator) -> np.ndarray:
    """Standard deviations of the users' label noise over the root of their mean square;
    logarithms are uniform, extremes differ by `noise_spread`; (users,).

    Parameters
    ----------
    problem : with `noise_spread` above 1.
    users : how many.
    rng : of the draw.
    """
    log = np.log(problem.noise_spread)
    factors = np.exp(log * rng.random(users)) / np.sqrt((problem.noise_spread**2 - 1) / (2 * log))
    return factors.astype(np.float32)


def present(problem: Misspecification, users: int, rng: np.random.Generator) -> np.ndarray:
    """Which samples a user has: m_j of them, uniform on fewest_samples, ..., m; (m, users).

    Parameters
    ----------
    problem : whose users they are.
    users : how many.
    rng : of the draw.
    """
    counts = rng.integers(problem.fewest_samples, problem.samples + 1, users)
    return np.arange(problem.samples)[:, None] < counts


def against(problem: Misspecification, start: int, users: int) -> np.ndarray:
    """Which users are corrupted, evenly spread; (users,).

    Parameters
    ----------
    problem : whose users they are.
    start : number of the first.
    users : how many.
    """
    number = np.arange(start, start + users)
    return (number * problem.adversaries) % problem.users < problem.adversaries


def corrupted_vector(problem: Misspecification, basis: np.ndarray) -> np.ndarray:
    """theta of all corrupted users, (d,): halfway between a direction of the subspace and one outside,
    to tilt it as far as they can.

    Parameters
    ----------
    problem : whose users they are.
    basis : (d, k) orthonormal, of the true subspace, k < d.
    """
    outside = np.eye(problem.dim)[np.abs(basis).max(axis=1).argmin()]
    outside = outside - basis @ (basis.T @ outside)
    halfway = basis[:, 0] + outside / np.linalg.norm(outside)
    return CORRUPTED_LENGTH * np.sqrt(problem.rank / 2) * halfway
