"""Exact population risk."""

import numpy as np
from conftest import gather
from hypothesis import given
from hypothesis import strategies as st

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
