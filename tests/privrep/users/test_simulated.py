"""The synthetic users: their law, their validation, and that streaming changes nothing."""

import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from conftest import gather
from pieces import moments, pair_moments

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


def test_one_head_has_no_condition():
    """At rank 1 the only scale is the largest, whatever the condition number."""
    assert Problem(1, 1, 2, 1, head_law="aniso", head_condition=3.0).known.head_scales == [3.0]


def test_a_head_of_length_zero_gets_a_direction():
    """A float32 normal may be exactly 0; of rank 1 one in some millions is, here one among the first 2000 users."""
    heads = gather(Users(Problem(2000, 16, 32, 1, head_law="sphere", head_bias=0.8)))[2]
    np.testing.assert_allclose(np.abs(heads), 1, rtol=1e-6)


DRAWN = [
    ({"label_noise_sd": 0.01, "truth_law": "unit-columns"}, [-0.037896, 2.1212, -0.13509, 0.7925, 1.9571, -0.1576]),
    ({"head_law": "sphere"}, [-0.055232, 1.1956, 0.09749, 0.79604, 1.9519, -0.085049]),
    ({"head_law": "aniso", "head_condition": 3.0}, [0.030541, 17.398, -0.01107, 0.79333, 10.324, -0.40314]),
    ({"head_law": "heavy", "head_factor": 5.0}, [-0.0035492, 1.9412, -0.071753, 0.80196, 1.9822, -0.64344]),
    ({"head_law": "sphere", "head_bias": 0.8}, [0.31827, 1.199, 0.11822, 0.79153, 1.9704, -0.058431]),
    ({"feature_law": "rare", "feature_scale": 0.1}, [-0.00010659, 1.6328, 0.0041295, 0.043589, 0.023237, -0.4688]),
    ({"feature_law": "skewed", "feature_condition": 3.0}, [0.017252, 1.3864, 2.0847, 0.69083, 1.8103, -0.65186]),
    (
        {"feature_tail": 4.0, "feature_axes": "mixed", "feature_condition": 3.0},
        [0.062153, 1.7156, 0.12955, 0.70888, 2.3875, -0.27751],
    ),
    ({"label_noise_sd": 0.3, "noise_spread": 4.0}, [-0.051286, 1.6214, -0.015646, 0.79467, 2.3071, -0.24209]),
    ({"label_outliers": 0.1}, [-0.059638, 1.5946, 0.034736, 0.78864, 635.02, -0.28164]),
    ({"fewest_samples": 2}, [0.091175, 1.9859, -0.045796, 0.61886, 1.7425, -0.44079]),
    ({"adversaries": 7}, [0.043919, 1.5413, -0.066013, 0.79377, 8.9863, -0.35942]),
]
"""Laws, and what is drawn by them: means of v, |v|^3, x^3, |x| and y^2, and an entry of U*."""


@pytest.mark.parametrize(("laws", "numbers"), DRAWN)
def test_data_stay_as_they_were_drawn(laws, numbers):
    """When each law was held against its moments by statistical tests; other draws move all published numbers."""
    users = Users(Problem(200, 4, 6, 2, **laws), 7)
    features, labels, heads = gather(users)
    drawn = [np.nanmean(heads), np.nanmean(np.abs(heads) ** 3), (features**3).mean(), np.abs(features).mean()]
    np.testing.assert_allclose([*drawn, (labels**2).mean(), users.truth.basis[0, 0]], numbers, rtol=1e-4)


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
