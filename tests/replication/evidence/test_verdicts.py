"""Verdicts follow from interval, rule and scale, and from nothing else. Sweeps are synthetic, of known exponents."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from conftest import FALSE_ALARM
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from replication.evidence.claim_rules import AnyQuantity, Exponent, Interval, Rate
from replication.evidence.claims import CLAIM_COLUMNS, Claim, exponents_judged, judge, judge_quantity
from replication.evidence.counts import by_outcome
from replication.evidence.intervals import LEVEL
from replication.evidence.measured import MEASURE_COLUMNS, Measured, bare
from replication.evidence.quantities import checked_claims
from replication.evidence.scaling import Fit, Sweep, fit, fit_measures
from replication.run.csv_tables import read_rows, write_rows
from replication.run.settings import Spec, Window

VALUES = np.array([1.0, 2.0, 4.0, 8.0])
RULE = {"value": 1.0, "tolerance": 0.15}
SCALES = (2.0**-10, 1.0, 2.0**10)
"""Sizes of claimed numbers at which edges are looked at; with powers of 2 they are met exactly."""


def rate_of(rule: dict) -> Rate:
    """The rule of an exponent."""
    return Rate(quantity="exponent of v", measured="exponent made up", rule="rate", **rule)


def judge_exponent(rule: dict, found: Exponent, judged: int) -> str:
    """Its verdict."""
    return rate_of(rule).verdict(found, judged)


def sweep_of(slope: float, scatter=0.05, seeds=8, values=VALUES, formula=None) -> Sweep:
    """errors = value^slope, or formula times value^slope, with gamma squares of relative sd `scatter` in distance."""
    shape = 1 / (4 * scatter**2)
    predicted = np.full(len(values), math.nan) if formula is None else formula(values)
    mean = values**slope * (1 if formula is None else predicted)
    errors = mean[:, None] ** 2 * np.random.default_rng(3).gamma(shape, 1 / shape, (len(values), seeds))
    prediction = "" if formula is None else "formula"
    spec = Spec(name="made up", series="series", axis="axis", response="distF", prediction=prediction)
    return Sweep(spec, Window(), values, errors, np.zeros(len(values)), predicted, [""] * len(values))


def exponent_of(one: Fit, expected: float = math.nan) -> Exponent:
    return Exponent(one.slope, one.standard_error, one.sweep.repetitions, one.predicted_slope, expected)


def verdict(rule: dict, one: Sweep, judged: int = 1) -> str:
    return judge_exponent(rule, exponent_of(fit(one)), judged)


UP, TO_ZERO = {"refuted": 1.5}, {"refuted": 0.5, "toward": "zero"}
WIDE = [
    ({"scatter": 0.6}, (0.8, 1.0, 1.2)),
    ({"seeds": 2, "scatter": 0.2}, (0.5, 1.0, 1.4)),
    ({"values": VALUES[:3]}, (0.5, 1.0, 2.0)),
    ({"values": np.array([1.0, 2.0, 4.0, 7.0])}, (0.5, 1.0, 2.0)),
    ({"seeds": 1}, (0.5, 1.0, 2.0)),
]
"""Scatter, few repetitions, few points, a short span, one run: no verdict, whatever the slope is."""


@pytest.mark.parametrize(
    ("rule", "slope", "options", "expected"),
    [
        *(({}, slope, {}, "RATE-AGREES") for slope in (0.95, 1.0, 1.05)),
        *(({}, slope, {}, verdict) for slope, verdict in ((0.5, "LOOSE"), (1.5, "VIOLATED"))),
        *((UP, slope, {}, verdict) for slope, verdict in ((1.3, "INCONCLUSIVE"), (1.7, "VIOLATED"))),
        *((UP, slope, {}, verdict) for slope, verdict in ((1.0, "RATE-AGREES"), (0.5, "LOOSE"))),
        ({"toward": "zero"}, 0.5, {}, "VIOLATED"),
        *((TO_ZERO, slope, {}, verdict) for slope, verdict in ((0.7, "INCONCLUSIVE"), (1.5, "LOOSE"))),
        *(({}, slope, options, "INCONCLUSIVE") for options, slopes in WIDE for slope in slopes),
    ],
)
@pytest.mark.parametrize("judged", [1, 100])
def test_a_planted_slope_is_judged_right(rule, slope, options, expected, judged):
    """Standard error 0.011 against a tolerance of 0.15: six of them to spare, t of 7 degrees, false alarm below 5e-4
    each. `refuted` moves the mark of VIOLATED alone."""
    assert verdict(RULE | rule, sweep_of(slope, **options), judged) == expected


numbers = st.floats(-3, 3)


@given(numbers, numbers, st.floats(1e-3, 1), st.integers(2, 12), numbers, st.floats(0, 0.5), st.floats(0, 1))
def test_toward_zero_is_the_mirror_image(value, slope, error, seeds, bias, tolerance, beyond):
    """The verdict on a in v is that on -a in 1/v, for every interval, correction and mark."""
    rule = {"value": value, "tolerance": tolerance, "refuted": value + beyond}
    mirrored = {"value": -value, "tolerance": tolerance, "refuted": -value - beyond, "toward": "zero"}
    one, other = Exponent(slope, error, seeds, bias, 0.0), Exponent(-slope, error, seeds, -bias, 0.0)
    assert judge_exponent(rule, one, 7) == judge_exponent(mirrored, other, 7)


@given(numbers, st.floats(1e-3, 1), st.integers(2, 12), st.integers(1, 100))
def test_more_exponents_never_make_a_violation(slope, error, seeds, judged):
    """Bonferroni only takes VIOLATED away, and leaves the other verdicts alone."""
    found = Exponent(slope, error, seeds)
    alone, together = judge_exponent(RULE, found, 1), judge_exponent(RULE, found, judged)
    assert together == alone or (alone, together) == ("VIOLATED", "INCONCLUSIVE")


def test_true_claims_judged_together_are_rarely_called_violated():
    """500 runs of 100 exponents from 8 normal repetitions, all true at the very limit of the tolerance: at most 5 % of
    the runs have any VIOLATED, up to FALSE_ALARM. Each judged alone, or with a normal quantile, calls far more."""
    runs, family, free = 500, 100, 7
    most = stats.binom.isf(FALSE_ALARM, runs, 1 - LEVEL)
    rng = np.random.default_rng(20211122)
    errors = 0.02 * np.sqrt(rng.chisquare(free, (runs, family)) / free)
    slopes = 1 + RULE["tolerance"] + 0.02 * rng.standard_normal((runs, family))
    found = [[Exponent(*pair, free + 1) for pair in zip(*run, strict=True)] for run in zip(slopes, errors, strict=True)]

    def violated(judged: int, **changes) -> int:
        return sum(
            any(judge_exponent(RULE, replace(one, **changes), judged) == "VIOLATED" for one in run) for run in found
        )

    assert violated(family) <= most
    assert violated(1) > 0.8 * runs and violated(family, seeds=10**9) > 3 * most


def bent(values):
    """A formula whose exponent is 1 for large values and less on a finite grid."""
    return values + 0.1


BEND = float(np.polyfit(np.log(VALUES), np.log(bent(VALUES)), 1)[0]) - 1
"""What the grid adds to the exponent of `bent`, about -0.045: less than a third of the tolerance."""


@pytest.mark.parametrize(
    ("extra", "right", "uncorrected", "mirrored"),
    [
        (-0.13, "RATE-AGREES", "LOOSE", "LOOSE"),
        (0.17, "VIOLATED", "RATE-AGREES", "RATE-AGREES"),
        (0.22, "VIOLATED", "VIOLATED", "RATE-AGREES"),
    ],
)
def test_the_finite_grid_is_taken_off_with_the_right_sign(extra, right, uncorrected, mirrored):
    """Errors that follow a bent formula of exponent 1, times v^extra. With the sign of the correction turned the
    verdict would be another one in each case, and without it in the first two."""
    one = fit(sweep_of(extra, 0.005, formula=bent))
    assert -0.05 < BEND < -0.035
    found = exponent_of(one, expected=1.0)
    assert found.corrected == pytest.approx(1.0 + extra, abs=0.01)
    assert judge_exponent(RULE, found, 1) == right
    assert judge_exponent(RULE, replace(found, predicted_slope=math.nan), 1) == uncorrected
    assert judge_exponent(RULE, replace(found, predicted_slope=1.0, expected=one.predicted_slope), 1) == mirrored


@pytest.mark.parametrize("scale", SCALES)
def test_a_grid_far_from_the_law_decides_nothing(scale):
    """A correction beyond a third of the tolerance would let the formula decide and not the data, whatever it says; one
    that rounding shows is said."""
    rule = {name: scale * value for name, value in RULE.items()}
    near, far = (Exponent(scale, scale / 1000, 8, scale * (1 - share), scale) for share in (0.0499, 0.0501))
    assert judge_exponent(rule, near, 1) == "RATE-AGREES"
    for slope in (0.4, 1.0, 1.6):
        assert judge_exponent(rule, replace(far, slope=scale * slope), 1) == "INCONCLUSIVE"
    assert rate_of(rule).reason(far, "INCONCLUSIVE").endswith("too far from the asymptotic law")
    assert not rate_of(rule).reason(near, "RATE-AGREES").endswith("law")
    for share, said in ((0.000499, False), (0.000501, True)):
        assert ("finite grid" in rate_of(RULE).reason(Exponent(1.0, 0.01, 8, 1 + share, 1.0), "LOOSE")) is said


# Rows of claims.csv


def claim(quantities: list[dict] | None = None, whole: bool = False, **other) -> Claim:
    """A claim with these quantities, or with one that is at most 1, and with a row for the whole if asked."""
    made = {
        "id": "X-1",
        "whose": "paper",
        "place": "Theorem 1",
        "statement": "It grows.",
        "kind": "identity",
        "study": "study",
        "figure": "paper/claim",
        "scales": ["default", "record"],
        "quantities": quantities or [limit()],
    }
    made |= {"whole": {"quantity": "all", "other_readings": "others"}} if whole else {}
    return Claim.model_validate(made | other)


def rate(**rule) -> dict:
    return {"quantity": "exponent of v", "measured": "exponent made up", "rule": "rate"} | RULE | rule


def limit(**rule) -> dict:
    return {"quantity": "q", "measured": "m", "rule": "at_most", "value": 1.0} | rule


@pytest.fixture
def as_read(tmp_path):
    """Measures as the verdicts get them: written to measures.csv and read back as text."""

    def through(*measures: Measured) -> dict[str, dict[str, dict]]:
        write_rows(tmp_path / "measures.csv", [vars(measure) for measure in measures], MEASURE_COLUMNS)
        return {"study": {row["quantity"]: row for row in read_rows(tmp_path / "measures.csv")}}

    return through


def judged_rows(made: Claim, measures: dict, scale: str = "default", judged: int = 1) -> list[dict]:
    return judge([made], "paper", measures, scale, "figures", "", judged)


def test_a_rate_becomes_a_row(as_read):
    """Measured is the fitted slope, corrected is without the grid's share, predicted is the formula's slope there."""
    one = fit(sweep_of(0.6, formula=bent))
    (row,) = judged_rows(claim([rate(expected=1.0)]), as_read(*fit_measures({"made up": one})), judged=5)
    assert row["measured"] == pytest.approx(one.slope)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(one.interval)
    assert row["predicted"] == round(1 + BEND, 9)
    assert row["corrected"] == pytest.approx(one.slope - BEND)
    assert (row["claimed"], row["rule"], row["tolerance"], row["seeds"]) == ("1.0", "rate", 0.15, 8)
    assert row["verdict"] == row["raw_verdict"] == "VIOLATED"
    low, high = exponent_of(one, 1.0).interval()
    assert row["reason"] == (
        f"exponent {row['corrected']:.3f} [{low:.3f}, {high:.3f}] without the finite grid's {BEND:+.3f}, "
        f"{row['corrected'] - 1:.2f} above the claimed 1"
    )
    assert set(row) <= set(CLAIM_COLUMNS)


@pytest.mark.parametrize(
    ("slope", "rule", "ending"),
    [
        (0.5, {}, "0.50 below the claimed 1"),
        (1.7, {}, "0.70 above the claimed 1"),
        (1.7, {"toward": "zero"}, "0.70 above the claimed 1"),
        (1.0, {}, "1.000]"),
    ],
)
def test_the_reason_names_the_claim_and_the_miss(slope, rule, ending):
    """A verdict that is not RATE-AGREES says by how much and to which side."""
    found = Exponent(slope, 0.0, 8)
    assert rate_of(RULE | rule).reason(found, judge_exponent(RULE | rule, found, 1)).endswith(ending)


def test_a_rate_without_formula_or_expectation_has_a_plain_row(as_read):
    """Nothing is taken off, and the reason does not speak of a grid; a formula has the claimed exponent."""
    plain, bent_one = fit(sweep_of(1.0)), fit(sweep_of(0.3, formula=bent))
    (row,) = judged_rows(claim([rate(expected=1.0)]), as_read(*fit_measures({"made up": plain})))
    assert (row["corrected"], row["predicted"], row["verdict"]) == (pytest.approx(plain.slope), "", "RATE-AGREES")
    assert "grid" not in row["reason"] and "nan" not in row["reason"]
    measures = as_read(*fit_measures({"made up": bent_one}))
    assert judged_rows(claim([rate()]), measures) == judged_rows(claim([rate(expected=RULE["value"])]), measures)


def test_what_fails_is_a_gap_in_a_proof_and_not_met_where_it_is_ours(as_read):
    """Kind `proof`: VIOLATED reads PROOF-GAP, all else as for a bound. Ours: NOT-MET, whatever the kind of the claim; a
    limit stays one."""
    for slope, verdict in ((1.6, "PROOF-GAP"), (1.0, "RATE-AGREES"), (0.4, "LOOSE")):
        measures = as_read(*fit_measures({"made up": fit(sweep_of(slope))}))
        assert judged_rows(claim([rate()], kind="proof"), measures)[0]["verdict"] == verdict
        for whose, kind in (("ours", "identity"), ("correction", "proof"), ("ours", "limit")):
            (row,) = judged_rows(claim([rate()], kind=kind, whose=whose), measures)
            failed = "LIMIT" if kind == "limit" else "NOT-MET"
            assert row["verdict"] == (failed if verdict == "PROOF-GAP" else verdict)


def test_the_papers_statements_are_counted_by_outcome():
    """Ours, definitions, wholes and stand-ins are left out; a loose bound holds."""
    words = ["RATE-AGREES", "LOOSE", "HOLDS", "PARTIAL", "INCONCLUSIVE"]
    rows = [
        *(("paper", "measured", "rate", word, "") for word in words),
        *(("paper", "measured", "rate", "VIOLATED", letter) for letter in "RT"),
        ("paper", "computed", "at_most", "PROOF-GAP", "G"),
        ("paper", "", "", "NOT-TESTED", ""),
        ("ours", "measured", "rate", "NOT-MET", ""),
        ("paper", "definition", "rate", "RATE-AGREES", ""),
        ("paper", "measured", "all_hold", "PARTIAL", ""),
        ("paper", "measured", "at_most", "SURROGATE", ""),
    ]
    ids = ["A"] * 3 + ["B"] * 4 + ["C", "D", "O"] + ["B"] * 3
    claims = pd.DataFrame(rows, columns=["whose", "basis", "rule", "verdict", "severity"]).assign(id=ids)
    claims = claims.assign(measured="1.1", ci_low="1.05", ci_high="1.15", corrected="1.02", claimed="1")
    found = by_outcome(claims)
    expected = {"tested": 8, "hold": 3, "loose": 1, "part": 1, "false": 2, "gaps": 1, "undecided": 1, "untested": 1}
    expected |= {"claims": 3, "claims_hold": 1, "claims_faulty": 2, "claims_open": 0, "rates": 1, "rates_beside": 0}
    assert by_outcome(claims, "ours").items() >= {"tested": 1, "false": 1, "claims": 1, "claims_faulty": 1}.items()
    assert found == expected | {"false_P": 0, "false_R": 1, "false_G": 0, "false_C": 0, "false_T": 1}
    # [1.03, 1.13] once corrected excludes 1; without its faults B is open
    assert by_outcome(claims.assign(corrected="1.08"))["rates_beside"] == 1
    assert by_outcome(claims[~claims["severity"].isin([*"RT"]) & (claims["verdict"] != "PARTIAL")])["claims_open"] == 1


def test_the_number_of_exponents_reaches_the_verdict(as_read):
    """A violation at 95 % is none among a thousand exponents."""
    measure = Measured("exponent made up", 1.3, 1.18, 1.42, 8, "", 0.05, math.nan)
    for judged, expected in ((1, "VIOLATED"), (1000, "INCONCLUSIVE")):
        assert judged_rows(claim([rate()]), as_read(measure), judged=judged)[0]["verdict"] == expected
    assert judged_rows(claim([rate()], kind="surrogate"), as_read(measure))[0]["verdict"] == "SURROGATE"


def test_a_claim_is_tested_or_says_why_not():
    words = "the key 'quantities' is missing", "'figure' stands in a claim that is not tested"
    given = claim().model_dump(exclude_unset=True)
    for changed, said in zip((dict(given), given | {"not_tested": "no data"}), words, strict=True):
        changed.pop("quantities", None)
        with pytest.raises(ValueError, match=said):
            Claim.model_validate(changed)
    for none in ("scales", "quantities"):
        with pytest.raises(ValueError, match=rf"{none}\n *Tuple should have at least 1 item"):
            Claim.model_validate(given | {none: []})


def test_a_scale_that_is_not_listed_is_not_tested(as_read):
    """The numbers stand in the row with their explanation; the verdict does not. Nor is what did not run tested."""
    measures = as_read(*fit_measures({"made up": fit(sweep_of(2.0))}))
    (row,) = judged_rows(claim([rate()]), measures, "quick")
    assert row["verdict"] == "NOT-TESTED"
    assert row["reason"].startswith("needs scale default or record, this is quick; exponent 1.998")
    assert row["corrected"] == pytest.approx(2.0, abs=0.1)
    assert judged_rows(claim([rate()]), measures, "record")[0]["verdict"] == "VIOLATED"
    for entry, found in ((rate(measured="another"), measures), (rate(), {})):
        (row,) = judged_rows(claim([entry]), found)
        assert (row["verdict"], row["reason"]) == ("NOT-TESTED", "study study did not run at this scale")


def test_too_few_points_say_so_in_the_row(as_read):
    """The note of the fit is the reason."""
    one = fit(sweep_of(1.0, values=VALUES[:3], formula=bent))
    (row,) = judged_rows(claim([rate(expected=1.0)]), as_read(*fit_measures({"made up": one})))
    assert (row["verdict"], row["predicted"]) == ("INCONCLUSIVE", "")
    assert row["reason"] == "no exponent (3 of 3 points lie in the window; 4 are needed)"


RULES = [rule for kind in get_args(get_args(AnyQuantity)[0]) for rule in get_args(kind.model_fields["rule"].annotation)]


@pytest.mark.parametrize("refuted", [None, 1.5])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("rule", RULES)
def test_the_whole_interval_decides(rule, scale, refuted):
    """Of every rule, for all intervals whose ends lie on an edge or beside it: an end on an edge is on the claimed
    side. An exponent beyond the upper edge is a violation from its mark on."""
    bottom, top = (
        edge * scale for edge in {"at_most": (-math.inf, 1.25), "at_least": (0.75, math.inf)}.get(rule, (0.75, 1.25))
    )
    mark = max(top, (refuted or 0) * scale)
    entry = limit(rule=rule, value=scale, tolerance=scale / 4) | (
        {"refuted": mark} if refuted and rule == "rate" else {}
    )
    (judge_of,) = claim([entry]).quantities
    edges = filter(math.isfinite, {bottom, top, mark})
    ends = [math.nextafter(edge, way) for edge in edges for way in (-math.inf, edge, math.inf)]
    for low, high in itertools.combinations_with_replacement(sorted(ends), 2):
        inside, below, above = bottom <= low and high <= top, high < bottom, low > (mark if rule == "rate" else top)
        if rule == "rate":
            found = SimpleNamespace(interval=lambda *_, ends=(low, high): ends, far_from_asymptotic=lambda _: False)
            expected = {inside: "RATE-AGREES", below: "LOOSE", above: "VIOLATED"}.get(True, "INCONCLUSIVE")
            assert judge_of.verdict(found, 1) == expected, (low, high)
        else:
            expected = True if inside else False if below or above else None
            assert judge_of.holds(Interval(low, low, high)) is expected, (low, high)


def test_a_limit_without_a_tolerance_has_none(as_read):
    """Rounding of a search refutes an equality unless the claim has a tolerance."""
    measures = as_read(Measured("m", *[1.0000001] * 3, 8))
    for tolerance, expected in (({}, "FALSE-AS-PRINTED"), ({"tolerance": 1e-6}, "HOLDS")):
        assert judged_rows(claim([limit(basis="computed", **tolerance)]), measures)[0]["verdict"] == expected


@pytest.mark.parametrize("rule", ["at_most", "at_least", "equals", "rate"])
@pytest.mark.parametrize("kind", ["identity", "experiment"])
def test_no_number_is_inconclusive(rule, kind, as_read):
    """A measure that could not be had refutes nothing."""
    entry = claim([limit(rule=rule, tolerance=0.1)], kind=kind)
    (row,) = judged_rows(entry, as_read(Measured("m", *[math.nan] * 3, 8, "one point only")))
    assert row["verdict"] == "INCONCLUSIVE" and row["reason"].endswith("(one point only)")


@pytest.mark.parametrize("seeds", [0, 1])
@pytest.mark.parametrize(("basis", "verdict"), [("measured", "INCONCLUSIVE"), ("computed", "HOLDS")])
def test_one_run_without_an_interval_holds_nothing(seeds, basis, verdict, as_read):
    """A number from runs needs the width of an interval; arithmetic has none."""
    (row,) = judged_rows(claim(basis=basis), as_read(Measured("m", 0.5, 0.5, 0.5, seeds)))
    assert row["verdict"] == verdict
    assert ("without an interval" in row["reason"]) == (basis == "measured") == (row["ci_low"] == "")


def test_no_claim_holds_by_one_run_without_an_interval():
    """Not even where that run measured what is claimed; of all quantities that rest on runs, whatever their rule."""
    for one in (claim for claims in checked_claims().values() for claim in claims):
        for quantity in one.quantities:
            found = {name: str(value) for name, value in vars(bare(quantity.measured, quantity.value, 1)).items()}
            row = judge_quantity(one, quantity, {quantity.measured: found}, one.scales[0], 1)
            if row["basis"] == "measured":
                assert row["verdict"] in ("INCONCLUSIVE", "SURROGATE"), (one.id, quantity.quantity)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(
    ("rule", "value", "far"),
    [("at_most", 0.199, True), ("at_most", 0.201, False), ("at_least", 4.99, False), ("at_least", 5.01, True)],
)
def test_a_limit_far_beyond_what_was_seen_is_said_to_be_far(rule, value, far, scale, as_read):
    """More than five times the measured number; a limit so far beyond every repetition is as far beyond their mean."""
    measures = as_read(Measured("m", *(scale * (value + off) for off in (0, -0.01, 0.01)), 8))
    (row,) = judged_rows(claim([limit(rule=rule, value=scale)]), measures)
    assert row["verdict"] == "HOLDS"
    assert ("a factor of more than 5 apart" in row["reason"]) is far


WORDS = {
    "experiment": ("REPRODUCED", "NOT-REPRODUCED"),
    "identity": ("HOLDS", "FALSE-AS-PRINTED"),
    "proof": ("HOLDS", "PROOF-GAP"),
    "limit": ("HOLDS", "LIMIT"),
    "surrogate": ("SURROGATE", "SURROGATE"),
    "ours": ("HOLDS", "NOT-MET"),
}
"""Kind of a claim -> what is said where it holds and where it does not."""


@pytest.fixture
def readings(as_read):
    """Intervals at most 1, between 1 and 2, above 2, on both sides of both, and none, which one end is not either."""
    ends = {"yes": (0.5, 0.6), "own": (1.5, 1.6), "no": (2.5, 2.6), "open": (0.5, 2.5), "none": (math.nan, math.nan)}
    ends |= {"upper end": (math.nan, 0.6), "lower end": (2.5, math.nan)}
    return as_read(*(Measured(name, 1.0, *pair, 8) for name, pair in ends.items()))


@pytest.mark.parametrize("kind", WORDS)
def test_the_first_reading_decides_and_another_excuses_it(kind, readings):
    """All pairs: where the first fails and the other passes, by its own limit if it has one, the claim holds in part. A
    stand-in decides nothing."""
    about = {"kind": "identity", "whose": "ours"} if kind == "ours" else {"kind": kind}
    yes, no = WORDS[kind]
    for first, other, value in itertools.product(readings["study"], ["", *readings["study"]], [None, 2.0]):
        (row,) = judged_rows(claim([limit(measured=first, or_measured=other, or_value=value)], **about), readings)
        passes, fails = other == "yes" or (other, value) == ("own", 2.0), first in ("own", "no")
        expected = yes if first == "yes" else "INCONCLUSIVE" if not fails else "PARTIAL" if passes else no
        assert row["verdict"] == ("SURROGATE" if kind == "surrogate" else expected), (first, other, value)
        says = row["reason"].partition("; ")[2]
        assert says.startswith(f"{other}: ") == bool(fails and other and kind != "surrogate")
        if says and other in ("yes", "own", "no"):
            assert says.endswith(f"] {'is' if passes else 'is not'} at most {value or 1.0}")


@pytest.mark.parametrize("others", [None, 0, 3])
def test_the_whole_follows_from_all_its_quantities(others, readings):
    """All multisets of up to three: one that was not tested leaves the whole untested, one failure refutes it unless
    another listed reading passes, else it is open, or holds in part, where one does. What is ours does not count."""
    words = {"missing": "NOT-TESTED", "no": "NOT-REPRODUCED", "open": "INCONCLUSIVE", "part": "PARTIAL"}
    words |= {"yes": "REPRODUCED"}
    if others is not None:
        readings["study"]["others"] = {"measured": f"{others}", "note": "noted"}
    for found in (one for size in (1, 2, 3) for one in itertools.combinations_with_replacement(words, size)):
        entries = [limit(measured="no", or_measured="yes") if one == "part" else limit(measured=one) for one in found]
        made = claim([*entries, limit(measured="no", whose="ours")], whole=True, kind="experiment")
        whole, *rows = judged_rows(made, readings)
        assert [row["verdict"] for row in rows] == [*(words[one] for one in found), "NOT-MET"]
        excused = found[0] == "no" and others
        assert whole["verdict"] == ("PARTIAL" if excused else words[found[0]]), found  # the first is the worst
        assert whole["measured"] == found.count("yes") and "NOT-MET" not in whole["reason"]
        assert whole["reason"].endswith("pass: none" if others is None else "pass: noted")
        assert all(set(row) <= set(CLAIM_COLUMNS) for row in (whole, *rows))


def test_a_quantity_may_have_a_figure_of_its_own(as_read):
    """Its command draws that figure; the others keep the claim's."""
    entry = claim([rate(), rate(figure="paper/own"), rate(measured="none", figure="paper/own")])
    rows = judge(
        [entry], "paper", as_read(*fit_measures({"made up": fit(sweep_of(1.0))})), "default", "figures", "-C a=b"
    )
    assert [row["figure"] for row in rows] == ["paper/claim", "paper/own", "paper/own"]
    assert [row["command"] for row in rows] == [f"snakemake -j1 figures/{row['figure']}.svg -C a=b" for row in rows]


def test_the_family_is_the_exponents_that_are_judged(as_read):
    """Rates with a number at a listed scale: no other rule, NaN, missing measure or study; 1 when there is none."""
    values = {"a": 1.0, "b": 2.0, "nan": math.nan}
    measures = as_read(*(Measured(name, value, value, value, 8, "", 0.1) for name, value in values.items()))
    rates = [rate(measured=name) for name in ("a", "b", "nan", "missing")]
    entries = [
        claim([*rates, limit(measured="a")]),
        claim(rates, scales=["record"]),
        claim(rates, study="another"),
        claim([rate(measured="a")]),
    ]
    assert exponents_judged(entries, measures, "default") == 3
    assert exponents_judged(entries, measures, "record") == 5
    assert exponents_judged(entries, measures, "quick") == 1
    assert exponents_judged([], {}, "default") == 1


def test_pass_marks_of_other_readings_are_those_of_the_claim():
    """The study judges other readings by the marks that the claim states."""
    from replication.studies.figure2.analysis import LIMITS

    entry = next(entry for entry in checked_claims()["jain2021"] if entry.id == "A-F2")
    marks = {
        one.or_measured or one.measured: one.value if one.or_value is None else one.or_value for one in entry.quantities
    }
    assert marks == LIMITS
