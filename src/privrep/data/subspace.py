"""Subspaces of R^d, given by an orthonormal basis, and distances between them.

All distances see the projector only: they do not change when the basis is rotated.
"""

from __future__ import annotations

import numpy as np


def orthonormalise(matrix: np.ndarray) -> np.ndarray:
    """The Q factor of a (d, k) matrix in float64.

    Parameters
    ----------
    matrix : (d, k).
    """
    return np.linalg.qr(np.asarray(matrix, dtype=np.float64))[0]


def random_subspace(dim: int, rank: int, rng: np.random.Generator) -> np.ndarray:
    """A uniformly distributed subspace: an orthonormal (d, k) basis.

    Parameters
    ----------
    dim : d.
    rank : k, at most d.
    rng : of the draw.
    """
    return orthonormalise(rng.standard_normal((dim, rank)))


def check_planted(dim: int, rank: int) -> None:
    """Raise ValueError unless the complement of a subspace has room for as many directions again.

    Parameters
    ----------
    dim : d.
    rank : k.
    """
    if dim < 2 * rank:
        raise ValueError(f"dim is {dim}; a planted start needs at least 2 rank = {2 * rank}")


def planted_subspace(truth: np.ndarray, sine: float, rng: np.random.Generator) -> np.ndarray:
    """A subspace whose principal angles to the true one all have the same sine, in random directions; (d, k)
    orthonormal.

    The directions outside do not depend on the sine, so starts at several distances are nested.

    Parameters
    ----------
    truth : (d, k) orthonormal, d >= 2 k.
    sine : in [0, 1].
    rng : of the directions.
    """
    outside = rng.standard_normal(truth.shape)
    outside = orthonormalise(outside - truth @ (truth.T @ outside))
    return np.sqrt(1 - sine**2) * truth + sine * outside


def sines(basis: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Sines of the principal angles between two subspaces of equal rank, largest first; (k,).

    Parameters
    ----------
    basis : (d, k) orthonormal.
    other : (d, k) orthonormal.
    """
    residual = basis - other @ (other.T @ basis)
    return np.minimum(np.linalg.svd(residual, compute_uv=False), 1.0)


def dist2(basis: np.ndarray, other: np.ndarray) -> float:
    """||(I - P_other) basis||_2, the sine of the largest angle.

    Parameters
    ----------
    basis : (d, k) orthonormal.
    other : (d, k) orthonormal.

    References
    ----------
    jain2021 Lemma 4.6, shen2023 throughout.
    """
    return float(sines(basis, other)[0])


def dist_frobenius(basis: np.ndarray, other: np.ndarray) -> float:
    """||(I - P_other) basis||_F, between 0 and sqrt(k).

    Parameters
    ----------
    basis : (d, k) orthonormal.
    other : (d, k) orthonormal.

    References
    ----------
    jain2021 Lemma 4.4.
    """
    return float(np.linalg.norm(sines(basis, other)))


def average(candidates: np.ndarray) -> np.ndarray:
    """The subspace closest to all candidates in the mean of squared distF:
    top k eigenvectors of their mean projector; (d, k).

    Parameters
    ----------
    candidates : (c, d, k), each orthonormal.
    """
    count, dim, rank = candidates.shape
    stacked = candidates.transpose(1, 0, 2).reshape(dim, count * rank)
    return np.linalg.svd(stacked, full_matrices=False)[0][:, :rank]
