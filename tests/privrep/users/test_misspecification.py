"""Model misspecification: features, numbers of samples, corrupted users, and what risk is counted of them.

Statistical checks hold at `conftest.FALSE_ALARM`, and each comes with a wrong target that is rejected.
"""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from conftest import FALSE_ALARM, gather
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import privrep.users.blocks
import privrep.users.simulated
from privrep.users.blocks import Block, Truth
from privrep.users.heads import FittedHeads
from privrep.users.passes import rows
from privrep.users.risk import block_excess, model_risk, personal_risk, personalised_risk
from privrep.users.simulated import CORRUPTED_LENGTH, MISSPECIFICATIONS, OUTLIER, RARE, Problem, Users

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


def normal_score(sample: np.ndarray, mean: float) -> float:
    """Standard errors between the mean of independent rows (users) and what is expected."""
    each = np.reshape(sample, (len(sample), -1)).mean(axis=1)
    return float(abs(each.mean() - mean) / (each.std() / math.sqrt(len(each))))


LIMIT = stats.norm.isf(FALSE_ALARM / 2)


def whitened(problem: Problem) -> np.ndarray:
    """Features over their scales, users first: (n, m, d)."""
    features, _, _ = gather(Users(problem))
    return features.transpose(1, 0, 2) / problem.feature_scales


# Features


@given(st.integers(1, 40), st.floats(1, 1e4))
def test_scales_fall_in_equal_ratios_and_have_mean_square_one(dim, condition):
    """Largest over smallest is the condition; one coordinate alone has 1."""
    scales = Problem(1, 1, dim, 1, feature_condition=condition).feature_scales
    assert (scales**2).mean() == pytest.approx(1, rel=1e-12)
    if dim > 1:
        assert scales[0] / scales[-1] == pytest.approx(condition, rel=1e-9)
        np.testing.assert_allclose(scales[:-1] / scales[1:], condition ** (1 / (dim - 1)), rtol=1e-9)


@pytest.mark.parametrize(
    ("law", "third", "fourth"), [("gauss", 0.0, 3.0), ("rare", 4.129483, 18.052632), ("skewed", 2.0, 9.0)]
)
def test_entries_have_the_moments_of_their_law(law, third, fourth):
    """Mean 0, variance 1, third and fourth moment by hand: 0.9 / sqrt(pq) and 1 / pq - 3 of a Bernoulli variable;
    those of another law are rejected."""
    drawn = whitened(replace(BASE, users=20_000, feature_law=law)).astype(float)
    for power, mean in ((1, 0.0), (2, 1.0), (3, third), (4, fourth)):
        assert normal_score(drawn**power, mean) < LIMIT
    for power, wrong in ((3, 1.0), (4, 6.0)):
        assert normal_score(drawn**power, wrong) > LIMIT
    limit = LIMIT / math.sqrt(drawn[:, :, 0].size)
    assert abs(np.corrcoef(drawn[:, :, 0].ravel(), drawn[:, :, 1].ravel())[0, 1]) < limit
    if law == "rare":
        assert len(np.unique(drawn)) == 2 and (drawn > 0).mean() == pytest.approx(RARE, rel=0.02)


@pytest.mark.parametrize(
    "change",
    [
        {"feature_scale": 0.1},
        {"feature_condition": 3.0},
        {"feature_condition": 3.0, "feature_tail": 10.0},
        {"feature_axes": "mixed", "feature_condition": 3.0},
    ],
)
def test_the_covariance_of_features_is_that_of_their_root(change):
    """R^T R, each entry over 10,000 users in Bonferroni's way; I is rejected, and R R^T where axes are mixed."""
    problem = replace(BASE, users=10_000, **change)
    features = gather(Users(problem))[0].transpose(1, 0, 2)
    found = np.einsum("nmi,nmj->nij", features, features) / problem.samples
    error = found.std(axis=0) / math.sqrt(problem.users)
    limit = stats.norm.isf(FALSE_ALARM / 2 / error.size)
    root = problem.feature_root
    for expected, same in ((root.T @ root, True), (root @ root.T, "feature_axes" not in change), (np.eye(5), False)):
        assert (np.abs(found.mean(axis=0) - expected) < limit * error).all() == same


def test_label_noise_differs_by_user():
    """Mean square as stated; logarithms of the users' standard deviations are uniform over a factor of the spread,
    and the same for all their samples."""
    users = Users(replace(BASE, samples=200, users=2000, noise_spread=10.0))
    features, labels, heads = gather(users)
    noise = labels - np.einsum("mbd,bd->mb", features, heads @ users.truth.basis.T)
    assert normal_score((noise.T / 0.3) ** 2, 1.0) < LIMIT
    logs = np.log(noise.std(axis=0) / 0.3)
    assert np.ptp(logs) == pytest.approx(math.log(10), abs=0.4)
    assert stats.kstest((logs - logs.min()) / np.ptp(logs), "uniform").statistic < 0.1
    assert stats.kstest(logs, "norm").pvalue < FALSE_ALARM


def test_a_share_of_the_labels_is_far_off():
    """As many as stated, binomially, by the stated factor, and the rest as without; half as many are rejected."""
    users = Users(replace(BASE, users=10_000, label_noise_sd=0.0, label_outliers=0.01))
    features, labels, heads = gather(users)
    clean = np.einsum("mbd,bd->mb", features, heads @ users.truth.basis.T)
    far = np.abs(labels) > 2 * np.abs(clean)
    np.testing.assert_allclose(labels, np.where(far, OUTLIER, 1.0) * clean, rtol=1e-4, atol=1e-4)
    for share, right in ((0.01, True), (0.005, False)):
        assert (stats.binomtest(int(far.sum()), far.size, share).pvalue > FALSE_ALARM) == right


@pytest.mark.parametrize("tail", [2.5, 4.0, 8.0])
def test_student_features_have_the_law_of_student(tail):
    """One coordinate over sqrt((f - 2) / f) is of Student's law with f degrees of freedom, Kolmogorov and
    Smirnov; f / 2 and a Gaussian law are rejected."""
    drawn = whitened(replace(BASE, users=10_000, feature_tail=tail))[:, :, 0].ravel() * math.sqrt(tail / (tail - 2))
    assert stats.kstest(drawn, stats.t(tail).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(drawn, stats.t(tail / 2).cdf).pvalue < FALSE_ALARM
    assert stats.kstest(drawn / drawn.std(), "norm").pvalue < FALSE_ALARM


def test_a_sample_has_one_tail_of_its_own():
    """Squares of two coordinates of a sample go together, those of two samples of a user do not."""
    squares = whitened(replace(BASE, feature_tail=4.0)) ** 2
    limit = LIMIT / math.sqrt(squares[:, :, 0].size)
    for other, linked in ((squares[:, :, 1], True), (squares[:, ::-1, 1], False)):
        assert (abs(stats.spearmanr(squares[:, :, 0].ravel(), other.ravel()).statistic) > limit) == linked


# Numbers of samples


@pytest.mark.parametrize("fewest", [1, 3, 6])
def test_numbers_of_samples_are_uniform(fewest):
    """Chi-square over fewest, ..., m, and nothing else; counts of another law are rejected."""
    (block,) = Users(replace(BASE, fewest_samples=fewest)).blocks()
    found = np.bincount(block.counts, minlength=7)
    assert found[:fewest].sum() == 0 and found.sum() == BASE.users
    if fewest < 6:
        assert stats.chisquare(found[fewest:]).pvalue > FALSE_ALARM
        wrong = np.arange(1, 8 - fewest) + 2.0
        assert stats.chisquare(found[fewest:], BASE.users * wrong / wrong.sum()).pvalue < FALSE_ALARM
        assert found[6] > 0


def test_samples_that_a_user_lacks_are_zero():
    """The first m_j samples are there, the others have features and labels zero, and count as none."""
    (block,) = Users(replace(BASE, fewest_samples=2)).blocks()
    there = np.arange(6)[:, None] < block.counts
    np.testing.assert_array_equal(block.features.any(axis=2), there)
    np.testing.assert_array_equal(block.labels != 0, there)
    assert (block.features[there] != 0).all()
    np.testing.assert_array_equal(np.isinf(block.feature_norms), ~there)


def test_the_other_samples_are_those_of_a_user_with_all_of_them():
    """What is drawn for the numbers of samples comes last: given one stream, only samples that are lacking differ."""
    for change in ({"fewest_samples": 2}, {"adversaries": 37}):
        one, other = (Users(replace(BASE, users=500, **more)) for more in ({}, change))
        other.__dict__.update(truth=one.truth, _streams=one._streams)
        (full,), (less,) = one.blocks(), other.blocks()
        there = less.features.any(axis=2)
        np.testing.assert_array_equal(less.features[there], full.features[there])
        sound = there & ~np.isnan(less.heads[:, 0])
        assert sound.mean() > 0.5
        np.testing.assert_array_equal(less.labels[sound], full.labels[sound])


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


@pytest.mark.parametrize("truth_law", ["orthonormal", "unit-columns"])
@pytest.mark.parametrize(("dim", "rank"), [(5, 2), (5, 4), (2, 1)])
def test_the_vector_of_adversaries_is_halfway_off_the_subspace(dim, rank, truth_law):
    """Length 10 sqrt(k), half of its square along the first column of the basis and half orthogonal to the subspace."""
    problem = Problem(20, 4, dim, rank, adversaries=3, truth_law=truth_law)
    basis = Users(problem).truth.basis
    vector = problem.corrupted_vector(basis)
    assert np.linalg.norm(vector) == pytest.approx(10 * math.sqrt(rank), rel=1e-9)
    inside = basis.T @ vector
    np.testing.assert_allclose(inside, 10 * math.sqrt(rank / 2) * np.eye(rank)[0], atol=1e-9)
    assert CORRUPTED_LENGTH == 10


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
