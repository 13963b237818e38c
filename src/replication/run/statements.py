"""What a study's file says of a statement that it judges: models that claims and fits share."""

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
    """What a claim and its quantities both may say about the statement; a quantity's own words go first.

    whose    : the paper's statement, this project's correction of it, or a law or a limit of this project.
    basis    : runs (default), arithmetic of printed formulas, or a definition, which is no evidence.
    printed  : what is printed.
    severity : how severe it would be if wrong.
    advice   : what a user of the result should do then.
    figure   : what shows it. kind : by which words it is judged, those of the claim unless it says its own.
    """

    whose: Whose | None = None
    basis: Basis | None = None
    printed: str = ""
    severity: Severity | Literal[""] = ""
    advice: str = ""
    figure: str = ""
    kind: Kind | None = None


class Bound(About):
    """What is said of an exponent of an upper bound beside its value.

    tolerance : of the claimed exponent.
    expected : exponent of the law that the finite grid is held against, where it is not the claimed one.
    refuted  : where VIOLATED begins, if not at the tolerance.
    toward   : `zero` for a bound in which the parameter falls to 0: too small an exponent breaks it.
    """

    tolerance: Tolerance | None = None
    expected: float | None = None
    refuted: float | None = None
    toward: Literal["zero"] | None = None
