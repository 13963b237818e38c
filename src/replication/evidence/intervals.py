"""Intervals of measured numbers.

A number over s repetitions has the interval measured -+ t_{s-1} SE, with SE its bootstrap standard error times
sqrt(s / (s - 1)), on the log scale where the number and all its draws are positive (errors, risks and their ratios).
Exponents have the same interval (`replication.evidence.scaling`). A share of runs has a Clopper-Pearson interval
(`replication.evidence.measured.share`). Below `FEWEST` repetitions there is no interval: its ends are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from privrep.options import T
from privrep.users.rng import stream
from replication.evidence.measured import Measured

if TYPE_CHECKING:  # the check of a configuration imports no pandas
    import pandas as pd

Statistic = Callable[[np.ndarray], float]
Statistics = Callable[[np.ndarray], Mapping[T, float]]
"""Functions that map indices of resampled repetitions to a number, or to numbers by name."""
DRAWS = 1000
BOOTSTRAP = 200
"""Number of bootstrap draws in `series_measures`."""
OUTSIDE = "not reached within the values that were run"
"""Note of an interpolated number that is NaN."""
LEVEL = 0.95
FEWEST = 5
"""Number of repetitions below which there is no interval."""


def student(repetitions: int, level: float = LEVEL) -> float:
    """Return the two-sided Student quantile at `repetitions` - 1 degrees of freedom; NaN below `FEWEST` repetitions."""
    return float(-stdtrit(repetitions - 1, (1 - level) / 2)) if repetitions >= FEWEST else np.nan


def spread(draws: np.ndarray, repetitions: int) -> np.ndarray:
    """Return the bootstrap standard error along the first axis, unbiased for few repetitions; NaN for a single one."""
    return draws.std(axis=0) * np.sqrt(repetitions / (repetitions - 1)) if repetitions > 1 else draws[0] * np.nan


def student_ends(value: float, draws: np.ndarray, repetitions: int) -> tuple[float, float]:
    """Return the ends of the interval around a value, from its bootstrap draws.

    NaN where a draw is not finite, and where all draws are equal: repetitions that cannot be distinguished say nothing
    of the error.
    """
    draws = np.asarray(draws, dtype=float)
    if not (np.isfinite(value) and np.isfinite(draws).all()) or np.ptp(draws) == 0:
        return np.nan, np.nan
    if value > 0 and draws.min() > 0:
        factor = np.exp(student(repetitions) * spread(np.log(draws), repetitions))
        return float(value / factor), float(value * factor)
    half = student(repetitions) * spread(draws, repetitions)
    return float(value - half), float(value + half)


def bootstrap_intervals(
    statistic: Statistics[T], repetitions: int, name: str, draws: int = DRAWS
) -> dict[T, tuple[float, float]]:
    """Return 95 % intervals by name of statistics.

    A statistic that selects by score must repeat the selection itself. `name` is the name of the random stream, so that
    an interval does not depend on what else is computed.
    """
    values = statistic(np.arange(repetitions))
    if repetitions < FEWEST:
        return dict.fromkeys(values, (np.nan, np.nan))
    rng = stream(0, "bootstrap", {"name": name, "repetitions": repetitions})
    drawn = [statistic(indices) for indices in rng.integers(repetitions, size=(draws, repetitions))]
    return {
        key: student_ends(value, np.array([draw[key] for draw in drawn]), repetitions) for key, value in values.items()
    }


def with_interval(
    quantity: str, statistic: Statistic, repetitions: int, note: str = "", name: str = "", draws: int = DRAWS
) -> Measured:
    """Measure a statistic of the repetitions with its interval; the random stream is named after the quantity by
    default."""
    name = name or quantity
    return bootstrap_measures(lambda indices: {quantity: float(statistic(indices))}, repetitions, name, draws, note)[0]


def bootstrap_measures(
    statistic: Statistics[T], repetitions: int, name: str, draws: int = DRAWS, note: str = "over settings"
) -> list[Measured]:
    """Measure statistics of all repetitions together, such as extremes over settings, with intervals from the same
    draws."""
    ends = bootstrap_intervals(statistic, repetitions, name, draws)
    values = statistic(np.arange(repetitions))
    return [Measured(str(key), value, *ends[key], repetitions, note) for key, value in values.items()]


def log_slope(values: ArrayLike, errors: ArrayLike) -> float:
    """Return the least-squares slope on logarithmic axes; NaN for fewer than two values."""
    places = np.asarray(values, dtype=float)
    return float(np.polyfit(np.log(places), np.log(errors), 1)[0]) if len(places) >= 2 else np.nan


def exponent(quantity: str, statistic: Statistic, repetitions: int, formula: float) -> Measured:
    """Measure an exponent that is not a fit of one series, with bootstrap standard error and Student interval;
    `formula` is the slope of the laws on the same grid."""
    value = float(statistic(np.arange(repetitions)))
    rng = stream(0, "bootstrap", {"name": quantity, "repetitions": repetitions})
    # All draws of a single repetition are equal.
    sets = rng.integers(repetitions, size=(DRAWS if repetitions > 1 else 1, repetitions))
    error = float(spread(np.array([*map(statistic, sets)]), repetitions))
    half = student(repetitions) * error
    return Measured(quantity, value, value - half, value + half, repetitions, "", error, formula)


def series_measures(
    cells: pd.DataFrame, series: str, statistic: Callable[..., dict[str, float]], missing: str = ""
) -> list[Measured]:
    """Apply `bootstrap_measures` to a statistic of the table and the resampled repetitions of a series; `missing` is
    the note of a number that could not be computed."""
    seeds = int(cells.loc[cells["series"] == series, "seed"].nunique())
    measures = bootstrap_measures(partial(statistic, cells), seeds, statistic.__name__, BOOTSTRAP)
    return [replace(measure, note=missing) if np.isnan(measure.measured) else measure for measure in measures]
