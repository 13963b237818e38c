"""The released mixed model: posterior means, left-out samples, sensitivities of its releases, and its answers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from privrep.methods.mixed_model import Features, MixedModel, moments
from privrep.methods.steps.posterior import Mixture, Prior, Spectra, eigh_of_each
from privrep.methods.steps.sharing import (
    ANSWERS,
    GAIN_WIDTH,
    HEADS,
    MEAN,
    OWN,
    LogErrors,
    candidates,
    gains_of_all,
    gains_of_first,
    released_answer,
)
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release
from privrep.users.given_users import GivenUsers
from privrep.users.known import Known
from privrep.users.problem import Block

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


@pytest.mark.parametrize(("samples", "dim"), [(3, 6), (9, 4), (1, 2), (5, 1)])
def test_posterior_means_and_left_out_samples_are_those_of_dense_algebra(samples, dim):
    """By either Gram matrix; a sample that is left out is left out."""
    block = block_of(samples, 5, dim)
    mean, root, strength = RNG.standard_normal(dim), RNG.standard_normal((dim, dim)), 0.7
    spectra = Spectra(block, mean, root)
    heads, left = spectra.heads(strength), spectra.left_out(strength)
    covariance = strength * root @ root.T
    for user in range(5):
        x, y = block.features[:, user].astype(float), block.labels[:, user].astype(float)

        def posterior(x, y):
            system = x @ covariance @ x.T + np.eye(len(x))
            return mean + covariance @ x.T @ np.linalg.solve(system, y - x @ mean)

        np.testing.assert_allclose(heads[user], posterior(x, y), rtol=1e-6, atol=1e-6)
        for one in range(samples):
            others = np.arange(samples) != one
            np.testing.assert_allclose(left[user, one], y[one] - x[one] @ posterior(x[others], y[others]), rtol=1e-5)


def test_evidence_is_that_of_a_student_law():
    """Up to what all priors share: differences are those of the densities, integrated over sigma^2 on a grid."""
    block, dim = block_of(4, 1, 3), 3
    priors = [Prior(np.zeros(dim), np.eye(dim), 0.0), Prior(np.ones(dim) / 2, np.eye(dim), 2.0)]
    variance, found = 0.4, []
    grid = np.exp(np.linspace(-12, 12, 20_001))
    for prior in priors:
        x, y = block.features[:, 0].astype(float), block.labels[:, 0].astype(float) - block.features[:, 0] @ prior.mean
        system = prior.strength * x @ x.T + np.eye(4)
        square = y @ np.linalg.solve(system, y)
        logs = -2 * np.log(grid) - square / (2 * grid) - 2 * np.log(grid) - variance / grid + np.log(grid)
        found.append(np.log(np.trapezoid(np.exp(logs), np.log(grid))) - np.linalg.slogdet(system)[1] / 2)
    told = [Spectra(block, one.mean, one.root).log_evidence(one.strength, variance, block.counts)[0] for one in priors]
    assert told[1] - told[0] == pytest.approx(found[1] - found[0], abs=1e-5)


def test_a_mixture_lies_between_its_priors_and_follows_the_evidence():
    block = block_of(30, 4, 2)
    sure = Prior(np.array([5.0, 5.0]), np.eye(2), 0.0)
    flat = Prior(np.zeros(2), np.eye(2), 1.0)
    alone, spectra = Mixture((flat,), 1.0).heads(block), Spectra(block, flat.mean, flat.root)
    np.testing.assert_allclose(Mixture((flat, sure), 1.0).heads(block), alone, atol=1e-6)
    np.testing.assert_array_equal(alone, spectra.heads(flat.strength))


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
    """Whatever its numbers, and with none: every user has a finite head."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((samples, 30, dim)).astype(np.float32)
    labels = rng.standard_normal((samples, 30)).astype(np.float32)
    for length, label in product((0.0, 1e-12, 1.0, 1e12, np.nan, np.inf), (0.0, 1e-30, 1e12, np.nan, np.inf)):
        features[:, 0], labels[:, 0] = length, label
        users = GivenUsers(Known(30, samples, dim, 1), features.copy(), labels.copy())
        for multiplier in (0.0, 1.0):
            release = Release.from_one(multiplier, np.random.default_rng(1), 30, Ledger())
            (last,) = MixedModel(0.5, constant=constant).fit(users, release)
            (block,) = users.blocks()
            assert np.isfinite(last.personal.models(block)).all(), (length, label, multiplier)


def test_no_user_moves_what_the_others_add():
    """Whatever its rows: not finite, none, or more than the cap."""
    rng = np.random.default_rng(3)
    number, features, labels = np.repeat(np.arange(50), 5), rng.standard_normal((250, 3)), rng.uniform(-1, 1, 250)
    errors = LogErrors([Prior(np.zeros(3), np.eye(3), 1.0), Prior(np.ones(3), np.eye(3), 0.5)], 0.1)

    def others(features, labels, number):
        users = GivenUsers.capped(labels, features, number, 50, 6, 3)
        (block,) = users.blocks()
        return np.delete(gains_of_all(errors, block).values, 7, axis=0), np.delete(moments(block).rows, 7, axis=1)

    before = others(features, labels, number)
    mine = number == 7
    for change in (1e30, np.inf, 0.0, np.nan):
        after = others(np.where(mine[:, None], change, features), labels, number)
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)
    more = np.r_[number, np.full(20, 7)]
    after = others(np.r_[features, np.ones((20, 3))], np.r_[labels, np.ones(20)], more)
    np.testing.assert_array_equal(np.sort(before[0], axis=0), np.sort(after[0], axis=0))


def test_without_noise_the_mean_is_that_of_least_squares_and_the_shape_that_of_the_heads():
    users = people(4000, 10, 4, 0.4, np.random.default_rng(0), noise=0.1)
    last, _ = fitted(users, 0.0)
    mixture, mean = last.personal.models.mixture, last.personal.models.mean
    np.testing.assert_allclose(mean, [0.2, 0.1, 0.1, 0.1], atol=0.04)
    (prior,) = mixture.priors
    covariance = prior.root @ prior.root.T
    assert covariance[1, 1] / np.trace(covariance) > 0.9
    assert ANSWERS[last.log["answer"]] == HEADS


@pytest.mark.parametrize(("spread", "users", "multiplier", "answer"), [(0.4, 3000, 2.0, HEADS), (0.0, 3000, 2.0, MEAN)])
def test_answers(spread, users, multiplier, answer):
    """Heads help where users differ, the mean is enough where they do not; at each of ten draws."""
    data = people(users, 4, 6, spread, np.random.default_rng(1))
    said = {ANSWERS[fitted(data, multiplier, seed)[0].log["answer"]] for seed in range(10)}
    assert said == {answer}


def test_where_noise_hides_all_users_are_alone():
    """A false "share" has probability 1e-3 or so a draw."""
    data = people(60, 8, 4, 0.4, np.random.default_rng(1))
    said = [fitted(data, 8.0, seed)[0] for seed in range(10)]
    assert [ANSWERS[one.log["answer"]] for one in said].count(OWN) >= 9
    assert len(next(one for one in said if one.log["answer"] == 2).personal.models.mixture.priors) == 3


def test_gains_of_the_answer_are_unbiased():
    """Their mean over 200 draws lies within 4 standard errors of the exact gains (false alarm 1e-4 for the two), and
    their sd is as said within a quarter (5 standard errors); of gains that are off by one sd it does not."""
    data = people(800, 6, 4, 0.3, np.random.default_rng(2))
    mean = np.r_[0.2, 0.1, 0.1, 0.1]
    found = candidates(np.eye(4), mean, [np.diag([0.0, 1.0, 0.0, 0.0])], True)

    def gains(multiplier: float, seed: int) -> dict[str, float]:
        exact, noisy = (Release.from_one(one, np.random.default_rng(seed), 800, Ledger()) for one in (0.0, multiplier))
        return released_answer(data, found, 0.4, exact, noisy)[1]

    truth, drawn = gains(0.0, 0), [gains(3.0, seed) for seed in range(200)]
    for name in ("gain_over_own", "gain_over_mean"):
        errors = np.array([one[name] for one in drawn]) - truth[name]
        sd = drawn[0]["gain_sd"]
        assert errors.std() == pytest.approx(sd, rel=0.25)
        assert abs(errors.mean()) < 4 * sd / 200**0.5 < abs((errors + sd).mean())


def test_a_rank_truncates_the_shapes():
    data = people(2000, 8, 6, 0.4, np.random.default_rng(6))
    last, _ = fitted(data, 0.5, rank=1)
    assert last.subspace.shape == (6, 1)
    (prior,) = last.personal.models.mixture.priors
    assert prior.root.shape == (6, 1)
    assert abs(last.subspace[1, 0]) > 0.9


def test_features_that_are_degenerate_end_in_finite_numbers():
    """All rows alike, or none at all."""
    for features in (np.ones((40, 3)), np.zeros((40, 3))):
        users = GivenUsers.capped(np.zeros(40), features, np.repeat(np.arange(10), 4), 10, 4, 3)
        release = Release.from_one(1.0, np.random.default_rng(0), 10, Ledger())
        (last,) = MixedModel(0.5).fit(users, release)
        (block,) = users.blocks()
        assert np.isfinite(last.personal.models(block)).all()
        found = Features.released(users, release, release)
        assert np.isfinite(found.inverse_root()).all()


def test_a_gain_is_the_clipped_log_ratio_of_left_out_errors():
    """Against errors of fits that leave each sample out: its size, sign, floor and clip."""
    block, floor = block_of(5, 40, 3, np.random.default_rng(8)), 0.05
    priors = [Prior(np.zeros(3), np.eye(3), 1.0), Prior(np.ones(3), np.eye(3), 0.5)]

    def error(prior: Prior, user: int) -> float:
        x, y = block.features[:, user].astype(float), block.labels[:, user].astype(float)
        left = []
        for one in range(len(y)):
            others = np.arange(len(y)) != one
            system = prior.strength * x[others] @ x[others].T + np.eye(len(y) - 1)
            head = prior.mean + prior.strength * x[others].T @ np.linalg.solve(
                system, y[others] - x[others] @ prior.mean
            )
            left.append((y[one] - x[one] @ head) ** 2)
        return np.log(np.mean(left) + floor)

    expected = [np.clip(error(priors[1], user) - error(priors[0], user), -GAIN_WIDTH, GAIN_WIDTH) for user in range(40)]
    found = gains_of_first(LogErrors(priors, floor), block).values[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert 0 < np.sum(np.abs(expected) < GAIN_WIDTH) < 40
