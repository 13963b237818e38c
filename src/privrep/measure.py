"""A measured quantity, as it goes from a study to the verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import stats

MEASURE_COLUMNS = ("quantity", "measured", "ci_low", "ci_high", "seeds", "note", "standard_error", "formula")


@dataclass(frozen=True)
class Measure:
    """A number with its 95 % interval over `seeds` repetitions. Arithmetic has no interval: both ends equal the number.

    `note` adds what a reader of the verdict should know, for instance which cells were selected. An exponent has its
    standard error, for intervals at other levels, and the slope of the formula on the same grid. A number that could not be
    had is NaN, and the note says why.
    """

    quantity: str
    measured: float
    ci_low: float
    ci_high: float
    seeds: int = 0
    note: str = ""
    standard_error: float = math.nan
    formula: float = math.nan


def exact(quantity: str, value: float, note: str = "") -> Measure:
    """A quantity without sampling error."""
    return Measure(quantity, float(value), float(value), float(value), 0, note)


def share(quantity: str, hits: int, runs: int, note: str = "") -> Measure:
    """A share of runs with its Clopper-Pearson interval."""
    ends = stats.binomtest(hits, runs).proportion_ci()
    return Measure(quantity, hits / runs, float(ends.low), float(ends.high), runs, note)
