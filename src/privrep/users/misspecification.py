"""Misspecification of the model, off by default: features that are not N(0, I_d), fewer samples, noise,
outliers, corruption.

What is drawn for one moves no draw of a problem without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from privrep.users.problem import Problem

MISSPECIFICATIONS = (
    *("feature_law", "feature_scale", "feature_condition", "feature_axes", "feature_tail"),
    *("fewest_samples", "noise_spread", "label_outliers", "adversaries"),
)
"""Names of their parameters, in the order of `privrep.users.problem.Problem`."""
RARE = 0.05  # probability that a rare binary feature is 1
OUTLIER = 50.0  # what a label that is an outlier is multiplied with
CORRUPTED_LENGTH = 10.0  # length of the vector behind a corrupted user's labels, over sqrt(k)


def feature_entries(law: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw float32 entries of mean 0 and variance 1: normal, centred Bernoulli (`rare`) or exponential (`skewed`)."""
    if law == "rare":
        sd = np.float32((RARE * (1 - RARE)) ** 0.5)
        return ((rng.random(shape, dtype=np.float32) < RARE) - np.float32(RARE)) / sd
    if law == "skewed":
        return rng.standard_exponential(shape, dtype=np.float32) - 1
    return rng.standard_normal(shape, dtype=np.float32)


def feature_scales(problem: Problem) -> np.ndarray:
    """Return sds (d,) of a feature's coordinates, in geometric steps, of root mean square `feature_scale`."""
    scales = np.geomspace(problem.feature_condition, 1.0, problem.dim)
    return scales * (problem.feature_scale / np.sqrt((scales**2).mean()))


def feature_root(problem: Problem) -> np.ndarray:
    """Return R, (d, d), with features R^T z, z of covariance I: scales, then a cosine transform for mixed axes."""
    scales = np.diag(feature_scales(problem))
    if problem.feature_axes != "mixed":
        return scales
    from scipy.fft import dct  # it takes a tenth of a second to load, also for who reads settings

    return scales @ dct(np.eye(problem.dim), norm="ortho")


def are_scaled(problem: Problem) -> bool:
    """Return whether the covariance of features differs from I."""
    return problem.feature_condition > 1 or problem.feature_scale != 1


def tail_factors(problem: Problem, users: int, rng: np.random.Generator) -> np.ndarray:
    """Draw factors (m, users) that turn Gaussian samples into multivariate Student ones of the same covariance."""
    tail = problem.feature_tail
    return np.sqrt((tail - 2) / rng.chisquare(tail, (problem.samples, users))).astype(np.float32)


def noise_factors(problem: Problem, users: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the users' label noise over its root mean square, (users,), log-uniform up to `noise_spread`."""
    log = np.log(problem.noise_spread)
    factors = np.exp(log * rng.random(users)) / np.sqrt((problem.noise_spread**2 - 1) / (2 * log))
    return factors.astype(np.float32)


def present_samples(problem: Problem, users: int, rng: np.random.Generator) -> np.ndarray:
    """Draw which samples users have, (m, users): m_j of them, uniform on fewest_samples, ..., m."""
    counts = rng.integers(problem.fewest_samples, problem.samples + 1, users)
    return np.arange(problem.samples)[:, None] < counts


def corrupted_users(problem: Problem, start: int, users: int) -> np.ndarray:
    """Mark the corrupted ones, evenly spread, among the users numbered from `start` on; (users,)."""
    number = np.arange(start, start + users)
    return (number * problem.adversaries) % problem.users < problem.adversaries


def corrupted_vector(problem: Problem, basis: np.ndarray) -> np.ndarray:
    """Return theta (d,) of corrupted users, halfway between the true subspace and outside: the worst tilt."""
    outside = np.eye(problem.dim)[np.abs(basis).max(axis=1).argmin()]
    outside = outside - basis @ (basis.T @ outside)
    halfway = basis[:, 0] + outside / np.linalg.norm(outside)
    return CORRUPTED_LENGTH * np.sqrt(problem.rank / 2) * halfway
