"""Kinds of contributions of users to a sum. Each kind defines its norm, its clip, the sensitivity of the sum and its
noise.

A method returns the contributions of a block's users, never a sum. `Release.sum` clips, adds up, draws the noise and
writes the ledger entry by this kind, so that clip, sum, noise and entry cannot mismatch. A user whose numbers are not
finite adds nothing.

Replacing a contribution a by a' moves a sum by |a - a'|: by at most 2 c for any two contributions of norm at most the
clip c, and by at most sqrt(2) c for two positive semidefinite matrices, since <A, A'> >= 0. Adding or removing a user
moves it by at most c. Each kind returns the bound for either change as its `sensitivity`, for noise, ledger and plans.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np

from privrep.privacy.clipping import clip_factor, clip_scalar, float64, lengths, zero_rows_except
from privrep.privacy.noise import NoiseSpec

Neighbours = Literal["replaced", "added or removed"]
"""Difference of two neighbouring tables: one user's rows are replaced, or one user is added or removed."""


def of_any_two(clip: float, neighbours: Neighbours = "replaced") -> float:
    """Return the L2 sensitivity of a sum of arbitrary contributions of norm at most the clip.

    Parameters
    ----------
    clip : at least 0.
    neighbours : change of one user.
    """
    return 2 * clip if neighbours == "replaced" else clip


def of_semidefinite(clip: float, neighbours: Neighbours = "replaced") -> float:
    """Return the sensitivity, in Frobenius norm, of a sum of positive semidefinite matrices of norm at most the clip.

    Parameters
    ----------
    clip : largest Frobenius norm of a matrix, at least 0.
    neighbours : change of one user.
    """
    return math.sqrt(2) * clip if neighbours == "replaced" else clip


class Contribution(Protocol):
    """Contributions of a block's users, one of the kinds below."""

    def clipped(self, clip: object, participating: np.ndarray | None) -> tuple[np.ndarray, ...]:
        """Return sums over the block's users of their clipped contributions, in float64, then any `UserRows` that the
        users keep from the same computation.

        Parameters
        ----------
        clip : a number, or an object such as `SampleClip`, as the kind requires.
        participating : (B,) mask of participating users, by default all.
        """
        ...

    def sensitivity(self, clip: object, neighbours: Neighbours = "replaced") -> float:
        """Return the sensitivity of the sum, in the unit of the noise of its first array.

        Parameters
        ----------
        clip : as in `clipped`.
        neighbours : change of one user.
        """
        ...

    def noise_spec(self, clip: object) -> NoiseSpec:
        """Return the specification of the noise for the sum. It depends on shapes alone.

        Parameters
        ----------
        clip : as in `clipped`.
        """
        ...


def _clip_weights(norms: np.ndarray, clip: float, participating: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return each user's factor in the sum, and the mask of participating users with finite norm; (B,) each."""
    if participating is None and norms.max(initial=0.0) <= clip < math.inf:  # false where a norm is NaN
        return np.ones_like(norms), np.ones(len(norms), bool)
    sound = np.isfinite(norms) if participating is None else np.isfinite(norms) & participating
    return np.where(sound, clip_factor(np.where(sound, norms, 0.0), clip), 0.0), sound


@dataclass(frozen=True, eq=False)
class Rows:
    """One array per user, clipped as a whole in L2 norm."""

    values: np.ndarray  # (B, ...)
    margin: float = 0.0  # share of the clip that is left for rounding
    sensitivity = staticmethod(of_any_two)

    def flat(self) -> np.ndarray:
        """Return the arrays as rows (B, p) in float64, for norms and sums.

        They are not cached: for many runs at once they would not fit into the cache."""
        return float64(self.values).reshape(len(self.values), math.prod(self.values.shape[1:]))

    @property
    def norms(self) -> np.ndarray:
        return lengths(self.flat())

    def clipped(self, clip: float, participating: np.ndarray | None = None) -> tuple[np.ndarray]:
        flat = self.flat()
        factor, sound = _clip_weights(lengths(flat), clip * (1 - self.margin), participating)
        return ((factor @ zero_rows_except(sound, flat)).reshape(self.values.shape[1:]),)

    def noise_spec(self, clip: float) -> NoiseSpec:
        return NoiseSpec.of_one(self.sensitivity(clip), clip, terms=1)


class Columns(Rows):
    """The columns of a matrix per user, (B, k, d), released as (d, k)."""

    def clipped(self, clip: float, participating: np.ndarray | None = None) -> tuple[np.ndarray]:
        (total,) = super().clipped(clip, participating)
        return (total.T,)


@dataclass(frozen=True, eq=False)
class Scalars:
    """One number per user, (B,), clipped to [-clip, clip]."""

    values: np.ndarray
    sensitivity = staticmethod(of_any_two)

    def clipped(self, clip: float, participating: np.ndarray | None = None) -> tuple[np.ndarray]:
        sound = np.isfinite(self.values) if participating is None else np.isfinite(self.values) & participating
        return (clip_scalar(np.where(sound, float64(self.values), 0.0), clip).sum(),)

    def noise_spec(self, clip: float) -> NoiseSpec:
        return NoiseSpec.of_one(self.sensitivity(clip), clip, terms=1)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores (c, B) of c candidates by users, clipped to [-width, 0]; their sums decide the choice; NaN counts as 0."""

    values: np.ndarray

    def shares(self, width: float) -> np.ndarray:
        """Return each user's part of the scores, (c, B).

        Parameters
        ----------
        width : length of the interval to which a score is clipped, at least 0.
        """
        return np.nan_to_num(np.clip(self.values, -width, 0), nan=0.0)

    def clipped(self, width: float, participating: np.ndarray | None = None) -> tuple[np.ndarray]:
        shares = self.shares(width)
        return ((shares if participating is None else np.where(participating, shares, 0.0)).sum(axis=1),)

    def sensitivity(self, width: float, neighbours: Neighbours = "replaced") -> float:
        """Return the largest change of one candidate's score, for both kinds of neighbours. Parameters as in
        `Contribution.sensitivity`."""
        return width

    def noise_spec(self, width: float) -> None:
        """Return None: the exponential mechanism adds no noise to the sum, see `Release.choice`. Parameters as in
        `Contribution.noise_spec`."""


@dataclass(frozen=True, eq=False)
class Outer:
    """Outer products l r^T, clipped in Frobenius norm, which is |l| |r|, without forming them."""

    left: np.ndarray  # (B, d)
    right: np.ndarray  # (B, k)
    sensitivity = staticmethod(of_any_two)

    @cached_property
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """l and r in float64, for norms and sums."""
        return float64(self.left), float64(self.right)

    @cached_property
    def norms(self) -> np.ndarray:
        left, right = self.factors
        with np.errstate(over="ignore", invalid="ignore"):
            return np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)

    def clipped(self, clip: float, participating: np.ndarray | None = None) -> tuple[np.ndarray]:
        left, right = self.factors
        longest = (lengths(left) * lengths(right)).max(initial=0.0) * (1 + 1e-13)
        # This takes half the time of the norms, which are needed only where a product exceeds the clip.
        if participating is None and longest <= clip < math.inf:
            return (left.T @ right,)
        factor, sound = _clip_weights(self.norms, clip, participating)
        return (zero_rows_except(sound, left).T @ (zero_rows_except(sound, right) * factor[:, None]),)

    def noise_spec(self, clip: float) -> NoiseSpec:
        return NoiseSpec.of_one(self.sensitivity(clip), clip, terms=1)


@dataclass(frozen=True, eq=False)
class SymmetricOuter(Outer):
    """Matrices (l r^T + r l^T) / 2, norm at most |l| |r|, l and r (B, d); users with opposite matrices attain 2 c."""

    def clipped(self, clip: float, participating: np.ndarray | None = None) -> tuple[np.ndarray]:
        (product,) = super().clipped(clip, participating)
        return ((product + product.T) / 2,)

    def noise_spec(self, clip: float) -> NoiseSpec:
        return NoiseSpec.of_one(self.sensitivity(clip), clip, "averaged", terms=1)


@dataclass(frozen=True, eq=False)
class Semidefinite:
    """Sums of r r^T, positive semidefinite, clipped by trace, which bounds the Frobenius norm."""

    rows: np.ndarray  # (B, d), or (q, B, d) with q rows per user
    sensitivity = staticmethod(of_semidefinite)

    @cached_property
    def norms(self) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.einsum("bd,bd->b" if self.rows.ndim == 2 else "qbd,qbd->b", *2 * (float64(self.rows),))

    def clipped(self, clip: float, participating: np.ndarray | None = None) -> tuple[np.ndarray]:
        factor, sound = _clip_weights(self.norms, clip, participating)
        rows = float64(self.rows)
        if not (factor == 1).all():
            rows = np.where(sound[:, None], rows, 0.0) * np.sqrt(factor)[:, None]
        flat = rows.reshape(-1, rows.shape[-1]) if rows.ndim == 3 else rows
        return (flat.T @ flat,)

    def noise_spec(self, clip: float) -> NoiseSpec:
        terms = 1 if self.rows.ndim == 2 else len(self.rows)
        return NoiseSpec.of_one(self.sensitivity(clip), clip, "averaged", terms)


class SemidefiniteByNorm(Semidefinite):
    """Sums of r r^T, rows (q, B, d), clipped by Frobenius norm, which equals that of the smaller of the two Gram
    matrices."""

    @cached_property
    def norms(self) -> np.ndarray:
        rows = float64(self.rows).transpose(1, 0, 2)
        few = rows.shape[1] < rows.shape[2]
        with np.errstate(over="ignore", invalid="ignore"):
            smaller = rows @ rows.transpose(0, 2, 1) if few else rows.transpose(0, 2, 1) @ rows
        return lengths(smaller.reshape(len(smaller), smaller.shape[1] ** 2))
