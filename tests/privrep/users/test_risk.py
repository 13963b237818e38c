"""Exact population risk."""

import numpy as np
import pytest
from conftest import fake_users, gather
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privrep.users.problem import Block, Problem, Truth, Users
from privrep.users.risk import block_excess, personalised_risk
from privrep.users.subspace import random_subspace


def block_of(heads: np.ndarray) -> Block:
    users = len(heads)
    return Block(0, np.zeros((1, users, 1), np.float32), np.zeros((1, users), np.float32), heads)


@given(st.integers(1, 4), st.integers(0, 5), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_block_excess_is_the_squared_distance_of_the_models(rank, extra, other_rank, seed):
    """||theta_j - basis v_j||^2 for any basis, orthonormal or not, of any width."""
    rng = np.random.default_rng(seed)
    dim = rank + extra
    truth = Truth(random_subspace(dim, rank, rng), np.eye(rank))
    basis = rng.standard_normal((dim, other_rank))
    heads, own = rng.standard_normal((6, rank)), rng.standard_normal((6, other_rank))
    direct = ((heads @ truth.basis.T - own @ basis.T) ** 2).sum(axis=1)
    np.testing.assert_allclose(block_excess(block_of(heads), truth, basis, own), direct, rtol=1e-10, atol=1e-12)


def test_block_excess_is_the_prediction_error_on_fresh_samples(rng):
    """Monte Carlo over x ~ N(0, I_d): the mean squared difference of predictions, within 5 standard errors."""
    truth = Truth(random_subspace(6, 2, rng), np.eye(2))
    basis = random_subspace(6, 2, rng)
    heads, own = rng.standard_normal((3, 2)), rng.standard_normal((3, 2))
    exact = block_excess(block_of(heads), truth, basis, own)
    gaps = (rng.standard_normal((100_000, 6)) @ (heads @ truth.basis.T - own @ basis.T).T) ** 2
    error = gaps.std(axis=0) / np.sqrt(len(gaps))
    assert (np.abs(gaps.mean(axis=0) - exact) < 5 * error).all()
    assert (np.abs(gaps.mean(axis=0) - exact / 2) > 5 * error).all()


def test_small_risks_keep_their_digits():
    """The sum of squares does not cancel: a risk of 1e-24 is returned as such."""
    truth = Truth(np.eye(3)[:, :1], np.eye(1))
    basis = np.array([[1.0], [1e-12], [0.0]])
    excess = block_excess(block_of(np.ones((1, 1))), truth, basis, np.ones((1, 1)))
    np.testing.assert_allclose(excess, 1e-24, rtol=1e-12)


def test_personalised_risk_uses_the_stated_samples_of_all_users():
    """Least squares on the given range of samples, averaged over users, against a direct computation."""
    users = Users(Problem(60, 10, 6, 2, label_noise_sd=0.5))
    features, labels, heads = gather(users)
    basis = random_subspace(6, 2, np.random.default_rng(0))
    for samples in (slice(0, 10), slice(5, 10), slice(3, 6)):
        errors = []
        for j in range(60):
            head = np.linalg.lstsq(features[samples, j] @ basis, labels[samples, j], rcond=None)[0]
            errors.append(((users.truth.basis @ heads[j] - basis @ head) ** 2).sum())
        np.testing.assert_allclose(personalised_risk(users, basis, samples), np.mean(errors), rtol=1e-4)


def test_personalised_risk_does_not_depend_on_blocks():
    """The mean is over users, not over blocks of unequal size."""
    features, labels, heads = gather(Users(Problem(25, 6, 5, 2, label_noise_sd=0.5)))
    basis = random_subspace(5, 2, np.random.default_rng(1))
    risks = [personalised_risk(fake_users(features, labels, heads, size), basis, slice(0, 6)) for size in (25, 10, 1)]
    np.testing.assert_allclose(risks, risks[0], rtol=1e-5)


@pytest.mark.parametrize(("noise", "own"), [(0.0, 12), (0.7, 12), (0.7, 8)])
def test_personalised_risk_has_the_exact_mean_of_ordinary_least_squares(noise, own):
    """F6: r (1 + k/(h-k-1)) + sF^2 k/(h-k-1) in any subspace, within 5 standard errors over 80 groups of users."""
    k, h = 2, own
    basis = random_subspace(6, k, np.random.default_rng(3))
    truth_of = Users(Problem(200, h, 6, k, label_noise_sd=noise, head_law="sphere")).truth
    groups = []
    for seed in range(80):
        users = Users(Problem(200, h, 6, k, label_noise_sd=noise, head_law="sphere", seed=seed))
        users.truth = truth_of
        groups.append(personalised_risk(users, basis, slice(0, h)))
    # E v v^T = I, so the mean of r_j is the squared Frobenius distance.
    outside = np.linalg.norm(truth_of.basis - basis @ (basis.T @ truth_of.basis)) ** 2
    inflation = k / (h - k - 1)
    expected = outside * (1 + inflation) + noise**2 * inflation
    error = stats.sem(groups)
    assert abs(np.mean(groups) - expected) < 5 * error
    for wrong in (outside + noise**2 * k / h, outside * (1 + k / h) + noise**2 * k / h):
        assert abs(np.mean(groups) - wrong) > 5 * error
