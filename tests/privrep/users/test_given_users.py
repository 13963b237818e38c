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


def gathered(users) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, m, d) and labels (n, m) of all blocks."""
    blocks = list(users.blocks())
    assert [block.start for block in blocks] == list(np.cumsum([0, *(block.users for block in blocks[:-1])]))
    parts = [[getattr(block, name) for block in blocks] for name in ("features", "labels")]
    return tuple(np.concatenate(part, axis=1).swapaxes(0, 1) for part in parts)


def test_rows_come_to_their_users():
    """In whatever order they stand; what a user lacks is zero."""
    features, labels, user = rows(30, 6)
    shuffled = np.random.default_rng(1).permutation(len(user))
    for order in (np.arange(len(user)), shuffled):
        users = GivenUsers.capped(labels[order], features[order], user[order], 30, 6, 2)
        assert users.known == Known(30, 6, DIM, 2)
        found, of_labels = gathered(users)
        for number in range(30):
            own = order[user[order] == number]
            kept = np.column_stack([of_labels[number], found[number]])[: len(own)]
            wanted = np.column_stack([labels[own], features[own]]).astype(np.float32)
            assert sorted(map(tuple, kept)) == sorted(map(tuple, wanted))
            assert not found[number, len(own) :].any() and not of_labels[number, len(own) :].any()


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
