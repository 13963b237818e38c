"""A whole image experiment on a few glyphs."""

import re
from dataclasses import replace

import numpy as np
import pytest
from conftest import make_task

pytest.importorskip("jax", reason="the neural part needs JAX")
from privrep.data.problem import Problem, Users
from privrep.fitting.runner import fit
from privrep.neural import experiment, federated_images
from privrep.neural.experiment import PartitionSettings, Recipe, train_alone, train_together
from privrep.neural.rounds import RoundPlan
from privrep.privacy.accounting import Budget, FixedNoise, gdp_mu
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release
from privrep.run.registry import load_options

CLIENTS, IMAGES = 10, 40


@pytest.fixture
def federation(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "TEST_IMAGES", 20)
    return experiment.federation("glyphs", PartitionSettings(CLIENTS, IMAGES, 10, 2, "shards", 3), tmp_path, tmp_path)


def test_clients_have_images_that_nobody_else_has(federation):
    """A tenth is kept for validation, the test set has all classes and no image of a client, and clients have the
    classes that are said."""
    images, labels = (np.concatenate(parts, axis=1) for parts in zip(federation.clients, federation.kept, strict=True))
    assert federation.kept.images.shape == (CLIENTS, 4, 28, 28, 1)
    assert images.shape == (CLIENTS, 40, 28, 28, 1) and images.dtype == np.uint8
    found = [np.isin(np.arange(10), own) for own in labels]
    np.testing.assert_array_equal(federation.own, found)
    assert (federation.own.sum(axis=1) <= 2).all()
    np.testing.assert_array_equal(np.bincount(federation.test.labels), [20] * 10)
    everything = np.concatenate([images.reshape(-1, 784), federation.test.images.reshape(-1, 784)])
    assert len(np.unique(everything, axis=0)) == len(everything)


@pytest.mark.parametrize("name", ["centaur", "fedavg", "pmtl", "ppsgd"])
def test_a_method_runs_by_its_name(federation, name):
    """Rounds are releases, all clients are scored, and seeds decide everything."""
    recipe, ledger = Recipe(local_epochs=1, batch=36, head_epochs=2), Ledger()

    def trained(seed):
        release = Release.from_one(1.0, np.random.default_rng(0), CLIENTS, ledger)
        return train_together(federation, name, recipe, RoundPlan(2, 0.25), release, seed, watched=4)

    first, again, other = trained(0), trained(0), trained(1)
    assert len(ledger.entries) == 6
    assert first.accuracies.test.shape == first.accuracies.validation.shape == (CLIENTS,)
    assert first.norms.shape == (2, CLIENTS) and len(first.means) == 2
    assert max(first.means) <= 0.25 and all(1 <= rank <= CLIENTS for rank in first.effective_rank)
    assert all(0 <= one <= 1 for one in first.along)
    np.testing.assert_array_equal(first.norms, again.norms)
    assert not np.array_equal(first.norms, other.norms)
    kinds = {"centaur": "ImageCentaur", "fedavg": "FedAvg", "pmtl": "Pmtl", "ppsgd": "Ppsgd"}
    assert type(recipe.method(name, federation.task())).__name__ == kinds[name]


def test_clients_learn_alone(federation):
    """Two classes of few images, far better than by guessing."""
    found = train_alone(federation, Recipe(batch=12, alone_epochs=60), 0)
    assert found.shape == (CLIENTS,) and found.mean() > 0.7


# The instrument


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Few test images, and a folder of its own for rendered ones."""
    monkeypatch.setattr(experiment, "TEST_IMAGES", 20)
    monkeypatch.setattr(federated_images, "DRAWN", tmp_path)


IMAGES_OF = Problem(CLIENTS, IMAGES, 784, 2)
QUICK = {"rounds": 2, "local_epochs": 1, "batch": 36, "head_epochs": 2, "alone_epochs": 2}


def ran(budget=None, **options):
    task = make_task(Users(IMAGES_OF), budget)
    return fit(load_options("federated_images", QUICK | options), task), task


@pytest.mark.parametrize(("neighbours", "factor"), [("add-remove", 0.5), ("replace-one", 1.0)])
def test_the_budget_is_for_the_named_neighbours(small, neighbours, factor):
    """Noise follows from mu = sqrt(T) zeta / sd for adding or removing a user, of twice that for replacing one,
    which is what the ledger says."""
    outcome, task = ran(Budget(1.0, 1e-5, "exact"), method="fedavg", neighbours=neighbours)
    mu = gdp_mu(1.0, 1e-5)
    sd = task.ledger.entries[0].noise_sd
    assert len(task.ledger.entries) == 2
    assert 2**0.5 * 0.25 / sd == pytest.approx(mu * (1 if neighbours == "add-remove" else 0.5), rel=1e-9)
    assert task.ledger.mu == pytest.approx(mu / factor, rel=1e-9)
    assert 0 <= outcome.log["accuracy"] <= 1 and 0 <= outcome.log["clipped_share"] <= 1
    assert outcome.log["noise_multiplier"] == pytest.approx(sd / 0.5, rel=1e-12)


def test_an_estimate_with_fewer_clients_claims_no_privacy(small):
    """Nothing is in the ledger; the noise on the mean is that of the nominal number of clients."""
    few, task = ran(FixedNoise(1.0, 1e-5), method="fedavg", nominal=1000 * CLIENTS)
    assert not task.ledger.entries
    plain, _ = ran(FixedNoise(0.0, 1e-5), method="fedavg")
    noisy, _ = ran(FixedNoise(1.0, 1e-5), method="fedavg")
    apart = [abs(one.log["last_norm"] - plain.log["last_norm"]) for one in (few, noisy)]
    assert apart[0] < 0.1 * apart[1]


def test_methods_share_clients_and_those_alone_need_no_budget(small):
    outcome, task = ran(method="stand_alone")
    assert not task.ledger.entries and set(outcome.log) == {"accuracy", "accuracy_sd", "tested"}


@pytest.mark.parametrize(
    ("options", "problem", "words"),
    [
        ({"method": "sgd"}, {}, "method is 'sgd'; it must be one of stand_alone, fedavg"),
        ({"neighbours": "none"}, {}, "neighbours is 'none'; it must be one of add-remove, replace-one"),
        ({"clip": 0.0}, {}, "clip is 0.0; it must be positive"),
        ({"nominal": 5}, {}, "nominal is 5; it must be at least users, 10"),
        ({}, {"dim": 30}, "dim is 30; an image of glyphs has 784 numbers"),
        ({"images": "letters"}, {}, "images is 'letters'; it must be one of glyphs, emnist"),
        ({"images": "cifar100"}, {}, "classes is 10; cifar100 has 100"),
        ({"classes": 12}, {}, "classes is 12; glyphs has 10 or 47 or 62"),
        ({"shift": -1}, {}, "shift is -1; it must be an integer of at least 1"),
        ({"watched": 11}, {}, "watched is 11; it must be at most users, 10"),
        ({}, {"rank": 11}, "rank is 11; a client can have at most 10 classes"),
    ],
)
def test_wrong_options_are_named(options, problem, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        load_options("federated_images", {"method": "fedavg"} | options).experiment(replace(IMAGES_OF, **problem))
