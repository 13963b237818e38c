"""Kinds of contributions with a clip and two users who move a sum as far as anybody can."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from privrep.privacy.contributions import (
    Columns,
    Outer,
    Rows,
    Scalars,
    Scores,
    Semidefinite,
    SemidefiniteByNorm,
    SymmetricOuter,
)
from privrep.privacy.noise import NoiseSpec
from privrep.privacy.paired_samples import AllPairs, DisjointPairs
from privrep.privacy.regression_moments import Moments, SampleClip, UserClip
from privrep.users.blocks import Block

SIZE = 24
"""Numbers of a user, of which a kind takes the first ones."""


def samples_of(numbers: np.ndarray, samples: int) -> Block:
    """Samples in R^3, as methods see them; their labels come first."""
    with np.errstate(over="ignore"):
        numbers = numbers[:, : 4 * samples].astype(np.float32)
    return Block(0, numbers[:, samples:].reshape(-1, samples, 3).transpose(1, 0, 2), numbers[:, :samples].T)


def pairs_of(kind: type, samples: int) -> Callable[[np.ndarray], object]:
    """Numbers of users -> the products of their samples."""

    def made(numbers: np.ndarray) -> object:
        block = samples_of(numbers, samples)
        return kind(block.features, block.labels, block.feature_norms)

    return made


def moments_of(numbers: np.ndarray, averaged: bool = False) -> Moments:
    """With heads of any size; a fit leaves finite ones."""
    block, heads = samples_of(numbers, 2), np.clip(np.nan_to_num(numbers[:, 8:10]), -1e30, 1e30)
    return Moments(block.features, block.labels, block.feature_norms, heads, averaged)


def several_rows(numbers: np.ndarray, count: int = 2) -> np.ndarray:
    """Fewer of each user than they have entries, (2, B, 3), or more, (3, B, 2)."""
    return numbers[:, :6].reshape(-1, count, 6 // count).transpose(1, 0, 2)


def user(*numbers: float) -> np.ndarray:
    """One user, (1, SIZE)."""
    return np.pad(np.array(numbers, float), (0, SIZE - len(numbers)))[None]


def slanted(degrees: float, label: float) -> np.ndarray:
    """Two samples at this angle in a plane, and a head on the first axis."""
    direction = 50 * math.cos(math.radians(degrees)), 50 * math.sin(math.radians(degrees)), 0
    return user(label, label, *direction, *direction, 2)


@dataclass(frozen=True)
class Case:
    """A kind with its clip.

    Attributes
    ----------
    make : numbers of users (B, SIZE) -> what they add.
    pair : two users who move a sum by `share` of what anybody can, at least.
    rounding : relative, of sums.
    """

    make: Callable[[np.ndarray], object]
    clip: object
    pair: tuple[np.ndarray, np.ndarray]
    share: float = 0.99
    rounding: float = 1e-9

    @property
    def law(self) -> NoiseSpec:
        return self.make(user(1.0)).noise_spec(self.clip)

    def most(self, neighbours: str) -> float:
        """How far a sum may move, in units of its noise at multiplier 1."""
        return self.make(user(1.0)).sensitivity(self.clip, neighbours) / self.law.noise_sd

    def sums(self, numbers: np.ndarray, there: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        return self.make(numbers).clipped(self.clip, there)

    def contribution(self, numbers: np.ndarray) -> Callable[[Block], object]:
        """What users with these numbers add."""
        return lambda block: self.make(numbers[block.start : block.start + block.users])


OPPOSITE, TURNED = (user(99), user(-99)), (user(9, 0, 0, 9), user(9, 0, 0, -9))
PLANES, SLANTED = (user(9, 0, 0, 9), user(0, 9, 0, 0, 9)), (slanted(75, 99), slanted(15, -99))
LABELS = 9, 9, 9, 9
LINE, PLANE = (5, 0, 0, 0.2, 0, 0), (5, 0, 0, 0, 0.2, 0)
"""Two samples on one axis, and on two."""
CASES = {
    "rows": Case(lambda x: Rows(x[:, :6].reshape(-1, 3, 2)), 0.4, OPPOSITE),
    "columns": Case(lambda x: Columns(x[:, :6].reshape(-1, 2, 3), 1e-3), 0.4, OPPOSITE),
    "scalars": Case(lambda x: Scalars(x[:, 0]), 0.4, OPPOSITE),
    "outer": Case(lambda x: Outer(x[:, :3], x[:, 3:5]), 0.4, TURNED),
    "symmetric": Case(lambda x: SymmetricOuter(x[:, :3], x[:, 3:6]), 0.4, TURNED),
    "semidefinite": Case(lambda x: Semidefinite(x[:, :3]), 0.4, (user(9), user(0, 9))),
    "several rows": Case(lambda x: Semidefinite(several_rows(x)), 0.4, PLANES),
    "by norm": Case(lambda x: SemidefiniteByNorm(several_rows(x)), 0.4, PLANES),
    "more, by norm": Case(lambda x: SemidefiniteByNorm(several_rows(x, 3)), 0.4, (user(9), user(0, 9))),
    "disjoint pairs": Case(
        pairs_of(DisjointPairs, 4),
        1.9,
        (user(*LABELS, *PLANE, *PLANE), user(9, -9, 9, -9, *PLANE, *PLANE)),
        rounding=1e-5,
    ),
    "one pair": Case(pairs_of(AllPairs, 2), 1.9, (user(9, 9, *LINE), user(9, -9, *LINE))),
    # What six pairs add is opposite to no other user's; a search reaches 0.956 of the sensitivity.
    "all pairs": Case(pairs_of(AllPairs, 4), 1.9, (user(*LABELS, *LINE, *LINE), user(9, -9, 9, -9, *LINE, *LINE)), 0.9),
    "moments": Case(moments_of, SampleClip(0.7, 1.9), SLANTED, rounding=1e-5),
    "averaged moments": Case(partial(moments_of, averaged=True), SampleClip(0.7, 1.9), SLANTED, rounding=1e-5),
    "moments of clipped users": Case(
        moments_of,
        UserClip(0.7, 1.9),
        (user(0, 1e6, 99, 0, 0, 0, 0, 1e-3, 1), user(0, -1e6, 0, 99, 0, 0, 0, 1e-3, 1)),
        rounding=1e-5,
    ),
}
CHOICE = Case(lambda x: Scores(x[:, :3].T), 0.4, (user(-9, 0), user(0, -9)))
