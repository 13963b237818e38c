"""Contributions of users in Algorithm 2 of jain2021: moments of their regressions, clipped by sample as printed, or by
user."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privrep.privacy.accounting import Cost
from privrep.privacy.clipping import check_bound, clip_factor, clip_scalar, within_float32
from privrep.privacy.contributions import Neighbours
from privrep.privacy.noise import Noise, NoiseSpec

DOMINATED = 9 / 8
"""Bound on ||dA||^2 / (2a)^2 + ||db||^2 / (2b)^2 for w-moments, see `SampleClip`."""
INDEPENDENT = 3 / 2
"""The same bound for A_j and b_j clipped separately, see `UserClip`."""

MOMENTS_COST = Cost(mu_squared=DOMINATED, rho=1.0)
USER_MOMENTS_COST = Cost(mu_squared=INDEPENDENT, rho=1.0)

SMALLEST_FACTOR = 1e-20
"""A user whose A_j would need a factor below the square of this adds nothing."""


@dataclass(frozen=True)
class SampleClip:
    """Clip of Algorithm 2 of jain2021 as printed: eta bounds each w_ij, zeta each label. inf switches a bound off.

    With ||w_i|| <= eta, |y_i| <= zeta, a = q eta^2 and b = q eta zeta, the pair (A_j / a, b_j / b) is in the convex
    hull of {(u u^T, c u): ||u|| <= 1, |c| <= 1}. A convex function of two points of it is largest at extreme points,
    where with s = |<u, u'>| it is (2 - 2 s^2) / 4 + (2 + 2 s) / 4, at most 9/8 at s = 1/2. The paper adds two triangle
    inequalities and gets 2 (claim E61).
    """

    feature: float
    label: float
    joint = DOMINATED
    """A bound on ||A_j - A_j'||^2 / (2a)^2 + ||b_j - b_j'||^2 / (2b)^2, with a and b the `bounds`."""
    cost = MOMENTS_COST

    def __post_init__(self):
        check_bound("clip_feature", self.feature)
        check_bound("clip_label", self.label)

    @property
    def log(self) -> dict[str, float]:
        """Clipping bounds recorded in the row of results."""
        return {"eta": self.feature, "zeta": self.label}

    def scale(self, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        """Return row factors s and labels c: A = sum s^2 w w^T and b = sum s c w over unclipped w = vec(x v^T)."""
        # ||vec(x v^T)|| = ||x|| ||v||; a zero sample has `feature_norms` inf, and its factor is 0 for any head.
        with np.errstate(invalid="ignore"):
            norms = moments.feature_norms.astype(np.float64) * np.linalg.norm(moments.heads, axis=1)
        # d squares in a norm; q terms in A_j and q in b_j, which share one sensitivity.
        additions = moments.features.shape[2] + 2 * len(norms)
        feature, label = (within_float32(bound, additions) for bound in (self.feature, self.label))
        return clip_factor(norms, feature), clip_scalar(moments.labels, label)

    def bounds(self, samples: int) -> tuple[float, float]:
        """Return bounds on ||A_j||_F and ||b_j||."""
        return samples * self.feature**2, samples * self.feature * self.label


@dataclass(frozen=True)
class UserClip:
    """A clip that is not in the paper: each user's A_j and b_j are clipped as a whole, to `second` and `first`.

    A_j is only positive semidefinite: ||A - A'||^2 <= ||A||^2 + ||A'||^2 <= 2 a^2, and ||b - b'||^2 <= 4 b^2.

    The clipped norms include the possible float32 rounding of the sums. Terms of b_j may cancel in exact arithmetic and
    not when each is rounded.
    """

    second: float
    first: float
    joint = INDEPENDENT
    cost = USER_MOMENTS_COST
    log: ClassVar = {}
    """Empty: the bounds are among the options, and eta and zeta of a row of results are clips of samples."""

    def __post_init__(self):
        check_bound("clip_feature", self.second)
        check_bound("clip_label", self.first)

    def scale(self, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        features = moments.features.transpose(1, 0, 2).astype(np.float64)
        labels, heads = moments.labels, moments.heads
        squared = np.einsum("bk,bk->b", heads, heads)
        # A_j = (X_j^T X_j) kron (v v^T), and X X^T has the norm of X^T X.
        kernel = features @ features.transpose(0, 2, 1)
        squares = np.einsum("bqq->bq", kernel)
        # Bound on the rounding of the terms and of their sum, however far the terms of b_j cancel.
        rounding = (2 * len(labels) + 16) * 2.0**-24
        terms = np.einsum("bq,qb->b", np.sqrt(squares), np.abs(labels))
        second = (np.linalg.norm(kernel, axis=(1, 2)) + rounding * squares.sum(axis=1)) * squared
        products = np.linalg.norm(np.einsum("bqd,qb->bd", features, labels), axis=1)
        first = (products + rounding * terms) * np.sqrt(squared)
        root = np.sqrt(clip_factor(second, self.second))
        # A user far beyond the bound is set to zero in both statistics: the factors would not fit into float32.
        root[~(root > SMALLEST_FACTOR)] = 0
        label_factor = np.divide(clip_factor(first, self.first), root, out=np.zeros_like(root), where=root > 0)
        shape = labels.shape
        return np.broadcast_to(root, shape), (labels * label_factor).astype(np.float32)

    def bounds(self, samples: int) -> tuple[float, float]:
        return self.second, self.first


MomentClip = SampleClip | UserClip


@dataclass(frozen=True, eq=False)
class Moments:
    """A_j = sum_i w_i w_i^T and b_j = sum_i y_i w_i with w = vec(x v^T): (dk, dk) and (dk,), released together
    (jain2021 Algorithm 2).

    Entry c*d + r of w is x_r v_c. The noise is N_sym(0, (2 a Delta)^2) on A and N(0, (2 b Delta)^2) on b, as printed,
    with a, b the bounds of the clip. The ledger gets *one* entry, in units in which both noises have sd Delta: its
    sensitivity is the square root of the clip's `joint`. With `averaged`, the noise of A is isotropic in Frobenius norm
    instead of N_sym: the bounds are on whole matrices in that norm, so noise of the same sd in all directions of the
    symmetric matrices suffices, and entries off the diagonal are smaller by sqrt(2).

    A user's contribution keeps its bounds in float32. Not counted: the float32 sum of a block is rounded differently
    with another user in it."""

    features: np.ndarray  # (q, B, d)
    labels: np.ndarray  # (q, B)
    feature_norms: np.ndarray  # (q, B)
    heads: np.ndarray  # (B, k)
    averaged: bool = False

    def clipped(self, clip: MomentClip, participating: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        scale, labels = clip.scale(self)
        if participating is not None:
            scale = np.where(participating, scale, 0)
        # Heads of near-singular fits can be huge: clip in float64, where the norms are exact, before rounding.
        weights = (scale[:, :, None] * self.heads).astype(np.float32)
        rows = scratch((*weights.shape, self.features.shape[2]))
        np.multiply(weights[:, :, :, None], self.features[:, :, None, :], out=rows)
        rows = rows.reshape(-1, rows.shape[2] * rows.shape[3])
        return rows.T @ rows, labels.reshape(-1) @ rows

    def sensitivity(self, clip: MomentClip, neighbours: Neighbours = "replaced") -> float:
        """Return that of the joint ledger entry: an added user moves A by at most a, b by b, half a unit each."""
        return math.sqrt(clip.joint if neighbours == "replaced" else 0.5)

    def noise_spec(self, clip: MomentClip) -> NoiseSpec:
        bounds = clip.bounds(len(self.labels))
        forms = "averaged" if self.averaged else "copied", "independent"
        noises = tuple(Noise(2 * bound, form) for bound, form in zip(bounds, forms, strict=True))
        return NoiseSpec(self.sensitivity(clip), 1.0, noises, bounds)


_memory = threading.local()


def scratch(shape: tuple[int, ...]) -> np.ndarray:
    """Return uninitialised float32 memory of this thread for the rows of one block: fresh memory for each block costs
    as much as the arithmetic."""
    size = math.prod(shape)
    if not hasattr(_memory, "rows") or _memory.rows.size < size:
        _memory.rows = np.empty(size, np.float32)
    return _memory.rows[:size].reshape(shape)
