"""The score of jain2021's Algorithm 4: the least losses of the users in a subspace.

    score(U) = sum_j min_{||v|| <= C} (1/q) sum_i l( <clip(U^T x_ij; L_f), v>; y_ij )        over q samples of each user

A user's share a_j(U) is its term less the loss of the head 0, which is the same for every U: it lies in [-w, 0] with w
= xi L_f C, since v = 0 is allowed and a prediction is at most L_f C. Shares are clipped to this interval, and NaN
counts as 0, so that neither an inexact solver nor rounding can move a share out of it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from privrep.privacy.clipping import clip_factor
from privrep.privacy.contributions import Scores
from privrep.privacy.mechanisms import clipped_sums
from privrep.users.blocks import Block, UserData
from privrep.users.losses import Loss
from replication.methods.steps.bounded_heads import BoundedFit, fit_bounded

CHUNK = 2**16  # projected samples that are fitted at once; arrays of this length stay in the second-level cache
FINAL_TOLERANCE = 1e-9  # certified distance from the minimum of the heads that users keep, in double precision


@dataclass(frozen=True)
class UserScore:
    """The score with its parameters."""

    loss: Loss
    clip: float  # L_f, on ||U^T x||; inf for none
    bound: float  # C
    samples: slice  # whose losses count

    @property
    def width(self) -> float:
        """Length w = xi L_f C of the interval [-w, 0] of a user's share; every loss has xi = 1."""
        return self.clip * self.bound

    def at_zero(self, block: Block) -> np.ndarray:
        """Return the loss of the head 0 for the users of a block, (B,) float64."""
        return self.loss.value(block.labels[self.samples]).mean(axis=0, dtype=float)

    def fits(self, block: Block, bases: np.ndarray) -> list[BoundedFit]:
        """Fit the heads of a block's B users, c' subspaces at a time; each fit in the list has c' B heads."""
        features, labels = block.features[self.samples], block.labels[self.samples]
        size = max(1, CHUNK // labels.size)
        return [self._fit(features, labels, bases[i : i + size]) for i in range(0, len(bases), size)]

    def _fit(self, features: np.ndarray, labels: np.ndarray, bases: np.ndarray) -> BoundedFit:
        count, _, rank = bases.shape
        samples, users, _ = features.shape
        weights = bases.transpose(2, 0, 1)[:, None].astype(np.float32)
        projected = (weights @ features.transpose(0, 2, 1)).reshape(rank, samples, count * users)
        if np.isfinite(self.clip):
            projected *= clip_factor(np.sqrt(np.einsum("kqn,kqn->qn", projected, projected)), np.float32(self.clip))
        return fit_bounded(projected, np.tile(labels, count), self.loss, self.bound)

    def shares(self, block: Block, bases: np.ndarray) -> np.ndarray:
        """Return a_j(U) of the users of a block in each subspace, before the clip; (c, B) float64."""
        losses = np.concatenate([fit.values for fit in self.fits(block, bases)]).reshape(len(bases), -1)
        return losses - self.at_zero(block)

    def totals(self, users: UserData, bases: np.ndarray) -> np.ndarray:
        """Return sum_j a_j(U) in each subspace; (c,), in [-n w, 0], exact."""
        return clipped_sums(users, Shares(self, bases), self.width)[0]


@dataclass(frozen=True, eq=False)
class Shares:
    """Contribution of users to the scores of subspaces (c, d, k)."""

    score: UserScore
    bases: np.ndarray
    kept: bool = False

    @property
    def key(self) -> Hashable:
        """Key of the sums: all that they depend on besides the data; None unless they are kept for the next fit."""
        return (str(self.score), self.bases.tobytes()) if self.kept else None

    def __call__(self, block: Block) -> Scores:
        return Scores(self.score.shares(block, self.bases))


@dataclass(frozen=True)
class BoundedHeads:
    """The last line of Algorithm 4: each user's best head of length at most C, without a clip of features."""

    basis: np.ndarray
    loss: Loss
    bound: float
    samples: slice

    def __call__(self, block: Block) -> np.ndarray:
        features = block.features[self.samples].transpose(0, 2, 1)
        projected = (self.basis.T[:, None, None].astype(np.float32) @ features)[:, :, 0].astype(float)
        labels = block.labels[self.samples].astype(float)
        return fit_bounded(projected, labels, self.loss, self.bound, FINAL_TOLERANCE).heads.T
