"""Schemas from public statements: kinds and ranges of a table's columns, never taken from the data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from privrep.users.schema import Category, Flag, Kind, Number, Schema

NUMBER, FLAG, CATEGORY = "number", "flag", "category"


def by_name(argument: str, given: object, names: Sequence[str]) -> dict:
    """Return the entries of an argument by column, given by name or in the order of the columns."""
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(f"{argument} names {unknown[0]!r}; the table has {', '.join(map(repr, names))}")
        return dict(given)
    if len(given) != len(names):
        raise ValueError(f"{argument} has {len(given)} entries; the table has {len(names)} features")
    return dict(zip(names, given, strict=True))


def stated(names: Sequence[str], kinds: object, feature_bounds: object, label_bounds: object) -> Schema:
    """Build the schema of a table from the estimator's arguments; raise ValueError where a statement is missing or
    invalid."""
    if label_bounds is None:
        raise ValueError("label_bounds is None; state the least and largest label (the data are not asked)")
    kinds = {} if kinds is None else by_name("kinds", kinds, names)
    if np.shape(feature_bounds) == (2,) and not isinstance(feature_bounds, Mapping):  # one pair for all numbers
        bounds = dict.fromkeys(names, tuple(feature_bounds))
    else:
        bounds = {} if feature_bounds is None else by_name("feature_bounds", feature_bounds, names)
    return Schema(
        {name: kind_of(name, kinds.get(name, NUMBER), bounds.get(name)) for name in names}, pair(label_bounds)
    )


def kind_of(name: str, kind: object, bounds: object) -> Kind:
    """Return the kind of one column."""
    if isinstance(kind, str) and kind == FLAG:
        return Flag()
    if isinstance(kind, str) and kind != NUMBER:
        raise ValueError(f"kind of {name!r} is {kind!r}; it must be 'number', 'flag', or a list of levels")
    if not isinstance(kind, str):
        return Category(tuple(kind))
    if bounds is None:
        raise ValueError(
            f"feature_bounds has none for {name!r}; state its least and largest value (the data are not asked)"
        )
    return pair(bounds, f"bounds of {name!r}")


def pair(bounds: object, what: str = "label_bounds") -> Number:
    """Return a range; the error for an invalid one begins with `what`."""
    try:
        low, high = map(float, bounds)
        return Number(low, high)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} is {bounds!r}; it must be a finite low and a larger high") from error


def from_toml(path: Path) -> Schema:
    """Read the schema in a file that `privrep bounds` has begun; a ValueError names the file and the key."""
    try:
        read = tomllib.loads(path.read_text())
        label, features = (table_in(read[name], f"[{name}]") for name in ("label", "features"))
        found = {name: kind_in(name, one) for name, one in features.items()}
        return Schema(found, pair((label.get("low"), label.get("high")), "label"))
    except KeyError as error:
        raise ValueError(f"{path} has no table [{error.args[0]}]") from error
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error


def table_in(read: object, what: str) -> Mapping:
    """Return a table of TOML; raise ValueError for another value."""
    if not isinstance(read, Mapping):
        raise ValueError(f"{what} is {read!r}; it must be a table")
    return read


def kind_in(name: str, read: object) -> Kind:
    """Return the kind of a column in such a file."""
    table = table_in(read, f"features.{name}")
    kind = table.get("kind", NUMBER)
    try:
        if kind == CATEGORY:
            return Category(tuple(table.get("levels", ())))
        if kind == FLAG:
            return Flag(table.get("share", 0.5))
    except (ValueError, TypeError) as error:
        raise ValueError(f"features.{name}: {error}") from error
    if kind != NUMBER:
        raise ValueError(f"features.{name}.kind is {kind!r}; it must be number, flag or category")
    return pair((table.get("low"), table.get("high")), f"features.{name}, low and high,")
