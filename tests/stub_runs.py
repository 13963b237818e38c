"""Runs of stub tables for the tests of the report: with chosen verdicts, numbers and cells."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from functools import cache

import pandas as pd

from privrep.evidence.claim_rules import AnyQuantity
from privrep.evidence.claims import Claim
from privrep.evidence.quantities import checked_claims
from privrep.evidence.verdicts import OUTCOMES, Verdict
from privrep.report.run_tables import Measures, Run, listed
from privrep.report.stub_run import StubRun, stub_rows
from privrep.run.config import study_names

VerdictOf = Callable[[Claim, AnyQuantity], Verdict]
CLAIMS = [claim for claims in checked_claims().values() for claim in claims]

BROKEN = {
    ("A-T5.1", "loss over epsilon for 20 users, exponent of Algorithm 4"),
    ("A-T5.1'", "largest loss over epsilon of our chain, stopped, other users divided"),
    ("B-CF.1-shared", "dist2 of a candidate that passes, all runs on the samples of the same 250 users, no noise"),
    ("B-LC.2", "share of data sets inside the printed value with normal samples, k = 1, over n"),
    ("B-LC.3", "share of data sets inside the printed value with normal samples, k = 1, over n"),
    ("B-LC.4", "share of runs beyond the bound as printed, mu at most kappa"),
    ("B-LC.4", "with the mean subtracted, heads of mu near 9: share of runs beyond"),
    ("B-LD.2", "share of runs in which 1 - delta_1 exceeds it, H as printed"),
    ("B-LF.3-proof", "successes that (99) leaves over T_0 / 2"),
    ("B-T5.2", "rounds alone, replace a user: largest exact over claimed delta = 1e-5, eps in Figure 1's range"),
    ("B-A5.1", "least subgaussian norm of a variable of variance 1"),
    ("B-R3.1", "representation over full model, median norm at distance 0.7, k = 8"),
    ("B-R3.1", "representation over full model, median norm at the optimum, label noise 1"),
    ("B-R3.1", "full model: the same for symmetric heads, b = 0"),
}
"""Claim and quantity of the comparisons that came out on the other side."""
SPARE = {
    ("A-R2", "users needed: exponent of k"),
    ("A-T5.2", "exponent of m where label noise decides"),
    ("A-LB.3", "noise part: exponent of n"),
    ("A-LB.4", "largest error: exponent of m"),
    ("B-T5.1", "exponent of kappa at s_k = 1, at a clip that cuts nothing"),
    ("B-T5.1", "exponent of kappa at s_1 = 1, at a clip that cuts nothing"),
    ("B-LC.1", "exponent of k"),
    ("B-LC.1", "exponent of the start's distance"),
    ("B-LC.2", "exponent of k"),
    ("B-LF.1", "noise: exponent of k, one clip"),
    ("B-LG.1", "largest norm over the bound without k^1.5: exponent of k"),
}
"""Exponents that came out below the claimed one, and whose law is not said with the claim."""
BEYOND = {
    ("A-L4.6-F", "exponent of k of Frobenius over spectral distance, k = 1 to 8"),
    ("A-LB.4", "largest ||v_j||: exponent of n"),
    ("O-RATE", "exponent of kappa, weakest heads fixed"),
}
"""The same above the claimed one."""


def own(quantity: str) -> tuple[float, float, float]:
    """A number with its ends that no other quantity has."""
    middle = 1 + zlib.crc32(quantity.encode()) / 2**32
    return middle, middle - 0.25, middle + 0.5


def as_found(claim: Claim, quantity: AnyQuantity) -> Verdict:
    """The verdict that the default run found, or would find if each law held: an exponent whose law has another one
    than the bound is loose below it and too large above it; a comparison holds unless it stands in BROKEN."""
    place, kind = (claim.id, quantity.quantity), quantity.kind or claim.kind
    if quantity.rule != "rate":
        return OUTCOMES[kind][place in BROKEN]
    gap = 0 if quantity.expected is None else quantity.expected - quantity.value
    if place in SPARE or gap < -0.3:
        return Verdict.LOOSE
    if place in BEYOND or gap > 0.3:
        return Verdict.PROOF_GAP if kind == "proof" else Verdict.VIOLATED
    return Verdict.RATE_EXACT


def all_open(claim: Claim, quantity: AnyQuantity) -> Verdict:
    """No interval decides anything."""
    return Verdict.INCONCLUSIVE


@cache
def verdicts_by(verdict_of: VerdictOf) -> dict[tuple[str, str], Verdict]:
    """The verdict of every quantity, and of the one claim that has a row as a whole."""
    found = {
        (claim.id, quantity.quantity): verdict_of(claim, quantity) for claim in CLAIMS for quantity in claim.quantities
    }
    return found | {
        (claim.id, claim.whole.quantity): verdict_of(claim, claim.quantities[0]) for claim in CLAIMS if claim.whole
    }


@cache
def stub_run(number: float) -> StubRun:
    """Its tables serve all runs with this number."""
    return StubRun(number, agrees=True)


class ChosenRun(StubRun):
    """A stub run with one number throughout, whose verdicts are chosen one by one.

    Parameters
    ----------
    verdict_of : the verdict of a quantity of a claim.
    denied : verdicts that are not given all the same, as `asked` has them.
    values : quantity -> number, or number with the ends of its interval, in place of the one number.
    table : the cells in place of stub ones.

    Attributes
    ----------
    asked : what was asked of `judged`: claim, verdict and quantities. read : measures by study.
    """

    def __init__(
        self,
        number: float = 1.5,
        verdict_of: VerdictOf = as_found,
        values: Mapping[str, float | tuple[float, float, float]] | None = None,
        denied: tuple = (),
        table: pd.DataFrame | None = None,
    ):
        assert set(values or ()) <= {name for study in study_names() for name in listed(study)}
        tables, verdicts = vars(stub_run(number)), verdicts_by(verdict_of)
        rows = zip(tables["claims"]["id"], tables["claims"]["quantity"], strict=True)
        claims = tables["claims"].assign(verdict=[verdicts.get(row, Verdict.NOT_TESTED) for row in rows])
        provenance = dict(tables["provenance"])
        own = {"claims": claims, "provenance": provenance, "values": values or {}, "denied": denied, "table": table}
        for name, value in (tables | own | {"asked": set(), "read": {}}).items():
            object.__setattr__(self, name, value)

    def judged(self, claim: str, word: str, *quantities: str) -> bool:
        super().judged(claim, word, *quantities)
        self.asked.add((claim, word, *quantities))
        return (claim, word, *quantities) not in self.denied and Run.judged(self, claim, word, *quantities)

    def measures(self, study: str) -> Measures:
        self._check_has(study)
        if study not in self.read:
            rows = {row["quantity"]: row | {"note": "as made up"} for row in stub_rows(study, self.number)}
            for quantity in set(self.values) & set(rows):
                value = self.values[quantity]
                ends = value if isinstance(value, tuple) else (value,) * 3
                rows[quantity] |= dict(zip(("measured", "ci_low", "ci_high"), map(str, ends), strict=True))
            self.read[study] = Measures(pd.DataFrame(rows.values()).set_index("quantity"), listed(study))
        return self.read[study]

    def cells(self, study: str) -> pd.DataFrame:
        return super().cells(study) if self.table is None else self.table

    def sizes(self, study: str) -> pd.DataFrame:
        self._check_has(study)
        return super().sizes(study)

    def section_figure(self, study: str, figure: str, remark: str = "") -> str:
        return f"[figure {super().section_figure(study, figure, remark)}] {remark}"

    def section_claims(self, *claims: str) -> str:
        return " ".join(f"[claim {claim}]" for claim in claims)
