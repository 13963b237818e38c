"""Verdicts on exponents through real fits, and the rows that they become.
Sweeps are synthetic, their exponents known."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from conftest import FALSE_ALARM
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from privrep.evidence import claim_rules, scaling
from privrep.evidence.claim_rules import Exponent, Rate
from privrep.evidence.claims import CLAIM_COLUMNS, Claim, exponents_judged, judge
from privrep.evidence.intervals import LEVEL
from privrep.evidence.measured import MEASURE_COLUMNS, Measured
from privrep.evidence.scaling import Fit, Sweep, fit, fit_measures
from privrep.evidence.verdicts import Verdict
from privrep.run.csv_tables import read_rows, write_rows
from privrep.run.settings import Spec, Window

VALUES = np.array([1.0, 2.0, 4.0, 8.0])
RULE = {"value": 1.0, "tolerance": 0.15}


def rate_of(rule: dict) -> Rate:
    """The rule of an exponent."""
    return Rate(quantity="exponent of v", measured="exponent made up", rule="rate", **rule)


def judge_exponent(rule: dict, found: Exponent, judged: int) -> str:
    """Its verdict."""
    return rate_of(rule).verdict(found, judged)


def sweep_of(slope: float, scatter=0.05, seeds=8, values=VALUES, formula=None, name="made up", rng=None) -> Sweep:
    """errors = value^slope, or formula times value^slope, with gamma squares of relative sd `scatter` in distance."""
    rng = np.random.default_rng(3) if rng is None else rng
    shape = 1 / (4 * scatter**2)
    predicted = np.full(len(values), math.nan) if formula is None else formula(values)
    mean = values**slope * (1 if formula is None else predicted)
    errors = mean[:, None] ** 2 * rng.gamma(shape, 1 / shape, (len(values), seeds))
    spec = Spec(
        name=name, series="series", axis="axis", response="distF", prediction="" if formula is None else "formula"
    )
    return Sweep(spec, Window(), values, errors, np.zeros(len(values)), predicted, [""] * len(values))


def exponent_of(one: Fit, expected: float = math.nan) -> Exponent:
    return Exponent(one.slope, one.standard_error, one.sweep.repetitions, one.local, expected)


def verdict(rule: dict, one: Sweep, judged: int = 1, expected: float = math.nan) -> str:
    return judge_exponent(rule, exponent_of(fit(one), expected), judged)


@pytest.mark.parametrize(
    ("slope", "expected"),
    [
        (1.0, "RATE-EXACT"),
        (1.05, "RATE-EXACT"),
        (0.95, "RATE-EXACT"),
        (0.5, "LOOSE"),
        (0.0, "LOOSE"),
        (1.5, "VIOLATED"),
        (2.0, "VIOLATED"),
    ],
)
@pytest.mark.parametrize("judged", [1, 100])
def test_a_planted_slope_is_judged_right(slope, expected, judged):
    """Standard error 0.011 against a tolerance of 0.15: six of them to spare, t of 7 degrees, false alarm below 5e-4
    each."""
    assert verdict(RULE, sweep_of(slope), judged) == expected


@pytest.mark.parametrize(("slope", "expected"), [(1.0, "RATE-EXACT"), (1.5, "LOOSE"), (0.5, "VIOLATED")])
def test_toward_zero_a_small_exponent_breaks_the_bound(slope, expected):
    """error <= C v^a as v falls to 0 is broken by a smaller exponent."""
    assert verdict(RULE | {"toward": "zero"}, sweep_of(slope)) == expected


@pytest.mark.parametrize(
    ("options", "slopes"),
    [
        ({"scatter": 0.6}, (0.8, 1.0, 1.2)),
        ({"seeds": 2, "scatter": 0.2}, (0.5, 1.0, 1.4)),
        ({"values": VALUES[:3]}, (0.5, 1.0, 2.0)),
        ({"values": np.array([1.0, 2.0, 4.0, 7.0])}, (0.5, 1.0, 2.0)),
        ({"seeds": 1}, (0.5, 1.0, 2.0)),
    ],
)
def test_wide_intervals_and_short_sweeps_are_inconclusive(options, slopes):
    """Scatter, few repetitions, few points, a short span: no verdict, whatever the slope is."""
    for slope in slopes:
        assert verdict(RULE, sweep_of(slope, **options)) == "INCONCLUSIVE"


@pytest.mark.parametrize(
    ("rule", "slope", "expected"),
    [
        ({"refuted": 1.5}, 1.3, "INCONCLUSIVE"),
        ({"refuted": 1.5}, 1.7, "VIOLATED"),
        ({"refuted": 1.5}, 1.0, "RATE-EXACT"),
        ({"refuted": 1.5}, 0.5, "LOOSE"),
        ({"refuted": 0.5, "toward": "zero"}, 0.7, "INCONCLUSIVE"),
        ({"refuted": 0.5, "toward": "zero"}, 0.3, "VIOLATED"),
        ({"refuted": 0.5, "toward": "zero"}, 1.5, "LOOSE"),
    ],
)
def test_refuted_moves_the_mark_of_violation_alone(rule, slope, expected):
    """The tolerance of the claim serves RATE-EXACT and LOOSE still."""
    assert verdict(RULE | rule, sweep_of(slope)) == expected


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


@given(numbers, numbers, st.floats(1e-3, 1))
def test_a_steeper_slope_is_never_judged_milder(first, second, error):
    """LOOSE, then INCONCLUSIVE or RATE-EXACT, then VIOLATED as the slope grows."""
    assume(first < second)
    order = {"LOOSE": 0, "INCONCLUSIVE": 1, "RATE-EXACT": 1, "VIOLATED": 2}
    low, high = (order[judge_exponent(RULE, Exponent(slope, error, 6), 3)] for slope in (first, second))
    assert low <= high


def bent(values):
    """A formula whose exponent is 1 for large values and less on a finite grid."""
    return values + 0.1


BEND = float(np.polyfit(np.log(VALUES), np.log(bent(VALUES)), 1)[0]) - 1
"""What the grid adds to the exponent of `bent`, about -0.045: less than a third of the tolerance."""


@pytest.mark.parametrize(
    ("extra", "right", "uncorrected", "mirrored"),
    [
        (-0.13, "RATE-EXACT", "LOOSE", "LOOSE"),
        (0.17, "VIOLATED", "RATE-EXACT", "RATE-EXACT"),
        (0.22, "VIOLATED", "VIOLATED", "RATE-EXACT"),
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
    assert judge_exponent(RULE, replace(found, local=math.nan), 1) == uncorrected
    assert judge_exponent(RULE, replace(found, local=1.0, expected=one.local), 1) == mirrored


def test_a_grid_far_from_the_law_decides_nothing():
    """A correction beyond a third of the tolerance would let the formula decide in place of the data,
    whatever it says."""
    assert judge_exponent(RULE, Exponent(0.951, 0.001, 8, local=0.951, expected=1.0), 1) == "RATE-EXACT"
    for slope in (0.4, 0.949, 1.6):
        far = Exponent(slope, 0.001, 8, local=0.949, expected=1.0)
        assert judge_exponent(RULE, far, 1) == "INCONCLUSIVE"
    assert rate_of(RULE).reason(far, "INCONCLUSIVE").endswith("too far from the asymptotic law")


def test_a_proof_that_fails_is_a_gap(as_read):
    """Kind `proof`: VIOLATED reads PROOF-GAP, all else as for a bound."""
    for slope, verdict in ((1.6, "PROOF-GAP"), (1.0, "RATE-EXACT"), (0.4, "LOOSE")):
        measures = as_read(fit_measures({"made up": fit(sweep_of(slope))}))
        (row,) = judged_rows(claim([rate()], kind="proof"), measures)
        assert row["verdict"] == verdict


def test_without_formula_or_expectation_nothing_is_taken_off():
    for local, expected in ((math.nan, 1.0), (0.7, math.nan), (math.nan, math.nan)):
        assert Exponent(1.2, 0.1, 5, local, expected).corrected == 1.2


FAMILY, RUNS, SEEDS = 100, 500, 8
MOST = int(stats.binom.isf(FALSE_ALARM, RUNS, 1 - LEVEL))
"""More runs than this have a violation with probability below FALSE_ALARM if 5 % of all do."""


@pytest.fixture(scope="module")
def worst_case():
    """RUNS runs of FAMILY exponents, each fitted to 8 repetitions, whose true corrected exponent is the claim plus the
    tolerance: the largest that a true claim has. Squares are gamma with a relative sd of 0.4, more skewed than most of
    the studies'.

    Returns the share of exponents found above that limit, and the number of runs with any VIOLATED when the family is
    judged together, each alone, and together with a normal quantile.
    """
    rng, names = np.random.default_rng(20211122), [f"exponent {i}" for i in range(FAMILY)]
    counts = {name: sweep_of(0.0, seeds=SEEDS, name=name).counts() for name in names}
    quantile = cache(scaling.student)
    with pytest.MonkeyPatch.context() as patch:
        # The same numbers, computed once: they depend on the name and on the arguments alone.
        patch.setattr(Sweep, "counts", lambda self: counts[self.spec.name])
        patch.setattr(scaling, "student", quantile)
        patch.setattr(claim_rules, "student", quantile)

        def one(name: str) -> Exponent:
            return exponent_of(fit(sweep_of(RULE["tolerance"], 0.2, SEEDS, formula=bent, name=name, rng=rng)), 1.0)

        def violated(found: list[list[Exponent]], judged: int) -> int:
            return sum(any(judge_exponent(RULE, one, judged) == "VIOLATED" for one in run) for run in found)

        found = [[one(name) for name in names] for _ in range(RUNS)]
        normal = [[replace(one, seeds=10**9) for one in run] for run in found]
        limit = RULE["value"] + RULE["tolerance"]
        return {
            "above": np.mean([[one.corrected > limit for one in run] for run in found]),
            "together": violated(found, FAMILY),
            "alone": violated(found, 1),
            "normal": violated(normal, FAMILY),
        }


def test_the_worst_case_is_centred_on_the_limit(worst_case):
    """Half of the corrected exponents lie above claim + tolerance, up to 2 %: the claims are just true."""
    assert worst_case["above"] == pytest.approx(0.5, abs=0.02)


def test_true_claims_judged_together_are_rarely_called_violated(worst_case):
    """The rate of runs in which any of 100 true claims is called VIOLATED is at most 5 %, in the far tail of Student's
    law."""
    assert worst_case["together"] <= MOST


def test_the_family_wise_rate_needs_bonferroni_and_student(worst_case):
    """Each exponent judged alone, or with a normal quantile for 8 repetitions, calls far more runs violated."""
    assert worst_case["alone"] > 0.8 * RUNS
    assert worst_case["normal"] > 3 * MOST


def claim(quantities: list[dict], **other) -> dict:
    made = {"id": "X-1", "whose": "paper", "place": "Theorem 1", "statement": "It grows.", "kind": "identity"}
    return (
        made
        | {"study": "study", "figure": "paper/claim", "scales": ["default", "record"], "quantities": quantities}
        | other
    )


def rate(**rule) -> dict:
    return {"quantity": "exponent of v", "measured": "exponent made up", "rule": "rate"} | RULE | rule


@pytest.fixture
def as_read(tmp_path):
    """Measures as the verdicts get them: written to measures.csv and read back as text."""

    def through(measures: list[Measured]) -> dict[str, dict[str, dict]]:
        write_rows(tmp_path / "measures.csv", [vars(measure) for measure in measures], MEASURE_COLUMNS)
        return {"study": {row["quantity"]: row for row in read_rows(tmp_path / "measures.csv")}}

    return through


def judged_rows(entry: dict, measures: dict, scale: str = "default", judged: int = 1) -> list[dict]:
    return judge([Claim.model_validate(entry)], "paper", measures, scale, "figures", "", judged)


def test_a_rate_becomes_a_row(as_read):
    """Measured is the fitted slope, corrected has the grid's share taken off, predicted is the formula's slope on the
    grid."""
    one = fit(sweep_of(0.6, formula=bent))
    (row,) = judged_rows(claim([rate(expected=1.0)]), as_read(fit_measures({"made up": one})), judged=5)
    assert row["measured"] == pytest.approx(one.slope)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(one.interval)
    assert row["predicted"] == pytest.approx(1 + BEND)
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
        (0.2, {"toward": "zero"}, "0.80 below the claimed 1"),
        (1.0, {}, "1.000]"),
    ],
)
def test_the_reason_names_the_claim_and_the_miss(slope, rule, ending):
    """A verdict that is not RATE-EXACT says by how much and to which side."""
    found = Exponent(slope, 0.0, 8)
    assert rate_of(RULE | rule).reason(found, judge_exponent(RULE | rule, found, 1)).endswith(ending)


def test_a_rate_without_formula_or_expectation_has_a_plain_row(as_read):
    """Nothing is taken off, and the reason does not speak of a grid."""
    plain, bare = fit(sweep_of(1.0)), fit(sweep_of(0.3, formula=bent))
    (row,) = judged_rows(claim([rate(expected=1.0)]), as_read(fit_measures({"made up": plain})))
    assert (row["corrected"], row["predicted"], row["verdict"]) == (pytest.approx(plain.slope), "", "RATE-EXACT")
    (other,) = judged_rows(claim([rate()]), as_read(fit_measures({"made up": bare})))
    assert other["corrected"] == pytest.approx(bare.slope)
    for reason in (row["reason"], other["reason"]):
        assert "grid" not in reason
        assert "nan" not in reason


def test_the_number_of_exponents_reaches_the_verdict(as_read):
    """A violation at 95 % is none among a thousand exponents."""
    measure = Measured("exponent made up", 1.3, 1.18, 1.42, 8, "", 0.05, math.nan)
    for judged, expected in ((1, "VIOLATED"), (1000, "INCONCLUSIVE")):
        (row,) = judged_rows(claim([rate()]), as_read([measure]), judged=judged)
        assert row["verdict"] == expected


def test_a_scale_that_is_not_listed_is_not_tested(as_read):
    """The numbers stand in the row with their explanation; the verdict does not."""
    measures = as_read(fit_measures({"made up": fit(sweep_of(2.0))}))
    (row,) = judged_rows(claim([rate()]), measures, "quick")
    assert row["verdict"] == "NOT-TESTED"
    assert row["reason"].startswith("needs scale default or record, this is quick; exponent 1.998")
    assert row["corrected"] == pytest.approx(2.0, abs=0.1)
    assert judged_rows(claim([rate()]), measures, "record")[0]["verdict"] == "VIOLATED"
    (missing,) = judged_rows(claim([rate(measured="exponent of another")]), measures)
    assert missing["verdict"] == "NOT-TESTED"


def test_too_few_points_say_so_in_the_row(as_read):
    """The note of the fit is the reason."""
    one = fit(sweep_of(1.0, values=VALUES[:3], formula=bent))
    (row,) = judged_rows(claim([rate(expected=1.0)]), as_read(fit_measures({"made up": one})))
    assert row["verdict"] == "INCONCLUSIVE"
    assert row["reason"] == "no exponent (3 of 3 points lie in the window; 4 are needed)"
    assert row["predicted"] == ""


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.9, 1.1, "HOLDS"),
        (0.8, 1.2, "HOLDS"),
        (0.7, 0.75, "FALSE-AS-PRINTED"),
        (1.25, 1.3, "FALSE-AS-PRINTED"),
        (0.7, 0.9, "INCONCLUSIVE"),
        (1.1, 1.3, "INCONCLUSIVE"),
        (0.5, 1.5, "INCONCLUSIVE"),
    ],
)
def test_equals_needs_the_whole_interval_within_the_tolerance(low, high, expected, as_read):
    """1 up to 0.2 and 1e-9 for rounding: inside, outside, or across a limit."""
    rule = {"quantity": "constant", "measured": "c", "rule": "equals", "value": 1.0, "tolerance": 0.2 + 1e-9}
    (row,) = judged_rows(claim([rule]), as_read([Measured("c", (low + high) / 2, low, high, 8)]))
    assert row["verdict"] == expected
    assert f"[{low:.4g}, {high:.4g}]" in row["reason"]


@pytest.mark.parametrize(
    "rule",
    [
        {"rule": "at_most", "value": 1.0},
        {"rule": "at_least", "value": 1.0},
        {"rule": "equals", "value": 1.0, "tolerance": 0.1},
        {"rule": "rate", "value": 1.0, "tolerance": 0.1},
    ],
)
@pytest.mark.parametrize("kind", ["identity", "experiment"])
def test_no_number_is_inconclusive(rule, kind, as_read):
    """A measure that could not be had refutes nothing."""
    entry = claim([{"quantity": "q", "measured": "q"} | rule], kind=kind)
    (row,) = judged_rows(entry, as_read([Measured("q", *[math.nan] * 3, 8, "one point only")]))
    assert row["verdict"] == "INCONCLUSIVE"
    assert row["reason"].endswith("(one point only)")


def test_a_quantity_may_have_a_figure_of_its_own(as_read):
    """Its command draws that figure; the others keep the claim's."""
    entry = claim([rate(), rate(figure="paper/own"), rate(measured="none", figure="paper/own")])
    rows = judge(
        [Claim.model_validate(entry)],
        "paper",
        as_read(fit_measures({"made up": fit(sweep_of(1.0))})),
        "default",
        "figures",
        "-C a=b",
    )
    assert [row["figure"] for row in rows] == ["paper/claim", "paper/own", "paper/own"]
    assert rows[0]["command"] == "snakemake -j1 figures/paper/claim.svg -C a=b"
    assert rows[1]["command"] == "snakemake -j1 figures/paper/own.svg -C a=b"


def test_the_family_is_the_exponents_that_are_judged(as_read):
    """Rates with a number at a listed scale: no other rule, no NaN, no missing measure or study; 1 when there is
    none."""
    measures = as_read(
        [Measured(name, value, value, value, 8, "", 0.1) for name, value in (("a", 1.0), ("b", 2.0), ("nan", math.nan))]
    )
    rates = [rate(measured=name) for name in ("a", "b", "nan", "missing")]
    other = {"quantity": "q", "measured": "a", "rule": "at_most", "value": 1.0}
    entries = [
        claim([*rates, other]),
        claim(rates, scales=["record"]),
        claim(rates, study="another"),
        claim([rate(measured="a")]),
    ]
    entries = [Claim.model_validate(entry) for entry in entries]
    assert exponents_judged(entries, measures, "default") == 3
    assert exponents_judged(entries, measures, "record") == 5
    assert exponents_judged(entries, measures, "quick") == 1
    assert exponents_judged([], {}, "default") == 1


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.75, 1.25, "HOLDS"),
        (0.75, math.nextafter(1.25, 2), "INCONCLUSIVE"),
        (math.nextafter(0.75, 0), 1.25, "INCONCLUSIVE"),
        (1.25, 1.5, "INCONCLUSIVE"),
        (0.5, 0.75, "INCONCLUSIVE"),
        (math.nextafter(1.25, 2), 1.5, "FALSE-AS-PRINTED"),
        (0.5, math.nextafter(0.75, 0), "FALSE-AS-PRINTED"),
    ],
)
def test_equals_at_its_boundary(low, high, expected, as_read):
    """An end on the boundary lies inside."""
    rule = {"quantity": "constant", "measured": "c", "rule": "equals", "value": 1.0, "tolerance": 0.25}
    (row,) = judged_rows(claim([rule]), as_read([Measured("c", (low + high) / 2, low, high, 8)]))
    assert row["verdict"] == expected


@pytest.mark.parametrize("value", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("rule", ["at_most", "at_least", "equals"])
@pytest.mark.parametrize("other", [None, 0.5, 2.0])
def test_a_stand_in_decides_nothing(value, rule, other, as_read):
    """Whether its numbers are as claimed or not, and whether another reading's are:
    it neither agrees nor contradicts."""
    entry = {"quantity": "q", "measured": "q", "rule": rule, "value": 1.0, "tolerance": 0.1}
    entry |= {"or_measured": "r"} if other else {}
    rows = as_read([Measured("q", value, value - 0.05, value + 0.05, 8), Measured("r", *[other or 0.0] * 3, 8)])
    (row,) = judged_rows(claim([entry], kind="surrogate"), rows)
    assert row["verdict"] == "SURROGATE" and Verdict(row["verdict"]).level == "none"
    assert not Verdict.SURROGATE.negative
