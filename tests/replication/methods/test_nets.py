"""Nets of subspaces: their sizes, the cubes that they are made of, and the uniform law that their volumes give."""

import math

import numpy as np
import pytest
from pieces import distance_to_net

from privrep.users.subspace import orthonormalise, random_subspace
from replication.methods.steps.nets import LARGEST, cells_per_entry, chart_net, check_net, net_size

DRAWS = 200


def farthest(dim: int, rank: int, net, rng) -> float:
    return max(distance_to_net(random_subspace(dim, rank, rng), net.bases) for _ in range(DRAWS))


@pytest.mark.parametrize(
    ("dim", "rank", "radius"), [(2, 1, 0.03), (3, 1, 0.08), (5, 1, 0.6), (3, 2, 0.08), (4, 3, 0.3), (4, 2, 0.6)]
)
def test_fewer_cells_would_be_found(dim, rank, radius, rng):
    """Random subspaces lie within the radius, and not all within 0.4 times it: a net of 2.5 times the spacing fails."""
    assert farthest(dim, rank, chart_net(dim, rank, radius), rng) <= radius
    assert farthest(dim, rank, chart_net(dim, rank, 2.5 * radius), rng) > radius


@pytest.mark.parametrize(("dim", "rank"), [(2, 1), (3, 1), (3, 2), (4, 2)])
def test_corners_of_the_cubes_lie_within_the_radius(dim, rank):
    """W = [I; A] with all entries of A at 1 or -1 is as far from the middles of the cells as a matrix can be."""
    radius = 0.7
    net = chart_net(dim, rank, radius)
    for signs in np.ndindex(*[2] * (rank * (dim - rank))):
        corner = np.concatenate([np.eye(rank), 2.0 * np.reshape(signs, (dim - rank, rank)) - 1])
        assert distance_to_net(orthonormalise(corner), net.bases) <= radius


@pytest.mark.parametrize(("dim", "rank", "radius"), [(2, 1, 0.1), (3, 1, 0.3), (3, 2, 0.3), (4, 2, 1.0)])
def test_sizes(dim, rank, radius):
    """C(d, k) cubes of p^(k (d - k)) cells, p least with sqrt(k (d - k)) / p <= radius; orthonormal, none twice."""
    free = rank * (dim - rank)
    p = cells_per_entry(dim, rank, radius)
    assert math.sqrt(free) / p <= radius < math.sqrt(free) / (p - 1)
    net = chart_net(dim, rank, radius)
    assert len(net.bases) == len(net.volumes) == net_size(dim, rank, radius) == math.comb(dim, rank) * p**free
    np.testing.assert_allclose(
        np.einsum("cdk,cdl->ckl", net.bases, net.bases), [np.eye(rank)] * len(net.bases), atol=1e-12
    )
    projectors = np.einsum("cik,cjk->cij", net.bases, net.bases).reshape(len(net.bases), -1)
    assert len(np.unique(projectors.round(9), axis=0)) == len(net.bases)


@pytest.mark.parametrize(("dim", "rank"), [(2, 1), (3, 1), (4, 1), (3, 2), (4, 3)])
def test_volumes_give_the_uniform_law(dim, rank):
    """E P_11 = k/d and E P_11^2 = k (k + 2) / (d (d + 2)); without the volumes the second is missed."""
    net = chart_net(dim, rank, {2: 0.01, 3: 0.05, 4: 0.15}[dim])
    first = (net.bases[:, 0] ** 2).sum(axis=1)
    moments = [rank / dim, rank * (rank + 2) / (dim * (dim + 2))]
    weighted, plain = ([np.average(first**power, weights=w) for power in (1, 2)] for w in (net.volumes, None))
    assert weighted == pytest.approx(moments, rel=2e-3)
    assert plain[1] != pytest.approx(moments[1], rel=1e-2)


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan, math.inf])
def test_bad_radius_is_named(radius):
    with pytest.raises(ValueError, match=r"^radius is .*; it must be positive and finite"):
        chart_net(3, 1, radius)


def test_a_net_that_is_too_large_is_refused():
    """With its size, the most that are made, and what to do instead; one just below is accepted."""
    with pytest.raises(
        ValueError,
        match=rf"radius is 0\.1; a net of it for rank 2 in dim 6 has .* and at most {LARGEST} are made\. Take",
    ):
        check_net(6, 2, 0.1)
    assert net_size(4, 1, 0.05) > LARGEST * 0.8
    check_net(4, 1, 0.05)
