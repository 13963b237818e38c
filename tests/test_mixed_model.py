"""The released mixed model: posterior means, left-out samples, sensitivities of its releases, and its answers."""

from __future__ import annotations

import numpy as np
import pytest

from privrep.algorithms.mixed_model import Features, MixedModel, MixedModelOptions, Moments
from privrep.algorithms.parts.posterior import Mixture, Prior, Spectra
from privrep.algorithms.parts.sharing import (
    ANSWERS,
    GAIN_WIDTH,
    HEADS,
    MEAN,
    OWN,
    Comparison,
    Gains,
    LogErrors,
    candidates,
)
from privrep.data.capped_users import MemoryUsers
from privrep.data.known import Known
from privrep.data.problem import Block
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release

RNG = np.random.default_rng(5)


def block_of(samples: int, users: int, dim: int, rng: np.random.Generator = RNG) -> Block:
    features = rng.standard_normal((samples, users, dim)).astype(np.float32)
    return Block(0, features, rng.standard_normal((samples, users)).astype(np.float32))


def people(users: int, rows: int, dim: int, spread: float, rng: np.random.Generator, noise: float = 0.3) -> MemoryUsers:
    """Labels follow a constant, a shared mean, and one direction of each user's own."""
    number = np.repeat(np.arange(users), rows)
    features = rng.standard_normal((len(number), dim))
    features[:, 0] = 1
    mean = np.r_[0.2, np.full(dim - 1, 0.1)]
    own = spread * rng.standard_normal((users, 1)) * np.r_[0.0, 1.0, np.zeros(dim - 2)]
    labels = (features * (mean + own[number])).sum(axis=1) + noise * rng.standard_normal(len(number))
    return MemoryUsers.of(labels.clip(-1, 1), features, number, users, rows, dim)


def fitted(users: MemoryUsers, multiplier: float, seed: int = 0, rank: int | None = None):
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
    np.testing.assert_allclose(Mixture((flat, sure), 1.0).heads(block), flat.heads(block), atol=1e-6)
    np.testing.assert_array_equal(Mixture((sure,), 1.0).heads(block), sure.heads(block))


@pytest.mark.parametrize("contribution", ["moments", "gains", "comparison"])
def test_contributions_are_within_their_clips(contribution):
    """Of outrageous users, too; two of them attain at least nine tenths of the sensitivity."""
    users, dim = 400, 3
    block = block_of(6, users, dim)
    block.features[:, ::2] *= 1e3
    block.labels[:, ::3] *= 1e3
    priors = [one.prior for one in candidates(np.eye(dim), np.array([0.3, 0.1, 0.0]), [np.eye(dim)], False)]
    errors = LogErrors(priors, 1e-3)
    kind, clip = {
        "moments": (Moments(), 0.8),
        "gains": (Gains(errors), GAIN_WIDTH),
        "comparison": (Comparison(LogErrors(priors[:3], 1e-3)), GAIN_WIDTH * 2**0.5),
    }[contribution]
    alone = np.array([kind(block.take(one, one + 1)).clipped(clip)[0] for one in range(users)]).reshape(users, -1)
    lengths = np.linalg.norm(alone, axis=1)
    assert lengths.max() <= clip * (1 + 1e-12)
    assert lengths.max() >= 0.99 * clip or contribution == "comparison"
    apart = np.linalg.norm(alone[:, None] - alone[None], axis=2).max()
    assert apart <= kind(block).law(clip).sensitivity * (1 + 1e-12)


def test_no_user_moves_what_the_others_add():
    """Whatever its rows: not finite, none, or more than the cap."""
    rng = np.random.default_rng(3)
    number, features, labels = np.repeat(np.arange(50), 5), rng.standard_normal((250, 3)), rng.uniform(-1, 1, 250)
    errors = LogErrors([Prior(np.zeros(3), np.eye(3), 1.0), Prior(np.ones(3), np.eye(3), 0.5)], 0.1)

    def others(features, labels, number):
        users = MemoryUsers.of(labels, features, number, 50, 6, 3)
        (block,) = users.blocks()
        return np.delete(Gains(errors)(block).values, 7, axis=0), np.delete(Moments()(block).rows, 7, axis=1)

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
    """Mean over 200 draws of the second release's noise within 4 standard errors of the exact gain (false alarm 1e-4);
    the largest of the first release is not."""
    data = people(800, 6, 4, 0.3, np.random.default_rng(2))
    exact, _ = fitted(data, 0.0)
    found = [fitted(data, 3.0, seed)[0].log for seed in range(60)]
    errors = np.array([one["gain_over_mean"] for one in found]) - exact.log["gain_over_mean"]
    # What noise does to mean and shape costs some of the gain; the noise of the gain itself is centred about that.
    assert abs(errors.mean()) < 0.03
    assert errors.std() == pytest.approx(found[0]["gain_sd"], rel=0.5)


def test_the_budget_is_spent_and_no_more():
    data = people(300, 4, 3, 0.3, np.random.default_rng(4))
    _, release = fitted(data, 2.0)
    assert release.ledger.mu == pytest.approx(0.5, rel=1e-9)
    assert len(release.ledger.entries) == 13


def test_a_rank_truncates_the_shapes():
    data = people(2000, 8, 6, 0.4, np.random.default_rng(6))
    last, _ = fitted(data, 0.5, rank=1)
    assert last.subspace.shape == (6, 1)
    assert abs(last.subspace[1, 0]) > 0.9


def test_features_that_are_degenerate_end_in_finite_numbers():
    """All rows alike, or none at all."""
    for features in (np.ones((40, 3)), np.zeros((40, 3))):
        users = MemoryUsers.of(np.zeros(40), features, np.repeat(np.arange(10), 4), 10, 4, 3)
        release = Release.from_one(1.0, np.random.default_rng(0), 10, Ledger())
        (last,) = MixedModel(0.5).fit(users, release)
        (block,) = users.blocks()
        assert np.isfinite(last.personal.models(block)).all()
        found = Features.released(users, release, release)
        assert np.isfinite(found.inverse_root()).all()


def test_the_rank_must_not_exceed_the_dimension():
    with pytest.raises(ValueError, match=r"released_rank is 5; it must not exceed dim, which is 4"):
        MixedModelOptions(released_rank=5).build(Known(10, 4, 4, 2))
