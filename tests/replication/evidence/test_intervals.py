"""Intervals of measured numbers cover as often as they say, and are not given without anything to base them on."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from replication.evidence.intervals import (
    BOOTSTRAP,
    bootstrap_measures,
    exponent,
    log_slope,
    series_measures,
    student,
    student_ends,
    with_interval,
)
from replication.evidence.measured import Measured, bare
from replication.studies.images.analysis import Lead, least
from replication.studies.measures import extreme_ratio

RUNS, DRAWS = 400, 200
FALSE_ALARM = 1e-4


def calibrated(hits: int) -> bool:
    """Whether so many of RUNS intervals may cover by chance, up to FALSE_ALARM, at a coverage of 92.5 to 97.5 %."""
    return stats.binom.ppf(FALSE_ALARM, RUNS, 0.925) <= hits <= stats.binom.isf(FALSE_ALARM, RUNS, 0.975)


LAWS = {
    "mean near 0": (lambda rng, s: rng.normal(0.1, 1.0, s), 0.1),
    "mean of errors": (lambda rng, s: rng.gamma(9, 1 / 9, s), 1.0),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("repetitions", [5, 8])
def test_intervals_cover_as_often_as_they_say(law, repetitions):
    """95 % up to 2.5 %, on the plain and on the log scale. Intervals of 0.7 times the length do not."""
    draw, truth = LAWS[law]
    rng, hits, narrow = np.random.default_rng(11), 0, 0
    for run in range(RUNS):
        data = draw(rng, repetitions)

        def mean(indices, data=data):
            return float(data[indices].mean())

        one = with_interval(f"{law} {run}", mean, repetitions, draws=DRAWS)
        hits += one.ci_low <= truth <= one.ci_high
        narrow += abs(truth - one.measured) <= 0.35 * (one.ci_high - one.ci_low)
    assert calibrated(hits) and not calibrated(narrow)


def test_ratios_have_positive_ends_of_equal_factor():
    """The log scale, where the number and all its draws are positive; the plain one, where one draw is 0."""
    low, high = student_ends(2.0, np.exp(np.random.default_rng(0).normal(np.log(2), 0.4, 4000)), 8)
    assert 0 < low < 2 < high
    assert high / 2 == pytest.approx(2 / low)
    assert np.log(high / 2) == pytest.approx(stats.t.isf(0.025, 7) * 0.4 * np.sqrt(8 / 7), rel=0.05)
    normal = np.random.default_rng(0).normal(2, 4, 4000)
    for draws in (normal, normal - normal.min()):
        low, high = student_ends(2.0, draws, 8)
        assert high - 2 == pytest.approx(2 - low)
        assert high - 2 == pytest.approx(stats.t.isf(0.025, 7) * 4 * np.sqrt(8 / 7), rel=0.04)


@pytest.mark.parametrize("values", [[1.0] * 8, [1.0, np.inf] * 4, [1.0, np.nan] * 4])
def test_no_interval_without_information(values):
    """Repetitions that are all alike have no width, and a fit that failed has no place."""
    data = np.array(values)
    one = with_interval("alike", lambda indices: data[indices].mean(), 8)
    assert np.isnan([one.ci_low, one.ci_high]).all()


def test_an_interval_depends_on_its_name_alone():
    """The same call gives the same interval, whatever ran before."""
    data = np.arange(7.0)
    found = [with_interval("q", lambda indices: data[indices].mean(), 7, name=name) for name in ("a", "b", "a")]
    assert found[0] == found[2] != found[1]


def test_an_exponent_has_the_interval_of_a_number_and_its_standard_error():
    data = np.array([-3.0, -1.0, 0.5, 1.0, 4.0])
    one, other = exponent("q", lambda i: data[i].mean(), 5, -0.5), with_interval("q", lambda i: data[i].mean(), 5)
    assert (one.measured, one.ci_low, one.ci_high) == pytest.approx((other.measured, other.ci_low, other.ci_high))
    assert one.ci_high - one.measured == pytest.approx(student(5) * one.standard_error) and one.formula == -0.5


def test_a_statistic_of_a_series():
    """Over the repetitions of that series, in the stream of the statistic's name; what could not be had says so, and
    a number that has no interval alone keeps its note."""
    data = np.array([1.0, 2.0, 4.0, 4.5, 7.0])
    cells = pd.DataFrame({"series": ["a"] * 5 + ["b"], "seed": [*range(5), 9], "error": [*data, 100.0]})

    def means(cells, indices):
        mean = float(cells.loc[cells["series"] == "a", "error"].to_numpy()[indices].mean())
        return {"mean": mean, "none": np.nan, "flat": 1.0}

    mean, none, flat = series_measures(cells, "a", means, "not reached")
    (expected,) = bootstrap_measures(lambda indices: {"mean": data[indices].mean()}, 5, "means", BOOTSTRAP)
    assert mean == expected
    assert np.isnan(none.measured) and none.note == "not reached"
    assert np.isnan(flat.ci_low) and flat.note == mean.note == "over settings"


def test_a_slope_needs_two_values():
    """A power law gives its exponent, one point none."""
    assert log_slope(np.array([2.0, 8.0]), np.array([12.0, 3.0])) == pytest.approx(-1, rel=1e-12)
    assert math.isnan(log_slope(np.array([2.0]), np.array([12.0])))


# Extremes over settings


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


def half_widths(logs: np.ndarray) -> np.ndarray:
    """Of the intervals of mean logarithms, (p,), over repetitions, (p, s)."""
    return student(logs.shape[1]) * logs.std(axis=1, ddof=1) / math.sqrt(logs.shape[1])


def extreme_of(word: str, logs: np.ndarray) -> Measured:
    numbers = zip(logs.mean(axis=1), half_widths(logs), strict=True)
    found = extreme_ratio(word, "x", [ratio(math.exp(mean), half, logs.shape[1]) for mean, half in numbers])
    return replace(found, ci_low=math.log(found.ci_low), ci_high=math.log(found.ci_high))


SIMULTANEOUS = {
    "least": (min, partial(extreme_of, "least")),
    "largest": (max, partial(extreme_of, "largest")),
    "least lead": (min, lambda logs: least("x", [*map(Lead, logs)])),
}


@pytest.mark.parametrize("extreme", SIMULTANEOUS)
def test_simultaneous_intervals_cover_as_often_as_they_say(extreme, rng):
    """The extreme of six numbers that are all 0, by eight repetitions each: at least 95 %, up to FALSE_ALARM. Intervals
    that are not widened cover less, and so it is one standard deviation away."""
    choose, found = SIMULTANEOUS[extreme]
    runs, covered = 1000, np.zeros(3)
    for logs in rng.standard_normal((runs, 6, 8)):
        one, means, halves = found(logs), logs.mean(axis=1), half_widths(logs)
        ends = [(one.ci_low, one.ci_high), (choose(means - halves), choose(means + halves))]
        away = -choose(-1, 1)
        covered += [low <= truth <= high for (low, high), truth in zip((*ends, ends[0]), (0, 0, away), strict=True)]
    fewest = stats.binom.ppf(FALSE_ALARM, runs, 0.95)
    assert covered[0] >= fewest > max(covered[1:])


def test_a_number_without_an_interval_leaves_none():
    found = extreme_ratio("largest", "x", [ratio(2.0, 0.5, 8), bare("", 1.0, 3)])
    assert math.isnan(found.ci_low) and found.measured == 2
