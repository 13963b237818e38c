"""Tests whether the noise of a mechanism, in units of the claimed noise, is standard normal and independent."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtr, gammaincinv, ndtr, stdtr

SURE = 1e-6  # the p-value below which a fault of the noise is reported
POWER = 0.95  # probability that the check finds a noise of `noise_found` times the claimed one


def two_sided(tail: float) -> float:
    """Return the two-sided p-value of a tail probability."""
    return 2 * min(tail, 1 - tail)


def smallest(values: np.ndarray) -> float:
    """Return the smallest of several p-values times their number (Bonferroni)."""
    return float(values.min()) * values.size


def correlation_p(scores: np.ndarray, runs: int) -> np.ndarray:
    """Return p-values of correlations, each of `runs` independent pairs of standard normal numbers (Student's t)."""
    return 2 * stdtr(runs - 1, -np.abs(scores) * np.sqrt((runs - 1) / np.maximum(1 - scores**2, 1e-15)))


def noise_alarm(table: np.ndarray) -> float:
    """Return the smallest p-value of all tests times their number, for a table (runs, numbers) in units of noise."""
    count, size = table.shape
    looks = [two_sided(float(ndtr(table.sum() / np.sqrt(table.size))))]
    looks.append(two_sided(float(chdtr(table.size, (table**2).sum()))))
    tails = chdtr(count, (table**2).sum(axis=0))
    looks.append(smallest(2 * np.minimum(tails, 1 - tails)))
    scaled = table / np.maximum(np.linalg.norm(table, axis=0), 1e-300)
    if size > 1:
        looks.append(smallest(correlation_p((scaled.T @ scaled)[np.triu_indices(size, 1)], count)))
    left, right = table[:-1].ravel(), table[1:].ravel()
    both = (left @ right) / max(np.linalg.norm(left) * np.linalg.norm(right), 1e-300)
    looks.append(float(correlation_p(np.array(both), len(left))))
    return min(looks) * len(looks)


def noise_found(table: np.ndarray) -> float:
    """Return the largest ratio of actual to claimed noise, below 1, found by the variance test with chance `POWER`."""
    looks, half = 5 if table.shape[1] > 1 else 4, table.size / 2
    return float(np.sqrt(gammaincinv(half, SURE / looks / 2) / gammaincinv(half, POWER)))
