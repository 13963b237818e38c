"""Users with data in memory."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrep.simulate import fit_users
from privrep.users.given_users import GivenUsers, held_out_rows
from privrep.users.known import Known
from privrep.users.problem import Problem, Users
from replication.run.registry import load_options

DIM = 4
OWN = {"rank": 2, "held_out": 0.25, "label_noise_sd": 0.1, "longest_head": None}


def rows(users: int, most: int, seed: int = 0, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features (N, d), labels (N,) and whose they are (N,), from heads in one plane; a user has up to `most` rows."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(users), rng.integers(1, most + 1, users))
    plane = np.linalg.qr(rng.standard_normal((DIM, 2)))[0]
    features = rng.standard_normal((len(user), DIM))
    models = rng.standard_normal((users, 2)) @ plane.T
    labels = np.einsum("nd,nd->n", features, models[user]) + 0.1 * rng.standard_normal(len(user))
    return scale * features, labels, user


def gathered(users) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, m, d) and labels (n, m) of all blocks."""
    blocks = list(users.blocks())
    assert [block.start for block in blocks] == list(np.cumsum([0, *(block.users for block in blocks[:-1])]))
    parts = [[getattr(block, name) for block in blocks] for name in ("features", "labels")]
    return tuple(np.concatenate(part, axis=1).swapaxes(0, 1) for part in parts)


@given(st.lists(st.integers(1, 7), min_size=1, max_size=12), st.floats(0, 0.99))
def test_each_row_is_held_out_or_not(counts, share):
    """The last of each user, as many as the share says, rounded down."""
    apart = held_out_rows(np.repeat(np.arange(len(counts)), counts), share)
    for part, count in zip(np.split(apart, np.cumsum(counts)[:-1]), counts, strict=True):
        held = math.floor(share * count)
        assert list(part) == [False] * (count - held) + [True] * held


def test_rows_come_to_their_users():
    """In whatever order they stand; what a user lacks is zero."""
    features, labels, user = rows(30, 6)
    shuffled = np.random.default_rng(1).permutation(len(user))
    for order in (np.arange(len(user)), shuffled):
        users = GivenUsers.from_rows(features[order], labels[order], user[order], rank=2)
        assert users.known == Known(30, int(np.bincount(user).max()), DIM, 2)
        found, of_labels = gathered(users)
        for number in range(30):
            own = order[user[order] == number]
            np.testing.assert_array_equal(found[number, : len(own)], features[own].astype(np.float32))
            np.testing.assert_array_equal(of_labels[number, : len(own)], labels[own].astype(np.float32))
            assert not found[number, len(own) :].any() and not of_labels[number, len(own) :].any()


def test_models_are_those_of_the_users_in_the_unit_of_their_rows():
    """They leave of held-out rows what the score says, in the mean over users and in the labels' own unit, and so do
    models of zero; powers of two in the rows are divided out of them."""
    features, labels, user = rows(60, 8)
    outcome, models, _ = fit_users("own_data", features, labels, user, penalty=0.1, **OWN)
    apart, zero = held_out_rows(user, OWN["held_out"]), np.zeros_like(models)
    for found, made in zip(outcome.held_out, (models, zero), strict=True):
        left = labels - np.einsum("nd,nd->n", features, made[user])
        errors = [np.mean(left[apart & (user == one)] ** 2) for one in np.unique(user[apart])]
        assert np.mean(errors) == pytest.approx(found, rel=1e-5)
    units = {"feature_scale": 8.0, "label_scale": 4.0}
    scaled = fit_users("own_data", 8 * features, 4 * labels, user, penalty=0.1, **OWN, **units)
    np.testing.assert_array_equal(scaled[1], models / 2)
    assert scaled[0].held_out == pytest.approx([16 * error for error in outcome.held_out])


def test_what_a_simulation_fills_in():
    """Sizes and laws; that features have another scale is not told, since methods assume that they have not."""
    problem = Problem(50, 8, 6, 2, 0.3, "aniso", head_condition=3.0, feature_scale=10.0)
    assert problem.known == Known(50, 8, 6, 2, 0.3, head_condition=3.0)
    assert replace(problem, head_law="gauss", head_condition=1.0).known.longest_head is None
    assert problem.known.head_variance == pytest.approx((9 + 1) / 2)
    assert Users(problem).known == problem.known


FOUR = np.ones((4, 2)), np.ones(4), np.arange(4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit_users("unit_steps", FOUR[0], FOUR[1][:3], FOUR[2], rank=1), r"\(4, 2\), \(3,\), \(4,\)"),
        (lambda: fit_users("unit_steps", *FOUR, rank=1, held_out=1.0), r"^held_out is 1\.0"),
        (lambda: fit_users("unit_steps", *FOUR, rank=1), "unit_steps is private and needs one"),
        (lambda: fit_users("own_data", *FOUR, rank=1, epsilon=1.0), "own_data takes none"),
        (lambda: fit_users("unit_steps", *FOUR, rank=1, epsilon="1"), "epsilon"),
        (lambda: fit_users("unit_steps", *FOUR, rank=1, epsilon=1.0, label_noise=1.0), "label_noise is no option of"),
    ],
)
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_planted_start_needs_a_truth():
    """Which given users have not."""
    given = rows(50, 8)
    options = {"init": "planted", "rounds": 1, "clip": 1.0, "batch_samples": 2, "clip_scale": "absolute"}
    assert load_options("centaur", options).build(GivenUsers.from_rows(*given, rank=2).known)
    with pytest.raises(ValueError, match="no known truth"):
        fit_users("centaur", *given, rank=2, epsilon=1.0, **options)


def test_a_method_without_models_says_so():
    """By its name, after the fit; its subspace is kept."""
    with pytest.warns(UserWarning, match="^spectral_init releases a subspace and fits no model of any user, so that "):
        outcome, models, ledger = fit_users(
            "spectral_init", *rows(400, 8), rank=2, held_out=0.25, epsilon=2.0, init_label_clip=1.5, label_noise_sd=0.1
        )
    assert outcome.subspace is not None and models is None and outcome.held_out is None and ledger.entries
