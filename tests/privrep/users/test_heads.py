"""Per-user least squares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrep.users.blocks import Block
from privrep.users.heads import FittedHeads, final_penalty, fit_heads, solve_positive_definite
from privrep.users.risk import personal_risk
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import random_subspace

seeds = st.integers(0, 2**32 - 1)


@given(st.integers(1, 4), st.integers(0, 6), st.integers(0, 4), st.integers(1, 6), seeds)
def test_fit_heads_is_least_squares(rank, extra_dim, extra_samples, users, seed):
    """Each user's head is the float64 least-squares solution to the rounding that her conditioning allows."""
    rng = np.random.default_rng(seed)
    dim, samples = rank + extra_dim, rank + extra_samples
    features = rng.standard_normal((samples, users, dim)).astype(np.float32)
    labels = rng.standard_normal((samples, users)).astype(np.float32)
    basis = random_subspace(dim, rank, rng)
    heads = fit_heads(features, labels, basis)
    assert heads.shape == (users, rank)
    assert heads.dtype == np.float64
    for j in range(users):
        design = features[:, j].astype(np.float64) @ basis
        expected = np.linalg.lstsq(design, labels[:, j].astype(np.float64), rcond=None)[0]
        tolerance = 1e-5 * np.linalg.cond(design) ** 2 * (np.linalg.norm(expected) + 1)
        np.testing.assert_allclose(heads[j], expected, atol=tolerance)


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-7, 1e-5, 1e-3, 1e-1])
def test_nearly_singular_users_stay_finite(gap, rng):
    """Almost parallel projected features: no NaN, no infinity, and the residual is that of least squares."""
    basis = np.eye(5)[:, :2]
    features = rng.standard_normal((6, 200, 5)).astype(np.float32)
    features[:, :, 1] = features[:, :, 0] * np.float32(1 + gap) + np.float32(gap) * features[:, :, 2]
    labels = rng.standard_normal((6, 200)).astype(np.float32)
    heads = fit_heads(features, labels, basis)
    assert np.isfinite(heads).all()
    for j in range(200):
        design = features[:, j].astype(np.float64) @ basis
        target = labels[:, j].astype(np.float64)
        residual = np.linalg.norm(design @ heads[j] - target)
        line = np.linalg.norm(design[:, :1] @ np.linalg.lstsq(design[:, :1], target, rcond=None)[0] - target)
        plane = np.linalg.norm(design @ np.linalg.lstsq(design, target, rcond=None)[0] - target)
        # Up to rounding, between the fit with both directions and, when they cannot be told apart, with one.
        assert residual <= (line if gap < 1e-6 else plane) + 1e-4


def test_singular_system_keeps_its_leading_part():
    """A dependent coordinate is switched off; the others solve their part."""
    gram = np.array([[2.0, 0.0, 2.0], [0.0, 4.0, 0.0], [2.0, 0.0, 2.0]])[:, :, None]
    right = np.array([2.0, 4.0, 2.0])[:, None]
    np.testing.assert_allclose(solve_positive_definite(gram, right)[:, 0], [1, 1, 0])
    np.testing.assert_array_equal(solve_positive_definite(np.zeros((2, 2, 1)), np.zeros((2, 1)))[:, 0], [0, 0])


@given(st.integers(1, 4), st.integers(0, 6), st.integers(1, 8), st.floats(1e-2, 1e2), seeds)
def test_ridge_heads_are_the_closed_form(rank, extra_dim, samples, penalty, seed):
    """(Z^T Z + penalty I)^-1 Z^T y of each user in any frame, for m < k too; twice the penalty is rejected."""
    rng = np.random.default_rng(seed)
    dim = rank + extra_dim
    features = rng.standard_normal((samples, 5, dim)).astype(np.float32)
    labels = rng.standard_normal((samples, 5)).astype(np.float32)
    frame = rng.standard_normal((dim, rank))
    heads = FittedHeads(frame, slice(None), penalty)(Block(0, features, labels))
    assert heads.shape == (5, rank)
    moved = []
    for j in range(5):
        design, right = features[:, j].astype(np.float64) @ frame, labels[:, j].astype(np.float64)
        expected, wrong = (
            np.linalg.solve(design.T @ design + one * np.eye(rank), design.T @ right) for one in (penalty, 2 * penalty)
        )
        tolerance = 3e-6 * (1 + np.linalg.norm(design) ** 2 / penalty) * (np.linalg.norm(expected) + 0.1)
        np.testing.assert_allclose(heads[j], expected, rtol=0, atol=tolerance)
        moved.append(np.linalg.norm(heads[j] - wrong) > 0.5 * np.linalg.norm(expected - wrong))
    if penalty >= 1:
        assert all(moved)


def test_without_a_penalty_a_head_needs_as_many_samples_as_the_rank():
    block = Block(0, np.ones((7, 3, 5), np.float32), np.ones((7, 3), np.float32))
    with pytest.raises(ValueError, match=r"^samples for the head is 2; it must be at least the rank, 3"):
        FittedHeads(np.eye(5, 3), slice(0, 2))(block)


def test_last_heads_by_ridge_are_the_posterior_mean():
    """Penalty s^2 / h^2: for Gaussian heads the least mean square error, below those of none, half and twice it."""
    problem = Problem(4000, 4, 6, 2, label_noise_sd=1.0, head_condition=2.0, head_law="aniso")
    users = Users(problem, 0)
    truth = users.truth.basis
    penalty = final_penalty("ridge", problem.known)
    assert penalty == 1 / ((2.0**2 + 1) / 2)
    assert final_penalty("least squares", problem.known) == 0
    risks = [
        personal_risk(users, truth, FittedHeads(truth, slice(0, 4), factor * penalty)) for factor in (0, 0.25, 1, 4)
    ]
    assert min(risks) == risks[2]


def test_rules_with_other_penalties_have_other_names():
    basis = np.eye(3, 1)
    assert FittedHeads(basis, slice(0, 2)).name != FittedHeads(basis, slice(0, 2), 1.0).name
