"""Whitening: what noise explains is not kept, the shape of a covariance is found, and all coordinates fit together.

Statistical checks hold at `conftest.FALSE_ALARM` or within a stated share, and each comes with a wrong target that is
rejected.
"""

import math

import numpy as np
import pytest
from conftest import fake_users, handle
from hypothesis import given
from hypothesis import strategies as st
from pieces import clipped_moments, log_coordinates, plain

from privrep.methods.unit_steps.whitening import (
    LOG_LENGTH,
    Whitening,
    learned_level,
    learned_scales,
    released_whitening,
    shrunk,
)
from privrep.users.simulated import Problem, Users


def matrix_of(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (vectors * values) @ vectors.T


def symmetric(size: int, sd: float, rng: np.random.Generator) -> np.ndarray:
    """(N + N^T) / 2."""
    noise = sd * rng.standard_normal((size, size))
    return (noise + noise.T) / 2


# Shrinking


@pytest.mark.parametrize("size", [2, 5])
def test_what_noise_explains_is_not_kept(size):
    """A deviation whose square is below k (k + 1) / 2 sd^2 gives I to the last digit, twice as much half of itself."""
    off = np.diag(np.linspace(-1, 1, size))
    off /= np.linalg.norm(off)
    sd, noise = 0.02, 0.02 * math.sqrt(size * (size + 1) / 2)
    for length, kept in ((0.5, 0.0), (0.99, 0.0), (math.sqrt(2), 0.5), (10.0, 0.99), (40.0, 1 - 1 / 1600)):
        found = matrix_of(*shrunk(np.eye(size) + length * noise * off, sd)[:2])
        np.testing.assert_allclose(found, np.eye(size) + kept * length * noise * off, rtol=0, atol=1e-12)
        values, _, differs = shrunk(np.eye(size) + length * noise * off, sd)
        assert np.array_equal(values, np.ones(size)) == (length < 1)
        assert differs == (length > 1.5)


@given(st.integers(1, 6), st.integers(0, 999), st.floats(0, 10), st.floats(0.1, 10))
def test_eigenvalues_keep_their_order_and_vectors(size, seed, sd, trace):
    """What is kept of the deviation has trace 0 and the same eigenvectors, and is no longer than it was."""
    rng = np.random.default_rng(seed)
    found = trace * np.eye(size) + symmetric(size, 1.0, rng)
    values, vectors, _ = shrunk(found, sd)
    assert values.sum() == pytest.approx(size, rel=1e-9)
    level = max(np.trace(found) / size, 0.1)
    plain = (found - np.trace(found) / size * np.eye(size)) / level
    kept = matrix_of(values, vectors) - np.eye(size)
    length = np.linalg.norm(plain)
    assert np.linalg.norm(kept) <= length * (1 + 1e-9) + 1e-12
    assert (kept * plain).sum() >= -1e-9
    np.testing.assert_allclose(kept @ plain, plain @ kept, rtol=0, atol=1e-9 * max(1, length**2))


# W


def whitened(users: Users, multiplier: float = 0.0, floor: float = 1e-4, seed: int = 0) -> Whitening:
    """One release of the covariance of features as they are."""
    noise = np.random.default_rng(seed)
    return released_whitening(users, plain(users.known.dim), handle(users, multiplier, noise), floor)[0]


def shape_of(users: Users, whitening: Whitening) -> np.ndarray:
    """Eigenvalues of W R^T R W^T over their mean."""
    seen = users.problem.feature_root @ whitening.frame(np.eye(users.known.dim))
    values = np.linalg.eigvalsh(seen.T @ seen)
    return values / values.mean()


@pytest.mark.parametrize("axes", ["coordinates", "mixed"])
@pytest.mark.parametrize("condition", [1.0, 2.0, 3.0])
def test_features_are_isotropic_in_the_coordinates_of_a_known_covariance(condition, axes):
    """Within 10 % with many users and no noise; I, and W for W^2, are rejected."""
    users = Users(Problem(10_000, 6, 40, 2, feature_condition=condition, feature_axes=axes))
    whitening = whitened(users)
    np.testing.assert_allclose(shape_of(users, whitening), 1, rtol=0, atol=0.1)
    if condition > 1:
        matrix = whitening.matrix
        for wrong in (np.eye(40), matrix @ matrix, np.linalg.inv(matrix)):
            assert np.abs(shape_of(users, Whitening(wrong)) - 1).max() > 0.2


def test_each_release_sees_what_the_last_one_left():
    """Condition 30, mixed: one release at this noise leaves eigenvalues apart by over 10, three by less than 2."""
    users = Users(Problem(10_000, 6, 20, 2, feature_condition=30.0, feature_axes="mixed"))
    whitening, left = plain(20), []
    for seed in range(3):
        whitening, _ = released_whitening(users, whitening, handle(users, 6.0, np.random.default_rng(seed)), 0.05)
        shape = shape_of(users, whitening)
        left.append(shape[-1] / shape[0])
    assert left[0] > 10 and left[2] < 2


@pytest.mark.parametrize(("condition", "least", "most"), [(1.0, 0, 2), (1.2, 0, 2), (3.0, 50, 50)])
def test_a_covariance_is_seen_where_there_is_one(condition, least, most):
    """Of 50 draws of noise all see a condition of 3 in deviations, at most two one of 1 or of what noise hides."""
    users = Users(Problem(2000, 6, 20, 2, feature_condition=condition, feature_axes="mixed"))
    seen = sum(
        released_whitening(users, plain(20), handle(users, 3.0, np.random.default_rng(seed)), 0.05)[1]
        for seed in range(50)
    )
    assert least <= seen <= most


# Size and scales


@pytest.mark.parametrize("law", ["gauss", "rare", "skewed"])
@pytest.mark.parametrize("size", [0.125, 1.0, 3.0, 8.0])
def test_the_size_of_features_is_learned(size, law):
    """To a power of two, exactly for features of any law; noise far beyond the clip makes it 1, but for few draws."""
    users = Users(Problem(2000, 6, 20, 2, feature_scale=size, feature_law=law))
    assert learned_level(users, handle(users)) == (4.0 if size == 3 else size)
    found = [learned_level(users, handle(users, 1e6, np.random.default_rng(seed))) for seed in range(50)]
    assert found.count(1.0) >= 48 and all(1 / 16 <= one <= 16 for one in found)


@pytest.mark.parametrize("condition", [1.0, 3.0, 30.0])
def test_the_scales_of_coordinates_are_learned(condition):
    """Within 5 %, and 20 % where the clip takes a part; their squares are rejected. With much noise all are 1."""
    users = Users(Problem(5000, 10, 20, 2, feature_condition=condition, feature_scale=7.0))
    true = users.problem.feature_scales / 7
    found = learned_scales(users, handle(users))
    within = 0.05 if condition < 30 else 0.2
    np.testing.assert_allclose(found, true, rtol=within)
    assert condition == 1 or not np.allclose(found, true**2, rtol=0.2)
    assert (found**2).mean() == pytest.approx(1, rel=1e-12)
    np.testing.assert_array_equal(learned_scales(users, handle(users, 1e4, np.random.default_rng(0))), 1)


def test_log_coordinates_are_those_of_a_loop(rng):
    """Logs of a user's squares less their mean, clipped in norm; a user without samples adds nothing."""
    features = rng.standard_normal((4, 9, 3)) * np.array([1.0, 1e-2, 1e2]) ** rng.integers(0, 3, (1, 9, 1))
    features[2:, 3], features[:, 5] = 0, 0
    (block,) = fake_users(features, np.ones((4, 9)), np.ones((9, 1))).blocks()
    expected, lengths = np.zeros(3), []
    for x in features.transpose(1, 0, 2):
        if x.any():
            squares = (x**2).sum(axis=0)
            logs = np.log(np.maximum(squares, 1e-6 * squares.mean()))
            logs -= logs.mean()
            lengths.append(np.linalg.norm(logs))
            expected += logs * min(1, LOG_LENGTH * math.sqrt(3) / lengths[-1])
    assert min(lengths) < LOG_LENGTH * math.sqrt(3) < max(lengths)
    np.testing.assert_allclose(log_coordinates(block), expected, rtol=0, atol=1e-4)


def test_small_eigenvalues_are_raised(rng):
    """A coordinate that is never there counts as one of variance `floor`: W is finite, and its square over that of the
    others is the inverse."""
    features = rng.standard_normal((4, 2000, 3))
    features[:, :, 2] = 0
    users = fake_users(features, np.zeros((4, 2000)), np.ones((2000, 1)))
    for floor in (0.01, 0.25):
        squares = np.diag(whitened(users, floor=floor).matrix) ** 2
        np.testing.assert_allclose(squares[2] / squares[:2], 1.5 / floor, rtol=0.05)


def test_clipped_moments_are_those_of_a_loop(rng):
    """Sum of x x^T / m max(|x|^2, d) over samples that are there; trace 1 for a user of long ones, less for others."""
    features = rng.standard_normal((4, 9, 3)) * 10.0 ** rng.integers(-3, 4, (4, 9, 1))
    features[:, 0] *= 1e4
    features[2:, 3], features[:, 5] = 0, 0
    (block,) = fake_users(features, np.ones((4, 9)), np.ones((9, 1))).blocks()
    whitening = Whitening(np.diag([1.0, 2.0, 0.5]) + 0.3 * np.eye(3, k=1))
    expected = np.zeros((3, 3))
    for x in features.transpose(1, 0, 2).reshape(-1, 3) @ whitening.matrix.T:
        expected += np.outer(x, x) / max(x @ x, 3) / 4
    np.testing.assert_allclose(clipped_moments(block, whitening), expected, rtol=0, atol=2e-4)
    traces = [np.trace(clipped_moments(block.take(j, j + 1), whitening)) for j in range(9)]
    assert traces[0] == pytest.approx(1, rel=1e-6) and traces[5] == 0
    assert max(traces) <= 1


# Coordinates


@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 999), st.booleans(), st.booleans())
def test_frames_rows_and_features_fit_together(dim, rank, seed, diagonal, further):
    """<W A, x> is <A, W x> wherever W is used; <A, x> is neither. A diagonal is a matrix, before and after another."""
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((dim, dim))
    matrix = np.diag(rng.uniform(2, 3, dim)) if diagonal else half @ half.T + 2 * np.eye(dim) + np.eye(dim, k=1)
    whitening = Whitening(np.diag(matrix) if diagonal else matrix)
    if further:
        whitening, matrix = whitening.then(half + 3 * np.eye(dim)), (half + 3 * np.eye(dim)) @ matrix
    columns, features = rng.standard_normal((dim, rank)), rng.standard_normal((4, 6, dim))
    (block,) = fake_users(features, np.ones((4, 6)), np.ones((6, 1))).blocks()
    expected = block.features.astype(float) @ matrix.T @ columns
    for found in (
        whitening.rows(block.features) @ columns,
        block.features @ whitening.frame(columns),
        np.stack([whitening.rows(rows) for rows in block.features.astype(float)]) @ columns,
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * max(1, np.abs(expected).max()))
    assert not np.allclose(block.features @ columns, expected, rtol=1e-3)
    assert whitening.rows(block.features).dtype == np.float32
