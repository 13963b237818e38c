"""Whitening: what noise explains is not kept, the shape of a covariance is found, and all coordinates fit together.

Statistical checks hold at `conftest.FALSE_ALARM` or within a stated share, and each comes with a wrong target that is rejected.
"""

import math

import numpy as np
import pytest
from conftest import door, fake_users
from hypothesis import given
from hypothesis import strategies as st

from privrep.algorithms.whitening import Whitening, directions, released_whitening, shrunk
from privrep.data.departures import feature_scales
from privrep.data.problem import Problem, Users
from privrep.privacy.ledger import Ledger


def matrix_of(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    return (vectors * values) @ vectors.T


def symmetric(size: int, sd: float, rng: np.random.Generator) -> np.ndarray:
    """(N + N^T) / 2."""
    noise = sd * rng.standard_normal((size, size))
    return (noise + noise.T) / 2


# Shrinking


@pytest.mark.parametrize("size", [2, 5])
def test_what_noise_explains_is_not_kept(size):
    """A deviation of a square below k (k + 1) / 2 sd^2 gives I to the last digit, one of twice that square half of itself."""
    off = np.diag(np.linspace(-1, 1, size))
    off /= np.linalg.norm(off)
    sd, noise = 0.02, 0.02 * math.sqrt(size * (size + 1) / 2)
    for length, kept in ((0.5, 0.0), (0.99, 0.0), (math.sqrt(2), 0.5), (10.0, 0.99), (40.0, 1 - 1 / 1600)):
        found = matrix_of(*shrunk(np.eye(size) + length * noise * off, sd))
        np.testing.assert_allclose(found, np.eye(size) + kept * length * noise * off, rtol=0, atol=1e-12)
        assert np.array_equal(shrunk(np.eye(size) + length * noise * off, sd)[0], np.ones(size)) == (length < 1)


def test_shrinking_a_deviation_brings_it_nearer(rng):
    """Squared error over 400 draws of the noise: as none where there is nothing, below that of what was found for a deviation of the noise's size, and
    twice it at most for a strong one, whose mean eigenvalue is estimated, too; of half the noise level it is not where there is nothing."""
    size, sd = 6, 0.1
    direction = symmetric(size, 1.0, rng)
    direction -= np.trace(direction) / size * np.eye(size)
    direction *= sd * math.sqrt(size * (size + 1) / 2) / np.linalg.norm(direction)
    for length, low, high in ((0.0, 0.0, 0.1), (1.0, 0.3, 0.8), (20.0, 0.8, 2.0)):
        true = np.eye(size) + length * direction
        errors = np.zeros(3)
        for _ in range(400):
            found = true + symmetric(size, sd, rng)
            for number, one in enumerate((found, *(matrix_of(*shrunk(found, level)) for level in (sd, sd / 2)))):
                errors[number] += ((one - true) ** 2).sum()
        assert low <= errors[1] / errors[0] < high
        assert length > 0 or errors[2] / errors[0] > 0.3


@given(st.integers(1, 6), st.integers(0, 999), st.floats(0, 10), st.floats(0.1, 10))
def test_eigenvalues_keep_their_order_and_vectors(size, seed, sd, trace):
    """What is kept of the deviation has trace 0 and the same eigenvectors, and is no longer than it was."""
    rng = np.random.default_rng(seed)
    found = trace * np.eye(size) + symmetric(size, 1.0, rng)
    values, vectors = shrunk(found, sd)
    assert values.sum() == pytest.approx(size, rel=1e-9)
    level = max(np.trace(found) / size, 0.1)
    plain = (found - np.trace(found) / size * np.eye(size)) / level
    kept = matrix_of(values, vectors) - np.eye(size)
    length = np.linalg.norm(plain)
    assert np.linalg.norm(kept) <= length * (1 + 1e-9) + 1e-12
    assert (kept * plain).sum() >= -1e-9
    np.testing.assert_allclose(kept @ plain, plain @ kept, rtol=0, atol=1e-9 * max(1, length**2))


# W


def shape_of(users: Users, whitening: Whitening) -> np.ndarray:
    """Eigenvalues of W S^2 W over their mean."""
    scales = feature_scales(users.problem)
    values = np.linalg.eigvalsh(whitening.matrix @ np.diag(scales**2) @ whitening.matrix)
    return values / values.mean()


@pytest.mark.parametrize("condition", [1.0, 2.0, 3.0])
def test_features_are_isotropic_in_the_coordinates_of_a_known_covariance(condition):
    """Within 10 % with many users and no noise; I, and W for W^2, are rejected."""
    users = Users(Problem(10_000, 6, 40, 2, feature_condition=condition))
    whitening = released_whitening(users, door(users), 1e-4)
    np.testing.assert_allclose(shape_of(users, whitening), 1, rtol=0, atol=0.1)
    if condition > 1:
        for wrong in (np.eye(40), whitening.matrix @ whitening.matrix, np.linalg.inv(whitening.matrix)):
            assert np.abs(shape_of(users, Whitening(wrong)) - 1).max() > 0.2


def test_only_the_shape_counts_of_features_with_long_tails():
    """Student features of 3 degrees of freedom give W as Gaussian ones do: each sample has length 1."""
    users = Users(Problem(10_000, 6, 40, 2, feature_condition=3.0, feature_tail=3.0))
    np.testing.assert_allclose(shape_of(users, released_whitening(users, door(users), 1e-4)), 1, rtol=0, atol=0.1)


def test_much_noise_leaves_features_alone():
    """Where it hides the covariance W is I; with little of it W is not."""
    users = Users(Problem(500, 6, 10, 2, feature_condition=3.0))
    for multiplier, same in ((1e4, True), (0.1, False)):
        found = [
            released_whitening(users, door(users, multiplier, np.random.default_rng(seed)), 0.5).matrix
            for seed in range(5)
        ]
        near = [np.abs(one - np.eye(10)).max() for one in found]
        assert (np.median(near) < 1e-9) == same


def test_small_eigenvalues_are_raised(rng):
    """A coordinate that is never there counts as one of variance `floor`: W is finite, and its square over that of the others is the inverse."""
    features = rng.standard_normal((4, 2000, 3))
    features[:, :, 2] = 0
    users = fake_users(features, np.zeros((4, 2000)), np.ones((2000, 1)))
    for floor in (0.01, 0.25):
        squares = np.diag(released_whitening(users, door(users), floor).matrix) ** 2
        np.testing.assert_allclose(squares[2] / squares[:2], 1.5 / floor, rtol=0.05)


def test_the_covariance_is_released_once():
    """One entry of sensitivity sqrt 2 at the noise multiplier of the door, and W is symmetric and positive, of C with trace d."""
    users, ledger = Users(Problem(500, 6, 10, 2, feature_condition=2.0)), Ledger()
    matrix = released_whitening(users, door(users, 0.7, ledger=ledger), 0.3).matrix
    (entry,) = ledger.entries
    assert (entry.name, entry.start, entry.stop) == ("unit_covariance", 0, 500)
    assert entry.sensitivity == pytest.approx(math.sqrt(2), rel=1e-12)
    assert ledger.mu == pytest.approx(1 / 0.7, rel=1e-12)
    np.testing.assert_allclose(matrix, matrix.T, rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > 0
    assert np.trace(np.linalg.inv(matrix @ matrix)) == pytest.approx(10, rel=1e-9)


def test_directions_are_those_of_a_loop(rng):
    """Sum of x x^T / (m |x|^2) over samples that are there; trace 1 for a user with all of them, and less for one without."""
    features = rng.standard_normal((4, 9, 3)) * 10.0 ** rng.integers(-6, 6, (4, 9, 1))
    features[2:, 3], features[:, 5] = 0, 0
    (block,) = fake_users(features, np.ones((4, 9)), np.ones((9, 1))).blocks()
    expected = np.zeros((3, 3))
    for x in features.transpose(1, 0, 2).reshape(-1, 3):
        if x.any():
            expected += np.outer(x, x) / (x @ x) / 4
    np.testing.assert_allclose(directions(block), expected, rtol=0, atol=2e-4)
    traces = [np.trace(directions(block.take(j, j + 1))) for j in range(9)]
    np.testing.assert_allclose(traces, [1, 1, 1, 0.5, 1, 0, 1, 1, 1], atol=1e-4)
    assert max(traces) <= 1


# Coordinates


@given(st.integers(1, 5), st.integers(1, 3), st.integers(0, 999))
def test_frames_rows_and_features_fit_together(dim, rank, seed):
    """<W A, x> is <A, W x>, in every place where W is used; <A, x> is neither."""
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((dim, dim))
    whitening = Whitening(half @ half.T + np.eye(dim))
    columns, features = rng.standard_normal((dim, rank)), rng.standard_normal((4, 6, dim))
    (block,) = fake_users(features, np.ones((4, 6)), np.ones((6, 1))).blocks()
    expected = block.features.astype(float) @ whitening.matrix @ columns
    for found in (
        whitening.features(block) @ columns,
        block.features @ whitening.frame(columns),
        np.stack([whitening.rows(rows) for rows in block.features.astype(float)]) @ columns,
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * max(1, np.abs(expected).max()))
    assert not np.allclose(block.features @ columns, expected, rtol=1e-3)
    assert whitening.features(block).dtype == np.float32


def test_no_whitening_changes_no_byte(rng):
    """W = None gives back what it is given."""
    (block,) = fake_users(rng.standard_normal((4, 6, 3)), np.ones((4, 6)), np.ones((6, 1))).blocks()
    rows, columns, none = rng.standard_normal((6, 3)), rng.standard_normal((3, 2)), Whitening(None)
    before = block.features.tobytes(), rows.tobytes(), columns.tobytes()
    assert none.features(block) is block.features and none.rows(rows) is rows and none.frame(columns) is columns
    assert before == (block.features.tobytes(), rows.tobytes(), columns.tobytes())
