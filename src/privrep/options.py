"""Parameters of a problem and options of a method, each declared once, with its type, default, check and meaning.

@dataclass(frozen=True)
class CentaurOptions(Declared):
    rounds: int = option("rounds of the server, T_g", check_count)
    numbers: ClassVar = {"zeta": "clipping bound of a user's update in absolute terms"}

The checks, the columns of a table and their printed meanings are derived from these declarations. A class checks a
condition between its options in a `__post_init__` that also calls `Declared.__post_init__`.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, field, fields
from numbers import Integral
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")
Check = Callable[[str, object], None]
"""Name and value of an option -> None, or a ValueError that names both and the allowed values."""
REQUIRED: Any = MISSING  # of type Any, to fit options of every type


def option(meaning: str, check: Check | None = None, default: T = REQUIRED) -> T:
    """Declare a field of a class of options: without a check it takes any value, without a default it is required, and
    with the default None it may also be None."""
    return field(default=default, metadata={"meaning": meaning, "check": check})


class Columns:
    """Mapping from the names of options, and of further numbers in a row, to their meanings."""

    def __get__(self, options: object, kind: type) -> dict[str, str]:
        declared = {entry.name: entry.metadata["meaning"] for entry in fields(kind) if "meaning" in entry.metadata}
        return declared | dict(kind.numbers)


class Declared:
    """Base class of options: `numbers` maps the names of further numbers in a row to their meanings, `scores` names
    columns of `privrep.methods.running.scoring.SCORES`."""

    __dataclass_fields__: ClassVar[dict[str, Field]]
    numbers: ClassVar[Mapping[str, str]] = {}
    scores: ClassVar[tuple[str, ...]] = ()
    columns = Columns()

    def __post_init__(self):
        check_fields(self)


def check_fields(declared: Any) -> None:
    """Raise ValueError if a field of a dataclass fails its declared check."""
    for parameter in fields(declared):
        check_declared(parameter, getattr(declared, parameter.name))


def check_declared(parameter: Field, value: object) -> None:
    """Raise ValueError if a value fails the declared check of its parameter."""
    check = parameter.metadata.get("check")
    if check and not (value is None and parameter.default is None):
        check(parameter.name, value)


# Checks of option values


def ensure(sound: object, name: str, value: object, what: str) -> None:
    """Raise ValueError, "`name` is `value`; `what`", unless it is sound."""
    if not sound:
        raise ValueError(f"{name} is {value!r}; {what}")


def requires(holds: Callable[[Any], bool], what: str) -> Check:
    """Return a check that a value `holds`, whose message ends in "it must `what`"."""

    def check(name: str, value: object) -> None:
        right = False
        with suppress(TypeError, ValueError):  # the value is of a type that cannot be compared
            right = bool(holds(value))
        ensure(right, name, value, f"it must {what}")

    return check


def among(choices: Collection[str]) -> Check:
    """Return a check that a text is one of the choices."""
    return requires(lambda value: value in choices, f"be one of {', '.join(choices)}")


def integer(least: int, most: float = math.inf) -> Check:
    """Return a check that a value is an integer from `least` to `most`, not True or False."""
    return requires(
        lambda value: isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most,
        f"be an integer of at least {least}" + (f" and at most {most}" if most < math.inf else ""),
    )


def number(holds: Callable[[Any], bool], what: str) -> Check:
    """Return a check of a number; True and False are not numbers."""
    return requires(lambda value: not isinstance(value, bool) and holds(value), what)


check_count, check_whole = integer(1), integer(0)
check_share = number(lambda value: 0 < value < 1, "lie strictly between 0 and 1")
check_positive = number(lambda value: 0 < value < math.inf, "be positive and finite")
check_nonnegative = number(lambda value: value >= 0, "be at least 0")
check_finite = number(lambda value: 0 <= value < math.inf, "be finite and at least 0")
check_ratio = number(lambda value: 1 <= value < math.inf, "be finite and at least 1")
check_sine = number(lambda value: 0 <= value < 1, "be at least 0 and less than 1")
check_any_sine = number(lambda value: 0 <= value <= 1, "be at least 0 and at most 1")


# Reading of values

SHOWN = 16
"""Largest number of valid names that a message lists; the nearest one is always named."""
D = TypeVar("D", bound=Declared)


def plain(values: Mapping[str, object]) -> dict[str, object]:
    """Return the values, with NumPy numbers converted to Python numbers."""
    given: Mapping[str, Any] = values
    single = {name: hasattr(value, "dtype") and not getattr(value, "shape", 1) for name, value in given.items()}
    return {name: value.item() if single[name] else value for name, value in given.items()}


def check_values(kind: type[Declared], values: Mapping[str, object], what: str) -> None:
    """Raise ValueError for a value that is no parameter of the class, of the wrong type or out of range. `what` names
    the owner of the parameters in the message."""
    known = {parameter.name: parameter for parameter in fields(kind)}
    for name, value in plain(values).items():
        if name not in known:
            (near,) = difflib.get_close_matches(str(name), known, n=1, cutoff=0)
            raise ValueError(f"{name} is no option of {what}; the nearest is {near}; it has {', '.join(known)}")
        check_type(name, value, str(known[name].type))
        check_declared(known[name], value)


def build(kind: type[D], values: Mapping[str, object], what: str) -> D:
    """Build a class of declared parameters from values; ValueError as in `check_values`, or if one is missing."""
    check_values(kind, values, what)
    for parameter in fields(kind):
        if parameter.default is MISSING and parameter.name not in values:
            raise ValueError(f"{parameter.name} is missing; {what} needs {parameter.metadata.get('meaning', 'it')}")
    return kind(**plain(values))


def check_type(name: str, value: object, type_: str) -> None:
    """Raise ValueError if a list is given for a single value, or a text, None, True or False for a number."""
    if isinstance(value, str) and "str" not in type_:
        raise ValueError(f"{name} is {value!r}, a text; it must be a number{hint_on_text(value)}")
    flag = isinstance(value, bool) and "bool" not in type_
    if (flag or (value is None and "None" not in type_)) and "str" not in type_:
        raise ValueError(f"{name} is {value!r}; it must be a number")
    if hasattr(value, "__len__") and not isinstance(value, str) and "tuple" not in type_:
        raise ValueError(f"{name} is {value!r}; it must be one value; a grid takes lists of values")


def hint_on_text(value: object) -> str:
    """Return the end of a message about a text that was meant as a number."""
    number = isinstance(value, str) and re.fullmatch(r"[-+]?\d+e[-+]?\d+", value)
    return f"; YAML reads {value} as text, write {str(value).replace('e', '.0e')}" if number else ""


def misnamed(value: object, what: str, known: Collection[str]) -> str:
    """Return a clause about an unknown name, with the nearest valid one.

    >>> misnamed("rnak", "not a known key", ["dim", "rank"])
    "'rnak' is not a known key; the nearest is 'rank'; known are 'dim', 'rank'"
    """
    near = "".join(f"; the nearest is {name!r}" for name in difflib.get_close_matches(str(value), known, n=1, cutoff=0))
    return f"{value!r} is {what}{near}" + (f"; known are {', '.join(map(repr, known))}" if len(known) <= SHOWN else "")
