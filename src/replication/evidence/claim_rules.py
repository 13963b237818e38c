"""The rules that judge a quantity of a claim, one class for each rule; a verdict follows from the quantity's interval.

rate              : the exponent `value` of an upper bound.
at_most, at_least : the interval lies wholly on the claimed side of `value`.
equals            : the interval lies within `tolerance` of `value`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from replication.evidence.intervals import LEVEL, student
from replication.evidence.verdicts import OUTCOMES, Verdict
from replication.run.settings import Scalar
from replication.run.statements import About, Bound, Tolerance, Value

Rows = Mapping[str, Mapping[str, str]]
"""Rows of a study's measures.csv by quantity, numbers as text."""

SHOWN = 0.0005
"""Smallest contribution of the finite grid to an exponent that the text of the reason mentions."""
GRID_SHARE = 1 / 3
"""Largest contribution of the finite grid to an exponent, over the tolerance, at which the exponent is judged."""
FAR = 5
"""Factor between limit and measured number above which the text of the reason says that they are far apart."""


@dataclass(frozen=True)
class Interval:
    """A measured number with its 95 % interval, whose ends are NaN where there is no interval."""

    measured: float
    low: float
    high: float

    @classmethod
    def read(cls, row: Mapping[str, str]) -> Interval:
        """Return number and interval of a row of measures.csv."""
        return cls(*(float(row[name]) for name in ("measured", "ci_low", "ci_high")))

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not (math.isnan(self.low) or math.isnan(self.high))


@dataclass(frozen=True)
class Exponent:
    """A fitted exponent of an error, with its bootstrap standard error over `seeds` repetitions.

    `predicted_slope` is the slope of the formula on the same grid, `expected` the formula's asymptotic exponent: their
    difference is due to the finite grid and is subtracted. Without a formula both are NaN and nothing is subtracted.
    """

    slope: float
    standard_error: float
    seeds: int
    predicted_slope: float = math.nan
    expected: float = math.nan

    @property
    def share(self) -> float:
        """Contribution of the finite grid to the exponent; 0 without a formula."""
        share = self.predicted_slope - self.expected
        return 0.0 if math.isnan(share) else share

    @property
    def corrected(self) -> float:
        return self.slope - self.share

    def far_from_asymptotic(self, tolerance: float) -> bool:
        """Whether the grid's contribution exceeds `GRID_SHARE` times the tolerance, so that the formula, not the data,
        would decide the verdict."""
        return abs(self.share) > GRID_SHARE * tolerance + 1e-9

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the Student interval of the corrected exponent; NaN where there are too few repetitions for one."""
        half = student(self.seeds, level) * self.standard_error
        return self.corrected - half, self.corrected + half


def kind_of(whose: str, kind: str) -> str:
    """Return the kind by which a statement is judged: its own if a paper's, a limit or a surrogate; else "ours"."""
    return kind if whose == "paper" or kind in ("limit", "surrogate") else "ours"


class Quantity(About):
    """One number of a claim.

    quantity : name for readers. measured : name of the study's quantity that is judged. rule : how it is judged.
    value : the claimed number. predicted : the number that a law gives. tolerance : allowed distance from `value`.
    """

    quantity: str
    measured: str
    predicted: Scalar = ""
    value: Value
    tolerance: Tolerance | None = None

    @property
    def claimed(self) -> str:
        """The claimed range as text, for a column of claims.csv."""
        return f"{self.value}"


class Rate(Quantity, Bound):
    """Rule: the claimed exponent of an upper bound is `value`."""

    rule: Literal["rate"]
    tolerance: Tolerance  # pyright: ignore[reportGeneralTypeIssues] -- has to be given here

    def verdict(self, found: Exponent, exponents: int) -> Verdict:
        """Judge an exponent, one of `exponents` that the run judges.

        RATE-AGREES: the 95 % interval of the corrected exponent lies within `tolerance` of the claimed one. LOOSE: it
        lies wholly beyond, on the side where the error grows more slowly than the bound. VIOLATED: the interval that is
        simultaneous over all exponents of the run (Bonferroni) lies wholly beyond on the other side, or beyond
        `refuted`. INCONCLUSIVE otherwise, without an interval, and where the finite grid's share is too large.
        """
        low, high = found.interval()
        if math.isnan(low) or found.far_from_asymptotic(self.tolerance):
            return Verdict.INCONCLUSIVE
        sign = -1 if self.toward == "zero" else 1
        claimed = sign * self.value
        low, high = sorted((sign * low, sign * high))
        if claimed - self.tolerance <= low and high <= claimed + self.tolerance:
            return Verdict.RATE_AGREES
        if high < claimed - self.tolerance:
            return Verdict.LOOSE
        refuted = claimed + self.tolerance if self.refuted is None else sign * self.refuted
        simultaneous = min(sign * end for end in found.interval(1 - (1 - LEVEL) / exponents))
        return Verdict.VIOLATED if simultaneous > refuted else Verdict.INCONCLUSIVE

    def judged(self, kind: str, rows: Rows, exponents: int) -> dict:
        """Return verdict and reason as columns of claims.csv, and the verdict without the correction for the finite
        grid. exponents : number of all exponents that the run judges."""
        row = rows[self.measured]
        local = float(row["formula"])
        raw = Exponent(float(row["measured"]), float(row["standard_error"]), int(row["seeds"]))
        found = replace(raw, predicted_slope=local, expected=self.value if self.expected is None else self.expected)
        verdict = in_words_of(kind, self.verdict(found, exponents))
        return {
            "corrected": found.corrected,
            "predicted": "" if math.isnan(local) else round(local, 9) + 0.0,
            "verdict": verdict,
            "raw_verdict": in_words_of(kind, self.verdict(raw, exponents)),
            "reason": self.reason(found, verdict),
        }

    def reason(self, found: Exponent, verdict: Verdict) -> str:
        """Describe the corrected exponent, its interval and, where it differs, its distance from the claimed one."""
        if math.isnan(found.slope):
            return "no exponent"
        low, high = found.interval()
        text = f"exponent {found.corrected:.3f}"
        text += ", too few repetitions for an interval" if math.isnan(low) else f" [{low:.3f}, {high:.3f}]"
        if abs(found.share) >= SHOWN:
            text += f" without the finite grid's {found.share:+.3f}"
        if found.far_from_asymptotic(self.tolerance):
            return f"{text}: the grid is too far from the asymptotic law"
        miss = found.corrected - self.value
        if verdict in (Verdict.LOOSE, Verdict.VIOLATED, Verdict.PROOF_GAP, Verdict.LIMIT, Verdict.NOT_MET):
            text += f", {abs(miss):.2f} {'below' if miss < 0 else 'above'} the claimed {self.value:g}"
        return text


def in_words_of(kind: str, verdict: Verdict) -> Verdict:
    """Return the verdict of a kind of claim that corresponds to a verdict of `Rate.verdict`."""
    if kind == "surrogate":
        return Verdict.SURROGATE
    return OUTCOMES[kind][1] if verdict is Verdict.VIOLATED and kind in ("proof", "limit", "ours") else verdict


class Comparison(Quantity):
    """A quantity that is compared with a limit.

    or_measured : name of the quantity by another reading of the claim; the verdict is PARTIAL if that alone passes.
    or_value    : limit for `or_measured`, by default `value`.
    """

    or_measured: str = ""
    or_value: float | None = None
    if TYPE_CHECKING:  # each rule below defines these
        limit: ClassVar[str]
        excess: ClassVar[Callable[[Interval], tuple[float, float]]]
        far: ClassVar[Callable[[Interval], bool]]

    def holds(self, found: Interval) -> bool | None:
        """Whether the interval is on the claimed side (True), on the other (False), or on both or missing (None)."""
        if not found.known:
            return None
        # The least and the largest excess over the limit within the interval.
        least, most = self.excess(found)
        tolerance = self.tolerance or 0
        return True if most <= tolerance else False if least > tolerance else None

    def judged(self, kind: str, rows: Rows, exponents: int) -> dict:
        """Return verdict and reason as columns of claims.csv."""
        found = Interval.read(rows[self.measured])
        outcome = self.holds(found)
        yes, no = OUTCOMES[kind]
        verdict, reason = {True: yes, False: no, None: Verdict.INCONCLUSIVE}[outcome], self.reason(found, outcome)
        if kind == "surrogate":
            return {"verdict": yes, "reason": reason}
        if outcome is False and self.or_measured:
            other = Interval.read(rows[self.or_measured])
            rule = self if self.or_value is None else self.model_copy(update={"value": self.or_value})
            passes = rule.holds(other)
            verdict = Verdict.PARTIAL if passes else verdict
            reason += f"; {self.or_measured}: {rule.reason(other, passes)}"
        return {"verdict": verdict, "reason": reason}

    def reason(self, found: Interval, outcome: bool | None) -> str:
        """Describe the position of the interval relative to the limit."""
        if not found.known:
            return f"{found.measured:.4g} without an interval cannot be judged against {self.limit}"
        says = {True: "is", False: "is not", None: "may or may not be"}[outcome]
        far = outcome and self.far(found)
        apart = f"; limit and measured number are a factor of more than {FAR} apart" if far else ""
        if found.low == found.high:
            return f"{found.measured:.4g} {says} {self.limit}{apart}"
        return f"the interval [{found.low:.4g}, {found.high:.4g}] {says} {self.limit}{apart}"


class OneSided(Comparison):
    """Rule: the quantity is at most, or at least, `value`, up to a tolerance for rounding."""

    rule: Literal["at_most", "at_least"]

    @property
    def claimed(self) -> str:
        return f"{'<=' if self.rule == 'at_most' else '>='} {self.value}"

    @property
    def limit(self) -> str:
        return f"{self.rule.replace('_', ' ')} {self.value}"

    def excess(self, found: Interval) -> tuple[float, float]:
        low, high = found.low - self.value, found.high - self.value
        return (low, high) if self.rule == "at_most" else (-high, -low)

    def far(self, found: Interval) -> bool:
        """Whether limit and measured number are more than a factor of `FAR` apart."""
        smaller, larger = (found.measured, self.value) if self.rule == "at_most" else (self.value, found.measured)
        return larger > FAR * smaller


class Equals(Comparison):
    """Rule: the quantity is within `tolerance` of `value`."""

    rule: Literal["equals"]
    tolerance: Tolerance  # pyright: ignore[reportGeneralTypeIssues] -- has to be given here

    @property
    def limit(self) -> str:
        return f"within {self.tolerance} of {self.value}"

    def excess(self, found: Interval) -> tuple[float, float]:
        low, high = found.low - self.value, found.high - self.value
        return max(low, -high), max(abs(low), abs(high))

    def far(self, found: Interval) -> bool:
        return False


AnyQuantity = Annotated[Rate | OneSided | Equals, Field(discriminator="rule")]
"""A quantity of a claim with one of the rules above."""
