"""The rules by which a quantity of a claim is judged, one class each.
None of them types a verdict: it follows from the interval.

rate              : the exponent `value` of an upper bound.
at_most, at_least : the interval lies wholly on the claimed side of `value`.
equals            : the interval lies within `tolerance` of `value`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from privrep.evidence.intervals import LEVEL, student
from privrep.evidence.verdicts import OUTCOMES, Verdict
from privrep.run.settings import Model, Scalar

Kind = Literal["experiment", "identity", "proof", "limit", "surrogate"]
Whose = Literal["paper", "correction", "ours"]
Basis = Literal["measured", "computed", "definition"]
Severity = Literal["P", "R", "G", "C", "T"]
Rows = Mapping[str, Mapping[str, str]]
"""Rows of a study's measures.csv by quantity, numbers as text."""

SHOWN = 0.0005
"""A finite grid's share in an exponent is named from here on."""
GRID_SHARE = 1 / 3
"""Largest share of the tolerance that may come from the finite grid."""
FAR = 5
"""A limit more than so many times the largest value of any repetition, and so of their mean, is said to be far."""


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} must be a number for this rule")
    return value


Number = Annotated[Any, AfterValidator(_number)]
"""A number as it was written: claims.csv shows 1 and 1.0 as they stand in the file."""


@dataclass(frozen=True)
class Interval:
    """A measured number with its 95 % interval; NaN ends where it has none."""

    measured: float
    low: float
    high: float

    @classmethod
    def read(cls, row: Mapping[str, str]) -> Interval:
        """From a row of measures.csv.

        Parameters
        ----------
        row : with numbers as text.
        """
        return cls(*(float(row[name]) for name in ("measured", "ci_low", "ci_high")))

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not (math.isnan(self.low) or math.isnan(self.high))


@dataclass(frozen=True)
class Exponent:
    """A fitted exponent of an error, with its bootstrap standard error over `seeds` repetitions.

    `local` is the slope that the formula has on the same grid, whose true exponent is `expected`: their difference is
    what the finite grid adds, and is taken off. Without a formula both are NaN and nothing is taken off.
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
        """Whether the grid's share is more than `GRID_SHARE` of the tolerance, so that the formula and not the data
        would
        decide.

        Parameters
        ----------
        tolerance : of the claim, at least 0.
        """
        return abs(self.share) > GRID_SHARE * tolerance + 1e-9

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Student interval of the corrected exponent; NaN where there are too few repetitions for one.

        Parameters
        ----------
        level : probability that the interval covers, in (0, 1).
        """
        half = student(self.seeds, level) * self.standard_error
        return self.corrected - half, self.corrected + half


class About(Model):
    """What a claim and its quantities both may say about the statement; a quantity's own words go first.

    Attributes
    ----------
    whose : whose statement it is: the paper's, this project's correction of it, or a law or a limit of this project's
        own.
        Each claim says so.
    basis : runs (default), arithmetic of printed formulas, or a definition: algebra or an identity, which is no
        evidence.
    printed : what is printed.
    severity : how severe it would be if wrong.
    advice : what a user of the result should do then.
    """

    whose: Whose | None = None
    basis: Basis | None = None
    printed: str = ""
    severity: Severity | Literal[""] = ""
    advice: str = ""
    figure: str = ""
    kind: Kind | None = None


class Quantity(About):
    """One number of a claim: its name for readers, what the study measures for it, and the rule that judges it."""

    quantity: str
    measured: str
    predicted: Scalar = ""
    tolerance: Annotated[float, Field(ge=0)] | None = None

    @property
    def claimed(self) -> str:
        """What is claimed, as a column of claims.csv."""
        return f"{self.value}"

    def judged(self, kind: str, rows: Rows, exponents: int) -> dict:
        """Verdict and reason, as columns of claims.csv.

        Parameters
        ----------
        kind : of the claim.
        rows : what the study measured.
        exponents : how many are judged in the run.
        """
        raise NotImplementedError


class Rate(Quantity):
    """The exponent of an upper bound.

    Attributes
    ----------
    expected : exponent of the law that the finite grid is held against, where it is not `value`.
    refuted : where VIOLATED begins, if not at the tolerance.
    toward : the bound speaks of a parameter that falls to 0.
    """

    rule: Literal["rate"]
    value: Number
    tolerance: Annotated[float, Field(ge=0)]
    expected: float | None = None
    refuted: float | None = None
    toward: Literal["zero"] | None = None

    def verdict(self, found: Exponent, exponents: int) -> Verdict:
        """RATE-EXACT: the 95 % interval of the corrected exponent lies within `tolerance` of the claimed one. LOOSE: it
        lies wholly beyond, on the side where the error grows more slowly than the bound. VIOLATED: the interval that is
        simultaneous over all exponents of the run (Bonferroni) lies wholly beyond on the other side, or beyond
        `refuted`, where the claim names it. INCONCLUSIVE otherwise, when there is no exponent or no interval, and when
        the finite grid's share in it is too large.

        A bound in which the parameter falls to 0 (`toward: zero`) is broken by too small an exponent,
        not by too large a one.

        Parameters
        ----------
        found : the measured exponent.
        exponents : how many are judged in the run, at least 1.
        """
        low, high = found.interval()
        if math.isnan(low) or found.far_from_asymptotic(self.tolerance):
            return Verdict.INCONCLUSIVE
        sign = -1 if self.toward == "zero" else 1
        claimed = sign * self.value
        low, high = sorted((sign * low, sign * high))
        if claimed - self.tolerance <= low and high <= claimed + self.tolerance:
            return Verdict.RATE_EXACT
        if high < claimed - self.tolerance:
            return Verdict.LOOSE
        refuted = claimed + self.tolerance if self.refuted is None else sign * self.refuted
        simultaneous = min(sign * end for end in found.interval(1 - (1 - LEVEL) / exponents))
        return Verdict.VIOLATED if simultaneous > refuted else Verdict.INCONCLUSIVE

    def judged(self, kind: str, rows: Rows, exponents: int) -> dict:
        """With and without what is taken off for the finite grid. Parameters as in `Quantity.judged`."""
        row = rows[self.measured]
        local = float(row["formula"])
        expected = math.nan if self.expected is None else self.expected
        found = Exponent(float(row["measured"]), float(row["standard_error"]), int(row["seeds"]), local, expected)
        verdict = in_words_of(kind, self.verdict(found, exponents))
        return {
            "corrected": found.corrected,
            "predicted": "" if math.isnan(local) else round(local, 9) + 0.0,
            "verdict": verdict,
            "raw_verdict": in_words_of(kind, self.verdict(found.raw, exponents)),
            "reason": self.reason(found, verdict),
        }

    def reason(self, found: Exponent, verdict: Verdict) -> str:
        """The corrected exponent with its interval, and by how much it misses.

        Parameters
        ----------
        found : the measured exponent.
        verdict : in the words of the claim's kind.
        """
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
        if verdict in (Verdict.LOOSE, Verdict.VIOLATED, Verdict.PROOF_GAP, Verdict.LIMIT):
            text += f", {abs(miss):.2f} {'below' if miss < 0 else 'above'} the claimed {self.value:g}"
        return text


def in_words_of(kind: str, verdict: Verdict) -> Verdict:
    """The verdict on an exponent, in the words of the claim's kind.

    Parameters
    ----------
    kind : of the claim.
    verdict : of `Rate.verdict`.
    """
    if kind == "surrogate":
        return Verdict.SURROGATE
    return OUTCOMES[kind][1] if verdict is Verdict.VIOLATED and kind in ("proof", "limit") else verdict


class Comparison(Quantity):
    """A number and a limit.

    Attributes
    ----------
    or_measured : another reading; where it alone passes the verdict is PARTIAL.
    or_value : its limit, where that is another.
    """

    or_measured: str = ""
    or_value: float | None = None

    def holds(self, found: Interval) -> bool | None:
        """Whether the interval is wholly on the claimed side (True), wholly on the other (False), or on both (None).

        Parameters
        ----------
        found : the measured number.
        """
        return None if not found.known else self._holds(found)

    def _holds(self, found: Interval) -> bool | None:
        raise NotImplementedError

    @property
    def limit(self) -> str:
        """What is asked of the number, in words."""
        raise NotImplementedError

    def judged(self, kind: str, rows: Rows, exponents: int) -> dict:
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
        """How the interval lies to the limit.

        Parameters
        ----------
        found : the measured number.
        outcome : of `holds`.
        """
        if not found.known:
            return f"{found.measured:.4g} without an interval cannot be judged against {self.limit}"
        says = {True: "is", False: "is not", None: "may or may not be"}[outcome]
        far = (
            f"; limit and measured number are a factor of more than {FAR} apart" if outcome and self.far(found) else ""
        )
        if found.low == found.high:
            return f"{found.measured:.4g} {says} {self.limit}{far}"
        return f"the interval [{found.low:.4g}, {found.high:.4g}] {says} {self.limit}{far}"

    def far(self, found: Interval) -> bool:
        """Whether the limit is more than `FAR` times the measured number, or less than one `FAR`th of it where it is a
        lower one.

        Parameters
        ----------
        found : the measured number.
        """
        return False


class AtMost(Comparison):
    """At most `value`, up to a tolerance for rounding."""

    rule: Literal["at_most"]
    value: Number

    @property
    def claimed(self) -> str:
        return f"<= {self.value}"

    @property
    def limit(self) -> str:
        return f"at most {self.value}"

    def _holds(self, found: Interval) -> bool | None:
        return _side(found.low - self.value, found.high - self.value, self.tolerance or 0)

    def far(self, found: Interval) -> bool:
        return self.value > FAR * found.measured


class AtLeast(Comparison):
    """At least `value`, up to a tolerance for rounding."""

    rule: Literal["at_least"]
    value: Number

    @property
    def claimed(self) -> str:
        return f">= {self.value}"

    @property
    def limit(self) -> str:
        return f"at least {self.value}"

    def _holds(self, found: Interval) -> bool | None:
        return _side(self.value - found.high, self.value - found.low, self.tolerance or 0)

    def far(self, found: Interval) -> bool:
        return found.measured > FAR * self.value


def _side(low: float, high: float, tolerance: float) -> bool | None:
    """Whether an excess over a limit is at most the tolerance, significantly not, or neither."""
    return True if high <= tolerance else False if low > tolerance else None


class Equals(Comparison):
    """Within `tolerance` of `value`."""

    rule: Literal["equals"]
    value: Number
    tolerance: Annotated[float, Field(ge=0)]

    @property
    def limit(self) -> str:
        return f"within {self.tolerance} of {self.value}"

    def _holds(self, found: Interval) -> bool | None:
        low, high = found.low - self.value, found.high - self.value
        inside = abs(low) <= self.tolerance and abs(high) <= self.tolerance
        return True if inside else False if low > self.tolerance or high < -self.tolerance else None


AnyQuantity = Annotated[Rate | AtMost | AtLeast | Equals, Field(discriminator="rule")]
"""A quantity with one of the rules."""
