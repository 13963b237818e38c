"""Verdicts: computed from a measured interval, the claim's rule and the scale of the run. None is typed.

The claims stand in config/claims, one file per paper. Each quantity of a claim names a measure of a study and a rule:

at_most, at_least : the interval lies wholly on the claimed side of `value`.
digits            : the measured number, rounded as printed, is the printed one.
all_hold          : every other quantity of the same claim holds; if not, another listed reading may pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

WORDS = {"experiment": ("REPRODUCED", "NOT-REPRODUCED"), "identity": ("HOLDS", "FALSE-AS-PRINTED")}
"""Kind of a claim -> verdict when it holds and when it does not."""

NOT_TESTED, INCONCLUSIVE, PARTIAL = "NOT-TESTED", "INCONCLUSIVE", "PARTIAL"

CLAIM_COLUMNS = (
    "id",
    "quantity",
    "paper",
    "place",
    "statement",
    "claimed",
    "predicted",
    "measured",
    "ci_low",
    "ci_high",
    "rule",
    "tolerance",
    "verdict",
    "reason",
    "scale",
    "seeds",
    "study",
    "figure",
    "command",
)


@dataclass(frozen=True)
class Interval:
    """A measured number with its 95 % interval."""

    measured: float
    low: float
    high: float


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
    name = rule["rule"]
    if name == "digits":
        same, printed = matching_digits(rule["value"], found.measured)
        return same == printed
    value = rule["value"]
    low, high = (
        (found.low - value, found.high - value) if name == "at_most" else (value - found.high, value - found.low)
    )
    if high <= rule.get("tolerance", 0):
        return True
    return False if low > rule.get("tolerance", 0) else None


def _claimed(rule: dict) -> str:
    sign = {"at_most": "<= ", "at_least": ">= ", "digits": ""}[rule["rule"]]
    return f"{sign}{rule['value']}"


def _reason(rule: dict, found: Interval, outcome: bool | None) -> str:
    if rule["rule"] == "digits":
        same, printed = matching_digits(rule["value"], found.measured)
        return f"found {found.measured:.5g}, printed {rule['value']}: {same} of {printed} digits"
    limit = f"{'at most' if rule['rule'] == 'at_most' else 'at least'} {rule['value']}"
    says = {True: "is", False: "is not", None: "may or may not be"}[outcome]
    if found.low == found.high:
        return f"{found.measured:.4g} {says} {limit}"
    return f"the interval [{found.low:.4g}, {found.high:.4g}] {says} {limit}"


def judge_quantity(claim: dict, quantity: dict, measures: dict[str, dict], scale: str) -> dict:
    """One row of claims.csv.

    Parameters
    ----------
    measures : rows of the study's measures.csv by quantity, numbers as text.
    """
    row = {
        "quantity": quantity["quantity"],
        "claimed": _claimed(quantity),
        "predicted": quantity.get("predicted", ""),
        "rule": quantity["rule"],
        "tolerance": quantity.get("tolerance", ""),
    }
    if quantity["measure"] not in measures:
        return row | {"verdict": NOT_TESTED, "reason": f"study {claim['study']} did not run at this scale"}
    measure = measures[quantity["measure"]]
    found = Interval(float(measure["measured"]), float(measure["ci_low"]), float(measure["ci_high"]))
    outcome = holds(quantity, found)
    yes, no = WORDS[claim["kind"]]
    verdict = {True: yes, False: no, None: INCONCLUSIVE}[outcome]
    reason = _reason(quantity, found, outcome)
    if scale not in claim["scales"]:
        verdict, reason = NOT_TESTED, f"needs scale {' or '.join(claim['scales'])}, this is {scale}; {reason}"
    if measure["note"]:
        reason += f" ({measure['note']})"
    return row | {
        "measured": found.measured,
        "ci_low": found.low,
        "ci_high": found.high,
        "seeds": int(measure["seeds"]),
        "verdict": verdict,
        "reason": reason,
    }


def judge_whole(claim: dict, rows: list[dict], measures: dict[str, dict]) -> dict:
    """The row of a claim as a whole: every quantity holds, or only another listed reading passes."""
    yes, no = WORDS[claim["kind"]]
    verdicts = {row["verdict"] for row in rows}
    others = measures.get(claim["whole"]["other_readings"], {"measured": "0", "note": ""})
    if NOT_TESTED in verdicts:
        verdict = NOT_TESTED
    elif verdicts == {yes}:
        verdict = yes
    elif no not in verdicts:
        verdict = INCONCLUSIVE
    else:
        verdict = PARTIAL if float(others["measured"]) > 0 else no
    parts = "; ".join(f"{row['quantity']}: {row['verdict']}" for row in rows)
    return {
        "quantity": claim["whole"]["quantity"],
        "claimed": "all quantities below",
        "rule": "all_hold",
        "measured": sum(row["verdict"] == yes for row in rows),
        "verdict": verdict,
        "reason": f"{parts}. Other readings that pass: {others['note'] or 'none'}",
        "seeds": rows[0].get("seeds", ""),
    }


def judge(
    claims: list[dict], paper: str, measures: dict[str, dict[str, dict]], scale: str, figures: str, options: str = ""
) -> list[dict]:
    """All rows of claims.csv for one paper.

    Parameters
    ----------
    measures : study -> quantity -> row of its measures.csv.
    figures : folder of the figures, for the command that draws one again.
    options : what Snakemake needs for this run beyond the default, for the same command.
    """
    rows = []
    for claim in claims:
        found = measures.get(claim["study"], {})
        judged = [judge_quantity(claim, quantity, found, scale) for quantity in claim["quantities"]]
        if "whole" in claim:
            judged.insert(0, judge_whole(claim, judged, found))
        common = {
            "id": claim["id"],
            "paper": paper,
            "place": claim["place"],
            "statement": claim["statement"],
            "scale": scale,
            "study": claim["study"],
            "figure": claim["figure"],
            "command": f"snakemake -j1 {figures}/{claim['figure']}.svg {options}".rstrip(),
        }
        rows += [common | row for row in judged]
    return rows
