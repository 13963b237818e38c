"""Public statements about a table, made without a look at its rows: kinds and ranges of columns, range of the label.

Features are scaled by these statements alone, so that a coordinate has about variance 1 where they are good guesses,
and a value out of range counts as the nearest one in it. A missing feature counts as the middle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Number:
    """A number within [low, high], scaled as if it were uniform there."""

    low: float
    high: float

    width: ClassVar = 1

    def __post_init__(self):
        if not -np.inf < self.low < self.high < np.inf:
            raise ValueError(f"low is {self.low!r} and high {self.high!r}; they must be finite, and low less than high")

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    def columns(self, values: pd.Series) -> np.ndarray:
        """Return one column (N, 1) within sqrt(3) of 0; a missing value counts as the middle."""
        numbers = np.clip(pd.to_numeric(values).to_numpy(np.float64, na_value=np.nan), self.low, self.high)
        scaled = (numbers - self.middle) / ((self.high - self.low) / 12**0.5)
        return np.nan_to_num(scaled, nan=0.0)[:, None]


@dataclass(frozen=True)
class Flag:
    """0 or 1, where `share` guesses how often it is 1, between 0 and 1."""

    share: float = 0.5

    width: ClassVar = 1

    def __post_init__(self):
        if not 0 < self.share < 1:
            raise ValueError(f"share is {self.share!r}; it must lie between 0 and 1")

    def columns(self, values: pd.Series) -> np.ndarray:
        """Return one column (N, 1), of variance 1 for the guess; a missing value counts as the guess."""
        numbers = np.clip(pd.to_numeric(values).to_numpy(np.float64, na_value=np.nan), 0, 1)
        return np.nan_to_num((numbers - self.share) / (self.share * (1 - self.share)) ** 0.5, nan=0.0)[:, None]


@dataclass(frozen=True)
class Category:
    """One of c levels, scaled as if all were as frequent; another value counts as none of them."""

    levels: tuple

    def __post_init__(self):
        if len(self.levels) < 2 or len(set(self.levels)) < len(self.levels):
            raise ValueError(f"levels are {self.levels!r}; they must be two or more, each once")

    @property
    def width(self) -> int:
        return len(self.levels)

    def columns(self, values: pd.Series) -> np.ndarray:
        """Return sqrt(c) (e - 1/c), (N, c); zeros for another value."""
        codes = pd.Index(self.levels).get_indexer(values.to_numpy())
        known = codes >= 0
        columns = np.zeros((len(codes), self.width))
        columns[known] = -(self.width**-0.5)
        columns[known, codes[known]] += self.width**0.5
        return columns


Kind = Number | Flag | Category


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

    @property
    def dim(self) -> int:
        """d, with the constant."""
        return 1 + sum(kind.width for kind in self.features.values())

    def scaled(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the features (N, d) float32 of a table's rows; other columns are ignored, and ValueError names one
        that is missing or not of its kind."""
        columns = [np.ones((len(frame), 1))]
        for name, kind in self.features.items():
            if name not in frame:
                raise ValueError(f"the table has no column {name!r}; it has {', '.join(map(repr, frame.columns))}")
            try:
                columns.append(kind.columns(frame[name]))
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
