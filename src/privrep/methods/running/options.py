"""Options of a study's file, each declared once: its type, its default, its check and its meaning.

@dataclass(frozen=True)
class CentaurOptions(Declared):
    rounds: int = option("rounds of the server, T_g", check_count)
    numbers: ClassVar = {"zeta": "clipping bound of a user's update in absolute terms"}

From this follow the checks, the columns of a table and their printed meanings.
What one option asks of another is checked in a `__post_init__` that calls this one's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, field, fields
from numbers import Integral
from typing import Any, ClassVar

Check = Callable[[str, Any], None]
"""Name and value of an option -> nothing, or a ValueError that names both and says what it may be."""


def option(meaning: str, check: Check | None = None, default: object = MISSING) -> Any:
    """Declare a field of a class of options: without a check its values are free, without a default it must
    be given."""
    return field(default=default, metadata={"meaning": meaning, "check": check})


class Columns:
    """Mapping from the names of options, and of the numbers that are written beside them, to their meanings."""

    def __get__(self, options: object, kind: type) -> dict[str, str]:
        declared = {one.name: one.metadata["meaning"] for one in fields(kind) if "meaning" in one.metadata}
        return declared | dict(kind.numbers)


class Declared:
    """Base class of options: `numbers` has the meaning of the numbers that a row has beside them, `scores` names
    columns of `privrep.methods.running.scoring.SCORES`."""

    numbers: ClassVar[Mapping[str, str]] = {}
    scores: ClassVar[tuple[str, ...]] = ()
    columns = Columns()

    def __post_init__(self):
        for one in fields(self):
            check = one.metadata.get("check")
            if check is not None:
                check(one.name, getattr(self, one.name))


# What an option may be


def requires(holds: Callable[[Any], bool], what: str) -> Check:
    """Return a check whose message ends in "it must `what`"."""

    def check(name: str, value: Any) -> None:
        if not holds(value):
            raise ValueError(f"{name} is {value!r}; it must {what}")

    return check


def among(choices: Collection[str]) -> Check:
    """Return a check that a text is one of some."""
    return requires(lambda value: value in choices, f"be one of {', '.join(choices)}")


def unless(excepted: object, check: Check) -> Check:
    """Return a check of all values but the excepted one, which switches something off."""
    return lambda name, value: None if value is excepted or value == excepted else check(name, value)


check_count = requires(
    lambda value: isinstance(value, Integral) and not isinstance(value, bool) and value >= 1,
    "be an integer of at least 1",
)
check_share = requires(lambda value: 0 < value < 1, "lie strictly between 0 and 1")
check_positive = requires(lambda value: 0 < value < math.inf, "be positive and finite")
check_nonnegative = requires(lambda value: value >= 0, "be at least 0")
check_sine = requires(lambda value: 0 <= value < 1, "be at least 0 and less than 1")
check_any_sine = requires(lambda value: 0 <= value <= 1, "be at least 0 and at most 1")
