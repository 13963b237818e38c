"""Schemas from public statements: kinds and ranges of a table's columns, never taken from the data."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from privrep.options import misnamed
from privrep.users.schema import Schema, check_no_index, kind_of


def by_name(argument: str, given: object, names: Sequence[str]) -> dict:
    """Return the entries of an argument by column, given by name, by a pattern of names such as item_*, or in the order
    of the columns."""
    if isinstance(given, Mapping):
        return expanded(argument, given, names)
    if isinstance(given, str) or not isinstance(given, Collection):
        raise ValueError(f"{argument} is {given!r}; it must have an entry for each column, by name or in order")
    if len(given) != len(names):
        raise ValueError(f"{argument} has {len(given)} entries; the table has {len(names)} features")
    return dict(zip(names, given, strict=True))


def expanded(argument: str, given: Mapping, names: Sequence[str]) -> dict:
    """Return entries by column, in the order of columns, from entries by name or pattern; a name takes precedence over
    a pattern, and an earlier matching pattern over later ones."""
    entries = {}
    for key, entry in given.items():
        fits = [key] if key in names else fnmatch.filter(map(str, names), str(key))
        if not fits:
            raise ValueError(f"{argument}: {misnamed(key, 'no column of the table', names)}")
        for name in fits:
            if name == key:
                entries[name] = entry
            else:
                entries.setdefault(name, entry)
    return {name: entries[name] for name in names if name in entries}


def stated(names: Sequence[str], kinds: object, feature_bounds: object, label_bounds: object) -> Schema:
    """Build the schema of a table from the estimator's arguments; raise ValueError where a statement is missing or
    invalid."""
    if label_bounds is None:
        raise ValueError("label_bounds is None; state the least and largest label, not taken from the data")
    check_no_index(names)
    kinds = {} if kinds is None else by_name("kinds", kinds, names)
    if is_pair(feature_bounds):  # one pair for all columns of numbers
        bounds = dict.fromkeys(names, feature_bounds)
    else:
        bounds = {} if feature_bounds is None else by_name("feature_bounds", feature_bounds, names)
    features = {}
    for name in names:
        kind, what = kinds.get(name, "number"), f"kinds of {name!r}"
        if not isinstance(kind, str):
            features[name] = kind_of({"kind": "category", "levels": np.asarray(kind, object).tolist()}, what)
        elif kind != "number":
            features[name] = kind_of({"kind": kind}, what)
        elif name in bounds:
            features[name] = number(bounds[name], f"feature_bounds of {name!r}")
        else:
            raise ValueError(f"feature_bounds has none for {name!r}; state its range, not taken from the data")
    return Schema(features, number(label_bounds, "label_bounds"))


def is_pair(bounds: object) -> TypeGuard[Sequence]:
    """Whether bounds are two single values."""
    if isinstance(bounds, str) or not isinstance(bounds, Sequence | np.ndarray):
        return False
    return len(bounds) == 2 and not any(map(np.ndim, bounds))


def number(bounds: object, what: str) -> Any:
    """Return the kind of a column of numbers with these bounds; a ValueError names the argument."""
    if not is_pair(bounds):
        raise ValueError(f"{what} is {bounds!r}; it must be a low and a high")
    return kind_of(dict(zip(("low", "high"), bounds, strict=True)), what)


def from_toml(path: Path, columns: Sequence[str] | None = None) -> Schema:
    """Read the schema from a template of `privrep bounds` that was filled in; patterns in it stand for the `columns`
    that fit them. A ValueError names the file and the key or line."""
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
        if columns is not None and isinstance(read.get("features"), Mapping):
            read["features"] = expanded("features", read["features"], columns)
        return Schema.from_dict(read)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
