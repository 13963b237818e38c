"""Subspaces of R^d, given by an orthonormal basis, and distances between them, which do not change with the basis."""

from __future__ import annotations

import numpy as np

from privrep.options import ensure


def orthonormalise(matrix: np.ndarray) -> np.ndarray:
    """Return the Q factor of a (d, k) matrix in float64."""
    return np.linalg.qr(np.asarray(matrix, dtype=np.float64))[0]


def random_subspace(dim: int, rank: int, rng: np.random.Generator) -> np.ndarray:
    """Draw an orthonormal basis (d, k) of a uniformly distributed subspace."""
    return orthonormalise(rng.standard_normal((dim, rank)))


def random_subspaces(count: int, dim: int, rank: int, rng: np.random.Generator) -> np.ndarray:
    """Draw independent uniform subspaces, (count, d, k)."""
    return np.linalg.qr(rng.standard_normal((count, dim, rank)))[0]


def check_planted(dim: int, rank: int) -> None:
    """Raise ValueError unless d >= 2 k: a planted start needs k directions outside the true subspace."""
    ensure(dim >= 2 * rank, "dim", dim, f"a planted start needs at least 2 rank = {2 * rank}")


def planted_subspace(truth: np.ndarray, sine: float, rng: np.random.Generator) -> np.ndarray:
    """Draw a subspace whose angles to the truth all have the sine given, in random directions; d >= 2 k."""
    outside = rng.standard_normal(truth.shape)
    outside = orthonormalise(outside - truth @ (truth.T @ outside))
    return np.sqrt(1 - sine**2) * truth + sine * outside


def sines(basis: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sines of the principal angles between two subspaces (d, k), largest first; (k,)."""
    residual = basis - other @ (other.T @ basis)
    return np.minimum(np.linalg.svd(residual, compute_uv=False), 1.0)


def dist2(basis: np.ndarray, other: np.ndarray) -> float:
    """Return ||(I - P_other) basis||_2, the sine of the largest angle (jain2021 Lemma 4.6, shen2023 throughout)."""
    return float(sines(basis, other)[0])


def dist_frobenius(basis: np.ndarray, other: np.ndarray) -> float:
    """Return ||(I - P_other) basis||_F, between 0 and sqrt(k) (jain2021 Lemma 4.4)."""
    return float(np.linalg.norm(sines(basis, other)))


def average(candidates: np.ndarray) -> np.ndarray:
    """Return the subspace of least mean squared distF to candidates (c, d, k): top k axes of the mean projector."""
    count, dim, rank = candidates.shape
    stacked = candidates.transpose(1, 0, 2).reshape(dim, count * rank)
    return np.linalg.svd(stacked, full_matrices=False)[0][:, :rank]
