"""Public statements about a table, made without a look at its rows: kinds and ranges of columns, range of the label.

Features are scaled by these statements alone, so that a coordinate has about variance 1 where they are good guesses,
and a value out of range counts as the nearest one in it. A missing feature counts as the middle.
`privrep.users.identity` defines which levels and numbers are equal.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import ClassVar

import numpy as np
import pandas as pd

from privrep.options import Declared, build, check_share, misnamed, option, requires
from privrep.users.identity import MISSING, numbers, of_each, spell

BEYOND, UNLISTED = (
    "lie beyond its range and count as its nearest end",
    "have a level that is not listed and count as none of the levels",
)
CUT, UNLABELLED = "lie beyond the stated range and count as its nearest end", "have no label and are dropped"
HEADLESS = "are of users without a head, predicted by the shared mean; personalise fits heads"
TOLD = {BEYOND: 50, UNLISTED: 0, CUT: 1, UNLABELLED: 0, HEADLESS: 0}
"""Smallest percentage of a table's rows that gives a warning."""
INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
"""Names of columns that hold an index written by pandas."""


@dataclass
class Oddities:
    """Counts of odd rows of a table, for its owner alone: the counts are not private."""

    rows: int = 0
    counts: Counter = field(default_factory=Counter)

    def add(self, name: str, what: str, rows: np.ndarray) -> None:
        """Count the marked rows (N,)."""
        self.counts[name, what] += int(np.sum(rows))

    def tell(self, strict: bool = False) -> None:
        """Warn of each column whose count reaches its percentage in `TOLD`; raise ValueError if most rows have a level
        that a `strict` schema, one stated for these rows, does not list."""
        for (name, what), count in self.counts.items():
            text = f"{name}: {count:,} of {self.rows:,} rows {what} ({100 * count / max(self.rows, 1):.3g} %)"
            if strict and what == UNLISTED and 2 * count > self.rows:
                raise ValueError(f"{text}. List all levels; a range of numbers goes to feature_bounds")
            if count and 100 * count >= TOLD[what] * self.rows:
                warnings.warn(text, stacklevel=2)


@dataclass(frozen=True)
class Number(Declared):
    """A number within [low, high], scaled as if it were uniform there."""

    low: float = option("least value")
    high: float = option("largest value")

    width: ClassVar = 1

    def __post_init__(self):
        try:
            right = -np.inf < self.low < self.high < np.inf and 1e-150 <= self.high - self.low <= 1e150
        except (TypeError, ValueError):
            right = False
        if not right:
            raise ValueError(
                f"low is {self.low!r} and high {self.high!r}; they must be finite, and low less than high "
                "(by 1e-150 to 1e150, since errors are squared)"
            )
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    def scaled(self, values: pd.Series, name: str, odd: Oddities) -> np.ndarray:
        """Return one column (N, 1) within sqrt(3) of 0; a missing value counts as the middle."""
        scaled = (self.within(values, name, odd) - self.middle) / ((self.high - self.low) / 12**0.5)
        return np.nan_to_num(scaled, nan=0.0)[:, None]

    def within(self, values: object, name: str, odd: Oddities, beyond: str = BEYOND) -> np.ndarray:
        """Return numbers (N,) clipped to the range, NaN where missing; those outside are counted under `beyond`."""
        given = numbers(values, name)
        odd.add(name, beyond, (given < self.low) | (given > self.high))
        return np.clip(given, self.low, self.high)


@dataclass(frozen=True)
class Flag(Declared):
    """A feature that is 0 or 1."""

    share: float = option("guess of the share of ones", check_share, 0.5)

    width: ClassVar = 1

    def scaled(self, values: pd.Series, name: str, odd: Oddities) -> np.ndarray:
        """Return one column (N, 1), of variance 1 for the guess; a missing value counts as the guess."""
        flags = Number(0, 1).within(values, name, odd)
        return np.nan_to_num((flags - self.share) / (self.share * (1 - self.share)) ** 0.5, nan=0.0)[:, None]


@dataclass(frozen=True)
class Category(Declared):
    """One of c levels, scaled as if all were as frequent; another value counts as none of them."""

    levels: tuple = option(
        "all possible levels",
        requires(
            lambda levels: isinstance(levels, list | tuple) and 1 < len(levels) == len(set(map(spell, levels))),
            "be a list of two or more, each once",
        ),
    )

    def __post_init__(self):
        levels = tuple(level.item() if hasattr(level, "dtype") else level for level in self.levels)
        for level in levels:
            if not isinstance(level, str | int | float) or spell(level) is None:
                raise ValueError(f"levels has {level!r}; each must be a text, a number or true or false")
        object.__setattr__(self, "levels", levels)
        super().__post_init__()

    @property
    def width(self) -> int:
        return len(self.levels)

    def scaled(self, values: pd.Series, name: str, odd: Oddities) -> np.ndarray:
        """Return sqrt(c) (e - 1/c), (N, c); zeros for another value."""
        places = dict.fromkeys([None, *MISSING], -1) | {spell(level): at for at, level in enumerate(self.levels)}
        codes = of_each(values, lambda value: places.get(spell(value), -2), -1, name).astype(int)
        known = codes >= 0
        odd.add(name, UNLISTED, codes == -2)
        columns = np.zeros((len(codes), self.width))
        columns[known] = -(self.width**-0.5)
        columns[known, codes[known]] += self.width**0.5
        return columns


Kind = Number | Flag | Category
KINDS: dict[str, type[Kind]] = {"number": Number, "flag": Flag, "category": Category}  # name in a schema file -> kind


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


def check_no_index(names: Iterable[object]) -> None:
    """Raise ValueError where a feature is an index that was saved with its table."""
    for name in names:
        if INDEX.fullmatch(str(name)):
            raise ValueError(f"{name!r} is an index that pandas wrote beside the columns; drop it, or give it a name")


@dataclass(frozen=True)
class Schema:
    """Public statements about a table. Inside, labels lie in [-1, 1] and the first feature is the constant 1.

    Attributes
    ----------
    features : kinds of columns by name.
    label : range of the labels.
    """

    features: Mapping[str, Kind]
    label: Number

    def __post_init__(self):
        check_no_index(self.features)

    @classmethod
    def from_dict(cls, read: Mapping) -> Schema:
        """Read the tables `label` and `features` of a TOML or JSON file; a ValueError names the key."""
        for name in ("label", "features"):
            if not isinstance(read.get(name), Mapping):
                raise ValueError(f"[{name}] is {read.get(name)!r}; it must be a table")
        features = {name: kind_of(stated, f"features.{name}") for name, stated in read["features"].items()}
        label = kind_of({**read["label"], "kind": "number"}, "label")
        assert isinstance(label, Number)
        return cls(features, label)

    def to_dict(self) -> dict:
        """Return what `from_dict` reads."""
        names = {kind: name for name, kind in KINDS.items()}
        features = {name: {"kind": names[type(kind)], **asdict(kind)} for name, kind in self.features.items()}
        return {"features": features, "label": asdict(self.label)}

    @property
    def dim(self) -> int:
        """d, the constant included."""
        return 1 + sum(kind.width for kind in self.features.values())

    def scaled(self, frame: pd.DataFrame, odd: Oddities | None = None) -> np.ndarray:
        """Return the features (N, d) float32 of a table's rows; ValueError names a column that is missing or wrong. Odd
        rows are counted in `odd`, or give a warning where it is None."""
        oddities = Oddities(len(frame)) if odd is None else odd
        columns = [np.ones((len(frame), 1))]
        for name, kind in self.features.items():
            if name not in frame:
                raise ValueError(f"the table has no column {name!r}; it has {', '.join(map(repr, frame.columns))}")
            columns.append(kind.scaled(frame[name], f"column {name!r}", oddities))
        if odd is None:
            oddities.tell()
        return np.concatenate(columns, axis=1, dtype=np.float32)

    def scaled_labels(self, labels: object, odd: Oddities | None = None) -> np.ndarray:
        """Scale labels (N,) to [-1, 1]; NaN where missing."""
        odd = Oddities() if odd is None else odd
        clipped = self.label.within(labels, "label", odd, CUT)
        odd.add("label", UNLABELLED, np.isnan(clipped))
        return (clipped - self.label.middle) / ((self.label.high - self.label.low) / 2)

    def labels(self, scaled: np.ndarray) -> np.ndarray:
        """Return scaled labels (N,) in the label's own unit."""
        return self.label.middle + scaled * (self.label.high - self.label.low) / 2
