"""Percentile bootstrap over repetitions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privrep.measure import Measure
from privrep.rng import stream

DRAWS = 2000
LEVEL = 0.95


def bootstrap_interval(
    statistic: Callable[[np.ndarray], float], repetitions: int, name: str, draws: int = DRAWS
) -> tuple[float, float]:
    """The central 95 % of a statistic over resampled repetitions.

    Parameters
    ----------
    statistic : maps an array of repetition numbers, with repeats, to a number. Selections on the score belong inside it.
    name : names the random stream, so that the interval does not depend on what else is computed.
    """
    return bootstrap_intervals(lambda pick: {name: statistic(pick)}, repetitions, name, draws)[name]


def bootstrap_intervals(
    statistic: Callable[[np.ndarray], dict[str, float]], repetitions: int, name: str, draws: int = DRAWS
) -> dict[str, tuple[float, float]]:
    """As `bootstrap_interval`, for several statistics of the same draws, by their names."""
    rng = stream(0, "bootstrap", {"name": name, "repetitions": repetitions})
    if repetitions == 1:
        draws = 1  # all draws are the same
    values = [statistic(pick) for pick in rng.integers(repetitions, size=(draws, repetitions))]
    tail = (1 - LEVEL) / 2
    ends = {key: np.quantile([value[key] for value in values], [tail, 1 - tail]) for key in values[0]}
    return {key: (float(low), float(high)) for key, (low, high) in ends.items()}


def bootstrap_measures(
    statistic: Callable[[np.ndarray], dict[str, float]], repetitions: int, name: str, draws: int = DRAWS
) -> list[Measure]:
    """Extremes over settings, or other statistics of all repetitions together, as measures with their intervals."""
    ends = bootstrap_intervals(statistic, repetitions, name, draws)
    values = statistic(np.arange(repetitions))
    return [Measure(key, value, *ends[key], repetitions, "over settings") for key, value in values.items()]
