"""Users with data in memory."""

from dataclasses import replace

import numpy as np
import pytest

from privrep.methods.steps.starts import truth_of
from privrep.users.given_users import GivenUsers
from privrep.users.known import Known
from privrep.users.simulated import Problem, Users

DIM = 4


def rows(users: int, most: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features (N, d), labels (N,) and whose they are (N,), from heads in one plane; a user has up to `most` rows."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), rng.integers(1, most + 1, users))
    plane = np.linalg.qr(rng.standard_normal((DIM, 2)))[0]
    features = rng.standard_normal((len(user), DIM))
    models = rng.standard_normal((users, 2)) @ plane.T
    labels = np.einsum("nd,nd->n", features, models[user]) + 0.1 * rng.standard_normal(len(user))
    return features, labels, user


def test_what_a_simulation_fills_in():
    """Sizes and laws; that features have another scale is not told, since methods assume that they have not."""
    problem = Problem(50, 8, 6, 2, 0.3, "aniso", head_condition=3.0, feature_scale=10.0)
    assert problem.known == Known(50, 8, 6, 2, 0.3, head_condition=3.0)
    assert replace(problem, head_law="gauss", head_condition=1.0).known.longest_head is None
    assert problem.known.head_variance == pytest.approx((9 + 1) / 2)
    assert Users(problem).known == problem.known


def test_a_planted_start_needs_a_truth():
    """Which given users have not."""
    features, labels, user = rows(50, 8)
    with pytest.raises(ValueError, match="no known truth"):
        truth_of(GivenUsers.capped(labels, features, user, 50, 8, 2))
