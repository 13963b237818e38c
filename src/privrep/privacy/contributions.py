"""What users add to a sum: kinds of contributions.
Each knows its norm, its clip, how far a sum moves where a user is replaced, and the noise for it.

A method returns, for the users of a block, what each of them adds, and never a sum. `Release.sum` clips, adds up, draws
the noise and writes the entry that belong to the kind, so that none of the four can be another's. A user whose numbers
are not finite adds nothing.

With a, a' what a user adds before and after it is replaced, and c the clip, a sum moves by |a - a'|: by at most 2 c for
any two of norm c, and by at most sqrt(2) c for two positive semidefinite matrices, since <A, A'> >= 0. Where a user is
added or removed it moves by at most c.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from privrep.privacy.clipping import clip_factor, clip_scalar
from privrep.privacy.noise import Law


class Contribution(Protocol):
    """What the users of a block add, one of the kinds below."""

    def clipped(self, clip: object, there: np.ndarray | None) -> tuple[np.ndarray, ...]:
        """Sums over the users of the block, each within the clip.

        Parameters
        ----------
        clip : as the kind takes it: a number, or a clip of its own.
        there : (B,) who takes part, by default everybody.

        Returns
        -------
        The sums in float64; after them, as `Own`, what the users keep where the same work gives it.
        """

    def law(self, clip: object) -> Law:
        """How such a sum is released. It depends on shapes alone.

        Parameters
        ----------
        clip : as in `clipped`.
        """


def shortened(norms: np.ndarray, clip: float, there: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """How much of each user's part a sum takes.

    Parameters
    ----------
    norms : (B,), of the parts; no number or inf for a user who then counts as nothing.
    clip : bound on the norms.
    there : (B,) who takes part; everybody where there is none.

    Returns
    -------
    What each part is multiplied by, (B,), and who has finite numbers and takes part, (B,).
    """
    if there is None and norms.max(initial=0.0) <= clip < math.inf:  # false where one is no number
        return np.ones_like(norms), np.ones(len(norms), bool)
    sound = np.isfinite(norms) if there is None else np.isfinite(norms) & there
    return np.where(sound, clip_factor(np.where(sound, norms, 0.0), clip), 0.0), sound


def float64(array: np.ndarray) -> np.ndarray:
    """The array itself where it is of double precision: in single, rounding would let users past a clip,
    and a sum would round otherwise with another in it.

    Parameters
    ----------
    array : of floats, any shape.
    """
    return array.astype(np.float64, copy=False)


def lengths(rows: np.ndarray) -> np.ndarray:
    """L2 norms of rows, (B,); no number or inf where they overflow.

    Parameters
    ----------
    rows : (B, p).
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.sqrt(np.einsum("bp,bp->b", rows, rows))


def only(sound: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows of some users; zeros for the others, whatever theirs are.

    Parameters
    ----------
    sound : (B,) whose rows stay.
    rows : (B, ...).
    """
    return rows if sound.all() else np.where(sound.reshape(-1, *(1,) * (rows.ndim - 1)), rows, 0.0)


@dataclass(frozen=True, eq=False)
class Rows:
    """An array each, clipped as a whole in L2 norm.

    Attributes
    ----------
    values : (B, ...).
    margin : part of the clip that is left to rounding.
    """

    values: np.ndarray
    margin: float = 0.0

    def flat(self) -> np.ndarray:
        """(B, p) in float64, in which they are measured and summed.
        Not kept: many runs at once would not fit into the cache."""
        return float64(self.values).reshape(len(self.values), math.prod(self.values.shape[1:]))

    @property
    def norms(self) -> np.ndarray:
        return lengths(self.flat())

    def clipped(self, clip: float, there: np.ndarray | None = None) -> tuple[np.ndarray]:
        flat = self.flat()
        factor, sound = shortened(lengths(flat), clip * (1 - self.margin), there)
        return ((factor @ only(sound, flat)).reshape(self.values.shape[1:]),)

    def law(self, clip: float) -> Law:
        return Law.of_one(2 * clip, clip, terms=1)


class Columns(Rows):
    """The columns of a matrix each, (B, k, d), which is released as (d, k)."""

    def clipped(self, clip: float, there: np.ndarray | None = None) -> tuple[np.ndarray]:
        (total,) = super().clipped(clip, there)
        return (total.T,)


@dataclass(frozen=True, eq=False)
class Scalars:
    """A number each, (B,), cut to [-clip, clip]."""

    values: np.ndarray

    def clipped(self, clip: float, there: np.ndarray | None = None) -> tuple[np.ndarray]:
        sound = np.isfinite(self.values) if there is None else np.isfinite(self.values) & there
        return (clip_scalar(np.where(sound, float64(self.values), 0.0), clip).sum(),)

    def law(self, clip: float) -> Law:
        return Law.of_one(2 * clip, clip, terms=1)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of candidates, (c, B), cut to [-width, 0], whose sums decide a choice;
    a score that is no number counts as 0."""

    values: np.ndarray

    def shares(self, width: float) -> np.ndarray:
        """What each user adds, (c, B).

        Parameters
        ----------
        width : at least 0, of the interval to which a score is cut.
        """
        return np.nan_to_num(np.clip(self.values, -width, 0), nan=0.0)

    def clipped(self, width: float, there: np.ndarray | None = None) -> tuple[np.ndarray]:
        shares = self.shares(width)
        return ((shares if there is None else np.where(there, shares, 0.0)).sum(axis=1),)

    def law(self, width: float) -> None:
        """The exponential mechanism has no noise of its own: see `Release.choice`.
        Parameters as in `Contribution.law`."""


@dataclass(frozen=True, eq=False)
class Outer:
    """Outer products l r^T, clipped in Frobenius norm, which is |l| |r|: nothing is blown up.

    Attributes
    ----------
    left : (B, d).
    right : (B, k).
    """

    left: np.ndarray
    right: np.ndarray

    @cached_property
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """l and r in float64, in which they are measured and summed."""
        return float64(self.left), float64(self.right)

    @cached_property
    def norms(self) -> np.ndarray:
        left, right = self.factors
        with np.errstate(over="ignore", invalid="ignore"):
            return np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)

    def clipped(self, clip: float, there: np.ndarray | None = None) -> tuple[np.ndarray]:
        left, right = self.factors
        longest = (lengths(left) * lengths(right)).max(initial=0.0) * (1 + 1e-13)
        if (
            there is None and longest <= clip < math.inf
        ):  # half the time of the norms, which decide only where one is longer
            return (left.T @ right,)
        factor, sound = shortened(self.norms, clip, there)
        return (only(sound, left).T @ (only(sound, right) * factor[:, None]),)

    def law(self, clip: float) -> Law:
        return Law.of_one(2 * clip, clip, terms=1)


@dataclass(frozen=True, eq=False)
class SymmetricOuter(Outer):
    """(l r^T + r l^T) / 2, of norm at most |l| |r|: left, right (B, d). Users with opposite ones attain 2 c."""

    def clipped(self, clip: float, there: np.ndarray | None = None) -> tuple[np.ndarray]:
        (product,) = super().clipped(clip, there)
        return ((product + product.T) / 2,)

    def law(self, clip: float) -> Law:
        return Law.of_one(2 * clip, clip, "averaged", terms=1)


@dataclass(frozen=True, eq=False)
class Semidefinite:
    """Sums of r r^T, positive semidefinite, clipped by trace, which is the largest that the Frobenius norm can be.

    Attributes
    ----------
    rows : (B, d), or (q, B, d) with q of them for each user.
    """

    rows: np.ndarray

    @cached_property
    def norms(self) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.einsum("bd,bd->b" if self.rows.ndim == 2 else "qbd,qbd->b", *2 * (float64(self.rows),))

    def clipped(self, clip: float, there: np.ndarray | None = None) -> tuple[np.ndarray]:
        factor, sound = shortened(self.norms, clip, there)
        rows = float64(self.rows)
        if not (factor == 1).all():
            rows = np.where(sound[:, None], rows, 0.0) * np.sqrt(factor)[:, None]
        flat = rows.reshape(-1, rows.shape[-1]) if rows.ndim == 3 else rows
        return (flat.T @ flat,)

    def law(self, clip: float) -> Law:
        terms = 1 if self.rows.ndim == 2 else len(self.rows)
        return Law.of_one(math.sqrt(2) * clip, clip, "averaged", terms)


class SemidefiniteByNorm(Semidefinite):
    """The same, clipped by Frobenius norm, which is that of the smaller of the two Gram matrices. rows : (q, B, d)."""

    @cached_property
    def norms(self) -> np.ndarray:
        rows = float64(self.rows).transpose(1, 0, 2)
        smaller = rows @ rows.transpose(0, 2, 1) if rows.shape[1] < rows.shape[2] else rows.transpose(0, 2, 1) @ rows
        return lengths(smaller.reshape(len(smaller), -1))
