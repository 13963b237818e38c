"""Chances that another seed changes a verdict: against arithmetic, and against runs on two seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import stdtr
from scipy.stats import betabinom

from privrep.evidence.claims import Claim
from privrep.evidence.intervals import student
from privrep.evidence.measured import share_ends
from privrep.evidence.stability import chance, chances, elsewhere, hits_of, other_seeds

SEEDS = 8


def claim(whole: bool = False, **values) -> Claim:
    quantity = {"quantity": "of q", "measured": "q", "rule": "at_most", "value": 0.6} | values
    entry = {
        "id": "A-1",
        "whose": "paper",
        "place": "Theorem 1",
        "statement": "It is small.",
        "kind": "identity",
        "study": "risk",
        "figure": "jain2021/figure2",
        "scales": ["default"],
        "quantities": [quantity, quantity | {"quantity": "of r"}],
    }
    return Claim.model_validate(entry | ({"whole": {"quantity": "all", "other_readings": "o"}} if whole else {}))


def measure(value: float, low: float, high: float, seeds: int = SEEDS) -> dict[str, str]:
    numbers = {"measured": value, "ci_low": low, "ci_high": high, "seeds": seeds, "standard_error": "nan"}
    return {"quantity": "q", "note": "", "formula": "nan"} | {name: str(value) for name, value in numbers.items()}


def chance_of(row: dict[str, str], **values) -> float:
    tested = claim(**values)
    return chance(tested, tested.quantities[0], {"q": row}, "default", 1)


def beyond(halves: float) -> float:
    """Probability that a number on another seed lies so many half widths of the interval above this one."""
    return float(stdtr(SEEDS - 1, -halves * student(SEEDS) / math.sqrt(2)))


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(0.3, beyond(2)), (0.4, beyond(1)), (0.45, beyond(0.5)), (0.5, 0.5), (0.6, 1 - beyond(1))],
)
def test_a_number_moves_by_its_error(limit, expected):
    """0.5 -+ 0.1 on another seed lies below a limit with the probability of a Student variable."""
    seeds = 0.5 + 0.1 * other_seeds(SEEDS)[:, 0]
    assert np.mean(seeds < limit) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(("limit", "low", "high"), [(0.6, 0.4, 0.6), (0.8, 0.01, 0.1), (0.5, 0.05, 0.3), (100, 0, 0)])
def test_chances_fall_with_the_distance_of_the_limit(limit, low, high):
    """0.5 -+ 0.1: at the end of the interval half of all seeds, far away none."""
    assert low <= chance_of(measure(0.5, 0.4, 0.6), value=limit) <= high


def test_intervals_are_moved_where_they_are_symmetric():
    """On the log scale a factor."""
    moved = elsewhere(measure(2.0, 1.0, 4.0), 1.0, 0.5)
    assert [float(moved[name]) for name in ("measured", "ci_low", "ci_high")] == pytest.approx([4, 8**0.5, 32**0.5])
    moved = elsewhere(measure(0.5, 0.4, 0.6), -1.0, 2.0)
    assert [float(moved[name]) for name in ("measured", "ci_low", "ci_high")] == pytest.approx([0.4, 0.2, 0.6])


def test_shares_have_hits():
    """A share is known by its interval, and moves by whole runs: of 40 hits of 40, how likely is one miss or more."""
    row = measure(1.0, *share_ends(40, 40), seeds=40)
    assert hits_of(row) == 40 and hits_of(measure(1.0, 0.9, 1.1, seeds=40)) is None
    missed = 1 - betabinom(40, 40.5, 0.5).pmf(40)
    assert 0.2 < missed < 0.35
    limit = float(row["ci_low"]) - 1e-9  # one miss, and the interval reaches beyond it
    assert chance_of(row, rule="at_least", value=limit) == pytest.approx(missed, abs=0.01)
    assert chance_of(row, rule="at_least", value=0.5) == 0


def test_what_has_no_error_does_not_change():
    """Arithmetic, a number without an interval, and one that was not measured."""
    assert chance_of(measure(0.5, 0.5, 0.5), basis="computed") == 0
    assert chance_of(measure(0.5, math.nan, math.nan)) == 0
    tested = claim()
    assert chance(tested, tested.quantities[0], {}, "default", 1) == 0


def test_a_claim_as_a_whole_changes_with_any_of_its_quantities():
    rows = {"risk": {"q": measure(0.5, 0.4, 0.6)}}
    found = chances([claim(whole=True)], rows, "default", 1)
    one = found["A-1", "of q"]
    assert 0.4 < one < 0.6 and found["A-1", "all"] == pytest.approx(1 - (1 - one) ** 2)


def test_expected_changes_are_those_of_two_seeds():
    """Means of eight normal numbers against a limit of 0.5, on 40,000 pairs of seeds with true means all over: as many
    verdicts change as the first run expects. With one variance in place of variances all over, a pair counts by one
    over its error. False alarm 1e-5 at 4.4 standard errors, and 2 % for what the points miss; a number without the
    error of the second run, or an interval that keeps its width, misses by more."""
    rng = np.random.default_rng(3)
    draws = rng.uniform(-3, 4, (40_000, 1, 1)) + rng.normal(size=(40_000, 2, SEEDS))
    half = student(SEEDS) * draws.std(axis=2, ddof=1) / math.sqrt(SEEDS)
    means = draws.mean(axis=2)
    outcome = np.where(means + half <= 0.5, 1, np.where(means - half > 0.5, -1, 0))
    grid = np.linspace(-8, 8, 161)  # of what the expectation depends on: the limit in half widths from the number
    rows = [measure(0.5 - place, -0.5 - place, 1.5 - place) for place in grid]
    expected = np.interp((0.5 - means[:, 0]) / half[:, 0], grid, [chance_of(row, value=0.5) for row in rows])
    excess = (expected - (outcome[:, 0] != outcome[:, 1])) / half[:, 0]
    assert abs(excess.mean()) < 0.02 * np.mean(expected / half[:, 0]) + 4.4 * excess.std() / 200
