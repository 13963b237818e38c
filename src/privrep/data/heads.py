"""Per-user least squares in a given subspace, for all users of a block at once.

The heads are the users' own: they are never released. Only statistics that pass a mechanism leave a user.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from privrep.data.known import Known
from privrep.data.problem import Block

HeadRule = Callable[[Block], np.ndarray]
"""Block -> heads (B, k) of its users, on the users' side."""


@dataclass(frozen=True, eq=False)
class RidgeHeads:
    """Ridge regression in the columns of a frame, on all samples.

    Attributes
    ----------
    frame : (d, k), any matrix.
    penalty : on the squared length of a head.
    """

    frame: np.ndarray
    penalty: float

    def __call__(self, block: Block) -> np.ndarray:
        return fit_heads(block.features, block.labels, self.frame, self.penalty)


@dataclass(frozen=True, eq=False)
class FittedHeads:
    """The head step of Algorithm 1 of jain2021: least squares in the current subspace, on a range of samples.

    Attributes
    ----------
    basis : (d, k).
    samples : the range.
    penalty : of a ridge.
    """

    basis: np.ndarray
    samples: slice
    penalty: float = 0.0

    @property
    def name(self) -> Hashable:
        """All that the rule depends on besides the data."""
        return self.basis.shape, self.basis.tobytes(), self.samples.start, self.samples.stop, self.penalty

    def __call__(self, block: Block) -> np.ndarray:
        return fit_heads(block.features[self.samples], block.labels[self.samples], self.basis, self.penalty)


FINAL_HEADS = ("least squares", "ridge")
FINAL_HEADS_COLUMN = {
    "final_heads": "how the last heads are fitted: least squares, or ridge with the public guess of the label noise"
}


def final_penalty(final_heads: str, known: Known) -> float:
    """Penalty of the last heads: 0, or s^2 / h^2 with public s, sd of the label noise, and h, root mean square
    coordinate of a head.

    The last heads are the users' own and in no ledger: which rule they follow is no part of a method.

    Parameters
    ----------
    final_heads : one of `FINAL_HEADS`.
    known : with s and h.
    """
    return known.label_noise_sd**2 / known.head_variance if final_heads == "ridge" else 0.0


def true_heads(block: Block) -> np.ndarray:
    """The heads behind the labels, in the coordinates of the true subspace; of simulated users alone,
    for theory that is given them.

    Parameters
    ----------
    block : of simulated users.
    """
    return block.heads


def solve_positive_definite(gram: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve many small positive definite systems by Cholesky, vectorised over the last axis.

    A system that is singular to working precision gets the solution of its leading part, with zeros in the dependent
    coordinates, so that no entry is NaN.

    Parameters
    ----------
    gram : (k, k, B) float64; only the lower triangle is read.
    right : (k, B) float64

    Returns
    -------
    (k, B) float64
    """
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
    """U^T x for all samples, (k, q, B) float64.

    Parameters
    ----------
    features : (q, B, d) float32.
    basis : U, (d, k).
    """
    samples, users, dim = features.shape
    flat = features.reshape(-1, dim) @ basis.astype(np.float32)
    return np.ascontiguousarray(flat.T, dtype=np.float64).reshape(basis.shape[1], samples, users)


def fit_heads(features: np.ndarray, labels: np.ndarray, basis: np.ndarray, penalty: float = 0.0) -> np.ndarray:
    """Least squares of the labels on U^T x, one regression per user.

    The constraint printed in line 5 is garbled ("||v||_2 <= R^k"); this is the unconstrained fit over R^k.

    Parameters
    ----------
    features : (q, B, d) float32
    labels : (q, B) float32
    basis : (d, k)
    penalty : of a ridge; 0 for ordinary least squares.

    Returns
    -------
    (B, k) float64

    Raises
    ------
    ValueError
        If q < k without a penalty, in which case the regression has no unique solution.

    References
    ----------
    jain2021 Algorithm 1, line 5.
    """
    samples, rank = len(features), basis.shape[1]
    if samples < rank and not penalty:
        raise ValueError(f"samples for the head is {samples}; it must be at least the rank, {rank}")
    seen = projected(features, basis)
    gram = np.einsum("iqb,jqb->ijb", seen, seen)
    if penalty:
        gram += penalty * np.eye(rank)[:, :, None]
    right = np.einsum("iqb,qb->ib", seen, labels.astype(np.float64))
    heads = solve_positive_definite(gram, right).T
    return np.where(np.isfinite(heads), heads, 0.0)
