"""What the published verdicts owe to the papers: read from docs/record/claims.csv and from the claims files."""

from collections import Counter

import pytest
from workflow_helpers import ROOT

from replication.evidence.claim_rules import GRID_SHARE, Rate
from replication.evidence.intervals import FEWEST
from replication.evidence.quantities import checked_claims
from replication.evidence.verdicts import NEGATIVE, SEVERITIES
from replication.run.config import read_config, read_study
from replication.run.csv_tables import read_rows

ROWS = read_rows(ROOT / "docs" / "record" / "claims.csv")
PAPERS = ("jain2021", "shen2023", "snedeker2025")
CLAIMS = [claim for claims in checked_claims().values() for claim in claims]
STAND_INS = {"B-S6", "B-T1g", "B-T2g", "B-T3g", "B-F1g", "B-F3g"}
"""Claims of the papers on something else; rows that only scale record runs are not tested."""


def name(row: dict) -> str:
    return f"{row['id']}: {row['quantity']}"


def test_a_negative_row_says_what_is_printed_how_grave_it_is_and_what_to_do():
    """And contradicts the paper in a statement of its own."""
    negative = [row for row in ROWS if row["verdict"] in NEGATIVE]
    assert negative
    for row in negative:
        assert row["printed"] and row["place"] and row["advice"], name(row)
        assert row["severity"] in SEVERITIES and row["severity"] != "L", name(row)
        assert row["whose"] == "paper", name(row)
    assert all(not row["severity"] for row in ROWS if row["verdict"] not in NEGATIVE)


def test_one_error_has_one_line():
    """No two negative rows rest on the same printed statement."""
    printed = Counter(row["printed"] for row in ROWS if row["verdict"] in NEGATIVE)
    assert [text for text, lines in printed.items() if lines > 1] == []


def test_claims_that_are_not_run_are_listed_with_their_reason():
    untested = {row["id"]: row["reason"] for row in ROWS if row["verdict"] == "NOT-TESTED"}
    # Younger than the run of record
    younger = {"A-MU", "A-S6-single", "A-REST", "B-AUG", "B-REST", "C-RATE", "C-STAT", "C-REST"}
    assert set(untested) >= {claim.id for claim in CLAIMS if claim.not_tested} - younger
    assert all(untested.values())


@pytest.mark.parametrize("paper", PAPERS)
def test_no_measure_is_judged_twice(paper):
    """Two rows that rest on one number would count it twice."""
    claims = checked_claims()[paper]
    judged = Counter((claim.study, quantity.measured) for claim in claims for quantity in claim.quantities)
    assert [measure for measure, rows in judged.items() if rows > 1] == []


def test_one_tolerance_for_ours_and_theirs():
    """0.15 for exponents of errors, 0.30 for those of risks, which are squares, whoever states them."""
    studies = {claim.study: read_study(read_config(), claim.study) for claim in CLAIMS if claim.study}
    for claim in CLAIMS:
        for quantity in (one for one in claim.quantities if isinstance(one, Rate)):
            fit = studies[claim.study].fits.get(quantity.measured.removeprefix("exponent "))
            squared = "risk" in (fit.response if fit else quantity.quantity)
            assert quantity.tolerance == (0.3 if squared else 0.15), (claim.id, quantity.quantity)


def test_judged_exponents_have_enough_repetitions_and_a_small_share_of_the_finite_grid():
    """At most a third of the tolerance; an exponent with more has no verdict."""
    for row in (row for row in ROWS if row["rule"] == "rate" and row["verdict"] != "NOT-TESTED"):
        assert int(row["seeds"]) >= FEWEST, name(row)
        if row["corrected"] and row["verdict"] != "INCONCLUSIVE":
            share = abs(float(row["corrected"]) - float(row["measured"]))
            assert share <= GRID_SHARE * float(row["tolerance"]) + 1e-6, name(row)


def test_width_zero_is_for_exact_numbers():
    """A number over runs has an interval of some width, or none at all."""
    for row in ROWS:
        if row["seeds"] not in ("", "0") and row["ci_low"] and row["rule"] != "all_hold":
            assert float(row["ci_low"]) < float(row["ci_high"]), name(row)


def test_stand_ins_decide_nothing():
    """A linear model in place of networks, or glyphs in place of images, say nothing about tables of accuracies."""
    stand_ins = {row["verdict"] for row in ROWS if row["id"] in STAND_INS}
    assert stand_ins == {"SURROGATE"}
