"""Private spectral initialisation (jain2021, Algorithm 3 `Priv-init`).

    W_jp <- sym( x_a x_b^T / (||x_a|| ||x_b||) * clip(y_a; zeta) clip(y_b; zeta) )      pairs p of one user's samples
    M    <- ( sum_jp W_jp + N_sym(0, (2 P zeta^2 Delta)^2) ) / (n P)                    P pairs per user
    U    <- eigenvectors of the k largest eigenvalues of M

E[M] has eigenvalues c_d^2 lam_i in the true subspace, c_d ~ d^{-1/2}, and 0 outside.

Not in the paper: with `pairs` "all", W_j takes all pairs of a user's samples and is clipped as a whole, see `all_pairs`.

Differs from the print: pairs are (2p-1, 2p), where Algorithm 3 prints (2p, 2p+1), which reads sample m+1 (E19); the noise is
2 P zeta^2 Delta for any number of pairs, which for P = m/2 is the printed m zeta^2 Delta (E7).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privrep.algorithms.clip_units import CLIP_SCALE_COLUMN, check_scale, label_threshold
from privrep.algorithms.method import Iterate
from privrep.data.passes import total
from privrep.data.problem import Block, Problem, UserData
from privrep.data.splits import SPLIT_COLUMN, count, split_samples
from privrep.privacy.accounting import Cost, Theorem
from privrep.privacy.clipping import check_bound, clip_factor, clip_scalar, within_float32
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release

LEMMA_4_5 = Theorem("A-L4.5", 8)
"""Delta = sqrt(8 L)/eps for one release of M."""


def pair_moments(users: UserData, samples: slice, label_clip: float) -> np.ndarray:
    """sum_jp W_jp over all users and pairs, (d, d) float64; sym() copies the upper triangle, it does not average."""
    dim = users.problem.dim
    firsts = slice(samples.start, samples.stop, 2)
    seconds = slice(samples.start + 1, samples.stop, 2)
    # d squares under a norm, and P pairs in a sum.
    bound = within_float32(label_clip, dim + count(samples) // 2)

    def products(block: Block) -> np.ndarray:
        labels, norms = clip_scalar(block.labels, bound), block.feature_norms
        weights = np.divide(labels, norms, out=np.zeros_like(labels), where=np.isfinite(norms))
        left = (block.features[firsts] * weights[firsts, :, None]).reshape(-1, dim)
        right = (block.features[seconds] * weights[seconds, :, None]).reshape(-1, dim)
        return left.T @ right

    moments = total(users, products, name=("pair_moments", samples.start, samples.stop, label_clip), narrow=True)
    return np.triu(moments) + np.triu(moments, 1).T


def all_pairs(users: UserData, samples: slice, label_clip: float) -> np.ndarray:
    """sum_j clip(W_j; zeta^2 sqrt(P)), (d, d) float64, with W_j = sum_{a<b} (z_a z_b^T + z_b z_a^T) / 2 and z = x / ||x|| clip(y; zeta).

    The P = q (q - 1) / 2 pairs of a user are nearly orthogonal matrices of norm zeta^2 at most: their sum is clipped to what orthogonal ones would
    have. 2 W_j = s s^T - Z^T Z with s the sum of the rows of Z, so with K = Z Z^T its squared norm is (1^T K 1)^2 - 2 |K 1|^2 + |K|^2.
    """
    bound = pairs_bound(count(samples), label_clip)

    def products(block: Block) -> np.ndarray:
        labels = clip_scalar(block.labels[samples], label_clip).astype(np.float64)
        # A sample that is zero has norm inf and adds nothing.
        weights = labels / block.feature_norms[samples]
        rows = (block.features[samples] * weights[:, :, None]).transpose(1, 0, 2)
        sums = rows.sum(axis=1)
        kernel = rows @ rows.transpose(0, 2, 1)
        totals = kernel.sum(axis=2)
        squares = totals.sum(axis=1) ** 2 - 2 * (totals**2).sum(axis=1) + (kernel**2).sum(axis=(1, 2))
        # Rounding, in float64, is a part of what the terms are before they cancel.
        terms = np.einsum("bqq->bq", kernel).sum(axis=1) * len(labels)
        factor = clip_factor(np.sqrt(np.maximum(squares, 0) + 1e-12 * terms**2) / 2, bound) / 2
        flat = (rows * factor[:, None, None]).reshape(-1, rows.shape[2])
        return (sums * factor[:, None]).T @ sums - flat.T @ rows.reshape(-1, rows.shape[2])

    return total(users, products, name=("all_pairs", samples.start, samples.stop, label_clip))


def pairs_bound(samples: int, label_clip: float) -> float:
    """zeta^2 sqrt(P), to which the sum over all pairs of a user is clipped."""
    return label_clip**2 * math.sqrt(samples * (samples - 1) / 2)


PAIRS = ("disjoint", "all")
"""Which pairs of a user's samples are taken: disjoint ones as printed, or all."""


@dataclass(frozen=True)
class SpectralInit:
    """Algorithm 3, alone or as the start of other methods.

    Sensitivity: ||W_jp|| has an upper triangle of norm at most zeta^2, so a user adds at most P zeta^2 and replacing one
    moves the sum by at most 2 P zeta^2 (Lemma 4.5), attained by flipping the sign of one label in each pair. Of all pairs the sum of a user
    is clipped, and replacing a user moves the whole by at most twice the bound.

    Attributes
    ----------
    rank : k. samples : whose pairs are used. label_clip : zeta.
    share : of the whole cost mu^2, where it is a start; by default one noise multiplier serves start and steps, as printed.
    pairs : one of `PAIRS`.
    """

    rank: int
    samples: slice
    label_clip: float
    share: float | None = None
    pairs: str = "disjoint"
    samples_used = 0

    def __post_init__(self):
        check_bound("init_label_clip", self.label_clip)

    cost = GAUSSIAN_COST
    theorem = LEMMA_4_5

    def subspace(self, users: UserData, release: Release) -> np.ndarray:
        """U, (d, k) orthonormal."""
        size = count(self.samples)
        if self.pairs == "all":
            moments = all_pairs(users, self.samples, self.label_clip)
            noisy = release.isotropic("spectral_init", moments, sensitivity=2 * pairs_bound(size, self.label_clip))
        else:
            moments = pair_moments(users, self.samples, self.label_clip)
            noisy = release.symmetric("spectral_init", moments, bound=size // 2 * self.label_clip**2)
        vectors = np.linalg.eigh(noisy)[1]
        return np.ascontiguousarray(vectors[:, ::-1][:, : self.rank])

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        """Algorithm 3 alone: it releases a subspace and personalises nothing."""
        yield Iterate(self.subspace(users, release.start()), log={"zeta": self.label_clip})

    # As the start of another method

    def cost_with(self, steps: Cost) -> Cost:
        """Of one user, start and steps together, at noise multiplier 1 of the steps."""
        return self.cost + steps if self.share is None else (1 / (1 - self.share)) * steps

    def first(self, users: UserData, release: Release, steps: Cost) -> Iterate:
        """U_init. Its noise multiplier is such that the release takes `share` of the cost."""
        relative = 1.0
        if self.share is not None:
            relative = (self.cost.mu_squared / steps.mu_squared * (1 - self.share) / self.share) ** 0.5
        return Iterate(self.subspace(users, release.start(relative)))


@dataclass(frozen=True)
class Options:
    """Algorithm 3 alone, for the laws of Lemma 4.6.

    Parameters
    ----------
    init_label_clip : zeta, in units of `clip_scale` (see `privrep.algorithms.clip_units`).
    split : name in `privrep.data.splits.PRESETS`; its range for the initialisation is used.
    """

    init_label_clip: float
    split: str = "all-samples-reused"
    clip_scale: str = "absolute"
    scores = ()
    columns: ClassVar = (
        SPLIT_COLUMN
        | CLIP_SCALE_COLUMN
        | {
            "init_label_clip": "clipping bound of the labels in Algorithm 3",
            "zeta": "clipping bound of the labels in absolute terms",
        }
    )

    def __post_init__(self):
        check_bound("init_label_clip", self.init_label_clip)
        check_scale(self.clip_scale)

    def build(self, problem: Problem) -> SpectralInit:
        """The method for a problem."""
        samples = split_samples(self.split, problem.samples).init
        label_clip = label_threshold(self.clip_scale, self.init_label_clip, problem)
        return SpectralInit(problem.rank, samples, label_clip)
