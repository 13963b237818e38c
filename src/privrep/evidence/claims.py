"""Verdicts: computed from a measured interval, the claim's rule and the scale of the run. None is typed.

The claims stand in config/claims, one file per paper. Each quantity of a claim names a measure of a study and a rule:

rate              : the exponent `value` of an upper bound, see `judge_exponent`.
at_most, at_least : the interval lies wholly on the claimed side of `value`.
equals            : the interval lies within `tolerance` of `value`.
digits            : the measured number, rounded as printed, is the printed one.
all_hold          : every other quantity of the same claim holds; if not, another listed reading may pass.

A quantity says whose statement it tests (`WHOSE`) and what kind of evidence it is (`BASES`). What could make its verdict negative is
stated with it: what is printed, how severe that would be (`SEVERITIES`), and what a user of the result should do then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import get_args

from privrep.evidence.catalogue import Basis, Whose
from privrep.evidence.intervals import LEVEL, student

WORDS = {
    "experiment": ("REPRODUCED", "NOT-REPRODUCED"),
    "identity": ("HOLDS", "FALSE-AS-PRINTED"),
    "proof": ("HOLDS", "PROOF-GAP"),
    "limit": ("HOLDS", "LIMIT"),
    "surrogate": ("SURROGATE", "SURROGATE"),
}
"""Kind of a claim -> verdict when it holds and when it does not. A `limit` is measured where the paper states nothing; a `surrogate` is
a stand-in for the paper's experiment, which decides nothing about it."""

NOT_TESTED, INCONCLUSIVE, PARTIAL = "NOT-TESTED", "INCONCLUSIVE", "PARTIAL"
RATE_EXACT, LOOSE, VIOLATED = "RATE-EXACT", "LOOSE", "VIOLATED"

NEGATIVE = (VIOLATED, "FALSE-AS-PRINTED", "PROOF-GAP", "NOT-REPRODUCED", PARTIAL)
"""Verdicts that accuse a paper of something."""

WHOSE = get_args(Whose)
"""Whose statement a quantity tests: the paper's, this project's correction of it, or a law or a limit of this project's own."""

BASES = get_args(Basis)
"""What kind of evidence: runs; arithmetic of printed formulas; or something that holds by construction and is no evidence."""

SEVERITIES = {
    "P": "a privacy guarantee",
    "R": "a rate, an assumption or a number",
    "G": "a gap in a proof; the statement may hold",
    "C": "a constant is missing",
    "T": "a typo or an index slip",
    "L": "loose: what is printed holds",
}
"""What an error changes; the last is none and stands among the errata alone."""

SHOWN = 0.0005
"""A finite grid's share in an exponent is named from here on."""
GRID_SHARE = 1 / 3
"""Largest share of the tolerance that may come from the finite grid."""

CLAIM_COLUMNS = (
    "id",
    "quantity",
    "paper",
    "place",
    "statement",
    "whose",
    "basis",
    "claimed",
    "predicted",
    "measured",
    "ci_low",
    "ci_high",
    "corrected",
    "rule",
    "tolerance",
    "verdict",
    "raw_verdict",
    "reason",
    "printed",
    "severity",
    "advice",
    "scale",
    "seeds",
    "study",
    "figure",
    "command",
)


@dataclass(frozen=True)
class Interval:
    """A measured number with its 95 % interval; NaN ends where it has none."""

    measured: float
    low: float
    high: float


@dataclass(frozen=True)
class Exponent:
    """A fitted exponent of an error, with its bootstrap standard error over `seeds` repetitions.

    `local` is the slope that the formula has on the same grid, whose true exponent is `expected`: their difference is what the
    finite grid adds, and is taken off. Without a formula both are NaN and nothing is taken off.
    """

    slope: float
    standard_error: float
    seeds: int
    local: float = math.nan
    expected: float = math.nan

    @property
    def share(self) -> float:
        """What the finite grid adds."""
        share = self.local - self.expected
        return 0.0 if math.isnan(share) else share

    @property
    def corrected(self) -> float:
        return self.slope - self.share

    @property
    def raw(self) -> Exponent:
        """The exponent as fitted, with nothing taken off."""
        return Exponent(self.slope, self.standard_error, self.seeds)

    def far_from_asymptotic(self, tolerance: float) -> bool:
        """Whether the grid's share is more than `GRID_SHARE` of the tolerance, so that the formula and not the data would decide."""
        return abs(self.share) > GRID_SHARE * tolerance + 1e-9

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Student interval of the corrected exponent; NaN where there are too few repetitions for one."""
        half = student(self.seeds, level) * self.standard_error
        return self.corrected - half, self.corrected + half


def judge_exponent(rule: dict, found: Exponent, judged: int) -> str:
    """The verdict on the exponent `value` of an upper bound.

    RATE-EXACT: the 95 % interval of the corrected exponent lies within `tolerance` of the claimed one. LOOSE: it lies wholly
    beyond, on the side where the error grows more slowly than the bound. VIOLATED: the interval that is simultaneous over all
    `judged` exponents (Bonferroni) lies wholly beyond on the other side, or beyond `refuted`, where the claim names it.
    INCONCLUSIVE otherwise, when there is no exponent or no interval, and when the finite grid's share in it is too large.

    A bound in which the parameter falls to 0 (`toward: zero`) is broken by too small an exponent, not by too large a one.
    """
    low, high = found.interval()
    if math.isnan(low) or found.far_from_asymptotic(rule["tolerance"]):
        return INCONCLUSIVE
    sign = -1 if rule.get("toward") == "zero" else 1
    claimed, tolerance = sign * rule["value"], rule["tolerance"]
    low, high = sorted((sign * low, sign * high))
    if claimed - tolerance <= low and high <= claimed + tolerance:
        return RATE_EXACT
    if high < claimed - tolerance:
        return LOOSE
    refuted = sign * rule["refuted"] if "refuted" in rule else claimed + tolerance
    surely = min(sign * end for end in found.interval(1 - (1 - LEVEL) / judged))
    return VIOLATED if surely > refuted else INCONCLUSIVE


def in_words_of(kind: str, verdict: str) -> str:
    """The verdict on an exponent, in the words of the claim's kind."""
    if kind == "surrogate":
        return WORDS[kind][0]
    return WORDS[kind][1] if verdict == VIOLATED and kind in ("proof", "limit") else verdict


def explain_exponent(rule: dict, found: Exponent, verdict: str) -> str:
    """Why, in words: the corrected exponent with its interval, and by how much it misses."""
    if math.isnan(found.slope):
        return "no exponent"
    low, high = found.interval()
    text = f"exponent {found.corrected:.3f}"
    text += ", too few repetitions for an interval" if math.isnan(low) else f" [{low:.3f}, {high:.3f}]"
    if abs(found.share) >= SHOWN:
        text += f" without the finite grid's {found.share:+.3f}"
    if found.far_from_asymptotic(rule["tolerance"]):
        return f"{text}: the grid is too far from the asymptotic law"
    miss = found.corrected - rule["value"]
    if verdict in (LOOSE, VIOLATED, WORDS["proof"][1], WORDS["limit"][1]):
        text += f", {abs(miss):.2f} {'below' if miss < 0 else 'above'} the claimed {rule['value']:g}"
    return text


def matching_digits(printed: str, value: float) -> tuple[int, int]:
    """How many of the significant digits of a printed number a value reproduces when rounded alike, and how many there are.

    >>> matching_digits("0.04", 0.03619)
    (1, 1)
    >>> matching_digits("0.90", 0.9173)
    (1, 2)
    """
    places = -int(Decimal(printed).as_tuple().exponent)
    digits = printed.replace(".", "").lstrip("0")
    rounded = f"{value:.{places}f}".replace(".", "").lstrip("0")
    if len(rounded) != len(digits):
        return 0, len(digits)
    same = next((i for i, (a, b) in enumerate(zip(digits, rounded, strict=True)) if a != b), len(digits))
    return same, len(digits)


def holds(rule: dict, found: Interval) -> bool | None:
    """Whether the interval is wholly on the claimed side (True), wholly on the other (False), or on both (None)."""
    if math.isnan(found.low) or math.isnan(found.high):
        return None
    name, value = rule["rule"], rule["value"]
    if name == "digits":
        same, printed = matching_digits(value, found.measured)
        return same == printed
    if name == "equals":
        inside = abs(found.low - value) <= rule["tolerance"] and abs(found.high - value) <= rule["tolerance"]
        outside = found.low > value + rule["tolerance"] or found.high < value - rule["tolerance"]
        return True if inside else False if outside else None
    low, high = (
        (found.low - value, found.high - value) if name == "at_most" else (value - found.high, value - found.low)
    )
    if high <= rule.get("tolerance", 0):
        return True
    return False if low > rule.get("tolerance", 0) else None


def _claimed(rule: dict) -> str:
    sign = {"at_most": "<= ", "at_least": ">= ", "digits": "", "equals": "", "rate": ""}[rule["rule"]]
    return f"{sign}{rule['value']}"


def _reason(rule: dict, found: Interval, outcome: bool | None) -> str:
    if rule["rule"] == "digits":
        same, printed = matching_digits(rule["value"], found.measured)
        return f"found {found.measured:.5g}, printed {rule['value']}: {same} of {printed} digits"
    words = {"at_most": "at most", "at_least": "at least", "equals": f"within {rule.get('tolerance')} of"}
    limit = f"{words[rule['rule']]} {rule['value']}"
    if math.isnan(found.low) or math.isnan(found.high):
        return f"{found.measured:.4g} without an interval cannot be judged against {limit}"
    says = {True: "is", False: "is not", None: "may or may not be"}[outcome]
    if found.low == found.high:
        return f"{found.measured:.4g} {says} {limit}"
    return f"the interval [{found.low:.4g}, {found.high:.4g}] {says} {limit}"


def exponents_judged(claims: list[dict], measures: dict[str, dict[str, dict]], scale: str) -> int:
    """How many exponents a run judges: the family over which VIOLATED is simultaneous, at least 1."""
    found = [
        measures.get(claim["study"], {}).get(quantity["measure"])
        for claim in claims
        for quantity in claim.get("quantities", ())
        if quantity["rule"] == "rate" and scale in claim["scales"]
    ]
    return max(1, sum(row is not None and not math.isnan(float(row["measured"])) for row in found))


def _found(measure: dict) -> Interval:
    """The interval in a row of measures.csv."""
    return Interval(*(float(measure[name]) for name in ("measured", "ci_low", "ci_high")))


def _judge_rate(kind: str, quantity: dict, measure: dict, judged: int) -> dict:
    """Verdicts and reason for an exponent, with and without what is taken off for the finite grid."""
    local, expected = float(measure["formula"]), quantity.get("expected", math.nan)
    exponent = Exponent(
        float(measure["measured"]), float(measure["standard_error"]), int(measure["seeds"]), local, expected
    )
    verdict = in_words_of(kind, judge_exponent(quantity, exponent, judged))
    return {
        "corrected": exponent.corrected,
        "predicted": "" if math.isnan(local) else round(local, 9) + 0.0,
        "verdict": verdict,
        "raw_verdict": in_words_of(kind, judge_exponent(quantity, exponent.raw, judged)),
        "reason": explain_exponent(quantity, exponent, verdict),
    }


def _judge_interval(kind: str, quantity: dict, measures: dict[str, dict]) -> dict:
    """Verdict and reason for every other rule. Where the claimed reading fails and the one in `or_measure` holds, it is PARTIAL."""
    found = _found(measures[quantity["measure"]])
    outcome = holds(quantity, found)
    yes, no = WORDS[kind]
    verdict, reason = {True: yes, False: no, None: INCONCLUSIVE}[outcome], _reason(quantity, found, outcome)
    if kind == "surrogate":
        verdict = yes
    if outcome is False and "or_measure" in quantity:
        other = _found(measures[quantity["or_measure"]])
        passes = holds(quantity, other)
        verdict = PARTIAL if passes else verdict
        reason += f"; {quantity['or_measure']}: {_reason(quantity, other, passes)}"
    return {"verdict": verdict, "reason": reason}


def judge_quantity(claim: dict, quantity: dict, measures: dict[str, dict], scale: str, judged: int = 1) -> dict:
    """One row of claims.csv.

    Parameters
    ----------
    measures : rows of the study's measures.csv by quantity, numbers as text.
    judged : number of exponents judged in the run.
    """
    about = {name: quantity.get(name, claim.get(name, default)) for name, default in ABOUT.items()}
    kind = quantity.get("kind", claim["kind"])
    row = about | {
        "quantity": quantity["quantity"],
        "claimed": _claimed(quantity),
        "predicted": quantity.get("predicted", ""),
        "rule": quantity["rule"],
        "tolerance": quantity.get("tolerance", ""),
        "figure": quantity.get("figure", ""),
    }
    if quantity["measure"] not in measures:
        return row | {"verdict": NOT_TESTED, "reason": f"study {claim['study']} did not run at this scale"}
    measure = measures[quantity["measure"]]
    if quantity["rule"] == "rate":
        row |= _judge_rate(kind, quantity, measure, judged)
    else:
        row |= _judge_interval(kind, quantity, measures)
    if scale not in claim["scales"]:
        needed = f"needs scale {' or '.join(claim['scales'])}, this is {scale}"
        row |= {"verdict": NOT_TESTED, "raw_verdict": "", "reason": f"{needed}; {row['reason']}"}
    if measure["note"]:
        row["reason"] += f" ({measure['note']})"
    found = _found(measure)
    ends = {name: "" if math.isnan(end) else end for name, end in (("ci_low", found.low), ("ci_high", found.high))}
    return row | {"measured": found.measured, **ends, "seeds": int(measure["seeds"])}


ABOUT = {"whose": WHOSE[0], "basis": BASES[0], "printed": "", "severity": "", "advice": ""}
"""What a row says about its statement, with the defaults; a quantity's own words go before its claim's."""

ACCUSATION = ("printed", "severity", "advice")
"""Shown where the verdict is one of `NEGATIVE`."""


def not_tested(claim: dict) -> dict:
    """The row of a claim of the catalogue that is not run at all."""
    return {
        "quantity": "the statement as a whole",
        "whose": claim.get("whose", WHOSE[0]),
        "verdict": NOT_TESTED,
        "reason": claim["not_tested"],
    }


def judge_whole(claim: dict, rows: list[dict], measures: dict[str, dict]) -> dict:
    """The row of a claim as a whole: every quantity of the paper's holds, or only another listed reading passes."""
    yes, no = WORDS[claim["kind"]]
    verdicts = {row["verdict"] for row in rows if row["whose"] == WHOSE[0]}
    others = measures.get(claim["whole"]["other_readings"], {"measured": "0", "note": ""})
    if NOT_TESTED in verdicts:
        verdict = NOT_TESTED
    elif verdicts == {yes}:
        verdict = yes
    elif no not in verdicts:
        verdict = INCONCLUSIVE
    else:
        verdict = PARTIAL if float(others["measured"]) > 0 else no
    parts = "; ".join(f"{row['quantity']}: {row['verdict']}" for row in rows if row["whose"] == WHOSE[0])
    return {name: claim.get(name, default) for name, default in ABOUT.items()} | {
        "quantity": claim["whole"]["quantity"],
        "claimed": "all quantities below",
        "rule": "all_hold",
        "measured": sum(row["verdict"] == yes and row["whose"] == WHOSE[0] for row in rows),
        "verdict": verdict,
        "reason": f"{parts}. Other readings that pass: {others['note'] or 'none'}",
        "seeds": rows[0].get("seeds", ""),
    }


def judge(
    claims: list[dict],
    paper: str,
    measures: dict[str, dict[str, dict]],
    scale: str,
    figures: str,
    options: str = "",
    judged: int = 1,
) -> list[dict]:
    """All rows of claims.csv for one paper.

    Parameters
    ----------
    measures : study -> quantity -> row of its measures.csv.
    figures : folder of the figures, for the command that draws one again.
    options : what Snakemake needs for this run beyond the default, for the same command.
    judged : number of exponents judged in the run, over all papers.
    """
    rows = []
    for claim in claims:
        common = {name: claim[name] for name in ("id", "place", "statement")} | {"paper": paper, "scale": scale}
        if "not_tested" in claim:
            rows.append(common | not_tested(claim))
            continue
        found = measures.get(claim["study"], {})
        rows_of_claim = [judge_quantity(claim, quantity, found, scale, judged) for quantity in claim["quantities"]]
        if "whole" in claim:
            rows_of_claim.insert(0, judge_whole(claim, rows_of_claim, found))
        common["study"] = claim["study"]
        for row in rows_of_claim:
            accused = {} if row["verdict"] in NEGATIVE else dict.fromkeys(ACCUSATION, "")
            rows.append(common | _figure(claim, row.pop("figure", ""), figures, options) | row | accused)
    return rows


def _figure(claim: dict, own: str, figures: str, options: str) -> dict:
    """The figure of a quantity, its own or its claim's, and the command that draws it again."""
    name = own or claim["figure"]
    return {"figure": name, "command": f"snakemake -j1 {figures}/{name}.svg {options}".rstrip()}
