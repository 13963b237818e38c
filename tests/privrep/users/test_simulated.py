"""The synthetic users: their law, their validation, and that streaming changes nothing."""

import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from conftest import FALSE_ALARM, check_sd, gather, uncorrelated
from hypothesis import given
from hypothesis import strategies as st
from pieces import moments, pair_moments
from scipy import stats

import privrep.users.blocks
import privrep.users.simulated
from privrep.privacy.regression_moments import SampleClip, UserClip
from privrep.users.blocks import Block
from privrep.users.given_users import GivenUsers
from privrep.users.heads import FittedHeads
from privrep.users.known import Known
from privrep.users.passes import KEPT, total
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import random_subspace


@pytest.fixture
def small_blocks(monkeypatch):
    """Streams of 2^8 floats and blocks of 2^10, so that a few hundred users fill several blocks."""
    monkeypatch.setattr(privrep.users.blocks, "FLOATS_PER_STREAM", 2**8)


@pytest.mark.parametrize("kept", [True, False])
def test_a_block_holds_the_samples_of_its_streams(small_blocks, monkeypatch, kept):
    """One behind the other and to the last bit, in full blocks of four streams, in the last, and in parts of blocks."""
    problem = Problem(150, 4, 6, 2, label_noise_sd=0.3)
    monkeypatch.setattr(privrep.users.simulated, "STREAMS_PER_BLOCK", 1)
    streams = list(Users(problem, 7).blocks())
    assert [part.users for part in streams] == [10] * 15
    monkeypatch.setattr(privrep.users.simulated, "STREAMS_PER_BLOCK", 4)
    users = Users(problem, 7, memory_budget=2**30 if kept else 0)
    assert [part.users for part in users.blocks()] == [40, 40, 40, 30]
    for start, stop in ((0, 150), (10, 30), (35, 121)):
        for name, axis in (("features", 1), ("labels", 1), ("heads", 0)):
            found = np.concatenate([getattr(part, name) for part in users.blocks(start, stop)], axis)
            drawn = np.concatenate([getattr(part, name) for part in streams], axis)
            np.testing.assert_array_equal(found, drawn.take(range(start, stop), axis))


def test_a_kept_block_is_held_once(small_blocks):
    """The streams that a block was put together from are gone."""
    users = Users(Problem(4000, 4, 16, 2, label_noise_sd=0.3))
    tracemalloc.start()
    try:
        list(users.blocks())
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < peak < 1.5 * users.known.bytes


def test_master_seed_and_parameters_change_the_data():
    """Each parameter is part of the stream's name."""
    base = {"users": 20, "samples": 4, "dim": 6, "rank": 2, "label_noise_sd": 0.1}
    other = [{"users": 21}, {"samples": 5}, {"dim": 7}, {"rank": 3}, {"seed": 1}, {"label_noise_sd": 0.2}]
    other += [{"head_law": "sphere"}, {"head_law": "aniso"}, {"truth_law": "unit-columns"}]
    other += [{"head_law": "aniso", "head_condition": condition} for condition in (2.0, 3.0)]
    firsts = [next(iter(Users(Problem(**base | change)).blocks())).features[0, 0, 0] for change in [{}, *other]]
    firsts.append(next(iter(Users(Problem(**base), master_seed=1).blocks())).features[0, 0, 0])
    assert len(set(firsts)) == len(firsts)


def test_features_are_standard_normal():
    """sd 1, normal shape, no correlation between samples, users or coordinates."""
    features, _, _ = gather(Users(Problem(400, 4, 10, 2)))
    check_sd(features, 1.0)
    assert stats.kstest(features.ravel(), "norm").pvalue > FALSE_ALARM
    assert uncorrelated(features[:2], features[2:])
    assert uncorrelated(features[:, :200], features[:, 200:])
    assert uncorrelated(features[:, :, :5], features[:, :, 5:])


def test_labels_follow_the_linear_model():
    """y - <x, U* v> is N(0, label_noise_sd^2), independent of the features; 0 means none."""
    users = Users(Problem(1000, 4, 8, 2, label_noise_sd=0.25))
    features, labels, heads = gather(users)
    prediction = np.einsum("mbd,bd->mb", features, heads @ users.truth.basis.T)
    check_sd(labels - prediction, 0.25)
    assert uncorrelated(labels - prediction, prediction)
    users = Users(Problem(100, 4, 8, 2))
    features, labels, heads = gather(users)
    prediction = np.einsum("mbd,bd->mb", features, heads @ users.truth.basis.T)
    np.testing.assert_allclose(labels, prediction, atol=1e-5)


def test_gauss_heads():
    """v_j ~ N(0, I_k)."""
    heads = gather(Users(Problem(4000, 1, 5, 3)))[2]
    check_sd(heads, 1.0)
    assert stats.kstest(heads.ravel(), "norm").pvalue > FALSE_ALARM
    assert uncorrelated(heads[:, 0], heads[:, 1])


def test_sphere_heads():
    """||v_j||^2 = k exactly, with no preferred direction."""
    heads = gather(Users(Problem(4000, 1, 5, 3, head_law="sphere")))[2]
    np.testing.assert_allclose((heads**2).sum(axis=1), 3, rtol=1e-6)
    # A coordinate of a uniform point on the sphere in R^3 is uniform.
    law = stats.uniform(-(3**0.5), 2 * 3**0.5)
    for column in heads.T:
        assert stats.kstest(column, law.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(heads[:, 0], "norm").pvalue < FALSE_ALARM
    assert uncorrelated(heads[:, 0], heads[:, 1])


def moments_match(heads: np.ndarray, expected: np.ndarray) -> bool:
    """Whether each entry of E v v^T is as expected, by normal tests at FALSE_ALARM in all."""
    products = heads[:, :, None] * heads[:, None, :]
    errors = products.std(axis=0) / len(heads) ** 0.5
    scores = np.abs(products.mean(axis=0) - expected) / errors
    return bool(scores.max() <= stats.norm.isf(FALSE_ALARM / 2 / expected.size))


@pytest.mark.parametrize("condition", [1.0, 1.5, 4.0])
def test_aniso_heads(condition):
    """E v v^T = diag(lam), lam_1 / lam_k = condition^2 in geometric steps, lam_k = 1; on an ellipsoid, exactly."""
    problem = Problem(20_000, 1, 5, 3, head_law="aniso", head_condition=condition)
    heads = gather(Users(problem))[2]
    lams = np.array([condition**2, condition, 1.0])
    np.testing.assert_allclose(problem.known.head_scales**2, lams, rtol=1e-14)
    np.testing.assert_allclose((heads**2 / lams).sum(axis=1), 3, rtol=1e-6)
    assert moments_match(heads, np.diag(lams))
    if condition > 1:
        for wrong in (lams[::-1], np.ones(3), lams**0.5, lams**2):
            assert not moments_match(heads, np.diag(wrong))


def test_one_head_has_no_condition():
    """At rank 1 the only scale is the largest, whatever the condition number."""
    assert Problem(1, 1, 2, 1, head_law="aniso", head_condition=3.0).known.head_scales == [3.0]


@pytest.mark.parametrize("head_law", ["gauss", "sphere"])
@pytest.mark.parametrize(("rank", "bias"), [(1, 0.5), (2, 0.5), (3, 1.0)])
def test_a_bias_turns_signs_of_heads_alone(head_law, rank, bias):
    """The first coordinate is positive with probability (1 + b) / 2; all products of coordinates keep their law.

    Binomial and normal tests at FALSE_ALARM; no bias, and twice the probability of a flip, are rejected.
    """
    users = Users(Problem(6000, 1, 4, rank, head_law=head_law, head_bias=bias))
    heads = gather(users)[2]
    positive = int((heads[:, 0] > 0).sum())

    def fits(probability):
        return (
            stats.binomtest(positive, 6000, probability).pvalue > FALSE_ALARM
            if 0 < probability < 1
            else positive == 6000
        )

    assert fits((1 + bias) / 2)
    assert not fits(0.5) and not fits((1 + bias) / 2 - 0.1)
    products = heads[:, :, None] * heads[:, None, :]
    spread = np.maximum(products.std(axis=0), 1e-6) / 6000**0.5
    assert (np.abs(products.mean(axis=0) - np.eye(rank)) < stats.norm.isf(FALSE_ALARM / 2) * spread + 1e-6).all()
    if head_law == "sphere":
        np.testing.assert_allclose(np.linalg.norm(heads, axis=1), rank**0.5, rtol=1e-5)


def test_a_head_of_length_zero_gets_a_direction():
    """A float32 normal may be exactly 0; of rank 1 one in some millions is, here one among the first 2000 users."""
    heads = gather(Users(Problem(2000, 16, 32, 1, head_law="sphere", head_bias=0.8)))[2]
    np.testing.assert_allclose(np.abs(heads), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("laws", "numbers"),
    [
        ({"label_noise_sd": 0.01, "truth_law": "unit-columns"}, [-0.07382774, 0.6252613, 0.415633, -0.5037819]),
        ({"head_law": "sphere"}, [-1.4110426, 2.186046, 3.1816666, -0.2936865]),
    ],
)
def test_older_data_stay(laws, numbers):
    """First head, feature, label and entry of U* as drawn before `head_condition` existed."""
    users = Users(Problem(40, 4, 6, 2, **laws))
    block = next(iter(users.blocks()))
    drawn = [block.heads[0, 0], block.features[0, 0, 0], block.labels[0, 0], users.truth.basis[0, 0]]
    np.testing.assert_allclose(drawn, numbers, rtol=1e-5)


@pytest.mark.parametrize("truth_law", ["orthonormal", "unit-columns"])
def test_truth_is_orthonormal_with_the_stated_mixing(truth_law):
    """basis is orthonormal; basis @ mixing has orthonormal columns, or unit columns that are not orthogonal."""
    truth = Users(Problem(10, 4, 6, 3, truth_law=truth_law)).truth
    np.testing.assert_allclose(truth.basis.T @ truth.basis, np.eye(3), atol=1e-14)
    columns = truth.basis @ truth.mixing
    np.testing.assert_allclose(np.linalg.norm(columns, axis=0), 1, rtol=1e-14)
    off_diagonal = columns.T @ columns - np.eye(3)
    assert (np.abs(off_diagonal).max() > 0.01) == (truth_law == "unit-columns")


def test_heads_are_in_the_coordinates_of_the_basis():
    """With unit columns, theta_j = U* v_j = basis @ heads_j, so the heads have covariance mixing mixing^T."""
    users = Users(Problem(4000, 1, 4, 2, truth_law="unit-columns", seed=2))
    heads = gather(users)[2]
    raw = np.linalg.solve(users.truth.mixing, heads.T)
    check_sd(raw, 1.0)
    assert uncorrelated(raw[0], raw[1])
    assert not uncorrelated(heads[:, 0], heads[:, 1])


def test_truth_is_uniform():
    """The first coordinate of U* has second moment 1/d over seeds."""
    first = [Users(Problem(1, 1, 5, 1, seed=seed)).truth.basis[0, 0] for seed in range(1500)]
    # x^2 of a uniform unit vector is Beta(1/2, (d-1)/2).
    assert stats.kstest(np.square(first), stats.beta(0.5, 2).cdf).pvalue > FALSE_ALARM


def test_sizes_are_as_documented():
    """`bytes` counts features, labels, norms and heads; a stream holds 2^18 floats at most, and at least one user."""
    problem = Problem(1000, 4, 6, 2)
    assert problem.known.bytes == 4 * 1000 * (4 * 6 + 4 + 4 + 2)
    assert problem.stream_users == 2**18 // 24
    assert Problem(3, 2**10, 2**10, 1).stream_users == 1


def peak_memory(users: int, budget: int) -> int:
    """Peak bytes allocated by one pass over the pairs of all users."""
    data = Users(Problem(users, 4, 16, 2), memory_budget=budget)
    tracemalloc.start()
    try:
        pair_moments(data, slice(0, 4), 1.0)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_users_when_redrawn(monkeypatch):
    """Streaming holds one block at a time; keeping the blocks, as a control, does grow."""
    monkeypatch.setattr(privrep.users.blocks, "FLOATS_PER_STREAM", 2**12)
    peak_memory(256, 0)
    few, many = peak_memory(1024, 0), peak_memory(16 * 1024, 0)
    assert many < 1.2 * few
    assert peak_memory(16 * 1024, 2**30) > 3 * few


def test_counts_are_of_samples_that_are_not_zero(rng):
    """Samples at zero, outside the domain of features or labels, or of no number do not count; a label of 0 counts."""
    features, labels = rng.standard_normal((6, 7, 3)).astype(np.float32), np.ones((6, 7), np.float32)
    features[2:4, 1] = 0
    features[0, 2, 1], features[5, 2], features[3, 2] = math.nan, 1e13, 1e-14
    labels[1, 3], labels[4, 3] = math.inf, 1e13
    labels[:, 4] = 0
    features[:, 5] = 0
    block = Block(0, features, labels)
    np.testing.assert_array_equal(block.counts, [6, 4, 3, 4, 6, 0, 6])
    np.testing.assert_array_equal(block.take(2, 6).counts, [3, 4, 6, 0])
    (drawn,) = Users(Problem(20, 4, 6, 2)).blocks()
    np.testing.assert_array_equal(drawn.counts, np.full(20, 4))


# Sums that are taken once


def test_a_named_sum_is_taken_once_over_the_same_users(monkeypatch):
    """Same bytes as a fresh one, from one pass; another name, or other users: another sum. Kept ones are read-only."""
    users, passes = Users(Problem(50, 4, 3, 1)), []
    blocks = Users.blocks
    monkeypatch.setattr(Users, "blocks", lambda *where: passes.append(where) or blocks(*where))

    def labels(block):
        return block.labels.sum(axis=1), block.features.sum(axis=(0, 1))

    fresh = total(users, labels)
    for name, over, count in (("a", None, 2), ("a", None, 2), ("b", None, 3), ("a", range(10), 4), ("a", range(10), 4)):
        found = total(users, labels, over, name)
        assert len(passes) == count
        assert over is not None or all(np.array_equal(*pair) for pair in zip(found, fresh, strict=True))
        with pytest.raises(ValueError, match="read-only"):
            found[0] += 1


def test_the_latest_sums_are_kept():
    """Those that were asked for last."""
    users, later = Users(Problem(5, 4, 3, 1)), range(KEPT, 2 * KEPT - 1)
    for name in (*range(KEPT), 0, *later):
        total(users, lambda block: block.labels.sum(axis=1), name=name)
    assert [name for name, _ in users.sums] == [0, *later]


ONES = {"known": Known(5, 2, 3, 1), "features": np.ones((2, 5, 3)), "labels": np.ones((2, 5))}


@pytest.mark.parametrize(
    ("kind", "given", "changes"),
    [
        (Users, {"problem": Problem(150, 4, 6, 2), "master_seed": 0}, {"master_seed": 1}),
        (Users, {"problem": Problem(150, 4, 6, 2)}, {"problem": Problem(150, 4, 6, 2, label_noise_sd=1.0)}),
        (GivenUsers, ONES, {"labels": np.full((2, 5), 3.0)}),
        (GivenUsers, ONES, {"features": np.full((2, 5, 3), 1e20)}),
    ],
)
def test_a_copy_with_other_data_has_no_sum_or_block_of_the_first(kind, given, changes):
    """What an object keeps was made of its own data; a sample of the last copy lies outside of the domain."""

    def labels(users) -> np.ndarray:
        return total(users, lambda block: block.labels.sum(axis=1, dtype=np.float64), name="labels")

    users = kind(**given)
    before, copy = labels(users), replace(users, **changes)
    assert not np.array_equal(labels(copy), before)
    np.testing.assert_array_equal(labels(copy), labels(kind(**given | changes)))
    np.testing.assert_array_equal(labels(users), before)


def test_the_name_of_a_sum_has_all_that_it_depends_on():
    """First passes with other clips, samples, starts or batches are other sums; those of two budgets are the same."""
    problem = Problem(40, 8, 5, 2)
    rng = np.random.default_rng(0)
    bases = [random_subspace(5, 2, rng) for _ in range(2)]
    users, seen = Users(problem), []
    for basis in bases:
        for heads in (slice(0, 4), slice(0, 5)):
            for samples in (slice(4, 8), slice(5, 8)):
                for clip in (SampleClip(1.0, 1.0), SampleClip(1.0, 2.0), SampleClip(2.0, 1.0), UserClip(1.0, 1.0)):
                    for batch in (range(40), range(20)):
                        found = moments(users, batch, FittedHeads(basis, heads), samples, clip)
                        alone = moments(Users(problem), batch, FittedHeads(basis, heads), samples, clip)
                        assert all(np.array_equal(*pair) for pair in zip(found, alone, strict=True))
                        seen.append(found[0].tobytes())
    # The label's clip moves b alone.
    assert len(set(seen)) == 2 * 2 * 2 * 3 * 2
    again = FittedHeads(bases[1].copy(), slice(0, 5))
    assert moments(users, range(20), again, slice(5, 8), UserClip(1.0, 1.0))[0] is found[0]


# Heads of which some are long (shen2023, Assumption 5.2 with large mu)


HEAVY = Problem(2000, 1, 6, 3, head_law="heavy", head_factor=5.0)
LONG = 5 / math.sqrt(0.99 + 0.01 * 25)


def lengths(users) -> np.ndarray:
    return np.linalg.norm(gather(users)[2], axis=1)


def test_every_hundredth_user_has_a_long_head(monkeypatch):
    """Users 0, 100, 200, ..., of all and not of a block: mu sqrt(k); the others a fifth of it."""
    monkeypatch.setattr(privrep.users.blocks, "FLOATS_PER_STREAM", 2**8)
    monkeypatch.setattr(privrep.users.simulated, "STREAMS_PER_BLOCK", 1)
    assert HEAVY.stream_users == 42
    found = lengths(Users(HEAVY)) / 3**0.5
    long = np.arange(2000) % 100 == 0
    np.testing.assert_allclose(found[long], LONG, rtol=1e-6)
    np.testing.assert_allclose(found[~long], LONG / 5, rtol=1e-6)


@given(st.floats(1, 50), st.integers(1, 4))
def test_the_second_moment_is_the_identity(factor, rank):
    """Mean ||v||^2 = k for hundreds of users, whatever the factor: 0.99 short^2 + 0.01 long^2 = k."""
    problem = Problem(300, 1, 4, rank, head_law="heavy", head_factor=factor)
    assert (lengths(Users(problem)) ** 2).mean() == pytest.approx(rank, rel=1e-5)
    assert problem.longest_head == pytest.approx(factor / math.sqrt(0.99 + 0.01 * factor**2), rel=1e-12)
    assert 1 <= problem.longest_head < 10


def test_long_heads_have_no_preferred_direction():
    """E v v^T = I, not k e e^T or twice I."""
    heads = gather(Users(replace(HEAVY, users=20_000)))[2]
    assert moments_match(heads, np.eye(3))
    for wrong in (2 * np.eye(3), np.diag([1.5, 0.75, 0.75])):
        assert not moments_match(heads, wrong)


def test_the_bound_on_heads_is_the_long_ones():
    """mu sqrt(k) in the prescribed thresholds: 1 for a factor of 1, and for other laws."""
    assert HEAVY.known.mu == pytest.approx(LONG, rel=1e-12)
    assert HEAVY.known.head_bound == pytest.approx(LONG * 3**0.5, rel=1e-12)
    assert replace(HEAVY, head_law="aniso", head_factor=1.0, head_condition=2.0).known.mu == 2
    assert lengths(Users(HEAVY)).max() == pytest.approx(HEAVY.known.head_bound, rel=1e-6)
    for law in ("sphere", "heavy"):
        plain = replace(HEAVY, head_law=law, head_factor=1.0)
        assert plain.longest_head == 1
        assert plain.known.head_bound == pytest.approx(3**0.5, rel=1e-12)
