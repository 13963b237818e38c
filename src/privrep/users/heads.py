"""Per-user least squares in a given subspace; the heads are the users' own and never released."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from privrep.options import ensure
from privrep.users.blocks import Block
from privrep.users.known import Known

HeadRule = Callable[[Block], np.ndarray]  # Block -> heads (B, k) of its users, on the users' side


@dataclass(frozen=True, eq=False)
class FittedHeads:
    """Head step of jain2021 Algorithm 1: least squares or ridge in the columns of `basis` (d, k) on a sample range."""

    basis: np.ndarray
    samples: slice
    penalty: float = 0.0

    @property
    def name(self) -> Hashable:
        """Cache key: all that the heads depend on besides the data."""
        return self.basis.shape, self.basis.tobytes(), self.samples.start, self.samples.stop, self.penalty

    def __call__(self, block: Block) -> np.ndarray:
        return fit_heads(block.features[self.samples], block.labels[self.samples], self.basis, self.penalty)


FINAL_HEADS = ("least squares", "ridge")
FINAL_HEADS_COLUMN = "fit of the final heads: least squares, or ridge with the public guess of the label noise"


def final_penalty(final_heads: str, known: Known) -> float:
    """Return the ridge penalty of the final, unreleased heads: 0, or label noise variance over head variance."""
    return known.label_noise_sd**2 / known.head_variance if final_heads == "ridge" else 0.0


def solve_positive_definite(gram: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve B small positive semidefinite systems by Cholesky; dependent coordinates are 0, never NaN."""
    k = len(right)
    factor = np.zeros_like(gram)
    for i in range(k):
        for j in range(i):
            factor[i, j] = (gram[i, j] - np.einsum("lb,lb->b", factor[i, :j], factor[j, :j])) * factor[j, j]
        pivot = gram[i, i] - np.einsum("lb,lb->b", factor[i, :i], factor[i, :i])
        regular = pivot > 1e-14 * gram[i, i]
        # The diagonal holds reciprocals; 0 switches a dependent coordinate off.
        factor[i, i] = np.where(regular, 1.0, 0.0) / np.sqrt(np.where(regular, pivot, 1.0))
    solution = np.empty_like(right)
    for i in range(k):
        solution[i] = (right[i] - np.einsum("lb,lb->b", factor[i, :i], solution[:i])) * factor[i, i]
    for i in reversed(range(k)):
        solution[i] = (solution[i] - np.einsum("lb,lb->b", factor[i + 1 :, i], solution[i + 1 :])) * factor[i, i]
    return solution


def projected(features: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return U^T x of all samples (q, B, d) for U (d, k) as (k, q, B) float64."""
    samples, users, dim = features.shape
    flat = features.reshape(-1, dim) @ basis.astype(np.float32)
    return np.ascontiguousarray(flat.T, dtype=np.float64).reshape(basis.shape[1], samples, users)


def fit_heads(features: np.ndarray, labels: np.ndarray, basis: np.ndarray, penalty: float = 0.0) -> np.ndarray:
    """Return ridge heads (B, k) of labels (q, B) on U^T x, x (q, B, d) (jain2021 Algorithm 1, line 5)."""
    samples, rank = len(features), basis.shape[1]
    ensure(samples >= rank or penalty, "samples for the head", samples, f"it must be at least the rank, {rank}")
    z = projected(features, basis)
    gram = np.einsum("iqb,jqb->ijb", z, z)
    if penalty:
        gram += penalty * np.eye(rank)[:, :, None]
    right = np.einsum("iqb,qb->ib", z, labels.astype(np.float64))
    heads = solve_positive_definite(gram, right).T
    return np.where(np.isfinite(heads), heads, 0.0)
