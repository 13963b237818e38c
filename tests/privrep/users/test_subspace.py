"""Distances between subspaces."""

import numpy as np
from conftest import FALSE_ALARM
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privrep.users.subspace import dist2, dist_frobenius, orthonormalise, planted_subspace, random_subspace, sines

shapes = st.tuples(st.integers(1, 5), st.integers(0, 8)).map(lambda pair: (pair[0] + pair[1], pair[0]))
wide_shapes = st.tuples(st.integers(1, 5), st.integers(0, 8)).map(lambda pair: (2 * pair[0] + pair[1], pair[0]))
seeds = st.integers(0, 2**32 - 1)


def pair(shape, seed):
    rng = np.random.default_rng(seed)
    return random_subspace(*shape, rng), random_subspace(*shape, rng), rng


@given(shapes, seeds)
def test_sines_agree_with_cosines(shape, seed):
    """Largest first; sin^2 + cos^2 = 1 with the singular values of U^T U*."""
    one, other, _ = pair(shape, seed)
    angles = sines(one, other)
    assert (np.diff(angles) <= 0).all()
    cosines = np.linalg.svd(one.T @ other, compute_uv=False)[::-1]
    np.testing.assert_allclose(angles**2 + np.minimum(cosines, 1) ** 2, 1, atol=1e-12)


def test_known_angles():
    """Planes of R^4 at angles 0.3 and 1e-7: the small one keeps its digits."""
    large, small = 0.3, 1e-7
    one = np.eye(4)[:, :2]
    other = np.array([[np.cos(large), 0], [0, np.cos(small)], [np.sin(large), 0], [0, np.sin(small)]])
    np.testing.assert_allclose(sines(one, other), np.sin([large, small]), rtol=1e-8)
    np.testing.assert_allclose(dist2(one, other), np.sin(large), rtol=1e-14)
    np.testing.assert_allclose(dist_frobenius(one, other), np.hypot(np.sin(large), np.sin(small)), rtol=1e-14)


@given(shapes, seeds)
def test_orthonormalise_keeps_the_span(shape, seed):
    """Orthonormal in float64, from float32 too, with the span of the columns."""
    matrix = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    basis = orthonormalise(matrix)
    assert basis.dtype == np.float64
    np.testing.assert_allclose(basis.T @ basis, np.eye(shape[1]), atol=1e-13)
    np.testing.assert_allclose(basis @ (basis.T @ matrix), matrix, atol=1e-5)


def test_random_subspaces_are_uniform(rng):
    """sin^2 of the angle between a random line in R^d and a fixed one is Beta((d-1)/2, 1/2)."""
    axis = np.eye(5)[:, :1]
    squares = [dist2(random_subspace(5, 1, rng), axis) ** 2 for _ in range(5000)]
    assert stats.kstest(squares, stats.beta(2, 0.5).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(squares, stats.beta(2.5, 0.5).cdf).pvalue < FALSE_ALARM


@given(wide_shapes, seeds, st.floats(0, 1))
def test_planted_subspaces_have_the_sine_in_every_direction(shape, seed, sine):
    """All angles to the truth have the given sine; the basis is orthonormal and the truth is left alone."""
    rng = np.random.default_rng(seed)
    truth = random_subspace(*shape, rng)
    before = truth.copy()
    start = planted_subspace(truth, sine, rng)
    assert start.shape == shape
    np.testing.assert_allclose(sines(start, truth), sine, atol=1e-9)
    np.testing.assert_allclose(start.T @ start, np.eye(shape[1]), atol=1e-9)
    np.testing.assert_allclose(truth.T @ start, np.sqrt(1 - sine**2) * np.eye(shape[1]), atol=1e-9)
    np.testing.assert_array_equal(truth, before)


@given(wide_shapes, seeds, st.floats(0.05, 1), st.floats(0.05, 1))
def test_planted_subspaces_are_nested(shape, seed, sine, other):
    """One stream leaves the truth in the same directions at every distance; another stream leaves it in others."""
    truth = random_subspace(*shape, np.random.default_rng(seed))

    def outside(value, stream):
        start = planted_subspace(truth, value, np.random.default_rng(stream))
        return (start - np.sqrt(1 - value**2) * truth) / value

    np.testing.assert_allclose(outside(sine, seed + 1), outside(other, seed + 1), atol=1e-9)
    if shape[0] > 2:
        assert np.abs(outside(sine, seed + 1) - outside(sine, seed + 2)).max() > 1e-6


def test_planted_directions_are_uniform(rng):
    """Outside a line of R^5: the squared coordinate along a fixed direction of the complement is Beta(1/2, 3/2)."""
    truth = np.eye(5)[:, :1]
    squares = [planted_subspace(truth, 1.0, rng)[3, 0] ** 2 for _ in range(3000)]
    assert stats.kstest(squares, stats.beta(0.5, 1.5).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(squares, stats.beta(0.5, 2.0).cdf).pvalue < FALSE_ALARM
