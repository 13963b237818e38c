"""Models for the statement that a study judges, shared by claims and fits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from replication.run.models import Model

Kind = Literal["experiment", "identity", "proof", "limit", "surrogate"]
Whose = Literal["paper", "correction", "ours"]
Basis = Literal["measured", "computed", "definition"]
Severity = Literal["P", "R", "G", "C", "T"]
Tolerance = Annotated[float, Field(ge=0)]


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} must be a number for this rule")
    return value


Value = Annotated[Any, AfterValidator(_number)]
"""A number as it was written: claims.csv shows 1 and 1.0 as they stand in the file."""


class About(Model):
    """Entries about the statement that a claim and its quantities may have; an entry of the quantity goes first.

    whose    : the paper's statement, this project's correction of it, or a law or a limit of this project.
    basis    : runs (default), arithmetic of printed formulas, or a definition, which is no evidence.
    printed  : the words or the formula that the paper prints.
    severity : effect of an error in the statement.
    advice   : what a user of the result should do if the statement is wrong.
    figure   : id of the figure that shows it. kind : decides its verdicts, see `OUTCOMES`; by default the claim's.
    """

    whose: Whose | None = None
    basis: Basis | None = None
    printed: str = ""
    severity: Severity | Literal[""] = ""
    advice: str = ""
    figure: str = ""
    kind: Kind | None = None


class Bound(About):
    """Entries about the exponent of an upper bound, besides its value.

    tolerance : allowed distance from the claimed exponent.
    expected : asymptotic exponent of the law that corrects for the finite grid, by default the claimed exponent.
    refuted  : exponent beyond which the verdict is VIOLATED, by default `tolerance` beyond the claimed one.
    toward   : `zero` for a bound in which the parameter falls to 0, which too small an exponent violates.
    """

    tolerance: Tolerance | None = None
    expected: float | None = None
    refuted: float | None = None
    toward: Literal["zero"] | None = None
