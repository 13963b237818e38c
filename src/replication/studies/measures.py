"""Measures that several studies make of their runs: means, exponents of ratios, and extremes with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from replication.evidence.intervals import LEVEL, exponent, log_slope, student, with_interval
from replication.evidence.measured import Measured
from replication.evidence.scaling import Sweep


def mean_over(quantity: str, values: np.ndarray, note: str = "", name: str = "") -> Measured:
    """Return the mean over repetitions with its interval, from the random stream `name`, by default `quantity`."""
    return with_interval(quantity, lambda indices: float(values[indices].mean()), len(values), note, name)


def ratio_exponent(name: str, above: Sweep, below: Sweep) -> Measured:
    """Measure the exponent in the ratio of two fits' mean errors, beside the slope that their laws have there."""

    def slope(indices: np.ndarray) -> float:
        return log_slope(above.values, above.errors[:, indices].mean(axis=1) / below.errors[:, indices].mean(axis=1))

    return exponent(name, slope, above.repetitions, log_slope(above.values, above.predicted / below.predicted))


def extreme_ratio(word: str, name: str, found: Sequence[Measured], note: str = "") -> Measured:
    """Return the least or largest of positive numbers with an interval that is simultaneous over them (Bonferroni).

    Where all numbers lie in their widened intervals, the extreme lies between the extreme ends.
    """
    choose = np.min if word == "least" else np.max
    level = 1 - (1 - LEVEL) / len(found)
    halves = [
        math.log(one.ci_high / one.measured) * student(one.seeds, level) / student(one.seeds, LEVEL) for one in found
    ]
    values = np.array([one.measured for one in found])
    low, high = (choose(values * np.exp(sign * np.array(halves))) for sign in (-1, 1))
    return Measured(name, float(choose(values)), float(low), float(high), min(one.seeds for one in found), note)
