"""The least or largest of several ratios, for one interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from privrep.evidence.intervals import LEVEL, student
from privrep.evidence.measured import Measured


def extreme_ratio(word: str, name: str, found: Sequence[Measured], note: str = "") -> Measured:
    """The extreme with an interval that is simultaneous (Bonferroni): where all numbers lie in theirs,
    so does the extreme between the extreme ends.

    Parameters
    ----------
    word : least or largest. found : positive numbers with Student intervals on the log scale, which are widened.
    """
    choose = np.min if word == "least" else np.max
    level = 1 - (1 - LEVEL) / len(found)
    halves = [
        math.log(one.ci_high / one.measured) * student(one.seeds, level) / student(one.seeds, LEVEL) for one in found
    ]
    values = np.array([one.measured for one in found])
    low, high = (choose(values * np.exp(sign * np.array(halves))) for sign in (-1, 1))
    return Measured(name, float(choose(values)), float(low), float(high), min(one.seeds for one in found), note)
