"""Model misspecification: features, numbers of samples, corrupted users, and what risk is counted of them."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from conftest import gather
from hypothesis import given
from hypothesis import strategies as st

import privrep.users.blocks
import privrep.users.simulated
from privrep.users.blocks import Block, Truth
from privrep.users.heads import FittedHeads
from privrep.users.passes import rows
from privrep.users.risk import block_excess, model_risk, personal_risk, personalised_risk
from privrep.users.simulated import MISSPECIFICATIONS, Problem, Users

BASE = Problem(3000, 6, 5, 2, label_noise_sd=0.3)
AXES = {
    "feature_law": "rare",
    "feature_scale": 0.1,
    "feature_condition": 3.0,
    "feature_axes": "mixed",
    "feature_tail": 6.0,
    "fewest_samples": 2,
    "noise_spread": 4.0,
    "label_outliers": 0.1,
    "adversaries": 37,
}


# Corrupted users


@given(st.integers(2, 400), st.data())
def test_adversaries_are_as_many_as_stated_and_evenly_spread(users, data):
    """Any run of users has its share of them, up to one, wherever it is cut."""
    count = data.draw(st.integers(1, users - 1))
    problem = Problem(users, 1, 3, 1, adversaries=count)
    hostile = problem.corrupted_users(0, users)
    assert hostile.sum() == count
    start, stop = sorted(data.draw(st.tuples(st.integers(0, users), st.integers(0, users))))
    np.testing.assert_array_equal(problem.corrupted_users(start, stop - start), hostile[start:stop])
    assert abs(hostile[start:stop].sum() - (stop - start) * count / users) < 1


LONGER = {"feature_condition": 3.0, "feature_tail": 6.0, "feature_scale": 0.1, "feature_law": "rare"}


@pytest.mark.parametrize("change", [{}, LONGER | {"fewest_samples": 2}])
def test_adversaries_follow_their_vector_and_have_no_head(change):
    """Labels are <x, theta> without noise, of samples that they lack too; the others have heads and follow those.
    Features are those that are seen, after scales and tails."""
    users = Users(replace(BASE, adversaries=37, **change))
    features, labels, heads = gather(users)
    hostile = np.isnan(heads).all(axis=1)
    np.testing.assert_array_equal(hostile, np.isnan(heads).any(axis=1))
    np.testing.assert_array_equal(hostile, users.problem.corrupted_users(0, BASE.users))
    vector = users.problem.corrupted_vector(users.truth.basis)
    np.testing.assert_allclose(labels[:, hostile], features[:, hostile] @ vector, atol=1e-4)
    left = labels[:, ~hostile] - np.einsum("mbd,bd->mb", features[:, ~hostile], heads[~hostile] @ users.truth.basis.T)
    left = left[features[:, ~hostile].any(axis=2)]
    assert left.std() == pytest.approx(0.3, rel=0.05)


# Risk


def slow_risk(users: Users, models: np.ndarray) -> float:
    """Mean of |R (theta_j - theta_hat_j)|^2, R^T R the features' covariance, over users with a head, one by one."""
    heads = np.concatenate([block.heads for block in users.blocks()]).astype(float)
    scales = np.geomspace(users.problem.feature_condition, 1, users.known.dim)
    root = np.diag(scales / math.sqrt(np.mean(scales**2)) * users.problem.feature_scale)
    if users.problem.feature_axes == "mixed":
        dim = len(scales)
        waves = [[math.cos(math.pi * (2 * i + 1) * j / (2 * dim)) for j in range(dim)] for i in range(dim)]
        root = root @ (np.array(waves) / np.linalg.norm(waves, axis=0))
    found = []
    for head, model in zip(heads, models, strict=True):
        if not np.isnan(head[0]):
            found.append(float(((root @ (users.truth.basis @ head - model)) ** 2).sum()))
    assert len(found) == users.known.users - users.problem.adversaries
    return float(np.mean(found))


DEPARTURES = [
    {},
    {"feature_condition": 3.0},
    {"adversaries": 37},
    {"fewest_samples": 4},
    {"feature_scale": 0.1},
    {"feature_condition": 3.0, "feature_axes": "mixed", "feature_scale": 7.0},
    {"feature_condition": 3.0, "adversaries": 37, "fewest_samples": 4, "truth_law": "unit-columns"},
]


def test_small_risks_keep_their_digits():
    """The sum of squares does not cancel: a risk of 1e-24 is returned as such."""
    block = Block(0, np.zeros((1, 1, 1), np.float32), np.zeros((1, 1), np.float32), np.ones((1, 1)))
    excess = block_excess(block, Truth(np.eye(3, 1), np.eye(1)), np.array([[1.0], [1e-12], [0.0]]), np.ones((1, 1)))
    np.testing.assert_allclose(excess, 1e-24, rtol=1e-12)


@pytest.mark.parametrize("change", DEPARTURES)
@pytest.mark.parametrize("width", [1, 2, 4])
def test_the_risk_is_that_of_a_slow_reference(monkeypatch, change, width):
    """In a subspace of any width and for whole models, in several blocks; S and who counts are seen in it."""
    monkeypatch.setattr(privrep.users.blocks, "FLOATS_PER_STREAM", 2**11)
    monkeypatch.setattr(privrep.users.simulated, "STREAMS_PER_BLOCK", 2)
    users = Users(replace(BASE, users=300, **change))
    basis = np.random.default_rng(1).standard_normal((5, width))
    rule = FittedHeads(basis, slice(0, 6))
    assert len(list(users.blocks())) > 2
    (heads,) = rows(users, lambda block: (rule(block),))
    expected = slow_risk(users, heads @ basis.T)
    assert personal_risk(users, basis, rule) == pytest.approx(expected, rel=1e-5)
    assert personalised_risk(users, basis, slice(0, 6)) == pytest.approx(expected, rel=1e-5)
    assert model_risk(users, lambda block: rule(block) @ basis.T) == pytest.approx(expected, rel=1e-5)
    if "feature_condition" in change:
        plain = replace(users.problem, feature_condition=1.0, feature_axes="coordinates")
        other = Users(plain)
        other.__dict__.update(truth=users.truth, _streams=users._streams)
        assert personal_risk(other, basis, rule) != pytest.approx(expected, rel=1e-2)


# Defaults, errors and blocks


def test_departures_are_axes_away_from_their_defaults_only():
    """A problem without them has the name, and so the data, that it had before there were any."""
    heads = {"head_condition": 1, "head_factor": 1, "head_bias": 0}
    assert set(MISSPECIFICATIONS) == set(AXES)
    assert replace(BASE, **heads).axes == BASE.axes
    assert replace(BASE, head_law="aniso", head_condition=2.0).axes["head_condition"] == 2.0
    assert replace(BASE, head_bias=0.5).axes["head_bias"] == 0.5
    assert not set(AXES) & set(BASE.axes)
    older = {"users", "samples", "dim", "rank", "label_noise_sd", "head_law", "truth_law", "seed"}
    assert set(BASE.axes) == older
    for name, value in AXES.items():
        changed = replace(BASE, **{name: value})
        assert changed.axes == BASE.axes | {name: value}
        assert changed.known.bytes == BASE.known.bytes and changed.stream_users == BASE.stream_users
        assert replace(changed, **{name: getattr(Problem, name)}) == BASE


WHOLE = ("seed", "fewest_samples", "adversaries")


@pytest.mark.parametrize(
    ("name", "value", "bounds"),
    [
        *(("users", value, "an integer of at least 1") for value in (0, 1.5, True)),
        ("samples", "4", "an integer of at least 1"),
        *(("label_noise_sd", value, "finite and at least 0") for value in (-0.1, math.nan, math.inf)),
        ("head_law", "cauchy", "one of gauss, sphere, aniso, heavy"),
        ("truth_law", "none", "one of orthonormal, unit-columns"),
        *(("head_condition", value, "finite and at least 1") for value in (0.5, math.nan, math.inf)),
        *(("head_factor", value, "finite and at least 1") for value in (0.5, 0.0, -1.0, math.inf, math.nan)),
        *(("head_bias", value, "at least 0 and at most 1") for value in (-0.1, 1.1, math.nan)),
        *(("feature_law", value, "one of gauss, rare, skewed") for value in ("bernoulli", 1.0)),
        *(("feature_axes", value, "one of coordinates, mixed") for value in ("rotated", 1.0)),
        *(("feature_scale", value, "positive and finite") for value in (0.0, -1.0, math.inf, math.nan)),
        *(("noise_spread", value, "finite and at least 1") for value in (0.5, math.inf, math.nan)),
        *(("label_outliers", value, "at least 0 and at most 1") for value in (-0.1, 1.1, math.nan)),
        *(("feature_condition", value, "finite and at least 1") for value in (0.9, -1.0, math.inf, math.nan)),
        *(("feature_tail", value, "greater than 2, or 0") for value in (2.0, 1.0, -3.0, math.inf, math.nan)),
        *((name, value, "an integer of at least 0") for name in WHOLE for value in (-1, 2.0, True)),
        ("fewest_samples", 7, "at most 6"),
        ("adversaries", 3000, "at most 2999"),
    ],
)
def test_a_bad_parameter_is_named_with_its_bounds(name, value, bounds):
    with pytest.raises(ValueError, match=rf"^{name} is .*; it must (be |lie ){bounds}") as error:
        replace(BASE, **{name: value})
    assert repr(value) in str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rank": 7}, "rank is 7; it must not exceed dim, which is 5"),
        ({"rank": 5, "adversaries": 1}, "adversaries is 1; no direction is off a subspace of rank 5"),
        *(
            ({"head_law": law, name: 2.0}, f"{name} is 2.0; head_law '{law}' needs 1")
            for name, without in (
                ("head_condition", ("gauss", "sphere", "heavy")),
                ("head_factor", ("gauss", "sphere", "aniso")),
            )
            for law in without
        ),
    ],
)
def test_parameters_that_do_not_go_together_are_named(change, words):
    with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
        replace(BASE, **change)


@pytest.mark.parametrize("name", AXES)
def test_the_ends_of_a_range_are_allowed(name):
    """All samples, all users but one, a tail just above 2; of the laws the last."""
    ends = {"feature_law": "skewed", "feature_scale": 1e-6, "feature_condition": 1.0, "feature_axes": "mixed"}
    ends |= {
        "feature_tail": 2.0000001,
        "fewest_samples": 6,
        "noise_spread": 1.0,
        "label_outliers": 1.0,
        "adversaries": 2999,
    }
    problem = replace(BASE, **{name: ends[name]})
    assert all(np.isfinite(block.features).all() for block in Users(problem).blocks())


@given(st.integers(0, 150), st.integers(0, 150), st.booleans())
def test_where_blocks_are_cut_changes_no_draw(start, stop, kept):
    """Any range of users, kept or drawn again, has the bytes of the whole, under all misspecifications."""
    start, stop = sorted((start, stop))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(privrep.users.blocks, "FLOATS_PER_STREAM", 2**8)
        users = Users(replace(BASE, users=150, **AXES), memory_budget=2**30 if kept else 0)
        whole = [np.concatenate(part) for part in zip(*map(arrays, users.blocks()), strict=True)]
        found = [arrays(block) for block in users.blocks(start, stop)]
        for number, expected in enumerate(whole):
            assert b"".join(part[number].tobytes() for part in found) == expected[start:stop].tobytes()
        np.testing.assert_array_equal(np.isnan(whole[2][:, 0]), users.problem.corrupted_users(0, 150))


def arrays(block: Block) -> tuple[np.ndarray, ...]:
    """Features, labels and heads, users first."""
    return block.features.transpose(1, 0, 2), block.labels.T, block.heads
