"""Nets of subspaces with a proved radius.

A k-dimensional subspace of R^d has a basis whose rows in some set I of k coordinates are the identity, and whose other
entries, a (d - k) x k matrix A, lie in [-1, 1]: take I with the largest |det U_I|; by Cramer's rule the entries of U
U_I^{-1} are ratios of such determinants. One cube for each I therefore covers all subspaces. A grid of p cells per
entry leaves ||A - A'||_F <= sqrt(k (d - k)) / p. With W = [I; A] all singular values are at least 1, where the polar
factor W (W^T W)^{-1/2} is 1-Lipschitz in ||.||_F (Sun and Chen 1989), so every subspace has an orthonormal basis within
sqrt(k (d - k)) / p of that of its net point.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

LARGEST = 200_000  # most subspaces of a net


def cells_per_entry(dim: int, rank: int, radius: float) -> int:
    """Return p, the fewest cells per entry whose net has at most the given radius, which is positive."""
    return max(1, math.ceil(math.sqrt(rank * (dim - rank)) / radius))


def net_size(dim: int, rank: int, radius: float) -> int:
    """Return the number of subspaces of `chart_net`."""
    return math.comb(dim, rank) * cells_per_entry(dim, rank, radius) ** (rank * (dim - rank))


@dataclass(frozen=True)
class Net:
    """Bases (c, d, k), and volumes (c,): density of the uniform law over that of the net's points, up to a factor."""

    bases: np.ndarray
    volumes: np.ndarray


def chart_net(dim: int, rank: int, radius: float) -> Net:
    """Return a net of subspaces with, for each U, a point N and a rotation R with ||U - N R||_F <= radius."""
    check_net(dim, rank, radius)
    free, p = dim - rank, cells_per_entry(dim, rank, radius)
    middles = (2 * np.arange(p) + 1) / p - 1
    grid = np.stack(np.meshgrid(*[middles] * (free * rank), indexing="ij"), axis=-1).reshape(-1, free, rank)
    values, vectors = np.linalg.eigh(np.eye(rank) + grid.transpose(0, 2, 1) @ grid)  # of W^T W
    inverse_root = (vectors / np.sqrt(values)[:, None, :]) @ vectors.transpose(0, 2, 1)
    volumes = np.prod(values, axis=1) ** (-dim / 2)  # the density of the invariant measure in a chart
    charts = []
    for pivots in itertools.combinations(range(dim), rank):
        others = [i for i in range(dim) if i not in pivots]
        bases = np.empty((len(grid), dim, rank))
        bases[:, list(pivots)] = inverse_root
        bases[:, others] = grid @ inverse_root
        charts.append(bases)
    return Net(np.concatenate(charts), np.tile(volumes, len(charts)))


def check_net(dim: int, rank: int, radius: float) -> None:
    """Raise ValueError unless the radius is positive, the net small enough, and rank below dim."""
    if rank >= dim:
        raise ValueError(f"rank is {rank}; a net needs it below dim, which is {dim}")
    if not 0 < radius < math.inf:
        raise ValueError(f"radius is {radius!r}; it must be positive and finite")
    size = net_size(dim, rank, radius)
    if size > LARGEST:
        raise ValueError(
            f"radius is {radius!r}; a net of it for rank {rank} in dim {dim} has {size:.3g} subspaces, and at most "
            f"{LARGEST} are made. Take a larger radius, random candidates or a chain"
        )
