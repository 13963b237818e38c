"""Schemas from public statements: kinds and ranges of a table's columns, never taken from the data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from privrep.options import misnamed
from privrep.users.schema import Schema


def by_name(argument: str, given: object, names: Sequence[str]) -> dict:
    """Return the entries of an argument by column, given by name or in the order of the columns."""
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise ValueError(f"{argument}: {misnamed(name, 'no column of the table', names)}")
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
        bounds = dict.fromkeys(names, feature_bounds)
    else:
        bounds = {} if feature_bounds is None else by_name("feature_bounds", feature_bounds, names)
    features = {}
    for name in names:
        kind = kinds.get(name, "number")
        if not isinstance(kind, str):
            features[name] = {"kind": "category", "levels": np.asarray(kind, object).tolist()}
        elif kind != "number":
            features[name] = {"kind": kind}
        elif name in bounds:
            features[name] = ends(bounds[name], f"feature_bounds of {name!r}")
        else:
            raise ValueError(
                f"feature_bounds has none for {name!r}; state its least and largest value (the data are not asked)"
            )
    return Schema.from_dict({"features": features, "label": ends(label_bounds, "label_bounds")})


def ends(bounds: object, what: str) -> dict:
    """Return a pair of bounds by name."""
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise ValueError(f"{what} is {bounds!r}; it must be a low and a high") from None
    return {"low": low, "high": high}


def from_toml(path: Path) -> Schema:
    """Read the schema in a file that `privrep bounds` has begun; a ValueError names the file and the key or line."""
    try:
        return Schema.from_dict(tomllib.loads(path.read_text()))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
