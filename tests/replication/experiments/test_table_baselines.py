"""Baselines without privacy, on made-up tables whose answer is known."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from conftest import make_task

from privrep.methods.running.runner import fit
from privrep.privacy.accounting import Budget, FixedNoise
from privrep.privacy.mechanisms import GAUSSIAN_COST
from privrep.users.problem import Problem, Users
from privrep.users.schema import Number, Schema
from replication.experiments import real_table
from replication.experiments.real_tables import RealTable
from replication.experiments.table_baselines import (
    INTERCEPTS,
    PENALTIES,
    best_own_data,
    halves,
    mixed_model,
    own_data,
    single_model,
)
from replication.run.registry import load_options


def made_up(users=400, rows=20, spread=0.3, noise=0.1, most_rows=40, seed=0) -> RealTable:
    """y = .2 + .3 x + head, where x has variance 1 and the head of a user is (0, N(0, spread^2))."""
    rng = np.random.default_rng(seed)
    user, x = np.repeat(np.arange(users), rows), rng.uniform(-(3**0.5), 3**0.5, users * rows)
    slopes = 0.3 + spread * rng.standard_normal(users)
    frame = pd.DataFrame({"user": user, "x": x, "y": 0.2 + slopes[user] * x + noise * rng.standard_normal(len(x))})
    schema = Schema({"x": Number(-(3**0.5), 3**0.5)}, Number(-5, 5))
    return RealTable(frame.sample(frac=1, random_state=seed), "user", "y", schema, most_rows)


def test_halves_share_out_rows():
    table = made_up(users=5, rows=9, most_rows=3)
    split = halves(table, "made up", 0)
    assert split.rows.tolist() == [3] * 5 and np.bincount(split.test_user).tolist() == [4] * 5
    assert split.features.shape == (5, 3, 2) and not np.isin(split.features[..., 1], split.test_features[:, 1]).any()
    for i in range(5):
        own = table.rows.x[table.rows.user == i].to_numpy(np.float32)
        assert np.isin(np.float32(split.features[i, :, 1]), own).all()
    uncapped = halves(made_up(users=5, rows=9), "made up", 0)
    assert uncapped.rows.tolist() == [5] * 5
    single = halves(made_up(users=3, rows=1), "made up", 0)
    assert single.rows.tolist() == [1, 1, 1] and len(single.test_user) == 0


def test_splits_differ_and_repeat():
    table = made_up(users=5)
    first, again, other = halves(table, "made up", 0), halves(table, "made up", 0), halves(table, "made up", 1)
    assert np.array_equal(first.features, again.features) and not np.array_equal(first.features, other.features)


def test_exact_labels_are_found():
    """Without noise and without heads, up to the single precision of features."""
    split = halves(made_up(spread=0, noise=0), "made up", 0)
    for models in (own_data(split, 1e-9), single_model(split)):
        assert np.allclose(models, [0.04, 0.06], atol=1e-5)
        assert split.error(models) < 1e-8


@pytest.mark.parametrize("about", [0.0, np.array([0.04, 0.06])])
def test_best_own_data_is_the_best_ridge(about):
    split = halves(made_up(users=50), "made up", 0)
    all_errors = [split.error(own_data(split, *pair, about)) for pair in itertools.product(PENALTIES, INTERCEPTS)]
    assert best_own_data(split, about) == pytest.approx(min(all_errors), rel=1e-6)


def test_rival_is_descent_and_ridge_about_it(monkeypatch):
    """As its description has it, without noise; with noise it spends the whole budget."""
    split = halves(made_up(users=50, rows=9), "made up", 0)
    monkeypatch.setattr(real_table, "split", lambda table, number: split)
    squares, products = split.moments
    mean = np.zeros(2)
    for _ in range(8):
        gradient = (products - squares @ mean) / split.rows[:, None]
        clipped = gradient * np.minimum(1, 0.3 / np.linalg.norm(gradient, axis=1))[:, None]
        mean = mean + 0.4 * clipped.mean(axis=0)
    heads = mean + np.linalg.solve(squares + np.diag([1.0, 10.0]), (products - squares @ mean)[:, :, None])[:, :, 0]
    rival = load_options("real_table", {"table": "bfi", "method": real_table.RIVAL})
    for budget in (FixedNoise(1e-9, 1e-5), Budget(1.0, 1e-5, "exact")):
        task = make_task(Users(Problem(users=50, samples=9, dim=2, rank=1)), budget)
        error, right = fit(rival, task).log["error"], split.error(heads)
        assert error == pytest.approx(right, rel=1e-5) if isinstance(budget, FixedNoise) else error > right
        assert task.ledger.mu == pytest.approx(1 / budget.noise_multiplier(GAUSSIAN_COST, None))


def test_single_model_misses_what_heads_explain():
    """Variance of labels: .3^2 of the mean, .3^2 of heads, .1^2 of noise."""
    split = halves(made_up(users=2000), "made up", 0)
    assert split.error(single_model(split)) == pytest.approx((0.09 + 0.01) / (0.09 + 0.09 + 0.01), rel=0.05)


def test_mixed_model_finds_its_parameters():
    """In units of the label's half range, 5."""
    split = halves(made_up(users=2000), "made up", 0)
    found = mixed_model(split, least_gain=1e-7)
    assert found.mean == pytest.approx([0.04, 0.06], abs=0.005)
    assert found.noise == pytest.approx((0.1 / 5) ** 2, rel=0.05)
    assert found.covariance[1, 1] == pytest.approx((0.3 / 5) ** 2, rel=0.1)
    assert abs(found.covariance[0]).max() < 0.02 * found.covariance[1, 1]


def test_likelihood_never_falls_and_steps_stop():
    split = halves(made_up(users=100), "made up", 0)
    full, capped = mixed_model(split), mixed_model(split, most_steps=3)
    assert (full.gains > -1e-12).all() and full.gains[-1] < 1e-5 and len(full.gains) < 300
    assert len(capped.gains) == 3 and np.array_equal(capped.gains, full.gains[:3])


def test_likelihood_is_the_normal_one():
    """Of all labels of a small table, by scipy's density; heads are the conditional means."""
    from scipy.stats import multivariate_normal

    split = halves(made_up(users=6, rows=7), "made up", 0)
    before, after = mixed_model(split, 0, 1), mixed_model(split, 0, 2)

    def likelihood(fit):
        terms = []
        for features, labels, rows in zip(split.features, split.labels, split.rows, strict=True):
            x, y = features[:rows], labels[:rows]
            total = x @ fit.covariance @ x.T + fit.noise * np.eye(rows)
            terms.append(multivariate_normal(x @ fit.mean, total).logpdf(y))
        return sum(terms) / split.rows.sum()

    assert likelihood(after) - likelihood(before) == pytest.approx(after.gains[-1], abs=1e-9)
    x, y = split.features[0][: split.rows[0]], split.labels[0][: split.rows[0]]
    total = x @ after.covariance @ x.T + after.noise * np.eye(len(y))
    head = after.covariance @ x.T @ np.linalg.solve(total, y - x @ after.mean)
    assert after.models[0] == pytest.approx(after.mean + head)
