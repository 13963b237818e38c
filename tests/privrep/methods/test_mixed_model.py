"""The released mixed model: posterior means, left-out samples, weights, norms of its releases, and its answers."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from privrep.methods.mixed_model import plan
from privrep.methods.mixed_model.calibration import Calibration, calibration, left_out_changes
from privrep.methods.mixed_model.method import MixedModel, own_errors
from privrep.methods.mixed_model.stacking import ANSWERS, OWN, SHARE, Candidates, best_weights, gain, isotropic, prior
from privrep.methods.steps.posterior import Mixture, Prior, Spectra, by_size, eigh_of_each
from privrep.methods.unit_steps.whitening import learned_level
from privrep.privacy.contributions import Rows, Scalars
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import Block
from privrep.users.given_users import GivenUsers
from privrep.users.known import Known

RNG = np.random.default_rng(5)


def block_of(samples: int, users: int, dim: int, rng: np.random.Generator = RNG) -> Block:
    features = rng.standard_normal((samples, users, dim)).astype(np.float32)
    return Block(0, features, rng.standard_normal((samples, users)).astype(np.float32))


def people(users: int, rows: int, dim: int, spread: float, rng: np.random.Generator, noise: float = 0.3) -> GivenUsers:
    """Labels follow a constant, a shared mean, and one direction of each user's own."""
    number = np.repeat(np.arange(users), rows)
    features = rng.standard_normal((len(number), dim))
    features[:, 0] = 1
    mean = np.r_[0.2, np.full(dim - 1, 0.1)]
    own = spread * rng.standard_normal((users, 1)) * np.r_[0.0, 1.0, np.zeros(dim - 2)]
    labels = (features * (mean + own[number])).sum(axis=1) + noise * rng.standard_normal(len(number))
    return GivenUsers.capped(labels.clip(-1, 1), features, number, users, rows, dim)


def fitted(users: GivenUsers, multiplier: float, seed: int = 0, rank: int | None = None):
    release = Release.from_one(multiplier, np.random.default_rng(seed), users.known.users, Ledger())
    (last,) = MixedModel(0.5, rank, constant=True).fit(users, release)
    return last, release


def dense(block: Block, user: int, one: Prior, left_out: tuple[int, ...] = ()) -> np.ndarray:
    """Return a user's head under the one strength of a prior, without some samples."""
    rows = np.setdiff1d(np.arange(len(block.labels)), left_out)
    x, y = block.features[rows, user].astype(float), block.labels[rows, user].astype(float)
    covariance = one.strengths[0] * one.root @ one.root.T
    return one.mean + covariance @ x.T @ np.linalg.solve(x @ covariance @ x.T + np.eye(len(x)), y - x @ one.mean)


def left_out(block: Block, user: int, one: Prior, sample: int, other: tuple[int, ...] = ()) -> float:
    head = dense(block, user, one, (sample, *other))
    return block.labels[sample, user] - block.features[sample, user] @ head


@pytest.mark.parametrize(("samples", "dim"), [(3, 6), (9, 4), (2, 2), (5, 1)])
def test_posterior_means_and_left_out_samples_are_those_of_dense_algebra(samples, dim):
    """By either Gram matrix, with one sample left out, and with two."""
    block = block_of(samples, 5, dim)
    one = prior(RNG.standard_normal(dim), RNG.standard_normal((dim, dim)), [0.7])
    spectra = Spectra(block, one.mean, one.root)
    following = np.tile((np.arange(samples) + 1) % samples, (5, 1))
    heads, once = spectra.heads(one.strengths, np.array([2.0])), spectra.left_out(one.strengths)[0]
    twice = spectra.two_left_out(one.strengths, following)[0]
    for user in range(5):
        np.testing.assert_allclose(heads[user], 2 * dense(block, user, one), rtol=1e-6, atol=1e-6)
        for sample in range(samples):
            without = [left_out(block, user, one, sample, two) for two in ((), ((sample + 1) % samples,))]
            assert once[user, sample] == pytest.approx(without[0], rel=1e-5, abs=1e-6)
            assert twice[user, sample] == pytest.approx(without[1], rel=1e-4, abs=1e-5)


def posterior(block: Block, user: int, one: Prior, left_out: tuple[int, ...] = ()) -> np.ndarray:
    """Return the covariance of a user's head over the variance of the noise."""
    x = np.delete(block.features[:, user].astype(float), left_out, axis=0)
    return np.linalg.inv(np.linalg.inv(one.strengths[0] * one.root @ one.root.T) + x.T @ x)


@pytest.mark.parametrize(("samples", "dim"), [(6, 3), (3, 2), (9, 2), (5, 1), (2, 6)])
def test_heads_of_a_mixture_and_their_doubts_are_those_of_dense_algebra(samples, dim):
    """Weighted means; the noise by left-out samples; variances of labels, each in two dimensions, else on average."""
    block, root = block_of(samples, 4, dim), RNG.standard_normal((dim, dim)) + 2 * np.eye(dim)
    one, other = (prior(RNG.standard_normal(dim), root, [1.7]) for _ in range(2))
    both = Mixture(tuple(replace(each, weights=np.array([part])) for each, part in ((one, 0.3), (other, 0.7))))
    doubts, heads, rows = both.doubts(0.4, block), both.heads(block), np.linalg.inv(root)
    for user in range(4):
        mixed = 0.3 * dense(block, user, one) + 0.7 * dense(block, user, other)
        np.testing.assert_allclose(heads[user], mixed, rtol=1e-5, atol=1e-6)
        squares = 2 * 0.4
        for sample in range(samples):
            x, left = block.features[sample, user], posterior(block, user, one, (sample,))
            error = 0.3 * left_out(block, user, one, sample) + 0.7 * left_out(block, user, other, sample)
            squares += error**2 / (1 + x @ left @ x)
        spread = 1 + np.einsum("nd,de,ne->n", rows, posterior(block, user, one), rows)
        found = both.variances(rows, np.tile(doubts[user], (dim, 1))) / (squares / (2 + samples))
        assert found.sum() == pytest.approx(spread.sum(), rel=1e-4)
        if dim < 3:
            np.testing.assert_allclose(found, spread, rtol=1e-4)


@pytest.mark.parametrize("relative", [1.0, 0.5, 2.5])
def test_noise_of_the_mean_and_of_the_level_is_as_large_as_it_is_said_to_be(relative):
    """In 50 draws at fixed data, of 8 coordinates and of the level: z has a root mean square of at most 1, since steps
    may make less of noise, and above 1.15 in one of 10^4 repetitions. Half the scale, and 2.5 times it, are seen."""
    data, none = people(300, 5, 8, 0.3, np.random.default_rng(2)), Release.from_one(0.0, RNG, 300, Ledger())

    def mean(rng):
        one = replace(Release.from_one(2.0, rng, 300, Ledger()), part=0.2)
        return MixedModel(0.5, constant=True).mean(data, 0.2, 0.9, none, one)

    exact, _, reach = mean(SimpleNamespace(normal=lambda middle, sd, shape: np.full(shape, middle)))
    found = [mean(np.random.default_rng(seed)) for seed in range(50)]
    z = np.array([(one - exact) / (relative * noise) for one, noise, _ in found])
    assert {one[2] for one in found} == {reach} and np.linalg.norm(exact / found[0][1]) <= reach
    fits = [fitted(people(60, 3, 2, 0.3, np.random.default_rng(3)), 2.0, seed)[0] for seed in range(50)]
    levels = np.array([(one.log["level"], one.personal.models.level_noise) for one in fits])
    of_level = (levels[:, 0] - np.median(levels[:, 0])) / (relative * levels[:, 1])
    right = 0.5 < np.sqrt((z**2).mean()) < 1.15 and (np.abs(z) < 1.96).mean() >= 0.93
    assert right == (relative == 1.0)
    assert (0.7 < np.median(np.abs(of_level)) / 0.6745 < 1.5) == (relative == 1.0)


def test_a_changed_sensitivity_is_followed(monkeypatch):
    """Stated once, it reaches the ledger, the stated noise, the interval, and where noise could have made a size."""

    def found():
        ledger = Ledger()
        release = Release.from_one(0.2, np.random.default_rng(0), 300, ledger)
        last = list(MixedModel(0.5, constant=True).fit(people(300, 5, 8, 0.3, np.random.default_rng(2)), release))[-1]
        sds = {entry.name: (entry.sensitivity, entry.noise_sd) for entry in ledger.entries}
        width = (last.log["gain_high"] - last.log["gain_low"]) / sds["mixed_answer"][1]
        return sds["mixed_level"], last.personal.models, width

    def size():
        large = people(300, 5, 8, 0.3, np.random.default_rng(2))
        large = replace(large, features=4 * large.features)
        return learned_level(large, Release.from_one(6.0, np.random.default_rng(0), 300, Ledger()))

    before, seen = found(), size()
    for kind in (Rows, Scalars):
        monkeypatch.setattr(kind, "sensitivity", staticmethod(lambda clip, neighbours="replaced": 20 * clip))
    after = found()
    assert (seen, size()) == (4.0, 1.0)
    np.testing.assert_allclose(after[0], 10 * np.array(before[0]), rtol=1e-12)
    assert after[1].level_noise > 3 * before[1].level_noise and after[2] == pytest.approx(before[2], rel=0.5)


def test_a_matrix_whose_eigenvalues_are_not_found_stops_no_other():
    """Its user has none; those of the others are, to the last bit, what they are without it."""
    grams = RNG.standard_normal((6, 5, 4))
    grams = grams.transpose(0, 2, 1) @ grams
    values, vectors = np.linalg.eigh(grams)
    grams[2, 0, 0] = np.nan
    found = eigh_of_each(grams)
    for one, other in zip(found, (values, vectors), strict=True):
        assert not one[2].any()
        np.testing.assert_array_equal(np.delete(one, 2, axis=0), np.delete(other, 2, axis=0))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("samples", "dim"), [(1, 1), (1, 3), (3, 6), (9, 2)])
@pytest.mark.parametrize("constant", [False, True])
def test_no_user_stops_a_fit(samples, dim, constant):
    """Whatever its numbers, with none, and where all are alike: every user has a finite head, and finite doubts."""
    block = block_of(samples, 30, dim, np.random.default_rng(0))
    features, labels = block.features, block.labels
    numbers = product([0], (0.0, 1e-12, 1.0, 1e12, np.nan, np.inf), (0.0, 1e-30, 1e12, np.nan, np.inf))
    for who, length, label in (*numbers, (slice(None), 1.0, 0.0), (slice(None), 0.0, 0.0)):
        features[:, who], labels[:, who] = length, label
        users = GivenUsers(Known(30, samples, dim, 1), features.copy(), labels.copy())
        for multiplier in (0.0, 1.0):
            release = Release.from_one(multiplier, np.random.default_rng(1), 30, Ledger())
            (last,) = MixedModel(0.5, constant=constant).fit(users, release)
            (block,) = users.blocks()
            assert np.isfinite(last.personal.models(block)).all(), (length, label, multiplier)
            assert np.isfinite(last.personal.models.mixture.doubts(0.1, block)).all(), (length, label, multiplier)


CANDIDATES = Candidates.of(np.array([0.2, 0.1, 0.1]), [np.diag([0.0, 1.0, 0.0])], True, np.ones(3, bool))


@pytest.mark.parametrize("seed", range(5))
def test_norms_of_contributions_are_within_their_clips(seed):
    """Where a clip is a bound: levels attain the root of a half, and a gain with its square its clip."""
    rng = np.random.default_rng(seed)
    block = block_of(int(rng.integers(1, 6)), 300, 3, rng)
    assert by_size(own_errors, np.eye(3), rng.choice([1e-3, 1.0, 1e3]), block).norms.max() <= np.sqrt(0.75) + 1e-12
    weights = CANDIDATES.weights(rng.standard_normal(len(CANDIDATES.kind)), 1.0)
    for clip in (1e-3, 0.1, 10.0):
        found = gain(CANDIDATES, weights[:2], clip, 1.0, block)
        assert np.linalg.norm(found[:, [0, 2]], axis=1).max() <= clip * (1 + 1e-12)


def test_a_gain_is_the_difference_of_squared_errors_with_all_rows():
    """Against fits that leave one sample out and two: what the last row took of the gain falls as 1 / m."""
    block = block_of(5, 30, 3, np.random.default_rng(8))
    candidates = Candidates(((prior(np.zeros(3), np.eye(3), [1.0]),), (prior(np.ones(3), np.eye(3), [0.5]),), ()))
    own, other = (one for kind in candidates.kinds for one in kind)

    def squares(one: Prior, user: int, both: bool) -> float:
        errors = [left_out(block, user, one, sample, ((sample + 1) % 5,) if both else ()) for sample in range(5)]
        return np.mean(np.clip(errors, -2, 2) ** 2)

    expected = []
    for user in range(30):
        once, twice = (squares(own, user, both) - squares(other, user, both) for both in (False, True))
        expected.append(once - (twice - once) * 3 / 5)
    found = gain(candidates, np.eye(2), 100.0, 1.0, block)[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    alone = gain(candidates, np.eye(2), 100.0, 1.0, block_of(1, 30, 3, np.random.default_rng(8)))
    assert not alone[:, :2].any()  # nothing is left out where there is one sample


def test_a_gain_is_a_mean_over_users_of_two_rows_or_more():
    """Users of one row, of whom there are as many, change neither the gain nor its interval by more than noise."""
    rng, gains_of = np.random.default_rng(5), []
    number = np.repeat(np.arange(4000), 4)
    features, labels = rng.standard_normal((16_000, 2)), rng.uniform(-1, 1, 16_000)
    for alone in (0, 4000):
        rows = np.r_[labels, rng.uniform(-1, 1, alone)], np.r_[features, rng.standard_normal((alone, 2))]
        data = GivenUsers.capped(*rows, np.r_[number, np.arange(4000, 4000 + alone)], 4000 + alone, 4, 2)
        log = fitted(data, 0.0)[0].log
        gains_of.append((log["gain"], log["gain"] - log["gain_low"]))
    np.testing.assert_allclose(gains_of[1], gains_of[0], rtol=0.15)


def test_the_best_weights_are_those_of_a_search():
    rng = np.random.default_rng(4)
    grid = np.array([w for w in product(np.linspace(0, 1, 21), repeat=3) if sum(w) <= 1 + 1e-9])
    for _ in range(20):
        root, linear = rng.standard_normal((3, 3)), rng.standard_normal(3)
        found = best_weights(linear, root @ root.T, 0.1)
        ways = np.vstack([grid, found[1:]])
        far = ((ways - np.array([0.5, 0, 0])) ** 2).sum(axis=1)
        values = ways @ linear + np.einsum("gk,kl,gl->g", ways, root @ root.T, ways) + 0.1 * far
        assert found.sum() == pytest.approx(1) and found.min() >= -1e-12
        assert values[-1] <= values.min() + 1e-6


def test_without_noise_the_mean_is_that_of_least_squares_and_the_shape_that_of_the_heads():
    users = people(4000, 10, 4, 0.4, np.random.default_rng(0), noise=0.1)
    last, _ = fitted(users, 0.0)
    mixture, mean = last.personal.models.mixture, last.personal.models.mean
    np.testing.assert_allclose(mean, [0.2, 0.1, 0.1, 0.1], atol=0.05)
    covariance = sum(one.strengths @ one.weights * one.root @ one.root.T for one in mixture.priors)
    assert covariance[1, 1] / np.trace(covariance) > 0.6
    root, unit = isotropic(4, plan.LEVEL_CONSTANT, True), 0.5 / plan.GUESSED_LABEL
    sizes = np.concatenate([by_size(own_errors, root, unit, block).values for block in users.blocks()])[:, 0] + 0.5
    assert last.log["level"] == pytest.approx(unit * sizes.mean())
    assert ANSWERS[last.log["answer"]] == SHARE


@pytest.mark.parametrize(("alike", "noise", "never"), [(True, 3.0, OWN), (True, 0.5, OWN), (False, 3.0, SHARE)])
def test_answers_and_weights_agree_in_forty_draws_of_noise(alike, noise, never):
    """Sharing helps much, or nothing is shared; with few people or much noise it may be left open."""
    rng = np.random.default_rng(3)
    number, heads = np.repeat(np.arange(150), 8), 0.3 * rng.standard_normal((150, 4))
    features = rng.standard_normal((len(number), 4))
    labels = (features * (0.3 if alike else heads[number])).sum(axis=1) + (
        0.3 if alike else 0.01
    ) * rng.standard_normal(len(number))
    data = GivenUsers.capped(labels.clip(-1, 1), features, number, 150, 8, 4)
    counts = dict.fromkeys(ANSWERS, 0)
    for seed in range(40):
        log = fitted(data, noise, seed)[0].log
        answer = ANSWERS[log["answer"]]
        counts[answer] += 1
        assert (answer == OWN) == (log["own_part"] == 1.0)
        assert log["gain_low"] <= log["gain"] <= log["gain_high"]
        assert answer != OWN or log["gain_low"] == log["gain_high"] == 0.0
    assert counts[never] <= 3, counts
    assert noise > 1 or counts[SHARE] >= 20, counts


def test_a_mixture_that_is_found_worse_than_own_data_is_not_used(monkeypatch):
    """Then own data have all the weight, and the gain is said to be 0."""
    monkeypatch.setattr(plan, "UPPER", -1e3)
    data = people(300, 5, 4, 0.3, np.random.default_rng(2))
    last, _ = fitted(data, 2.0)
    models, (block,) = last.personal.models, data.blocks()
    assert ANSWERS[last.log["answer"]] == OWN and last.log["own_part"] == 1
    assert last.log["gain_low"] == last.log["gain"] == last.log["gain_high"] == 0
    np.testing.assert_array_equal(models.mixture.heads(block), models.own.heads(block))


def test_in_noise_the_scale_is_a_public_guess():
    """A level that is released as good as not at all is the guess, with little noise; else it is what is released."""
    data = people(300, 5, 4, 0.3, np.random.default_rng(2))
    levels = np.array([[fitted(data, noise, seed)[0].log["level"] for seed in range(20)] for noise in (0.0, 20.0)])
    exact, guessed = levels * plan.GUESSED_LABEL / 0.5
    assert np.ptp(exact) == 0 and abs(exact[0] - plan.LEVEL_GUESS[0]) > 0.08
    assert np.abs(guessed - plan.LEVEL_GUESS[0]).mean() < 0.06


def test_the_interval_of_the_gain_covers_that_on_fresh_rows():
    """In 60 draws of users and noise: 95 % are meant, and 80 % is missed in one of 10^4 repetitions. A quarter of the
    width covers in fewer."""
    hits = {1.0: 0, 0.25: 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        number, fresh = np.repeat(np.arange(600), 12), np.tile(np.arange(12) >= 6, 600)
        features = np.c_[np.ones(len(number)), rng.standard_normal((len(number), 3))]
        heads = 0.1 + 0.2 * rng.standard_normal((600, 4)) * np.array([1.0, 1.0, 0.1, 0.1])
        labels = ((features * heads[number]).sum(axis=1) + 0.2 * rng.standard_normal(len(number))).clip(-1, 1)
        data = GivenUsers.capped(labels[~fresh], features[~fresh], number[~fresh], 600, 6, 4)
        last, _ = fitted(data, 1.0, seed)
        models, (block,) = last.personal.models, data.blocks()
        own, mixed = (
            (labels - (features * heads.heads(block)[number]).sum(axis=1))[fresh] ** 2
            for heads in (models.own, models.mixture)
        )
        low, middle, high = (last.log[name] for name in ("gain_low", "gain", "gain_high"))
        for part in hits:
            hits[part] += part * (low - middle) <= (own - mixed).mean() - middle <= part * (high - middle)
    assert hits[1.0] >= 48 > hits[0.25]


def of_labels(predicted: np.ndarray, labels: np.ndarray, multiplier: float) -> Calibration:
    """Calibrate predictions of one row a user, which the mean alone makes."""
    features = np.stack([np.ones(len(labels)), predicted], axis=1)[None].astype(np.float32)
    users = GivenUsers(Known(len(labels), 1, 2, 1), features, labels[None].astype(np.float32))
    release = Release.from_one(multiplier, np.random.default_rng(0), len(labels), Ledger())
    mixture = Mixture((prior(np.array([0.0, 1.0]), np.eye(2)[:, :1], [0.0]),))
    return calibration(users, mixture, 0.5, 1.0, release)


def test_a_calibration_finds_mean_labels_and_in_noise_keeps_predictions():
    """Monotone and within its ends, at whatever noise: 3 over n mu from 0 and 1, and half where that is more."""
    rng, at = np.random.default_rng(0), np.linspace(-1, 1, 81)
    predicted = rng.uniform(-1.2, 1.2, 40_000)
    labels = np.where(rng.random(40_000) < (predicted.clip(-1, 1) ** 3 + 1) / 2, 1, -1)
    exact, noisy, lost = (of_labels(predicted, labels, one) for one in (0.0, 300.0, 1e9))
    for one in (exact, noisy, lost):
        assert (np.diff(one.values) >= 0).all() and one.values[0] > -1 and one.values[-1] < 1
    assert np.abs(exact(at) - at**3).max() < 0.15 < np.abs(at - at**3).max()
    doubtful = of_labels(predicted, labels, 4000.0)
    np.testing.assert_allclose(doubtful(at), at.clip(-0.4, 0.4), atol=0.09)
    assert [noisy.values[-1], doubtful.values[-1], *lost.values] == pytest.approx([0.955, 0.4, *[0] * 9], abs=1e-9)


def test_contributions_to_a_calibration_are_those_of_the_definition():
    """Weights at knots and errors of left-out rows, by dense algebra; a pair is nearly as far apart as is charged."""
    block, knots = block_of(4, 20, 3, np.random.default_rng(9)), np.array([-1.0, -0.2, 0.3, 1.0])
    one = prior(np.full(3, 0.1), np.eye(3), [0.7])
    found = left_out_changes(Mixture((one,)), knots, 0.5, block)
    for user in range(20):
        left = np.array([left_out(block, user, one, sample) for sample in range(4)])
        predicted = (block.labels[:, user] - left).clip(-1, 1)
        near = np.array([np.interp(predicted, knots, unit) for unit in np.eye(4)])
        errors = (block.labels[:, user] - predicted) / 0.5
        np.testing.assert_allclose(found[user], np.r_[near.mean(1) / 2, (near * errors).mean(1)], atol=1e-3)
    pair = Block(0, np.ones((1, 2, 1), np.float32), np.array([[9.0, -9.0]], np.float32))
    nothing = Mixture((prior(np.zeros(1), np.eye(1), [0.0]),))
    alone = by_size(left_out_changes, nothing, np.array([-1.0, 0.0, 1.0]), 0.5, pair)
    sums = [alone.clipped(1.0, np.arange(2) == user)[0] for user in range(2)]
    assert 1.9 < np.linalg.norm(sums[0] - sums[1]) <= alone.noise_spec(1.0).sensitivity == 2
