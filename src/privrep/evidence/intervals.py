"""Intervals of measured numbers: one method for all of them.

A number over s repetitions has the interval measured -+ t_{s-1} SE, with SE its bootstrap standard error times
sqrt(s / (s - 1)), on the log scale where the number and all its draws are positive (errors, risks and their ratios).
Exponents have the same interval (`privrep.evidence.scaling`). A share of runs has a Clopper-Pearson interval
(`privrep.evidence.measured.share`). Below `FEWEST` repetitions there is no interval: its ends are NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from privrep.data.rng import stream
from privrep.evidence.measured import Measured

if TYPE_CHECKING:  # a configuration is checked without pandas
    import pandas as pd

DRAWS = 1000
BOOTSTRAP = 200
"""Bootstrap draws of `series_measures`."""
OUTSIDE = "not reached within the values that were run"
"""Why an interpolated number is NaN."""
LEVEL = 0.95
FEWEST = 5
"""Repetitions below which no interval is given."""


def student(repetitions: int, level: float = LEVEL) -> float:
    """Two-sided quantile for a standard error estimated from few repetitions; NaN below `FEWEST`.

    Parameters
    ----------
    repetitions : from which the error was estimated.
    level : probability that the interval covers, in (0, 1).
    """
    return float(-stdtrit(repetitions - 1, (1 - level) / 2)) if repetitions >= FEWEST else np.nan


def spread(draws: np.ndarray, repetitions: int) -> np.ndarray:
    """Bootstrap standard error along the first axis; the factor makes it unbiased for few repetitions.
    NaN for a single one.

    Parameters
    ----------
    draws : (draws, ...) bootstrap draws of a statistic.
    repetitions : that were resampled.
    """
    return draws.std(axis=0) * np.sqrt(repetitions / (repetitions - 1)) if repetitions > 1 else draws[0] * np.nan


def student_ends(value: float, draws: np.ndarray, repetitions: int) -> tuple[float, float]:
    """Ends of the interval around a value, from its bootstrap draws.

    NaN where a draw is not finite, and where all draws are equal: repetitions that cannot be distinguished say nothing
    of the error.

    Parameters
    ----------
    value : of the statistic on all repetitions.
    draws : (draws,) of the same.
    repetitions : that were resampled.
    """
    draws = np.asarray(draws, dtype=float)
    if not (np.isfinite(value) and np.isfinite(draws).all()) or np.ptp(draws) == 0:
        return np.nan, np.nan
    if value > 0 and draws.min() > 0:
        factor = np.exp(student(repetitions) * spread(np.log(draws), repetitions))
        return float(value / factor), float(value * factor)
    half = student(repetitions) * spread(draws, repetitions)
    return float(value - half), float(value + half)


def bootstrap_interval(
    statistic: Callable[[np.ndarray], float], repetitions: int, name: str, draws: int = DRAWS
) -> tuple[float, float]:
    """The 95 % interval of a statistic of the repetitions.

    Parameters
    ----------
    statistic : maps an array of repetition numbers, with repeats, to a number.
        Selections on the score belong inside it.
    repetitions : how many there are.
    name : names the random stream, so that the interval does not depend on what else is computed.
    draws : of the bootstrap.
    """
    return bootstrap_intervals(lambda indices: {name: statistic(indices)}, repetitions, name, draws)[name]


def bootstrap_intervals(
    statistic: Callable[[np.ndarray], dict[str, float]], repetitions: int, name: str, draws: int = DRAWS
) -> dict[str, tuple[float, float]]:
    """As `bootstrap_interval`, for several statistics of the same draws.

    Parameters
    ----------
    statistic : maps an array of repetition numbers, with repeats, to numbers by name.
    repetitions : how many there are.
    name : of the random stream.
    draws : of the bootstrap.
    """
    values = statistic(np.arange(repetitions))
    if repetitions < FEWEST:
        return dict.fromkeys(values, (np.nan, np.nan))
    rng = stream(0, "bootstrap", {"name": name, "repetitions": repetitions})
    drawn = [statistic(indices) for indices in rng.integers(repetitions, size=(draws, repetitions))]
    return {key: student_ends(value, [one[key] for one in drawn], repetitions) for key, value in values.items()}


def with_interval(
    quantity: str,
    statistic: Callable[[np.ndarray], float],
    repetitions: int,
    note: str = "",
    name: str = "",
    draws: int = DRAWS,
) -> Measured:
    """A statistic of the repetitions with its interval.

    Parameters
    ----------
    quantity : name of the number.
    statistic : as in `bootstrap_interval`.
    repetitions : how many there are.
    note : for readers of the verdict.
    name : of the random stream, by default the quantity.
    draws : of the bootstrap.
    """
    ends = bootstrap_interval(statistic, repetitions, name or quantity, draws)
    return Measured(quantity, float(statistic(np.arange(repetitions))), *ends, repetitions, note)


def bootstrap_measures(
    statistic: Callable[[np.ndarray], dict[str, float]],
    repetitions: int,
    name: str,
    draws: int = DRAWS,
    note: str = "over settings",
) -> list[Measured]:
    """Extremes over settings, or other statistics of all repetitions together, as measures with their intervals.

    Parameters
    ----------
    statistic : as in `bootstrap_intervals`, by the names of the quantities.
    repetitions : how many there are.
    name : of the random stream.
    draws : of the bootstrap.
    note : for readers of the verdict.
    """
    ends = bootstrap_intervals(statistic, repetitions, name, draws)
    values = statistic(np.arange(repetitions))
    return [Measured(key, value, *ends[key], repetitions, note) for key, value in values.items()]


def log_slope(values: np.ndarray, errors: np.ndarray) -> float:
    """Least-squares slope on logarithmic axes; NaN for fewer than two values.

    Parameters
    ----------
    values : (p,) positive.
    errors : (p,) positive.
    """
    if len(values) < 2:
        return np.nan
    return float(np.polyfit(np.log(np.asarray(values, dtype=float)), np.log(errors), 1)[0])


def exponent(quantity: str, statistic: Callable[[np.ndarray], float], repetitions: int, formula: float) -> Measured:
    """An exponent that is no fit of one series, with its bootstrap standard error and Student interval.

    Parameters
    ----------
    quantity : name of the number, and of the random stream.
    statistic : as in `bootstrap_interval`.
    repetitions : how many there are.
    formula : slope of the laws on the same grid.
    """
    value = float(statistic(np.arange(repetitions)))
    rng = stream(0, "bootstrap", {"name": quantity, "repetitions": repetitions})
    draws = np.array([statistic(indices) for indices in rng.integers(repetitions, size=(DRAWS, repetitions))])
    error = float(spread(draws, repetitions))
    half = student(repetitions) * error
    return Measured(quantity, value, value - half, value + half, repetitions, "", error, formula)


def series_measures(
    cells: pd.DataFrame,
    series: str,
    statistic: Callable[[pd.DataFrame, np.ndarray], dict[str, float]],
    missing: str = "",
) -> list[Measured]:
    """`bootstrap_measures` of a statistic over the repetitions of a series; the statistic's name is that of the random
    stream.

    Parameters
    ----------
    cells : the results table.
    series : whose repetitions are resampled.
    statistic : maps the results table and the resampled repetitions to numbers by name.
    missing : note of those that could not be had.
    """
    seeds = int(cells.loc[cells["series"] == series, "seed"].nunique())
    found = bootstrap_measures(partial(statistic, cells), seeds, statistic.__name__, BOOTSTRAP)
    return [replace(one, note=missing) if np.isnan(one.measured) else one for one in found]
