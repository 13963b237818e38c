"""Verdicts, computed from a measured interval, the claim's rule and the scale of the run.

The claims are in the settings of the studies that decide them; each quantity of a claim names what the study
measures for it and a rule of `replication.evidence.claim_rules`. A claim may have a row for the whole, which says
whether all its quantities hold or, if not, another listed reading passes. A claim also states, for a negative
verdict, what is printed, how severe the error would be, and what a user of the result should do then.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from replication.evidence.claim_rules import AnyQuantity, Interval, Quantity, Rate, Rows, kind_of
from replication.evidence.measured import NOT_RUN
from replication.evidence.verdicts import NEGATIVE, OUTCOMES, Verdict
from replication.run.models import Model
from replication.run.statements import About, Kind, Whose

CLAIM_COLUMNS = (
    *("id", "quantity", "paper", "place", "statement", "whose", "basis", "claimed", "predicted"),
    *("measured", "ci_low", "ci_high", "corrected", "rule", "tolerance"),
    *("verdict", "raw_verdict", "confirmed", "reason", "printed", "severity", "advice"),
    *("scale", "seeds", "study", "figure", "command"),
)

ABOUT = {"whose": "", "basis": "measured", "printed": "", "severity": "", "advice": ""}
"""Columns of claims.csv about a statement, with defaults; an entry of a quantity goes before that of its claim."""

Scales = Annotated[tuple[Literal["tiny", "quick", "default", "record"], ...], Field(strict=False, min_length=1)]
Measures = Mapping[str, Rows]
"""Study -> its rows of measures.csv."""


class Whole(Model):
    """The row of a claim as a whole.

    quantity : name for readers. other_readings : name of the study's quantity that counts other readings that pass.
    """

    quantity: str
    other_readings: str


class Claim(About):
    """One statement of a paper. Either it says why it is not tested, or it has a study and quantities.

    id : as in the paper's file. place : in the paper. statement : the claim in words. scales : those that judge it.
    whole : a row for all quantities. quantities : numbers besides the rates of `fits`. not_tested : why it is not.
    """

    id: str
    kind: Kind = "identity"
    whose: Whose  # pyright: ignore[reportGeneralTypeIssues] -- has to be given here
    place: str
    statement: str
    not_tested: str = ""
    study: str = ""
    scales: Scales = ("default", "record")
    whole: Whole | None = None
    quantities: Annotated[tuple[AnyQuantity, ...], Field(strict=False, min_length=1)] = ()

    @model_validator(mode="after")
    def _is_tested_or_says_why_not(self) -> Claim:
        given = self.model_fields_set
        tested = ("study", "figure", "quantities")
        if self.not_tested:
            needless = given & {*tested, "kind", "scales", "whole"}
            if needless:
                raise ValueError(f"{min(needless)!r} stands in a claim that is not tested")
        else:
            for key in tested:
                if key not in given:
                    raise ValueError(f"the key {key!r} is missing (or 'not_tested' with the reason)")
        return self

    def about(self, quantity: Quantity | None = None) -> dict[str, str]:
        """Return the columns of `ABOUT` for a row; an entry of the quantity goes before that of the claim."""
        return {name: getattr(quantity, name, None) or getattr(self, name) or usual for name, usual in ABOUT.items()}


def exponents_judged(claims: Iterable[Claim], measures: Measures, scale: str) -> int:
    """Count the exponents that a run judges, at least 1: the tests in the Bonferroni correction of VIOLATED."""
    found = [
        measures.get(claim.study, {}).get(quantity.measured)
        for claim in claims
        for quantity in claim.quantities
        if isinstance(quantity, Rate) and scale in claim.scales
    ]
    return max(1, sum(row is not None and not math.isnan(float(row["measured"])) for row in found))


def judge_quantity(claim: Claim, quantity: AnyQuantity, measures: Rows, scale: str, judged: int) -> dict:
    """Return the row of claims.csv for one quantity, in a run that judges `judged` exponents in all."""
    row: dict[str, Any] = claim.about(quantity) | {
        "tolerance": "" if quantity.tolerance is None else quantity.tolerance
    }
    row |= {name: getattr(quantity, name) for name in ("quantity", "claimed", "predicted", "rule", "figure")}
    if quantity.measured not in measures:
        return row | {"verdict": Verdict.NOT_TESTED, "reason": f"study {claim.study} did not run at this scale"}
    measure = measures[quantity.measured]
    if row["basis"] == "measured" and float(measure["ci_low"]) == float(measure["ci_high"]):
        # A single number from runs, without a standard error, is no evidence.
        measure = {**measure, "ci_low": "nan", "ci_high": "nan"}
    if measure["note"].startswith(NOT_RUN):
        return row | {"verdict": Verdict.NOT_TESTED, "reason": measure["note"]}
    kind = kind_of(row["whose"], quantity.kind or claim.kind)
    row |= quantity.judged(kind, {**measures, quantity.measured: measure}, judged)
    if scale not in claim.scales:
        needed = f"needs scale {' or '.join(claim.scales)}, this is {scale}"
        row |= {"verdict": Verdict.NOT_TESTED, "raw_verdict": "", "reason": f"{needed}; {row['reason']}"}
    if measure["note"]:
        row["reason"] += f" ({measure['note']})"
    found = Interval.read(measure)
    ends = {name: "" if math.isnan(end) else end for name, end in (("ci_low", found.low), ("ci_high", found.high))}
    return row | {"measured": found.measured, **ends, "seeds": int(measure["seeds"])}


def judge_whole(claim: Claim, rows: list[dict], measures: Rows) -> dict:
    """Return the row of a claim as a whole: whether every quantity that the paper states holds, some hold in part, or
    only another listed reading passes."""
    assert claim.whole is not None
    yes, no = OUTCOMES[claim.kind]
    own = [row for row in rows if row["whose"] == "paper"]
    verdicts = {row["verdict"] for row in own}
    others = measures.get(claim.whole.other_readings, {"measured": "0", "note": ""})
    if Verdict.NOT_TESTED in verdicts:
        verdict = Verdict.NOT_TESTED
    elif verdicts == {yes}:
        verdict = yes
    elif verdicts <= {yes, Verdict.PARTIAL}:
        verdict = Verdict.PARTIAL
    elif no not in verdicts:
        verdict = Verdict.INCONCLUSIVE
    else:
        verdict = Verdict.PARTIAL if float(others["measured"]) > 0 else no
    parts = "; ".join(f"{row['quantity']}: {row['verdict']}" for row in own)
    return claim.about() | {
        "quantity": claim.whole.quantity,
        "claimed": "all quantities below",
        "rule": "all_hold",
        "measured": sum(row["verdict"] == yes for row in own),
        "verdict": verdict,
        "reason": f"{parts}. Other readings that pass: {others['note'] or 'none'}",
        "seeds": rows[0].get("seeds", ""),
    }


def judge(
    claims: list[Claim], paper: str, measures: Measures, scale: str, figures: str, options: str = "", judged: int = 1
) -> list[dict]:
    """Return all rows of claims.csv for one paper, in the order of its claims.

    `figures` is the folder of the figures and `options` this run's options of Snakemake that are not the default, both
    for the command that draws a figure again; `judged` is the number of exponents that are judged in all papers.
    """
    rows = []
    for claim in claims:
        common = {name: getattr(claim, name) for name in ("id", "place", "statement", "whose", "study")}
        common |= {"paper": paper, "scale": scale}
        if claim.not_tested:
            untested = {"verdict": Verdict.NOT_TESTED, "reason": claim.not_tested}
            rows.append(common | {"quantity": "the statement as a whole"} | untested)
            continue
        found = measures.get(claim.study, {})
        rows_of_claim = [judge_quantity(claim, quantity, found, scale, judged) for quantity in claim.quantities]
        if claim.whole:
            rows_of_claim.insert(0, judge_whole(claim, rows_of_claim, found))
        for row in rows_of_claim:
            # Only a row whose verdict contradicts the paper shows what is printed, the severity and the advice.
            negative = {} if row["verdict"] in NEGATIVE else dict.fromkeys(("printed", "severity", "advice"), "")
            figure = row.pop("figure", "") or claim.figure
            shown = {"figure": figure, "command": f"snakemake -j1 {figures}/{figure}.svg {options}".rstrip()}
            rows.append(common | shown | row | negative)
    return rows
