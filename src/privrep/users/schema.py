"""Public statements about a table, made without a look at its rows: kinds and ranges of columns, range of the label.

Features are scaled by these statements alone, so that a coordinate has about variance 1 where they are good guesses,
and a value out of range counts as the nearest one in it. A missing feature counts as the middle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from privrep.options import Declared, build, check_share, misnamed, option, requires


@dataclass(frozen=True)
class Number(Declared):
    """A number within [low, high], scaled as if it were uniform there."""

    low: float = option("least value")
    high: float = option("largest value")

    width: ClassVar = 1

    def __post_init__(self):
        if not -np.inf < self.low < self.high < np.inf:
            raise ValueError(f"low is {self.low!r} and high {self.high!r}; they must be finite, and low less than high")
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    def scaled(self, values: pd.Series) -> np.ndarray:
        """Return one column (N, 1) within sqrt(3) of 0; a missing value counts as the middle."""
        numbers = np.clip(pd.to_numeric(values).to_numpy(np.float64, na_value=np.nan), self.low, self.high)
        scaled = (numbers - self.middle) / ((self.high - self.low) / 12**0.5)
        return np.nan_to_num(scaled, nan=0.0)[:, None]


@dataclass(frozen=True)
class Flag(Declared):
    """0 or 1."""

    share: float = option("guess of how often it is 1", check_share, 0.5)

    width: ClassVar = 1

    def scaled(self, values: pd.Series) -> np.ndarray:
        """Return one column (N, 1), of variance 1 for the guess; a missing value counts as the guess."""
        numbers = np.clip(pd.to_numeric(values).to_numpy(np.float64, na_value=np.nan), 0, 1)
        return np.nan_to_num((numbers - self.share) / (self.share * (1 - self.share)) ** 0.5, nan=0.0)[:, None]


@dataclass(frozen=True)
class Category(Declared):
    """One of c levels, scaled as if all were as frequent; another value counts as none of them."""

    levels: tuple = option(
        "all that it may be",
        requires(
            lambda levels: isinstance(levels, list | tuple) and 1 < len(levels) == len(set(levels)),
            "be a list of two or more, each once",
        ),
    )

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "levels", tuple(self.levels))

    @property
    def width(self) -> int:
        return len(self.levels)

    def scaled(self, values: pd.Series) -> np.ndarray:
        """Return sqrt(c) (e - 1/c), (N, c); zeros for another value."""
        codes = pd.Index(self.levels).get_indexer(values.to_numpy())
        known = codes >= 0
        columns = np.zeros((len(codes), self.width))
        columns[known] = -(self.width**-0.5)
        columns[known, codes[known]] += self.width**0.5
        return columns


Kind = Number | Flag | Category
KINDS: dict[str, type[Kind]] = {"number": Number, "flag": Flag, "category": Category}  # name -> its statements


def kind_of(read: object, name: str) -> Kind:
    """Return the kind of a column, by default a number, from its statements; ValueError names the column."""
    if not isinstance(read, Mapping):
        raise ValueError(f"{name} is {read!r}; it must be a table")
    kind = read.get("kind", "number")
    if kind not in [*KINDS]:
        raise ValueError(f"{name}: {misnamed(kind, 'no kind', KINDS)}")
    try:
        return build(KINDS[kind], {key: value for key, value in read.items() if key != "kind"}, f"a {kind}")
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: {error}") from None


@dataclass(frozen=True)
class Schema:
    """Public statements about a table. Inside, labels lie in [-1, 1] and the first feature is the constant 1.

    Attributes
    ----------
    features : kinds of columns by name.
    label : its range.
    """

    features: Mapping[str, Kind]
    label: Number

    @classmethod
    def from_dict(cls, read: Mapping) -> Schema:
        """Read the tables `label` and `features`, as they stand in TOML and JSON; a ValueError names the key."""
        for name in ("label", "features"):
            if not isinstance(read.get(name), Mapping):
                raise ValueError(f"[{name}] is {read.get(name)!r}; it must be a table")
        features = {name: kind_of(one, f"features.{name}") for name, one in read["features"].items()}
        return cls(features, kind_of({**read["label"], "kind": "number"}, "label"))

    def to_dict(self) -> dict:
        """Return what `from_dict` reads."""
        names = {kind: name for name, kind in KINDS.items()}
        features = {name: {"kind": names[type(kind)], **asdict(kind)} for name, kind in self.features.items()}
        return {"features": features, "label": asdict(self.label)}

    @property
    def dim(self) -> int:
        """d, with the constant."""
        return 1 + sum(kind.width for kind in self.features.values())

    def scaled(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the features (N, d) float32 of a table's rows; ValueError names a column that is missing or wrong."""
        columns = [np.ones((len(frame), 1))]
        for name, kind in self.features.items():
            if name not in frame:
                raise ValueError(f"the table has no column {name!r}; it has {', '.join(map(repr, frame.columns))}")
            try:
                columns.append(kind.scaled(frame[name]))
            except (ValueError, TypeError) as error:
                raise ValueError(f"column {name!r} is no {type(kind).__name__.lower()}: {error}") from error
        return np.concatenate(columns, axis=1, dtype=np.float32)

    def scaled_labels(self, labels: np.ndarray) -> np.ndarray:
        """Scale labels (N,) to [-1, 1]; NaN where one is missing."""
        half = (self.label.high - self.label.low) / 2
        return (np.clip(np.asarray(labels, np.float64), self.label.low, self.label.high) - self.label.middle) / half

    def labels(self, scaled: np.ndarray) -> np.ndarray:
        """Return scaled labels (N,) in the label's own unit."""
        return self.label.middle + scaled * (self.label.high - self.label.low) / 2
