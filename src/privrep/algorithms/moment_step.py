"""Private subspace step by perturbed sufficient statistics (jain2021, Algorithm 2).

    w_ij <- clip( vec(x_ij v_j^T); eta ),   y_ij <- clip(y_ij; zeta)
    A <- sum w_ij w_ij^T + N_sym(0, (2 q eta^2 Delta)^2)
    b <- sum y_ij w_ij   + N(0, (2 q eta zeta Delta)^2)
    U <- QR( unvec( A^{-1} b ) )

with q samples per user; vec stacks columns. For q = m/4 the noise is the printed m eta^2 Delta / 2 and m eta zeta Delta / 2.
The printed argmin exists only while the noisy A is positive definite (E21). Here the linear system is solved in any
case, and the smallest eigenvalue of A is returned so that the row shows when it was not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privrep.data.heads import HeadRule
from privrep.data.passes import total
from privrep.data.problem import Block, UserData
from privrep.data.splits import count
from privrep.privacy.accounting import Cost
from privrep.privacy.clipping import check_bound, clip_factor, clip_scalar, within_float32
from privrep.privacy.mechanisms import DOMINATED, INDEPENDENT, MOMENTS_COST, USER_MOMENTS_COST, Release

MOMENT_COLUMNS = {
    "clip_feature": "clipping bound of the features (eta), or of the whole A_j of a user",
    "clip_label": "clipping bound of the labels (zeta), or of the whole b_j of a user",
    "eta": "clipping bound of the features in absolute terms",
    "zeta": "clipping bound of the labels in absolute terms",
    "min_eigenvalue": "smallest eigenvalue of the noisy Gram over the mean magnitude of all, least over the steps",
}

SMALLEST_FACTOR = 1e-20
"""A user whose A_j would have to be clipped by more than the square of this adds nothing."""


class Clip(Protocol):
    """How the statistics of one user are bounded."""

    joint: float
    cost: Cost
    log: dict[str, float]

    def scale(self, block: Block, samples: slice, heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Row factors s and labels c, both (q, B): A = sum s^2 w w^T and b = sum s c w over unclipped w = vec(x v^T)."""

    def bounds(self, samples: int) -> tuple[float, float]:
        """Bounds on ||A_j||_F and ||b_j|| for q samples per user."""


@dataclass(frozen=True)
class SampleClip:
    """Algorithm 2 as printed: eta bounds each w_ij, zeta each label. inf switches a bound off."""

    feature: float
    label: float
    joint = DOMINATED
    cost = MOMENTS_COST

    def __post_init__(self):
        check_bound("clip_feature", self.feature)
        check_bound("clip_label", self.label)

    @property
    def log(self) -> dict[str, float]:
        """The thresholds as a row has them."""
        return {"eta": self.feature, "zeta": self.label}

    def scale(self, block: Block, samples: slice, heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # ||vec(x v^T)|| = ||x|| ||v||; for a sample that is zero inf times whatever the head is, and a factor of 0.
        with np.errstate(invalid="ignore"):
            norms = block.feature_norms[samples].astype(np.float64) * np.linalg.norm(heads, axis=1)
        # d squares under a norm; q terms in A_j and q in b_j, which share one sensitivity.
        additions = block.features.shape[2] + 2 * len(norms)
        feature, label = (within_float32(bound, additions) for bound in (self.feature, self.label))
        return clip_factor(norms, feature), clip_scalar(block.labels[samples], label)

    def bounds(self, samples: int) -> tuple[float, float]:
        return samples * self.feature**2, samples * self.feature * self.label


@dataclass(frozen=True)
class UserClip:
    """Not in the paper: each user's A_j and b_j are clipped as a whole, to `second` and `first`.

    The norms that are clipped include what float32 can add to the sums. Terms of b_j may cancel in exact arithmetic and not when
    each is rounded.
    """

    second: float
    first: float
    joint = INDEPENDENT
    cost = USER_MOMENTS_COST

    def __post_init__(self):
        check_bound("clip_feature", self.second)
        check_bound("clip_label", self.first)

    @property
    def log(self) -> dict[str, float]:
        """The bounds stand among the options alone: a row's eta and zeta are those of samples."""
        return {}

    def scale(self, block: Block, samples: slice, heads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        features = block.features[samples].transpose(1, 0, 2).astype(np.float64)
        labels = block.labels[samples]
        squared = np.einsum("bk,bk->b", heads, heads)
        # A_j = (X_j^T X_j) kron (v v^T), and X X^T has the norm of X^T X.
        kernel = features @ features.transpose(0, 2, 1)
        squares = np.einsum("bqq->bq", kernel)
        # What rounding of the terms and of their sum can add, however far the terms of b_j cancel.
        rounding = (2 * len(labels) + 16) * 2.0**-24
        terms = np.einsum("bq,qb->b", np.sqrt(squares), np.abs(labels))
        second = (np.linalg.norm(kernel, axis=(1, 2)) + rounding * squares.sum(axis=1)) * squared
        first = (np.linalg.norm(np.einsum("bqd,qb->bd", features, labels), axis=1) + rounding * terms) * np.sqrt(
            squared
        )
        root = np.sqrt(clip_factor(second, self.second))
        # A user far beyond the bound is clipped to nothing, in both statistics: its factors would not fit into float32.
        root[~(root > SMALLEST_FACTOR)] = 0
        label_factor = np.divide(clip_factor(first, self.first), root, out=np.zeros_like(root), where=root > 0)
        shape = labels.shape
        return np.broadcast_to(root, shape), (labels * label_factor).astype(np.float32)

    def bounds(self, samples: int) -> tuple[float, float]:
        return self.second, self.first


def moments(
    users: UserData, batch: range, head_rule: HeadRule, samples: slice, clip: Clip
) -> tuple[np.ndarray, np.ndarray]:
    """A (dk, dk) and b (dk,) of a batch of users before noise, float64. Entry c*d + r of w is x_r v_c.

    What a user adds keeps its bounds in float32. That the float32 sum over a block rounds otherwise with another user in it is
    not counted.
    """
    store = np.empty(0, np.float32)

    def statistics(block: Block) -> tuple[np.ndarray, np.ndarray]:
        nonlocal store
        heads = head_rule(block)
        scale, labels = clip.scale(block, samples, heads)
        features = block.features[samples]
        # Heads of near-singular fits can be huge: clip in float64, where the norms are exact, before rounding.
        weights = (scale[:, :, None] * heads).astype(np.float32)
        shape = (*weights.shape, features.shape[2])
        # One piece of memory for the rows of all blocks: fresh memory for each costs as much as the arithmetic.
        if store.size < math.prod(shape):
            store = np.empty(math.prod(shape), np.float32)
        rows = store[: math.prod(shape)].reshape(shape)
        np.multiply(weights[:, :, :, None], features[:, :, None, :], out=rows)
        rows = rows.reshape(-1, shape[2] * shape[3])
        return rows.T @ rows, labels.reshape(-1) @ rows

    heads_name = getattr(head_rule, "name", None)
    name = ("moments", heads_name, samples.start, samples.stop, clip) if heads_name is not None else None
    return total(users, statistics, batch, name, narrow=True)


def _solve(eigenvalues: np.ndarray, noise_norm: float) -> np.ndarray:
    return eigenvalues


def _ridge(eigenvalues: np.ndarray, noise_norm: float) -> np.ndarray:
    return eigenvalues + noise_norm


def _eigclip(eigenvalues: np.ndarray, noise_norm: float) -> np.ndarray:
    return np.maximum(eigenvalues, noise_norm) if noise_norm else eigenvalues


FALLBACKS = {"solve": _solve, "ridge": _ridge, "eigclip": _eigclip}
"""What is inverted in place of the eigenvalues of the noisy A, given the operator norm of its noise, which is public: 2 sA sqrt(dk), of
averaged noise less by sqrt(2). `solve`: themselves, whatever their sign. `ridge`: all of them raised by the norm. `eigclip`: the small ones raised
to it. The paper has no rule (E21); all three only process what was released."""


SYMMETRIES = ("copied", "averaged")
"""How the noise of A is made symmetric: the upper triangle copied below, as printed; or averaged with its transpose, less by sqrt(2) beside the
diagonal at the same cost (`Release.moments`)."""


@dataclass(frozen=True)
class Step:
    """Result of one private step: the minimiser (d, k), not orthonormalised, and how far A was from singular.

    `min_eigenvalue` is the smallest eigenvalue of the noisy A over the mean magnitude of all: negative means that the
    printed argmin does not exist.
    """

    minimiser: np.ndarray
    min_eigenvalue: float


@dataclass(frozen=True)
class MomentStep:
    """Algorithm 2: one private minimisation over the users of a release, whose heads are given by a rule.

    Attributes
    ----------
    samples : range of samples that are used. fallback : name in `FALLBACKS`. symmetry : one of `SYMMETRIES`.
    """

    samples: slice
    clip: Clip
    fallback: str = "solve"
    symmetry: str = "copied"

    def __call__(self, users: UserData, head_rule: HeadRule, release: Release) -> Step:
        second, first = moments(users, release.users, head_rule, self.samples, self.clip)
        bounds = self.clip.bounds(count(self.samples))
        averaged = self.symmetry == "averaged"
        second, first = release.moments(
            "moment_step", second, first, bounds=bounds, joint=self.clip.joint, averaged=averaged
        )
        eigenvalues, vectors = np.linalg.eigh(second)
        noise = release.noise_multiplier
        noise_norm = 2 * (2 * bounds[0] * noise) * (len(first) / (1 + averaged)) ** 0.5 if noise else 0.0
        solution = vectors @ ((vectors.T @ first) / FALLBACKS[self.fallback](eigenvalues, noise_norm))
        minimiser = solution.reshape(-1, users.problem.dim).T
        return Step(minimiser, float(eigenvalues[0] / np.abs(eigenvalues).mean()))
