"""Verdicts follow from the interval, the rule and the scale, and from nothing else."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from privrep.evidence.claim_rules import AnyQuantity, Interval
from privrep.evidence.claims import CLAIM_COLUMNS, Claim, judge, judge_quantity
from privrep.evidence.measured import bare
from privrep.evidence.quantities import checked_claims


def claim(kind="experiment", scales=("default",), whole=False, **rule):
    """A claim with one quantity, and with a row for the whole if asked."""
    quantity = {"quantity": "q", "measured": "m", "rule": "at_most", "value": 1.0} | rule
    made = {
        "id": "X-1",
        "whose": "paper",
        "place": "Theorem 1",
        "statement": "It holds.",
        "kind": kind,
        "study": "s",
        "figure": "paper/figure",
        "scales": list(scales),
        "quantities": [quantity],
    }
    made |= {"whole": {"quantity": "all", "other_readings": "others"}} if whole else {}
    return Claim.model_validate(made)


def holds(rule, found):
    """What a rule says of an interval."""
    quantity = TypeAdapter(AnyQuantity).validate_python({"quantity": "q", "measured": "m"} | rule)
    return quantity.holds(found)


def measured(value, low, high, others=0):
    """Measures of study s."""
    row = {"quantity": "m", "measured": str(value), "ci_low": str(low), "ci_high": str(high), "seeds": "5", "note": ""}
    other = {"measured": str(others), "ci_low": "0", "ci_high": "0", "seeds": "5", "note": "r2" if others else ""}
    return {"s": {"m": row, "others": other}}


def verdicts(made, measures, scale="default"):
    """Verdict of each row."""
    return [row["verdict"] for row in judge([made], "paper", measures, scale, "figures")]


@pytest.mark.parametrize(
    ("rule", "value", "low", "high", "expected"),
    [
        ("at_most", 1.0, 0.2, 0.9, True),
        ("at_most", 1.0, 1.1, 1.5, False),
        ("at_most", 1.0, 0.9, 1.1, None),
        ("at_least", 1.0, 1.1, 1.5, True),
        ("at_least", 1.0, 0.2, 0.9, False),
        ("at_least", 1.0, 0.9, 1.1, None),
        ("at_most", 1.0, 1.0, 1.0, True),
        ("at_least", 1.0, 1.0, 1.0, True),
    ],
)
def test_the_whole_interval_decides(rule, value, low, high, expected):
    """Wholly on the claimed side, wholly on the other, or on both; the limit itself is on the claimed side."""
    assert holds({"rule": rule, "value": value}, Interval((low + high) / 2, low, high)) is expected


def test_tolerance_widens_the_claimed_side():
    """Rounding of a search does not refute an equality."""
    found = Interval(2.0000001, 2.0000001, 2.0000001)
    assert holds({"rule": "at_most", "value": 2.0}, found) is False
    assert holds({"rule": "at_most", "value": 2.0, "tolerance": 1e-6}, found) is True


@pytest.mark.parametrize("seeds", ["0", "1"])
@pytest.mark.parametrize(("basis", "verdict"), [("measured", "INCONCLUSIVE"), ("computed", "REPRODUCED")])
def test_one_run_without_an_interval_holds_nothing(seeds, basis, verdict):
    """A number from runs needs the width of an interval; arithmetic has none."""
    measures = measured(0.5, 0.5, 0.5)
    measures["s"]["m"]["seeds"] = seeds
    (row,) = judge([claim(basis=basis)], "paper", measures, "default", "figures")
    assert row["verdict"] == verdict
    assert ("without an interval" in row["reason"]) == (basis == "measured") == (row["ci_low"] == "")


def test_no_claim_holds_by_one_run_without_an_interval():
    """Not even where that run measured what is claimed; of all quantities that rest on runs, whatever their rule."""
    for one in (claim for claims in checked_claims().values() for claim in claims):
        for quantity in one.quantities:
            found = {name: str(value) for name, value in vars(bare(quantity.measured, quantity.value, 1)).items()}
            row = judge_quantity(one, quantity, {quantity.measured: found}, one.scales[0])
            if row["basis"] == "measured":
                assert row["verdict"] in ("INCONCLUSIVE", "SURROGATE"), (one.id, quantity.quantity)


def test_whose_statement_a_claim_is_is_said():
    """No claim is the paper's by default."""
    made = claim().model_dump(exclude_unset=True)
    del made["whose"]
    with pytest.raises(ValidationError, match="whose"):
        Claim.model_validate(made)


@pytest.mark.parametrize(
    ("rule", "value", "far"),
    [
        ("at_most", 0.19, True),
        ("at_most", 0.21, False),
        ("at_least", 4.9, False),
        ("at_least", 5.1, True),
        ("at_most", 0.0, True),
    ],
)
def test_a_limit_far_beyond_what_was_seen_is_said_to_be_far(rule, value, far):
    """More than five times the measured number; a limit so far beyond every repetition is as far beyond their mean."""
    (row,) = judge([claim(rule=rule)], "paper", measured(value, value - 0.01, value + 0.01), "default", "figures")
    assert row["verdict"] == "REPRODUCED"
    assert ("a factor of more than 5 apart" in row["reason"]) is far


@pytest.mark.parametrize(
    ("kind", "low", "high", "expected"),
    [
        ("experiment", 0.1, 0.2, "REPRODUCED"),
        ("experiment", 1.1, 1.2, "NOT-REPRODUCED"),
        ("experiment", 0.9, 1.2, "INCONCLUSIVE"),
        ("identity", 0.1, 0.2, "HOLDS"),
        ("identity", 1.1, 1.2, "FALSE-AS-PRINTED"),
    ],
)
def test_words_follow_the_kind_of_claim(kind, low, high, expected):
    assert verdicts(claim(kind), measured((low + high) / 2, low, high)) == [expected]


def test_too_small_a_scale_is_not_tested():
    """The number stands in the row, the verdict does not."""
    rows = judge([claim()], "paper", measured(0.5, 0.4, 0.6), "quick", "figures")
    assert rows[0]["verdict"] == "NOT-TESTED"
    assert rows[0]["measured"] == 0.5
    assert "needs scale default, this is quick" in rows[0]["reason"]


def test_a_study_that_did_not_run_is_not_tested():
    rows = judge([claim()], "paper", {}, "default", "figures")
    assert rows[0]["verdict"] == "NOT-TESTED"
    assert "study s did not run" in rows[0]["reason"]


@pytest.mark.parametrize(
    ("low", "high", "others", "expected"),
    [
        (0.1, 0.2, 0, "REPRODUCED"),
        (0.1, 0.2, 3, "REPRODUCED"),
        (1.1, 1.2, 3, "PARTIAL"),
        (1.1, 1.2, 0, "NOT-REPRODUCED"),
        (0.9, 1.2, 0, "INCONCLUSIVE"),
        (0.9, 1.2, 1, "INCONCLUSIVE"),
    ],
)
def test_the_whole_needs_every_quantity_at_the_deciding_reading(low, high, others, expected):
    """PARTIAL when another listed reading alone passes."""
    assert verdicts(claim(whole=True), measured((low + high) / 2, low, high, others))[0] == expected


def test_rows_have_the_columns_of_the_interface():
    rows = judge([claim(whole=True)], "paper", measured(0.5, 0.4, 0.6), "default", "figures")
    for row in rows:
        assert set(row) <= set(CLAIM_COLUMNS)
        assert row["command"] == "snakemake -j1 figures/paper/figure.svg"


def test_pass_marks_of_other_readings_are_those_of_the_claim():
    """The study judges other readings by the marks that the claim states."""
    from privrep.studies.figure2.analysis import LIMITS

    entry = next(entry for entry in checked_claims()["jain2021"] if entry.id == "A-F2")
    marks = {
        one.or_measured or one.measured: one.value if one.or_value is None else one.or_value for one in entry.quantities
    }
    assert marks == LIMITS
