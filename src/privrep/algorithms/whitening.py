"""Coordinates in which features look isotropic, from a private estimate of their covariance.

    C <- ( sum_i (1/m) sum_l x_il x_il^T / |x_il|^2 + noise ) d/n
    C <- I + c (C - I),  c in [0, 1] the part of |C - I|^2 that noise does not explain (James and Stein);  small eigenvalues are raised
    W <- C^-1/2,         and x is read as W x

A user adds a positive semidefinite matrix of trace at most 1. Only the shape of the covariance matters, since labels have a scale of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privrep.data.passes import total
from privrep.data.problem import Block, UserData
from privrep.privacy.mechanisms import Release


def directions(block: Block) -> np.ndarray:
    """Sum over the users of a block of (1/m) sum_l x_l x_l^T / |x_l|^2, (d, d).

    Summed in float64: in float32 the rounding of a large block would move with a user's data by more than the sensitivity leaves. The margin is
    for norms, which are in float32.
    """
    norms = block.feature_norms.astype(np.float64) * math.sqrt(len(block.labels)) * (1 + 1e-5)
    # A sample that is zero has norm inf and adds nothing.
    rows = (block.features / norms[:, :, None]).reshape(-1, block.features.shape[2])
    return rows.T @ rows


@dataclass(frozen=True, eq=False)
class Whitening:
    """W, (d, d) symmetric, or None for I: features are taken for isotropic."""

    matrix: np.ndarray | None

    def features(self, block: Block) -> np.ndarray:
        """W x of all samples, (m, B, d) float32."""
        return block.features if self.matrix is None else block.features @ self.matrix.astype(np.float32)

    def rows(self, vectors: np.ndarray) -> np.ndarray:
        """W v for each row v, (B, d): a gradient in these coordinates from one in the given ones."""
        return vectors if self.matrix is None else vectors @ self.matrix

    def frame(self, columns: np.ndarray) -> np.ndarray:
        """W A, (d, k): <W A, x> is <A, W x>."""
        return columns if self.matrix is None else self.matrix @ columns


def shrunk(found: np.ndarray, noise_sd: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of a noisy matrix (k, k) over its mean eigenvalue, shrunk towards I.

    The mean eigenvalue is below 1 where users lack samples; below a tenth of it all is taken for noise. What differs from I is multiplied
    by the part of its square that symmetric noise of this sd is not expected to have, so that nothing is left where noise explains it.
    """
    size = len(found)
    level = max(np.trace(found) / size, 0.1)
    differs = (found - np.trace(found) / size * np.eye(size)) / level
    energy, noise = (differs**2).sum(), (noise_sd / level) ** 2 * size * (size + 1) / 2
    kept = 1 - noise / energy if energy > noise else 0.0
    return np.linalg.eigh(np.eye(size) + kept * differs)


def released_whitening(users: UserData, release: Release, floor: float) -> Whitening:
    """W from one release of mu^2 = 1 / noise_multiplier^2; eigenvalues of C are raised to `floor`."""
    n, d = users.problem.users, users.problem.dim
    found = release.semidefinite("unit_covariance", total(users, directions, name="directions"), bound=1.0)
    values, vectors = shrunk(found * (d / n), math.sqrt(2) * release.noise_multiplier * d / n)
    values = np.maximum(values, floor)
    return Whitening((vectors / np.sqrt(values * (d / values.sum()))) @ vectors.T)
