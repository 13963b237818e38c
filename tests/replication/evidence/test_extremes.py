"""Intervals of extremes over settings."""

from __future__ import annotations

import math

import numpy as np
import pytest

from replication.evidence.intervals import student
from replication.evidence.measured import Measured, bare
from replication.studies.measures import extreme_ratio


def ratio(value: float, half: float, seeds: int) -> Measured:
    return Measured("", value, value * math.exp(-half), value * math.exp(half), seeds)


def test_one_number_keeps_its_interval():
    found = extreme_ratio("largest", "x", [ratio(2.0, 0.5, 8)])
    assert (found.measured, found.ci_low, found.ci_high) == pytest.approx((2.0, *2.0 * np.exp([-0.5, 0.5])))


@pytest.mark.parametrize(("word", "choose"), [("least", min), ("largest", max)])
def test_the_ends_are_extremes_of_wider_intervals(word, choose):
    """A noisy number that is not the extreme can decide an end."""
    found = extreme_ratio(word, "x", [ratio(1.0, 0.1, 8), ratio(1.1, 2.0, 8)], "note")
    wider = student(8, 0.975) / student(8)
    ends = [choose(math.exp(sign * wider * 0.1), 1.1 * math.exp(sign * wider * 2.0)) for sign in (-1, 1)]
    assert (found.ci_low, found.ci_high) == pytest.approx(ends)
    assert found.measured == choose(1.0, 1.1) and found.note == "note"


def test_the_interval_covers_as_often_as_it_says(rng):
    """The largest of six ratios that are all one, by eight repetitions each."""
    logs = rng.standard_normal((1000, 6, 8))
    halves = student(8) * logs.std(axis=2, ddof=1) / math.sqrt(8)
    ends = [
        extreme_ratio("largest", "x", [ratio(math.exp(m), h, 8) for m, h in zip(means, errors, strict=True)])
        for means, errors in zip(logs.mean(axis=2), halves, strict=True)
    ]
    assert np.mean([one.ci_low <= 1 <= one.ci_high for one in ends]) > 0.95


def test_a_number_without_an_interval_leaves_none():
    found = extreme_ratio("largest", "x", [ratio(2.0, 0.5, 8), bare("", 1.0, 3)])
    assert math.isnan(found.ci_low) and found.measured == 2
