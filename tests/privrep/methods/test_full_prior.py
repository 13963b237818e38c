"""A Gaussian prior that is released: what a user can move, what noise of two halves leaves out, and how well it ends.

Statistical checks hold at `conftest.FALSE_ALARM` or within a stated share, and each comes with a wrong target that is
rejected.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import FALSE_ALARM, fixed_noise, make_task
from pieces import half_products
from scipy import stats

from privrep.methods import full_prior
from privrep.methods.full_prior import FullPriorOptions, PosteriorMeans
from privrep.methods.running.runner import fit
from privrep.methods.unit_steps.round import ridge_models, unit
from privrep.methods.unit_steps.schedule import SCALE
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import Block
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import random_subspace

PENALTY = 0.3
# What a user can move


def sums(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """What these users add."""
    return half_products(Block(0, features.astype(np.float32), labels.astype(np.float32)), PENALTY)


# Two halves


@pytest.mark.parametrize(("samples", "dim", "condition"), [(6, 4, 1.0), (7, 4, 3.0), (16, 4, 3.0)])
def test_noise_of_two_halves_has_no_product(samples, dim, condition):
    """Labels of noise alone: each entry is 0 in the mean over 1500 users, in Bonferroni's way.
    One model with itself, and halves that overlap, are not."""
    (block,) = Users(Problem(1500, samples, dim, 1, feature_condition=condition)).blocks()
    rng = np.random.default_rng(7)
    block = Block(0, block.features, rng.standard_normal(block.labels.shape).astype(np.float32))

    def one_sided(one: Block) -> np.ndarray:
        model = unit(ridge_models(one.features, one.labels, PENALTY))
        return model.T @ model

    def overlapping(one: Block) -> np.ndarray:
        first, second = (
            unit(ridge_models(one.features[part], one.labels[part], PENALTY)) for part in (slice(0, -1), slice(1, None))
        )
        product = first.T @ second
        return (product + product.T) / 2

    for product, zero in ((lambda one: half_products(one, PENALTY), True), (one_sided, False), (overlapping, False)):
        each = np.array([product(block.take(user, user + 1)) for user in range(1500)])
        scores = np.abs(each.mean(axis=0)) / (each.std(axis=0) / math.sqrt(1500))
        assert (scores.max() < stats.norm.isf(FALSE_ALARM / 2 / dim**2)) == zero


def test_products_are_those_of_a_loop(rng):
    """Ridge models of each user's even and odd samples by numpy, m even and odd; halves in a row are rejected."""
    for samples in (6, 7):
        features, labels = rng.standard_normal((samples, 12, 4)), rng.standard_normal((samples, 12))
        for halves, same in (((slice(0, None, 2), slice(1, None, 2)), True), ((slice(0, 3), slice(3, None)), False)):
            expected = np.zeros((4, 4))
            for x, y in zip(features.transpose(1, 0, 2), labels.T, strict=True):
                a, b = (np.linalg.solve(x[h].T @ x[h] + PENALTY * np.eye(4), x[h].T @ y[h]) for h in halves)
                expected += (np.outer(a, b) + np.outer(b, a)) / 2 / np.linalg.norm(a) / np.linalg.norm(b)
            assert np.allclose(sums(features, labels), expected, rtol=0, atol=1e-3) == same


# The prior


@pytest.fixture
def priors(monkeypatch) -> list[tuple[np.ndarray, float]]:
    """Records the prior and the noise variance of each run."""
    seen = []

    def recorded(prior, noise2):
        seen.append((prior, noise2))
        return PosteriorMeans(prior, noise2)

    monkeypatch.setattr(full_prior, "PosteriorMeans", recorded)
    return seen


def test_without_noise_the_prior_has_the_shape_of_the_heads(priors):
    """In the axes of the heads it is diagonal within 3 % of its mean, with the second moments of v/|v| of fresh heads
    within 10 %; those of other scales, and none, are rejected."""
    users = Users(Problem(20_000, 24, 5, 5, label_noise_sd=0.05, head_law="aniso", head_condition=3.0))
    fit(FullPriorOptions(), make_task(users, fixed_noise(0.0)))
    prior, noise2 = priors[0]
    assert noise2 == pytest.approx(0.05**2)
    turned = users.truth.basis.T @ prior @ users.truth.basis
    mean = np.trace(turned) / 5
    heads = np.random.default_rng(3).standard_normal((200_000, 5)) * np.geomspace(3, 1, 5)
    heads /= np.linalg.norm(heads, axis=1)[:, None]
    expected = 5 * (heads**2).mean(axis=0)
    assert np.abs(turned - np.diag(np.diag(turned))).max() < 0.03 * mean
    np.testing.assert_allclose(np.diag(turned) / mean, expected, rtol=0.1)
    for wrong in (np.ones(5), expected[::-1], expected**2 / (expected**2).mean(), np.geomspace(2, 1, 5)):
        assert not np.allclose(np.diag(turned) / mean, wrong, rtol=0.1)
    # Of the scale of a head: its mean square coordinate.
    assert mean == pytest.approx((users.problem.known.head_scales**2).mean(), rel=0.1)


@pytest.mark.parametrize("multiplier", [1.0, 30.0, 0.0])
def test_eigenvalues_are_raised(priors, monkeypatch, multiplier):
    """To a quarter of the noise's norm 2 sqrt(2d) Delta and a thousandth of the largest, before the trace is set to
    that of the heads; vectors stay."""
    turn = random_subspace(5, 5, np.random.default_rng(5))
    values = np.array([500.0, 60.0, 1.0, -5.0, -90.0])
    released = Release._gaussian

    def given(self, name, exact, law):
        (found,) = released(self, name, exact, law)
        return (replace(found, value=(turn * values) @ turn.T) if name == "half_products" else found,)

    monkeypatch.setattr(Release, "_gaussian", given)
    outcome = fit(
        FullPriorOptions(), make_task(Users(Problem(300, 6, 5, 5, label_noise_sd=0.3)), fixed_noise(multiplier))
    )
    least = max(0.25 * 2 * multiplier / math.sqrt(1 - SCALE) * math.sqrt(10), 0.5)
    raised = np.maximum(values, least)
    expected = outcome.log["learned_scale"] ** 2 * 5 * raised / raised.sum()
    np.testing.assert_allclose(priors[0][0], (turn * expected) @ turn.T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("samples", "dim"), [(1, 4), (3, 4), (9, 4)])
def test_posterior_means_are_those_of_the_closed_form(rng, samples, dim):
    """(X^T X / s^2 + P^-1)^-1 X^T y / s^2 of each user by numpy; twice the noise, and P for P^-1, are rejected."""
    half = rng.standard_normal((dim, dim))
    prior, noise2 = half @ half.T + 0.1 * np.eye(dim), 0.3
    block = Block(
        0,
        rng.standard_normal((samples, 7, dim)).astype(np.float32),
        rng.standard_normal((samples, 7)).astype(np.float32),
    )
    found = PosteriorMeans(prior, noise2)(block)
    x, y = block.features.transpose(1, 0, 2).astype(float), block.labels.T.astype(float)
    for precision, variance, same in (
        (np.linalg.inv(prior), noise2, True),
        (prior, noise2, False),
        (np.linalg.inv(prior), 2 * noise2, False),
    ):
        expected = [
            np.linalg.solve(one.T @ one / variance + precision, one.T @ own / variance)
            for one, own in zip(x, y, strict=True)
        ]
        assert np.allclose(found, expected, rtol=1e-3, atol=1e-4) == same
