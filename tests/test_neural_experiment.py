"""A whole image experiment on a few glyphs."""

import numpy as np
import pytest

pytest.importorskip("jax", reason="the neural part needs JAX")
from privrep.neural import experiment
from privrep.neural.experiment import Recipe, glyph_federation, train_alone, train_together
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release

CLIENTS, IMAGES = 10, 40


@pytest.fixture
def federation(tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "TEST_IMAGES", 20)
    return glyph_federation(tmp_path, CLIENTS, IMAGES, 10, 2, "shards", 3)


def test_clients_have_images_that_nobody_else_has(federation):
    """A tenth is kept for validation, the test set has all classes and no image of a client, and clients have the classes that are said."""
    images, labels = federation.clients
    assert images.shape == (CLIENTS, 36, 28, 28, 1) and images.dtype == np.uint8
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
        return train_together(federation, name, recipe, 2, 0.25, release, seed)

    first, again, other = trained(0), trained(0), trained(1)
    assert len(ledger.entries) == 6
    assert first.accuracies.shape == (CLIENTS,) and first.norms.shape == (2, CLIENTS)
    np.testing.assert_array_equal(first.norms, again.norms)
    assert not np.array_equal(first.norms, other.norms)
    kinds = {"centaur": "Centaur", "fedavg": "FedAvg", "pmtl": "Pmtl", "ppsgd": "Ppsgd"}
    assert type(recipe.method(name, experiment.task_of(federation))).__name__ == kinds[name]


def test_clients_learn_alone(federation):
    """Two classes of few images, far better than by guessing."""
    found = train_alone(federation, Recipe(batch=12, alone_epochs=60), 0)
    assert found.accuracies.shape == (CLIENTS,) and found.accuracies.mean() > 0.7 and not found.norms.size
