"""Looks at the noise of a mechanism: whether what was added, in units of what is claimed, is standard normal and new
each time."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtr, gammaincinv, ndtr, stdtr

SURE = 1e-6
"""A noise check alarms below this p-value."""
POWER = 0.95
"""Probability with which the smallest fault of the noise that a row names is found."""


def two_sided(tail: float) -> float:
    """p-value of a tail probability, either way."""
    return 2 * min(tail, 1 - tail)


def smallest(values: np.ndarray) -> float:
    """The smallest of several p-values, times their number."""
    return float(values.min()) * values.size


def correlation_p(scores: np.ndarray, runs: int) -> np.ndarray:
    """p-values of correlations about 0: Student's law."""
    return 2 * stdtr(runs - 1, -np.abs(scores) * np.sqrt((runs - 1) / np.maximum(1 - scores**2, 1e-15)))


def noise_alarm(table: np.ndarray) -> float:
    """Smallest p-value, times the number of looks, at: mean and variance of all; variance of each number, on and off a
    diagonal alike; correlation of each two numbers of a run, in one release or two; correlation of successive runs."""
    count, size = table.shape
    looks = [
        two_sided(float(ndtr(table.sum() / np.sqrt(table.size)))),
        two_sided(float(chdtr(table.size, (table**2).sum()))),
    ]
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
    """The largest actual noise over the claimed one that `noise_alarm` finds with probability `POWER` in a table of
    these sizes, by the variance of all."""
    looks, half = 5 if table.shape[1] > 1 else 4, table.size / 2
    return float(np.sqrt(gammaincinv(half, SURE / looks / 2) / gammaincinv(half, POWER)))
