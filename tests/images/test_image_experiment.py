"""A whole image experiment on the 8 x 8 digits of scikit-learn."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import handle, make_task

pytest.importorskip("jax", reason="the image experiments need JAX")

import images
from images import experiment, federated_images
from images.experiment import Progress, checkpoints, federated_method, federation, train_alone, train_together
from images.options import METHODS, ImageOptions
from images.table import StateFile
from privrep.methods.running.method import NotRun
from privrep.methods.running.runner import fit
from privrep.privacy.accounting import Budget, gdp_mu
from privrep.privacy.ledger import Ledger
from privrep.users.rng import stream
from privrep.users.simulated import Problem, Users
from replication.run.registry import load_options

CLIENTS, SAMPLES, SHARDS = 12, 20, 5
NOWHERE = Path("nowhere")
"""The folder of sets: digits have no files."""
PROBLEM = Problem(CLIENTS, SAMPLES, 64, SHARDS)
QUICK = {"images": "digits", "batch": 18, "local_epochs": 1, "head_epochs": 2, "watched": 5}


@pytest.fixture(scope="module")
def clients():
    return federation("digits", CLIENTS, SAMPLES, SHARDS, 3, NOWHERE)


def test_clients_have_images_that_nobody_else_has(clients):
    """A tenth is kept for validation, the test set has all classes and no image of a client, and clients have as many
    shards as is said, of the classes that they have."""
    images, labels = (np.concatenate(parts, axis=1) for parts in zip(clients.clients, clients.kept, strict=True))
    assert clients.kept.images.shape == (CLIENTS, 2, 8, 8, 1)
    assert images.shape == (CLIENTS, SAMPLES, 8, 8, 1) and images.dtype == np.uint8
    for own, shards in zip(labels, clients.shards, strict=True):
        np.testing.assert_array_equal(np.bincount(own, minlength=10), SAMPLES // SHARDS * shards)
    tests = [part[:count] for part, count in zip(clients.test.images, clients.test.counts, strict=True)]
    everything = np.concatenate([*tests, *images]).reshape(-1, 64)
    assert clients.test.counts.sum() == 359 and len(np.unique(everything, axis=0)) == len(everything)
    assert clients.users.known.rank == (clients.shards > 0).sum(axis=1).max() <= SHARDS


def test_seeds_decide_everything(clients):
    """Who gets which image, and starts and mini-batches."""
    options = ImageOptions(**QUICK, method="centaur", rounds=2)
    again, other = (federation("digits", CLIENTS, SAMPLES, SHARDS, seed, NOWHERE) for seed in (3, 4))
    np.testing.assert_array_equal(clients.clients.images, again.clients.images)
    assert not np.array_equal(clients.clients.images, other.clients.images)
    first, same, changed = (train_together(clients, options, handle(CLIENTS, 1.0), seed) for seed in (0, 0, 1))
    assert first.numbers == same.numbers and first.numbers != changed.numbers
    np.testing.assert_array_equal(first.by_client, same.by_client)


@pytest.mark.parametrize("name", ["stand_alone", "centaur"])
def test_accuracy_is_of_all_clients_and_of_test_images(clients, name, monkeypatch):
    """Of a federated run at its end, though few are watched; of training alone of the watched, to the bit whether all,
    three or one of them train between two stops. Labels that are kept for validation count for nothing else."""
    together = name == "centaur"
    options = ImageOptions(**QUICK, method=name, rounds=2 if together else 0)
    blocks, steps = iter((3, 1, 100)), []
    noted = SimpleNamespace(load=lambda: None, save=lambda done, of, *_: steps.append((done, of)))

    def trained(source, watched=5, saved=None):
        monkeypatch.setattr(experiment, "BLOCK", next(blocks))
        given = replace(options, watched=watched), *([handle(CLIENTS, 1.0)] if together else []), 0, saved
        return (train_together if together else train_alone)(source, *given)

    whole, some = trained(clients, CLIENTS, noted), trained(clients)
    other = trained(replace(clients, kept=clients.kept._replace(labels=(clients.kept.labels + 1) % 10)))
    np.testing.assert_array_equal(some.by_client, whole.by_client[:5])
    assert whole.numbers["accuracy"] == pytest.approx(whole.by_client.mean())
    if together:
        assert some.numbers == whole.numbers | {"accuracy_1_8": pytest.approx(some.by_client.mean())}
    assert other.numbers == some.numbers | {"validation": other.numbers["validation"]} != some.numbers
    assert steps == ([(1, 2)] if together else [(3, 12), (6, 12), (9, 12), (12, 12)])


def test_last_heads_on_moved_images_are_a_second_score(clients):
    """Of the same run, of which nothing else changes: that of a method that moves images for no heads but the last."""
    options = ImageOptions(**QUICK, method="fedavg", rounds=1)

    def trained(shift=0, last_shift=0):
        release = handle(CLIENTS, 1.0, stream(0, "noise", {}), Ledger())
        found = train_together(clients, replace(options, shift=shift), release, 0, None, last_shift)
        assert len(release.ledger.entries) == 1
        return found

    plain, moved, both = trained(), trained(shift=2), trained(last_shift=2)
    assert both.numbers == plain.numbers | {"accuracy_moved_last": moved.numbers["accuracy"]}
    assert moved.numbers["accuracy"] != plain.numbers["accuracy"]
    np.testing.assert_array_equal(both.by_client, plain.by_client)


@pytest.mark.parametrize("name", METHODS[1:])
def test_a_method_goes_on_where_it_was_stopped(clients, tmp_path, name):
    """From a file, whether clients keep something or nothing: the same numbers, and all releases in the ledger."""

    class Stopped(StateFile):
        def save(self, done, *rest):
            super().save(done, *rest)
            if done == 4:
                raise KeyboardInterrupt

    options, releases = ImageOptions(**QUICK, method=name, rounds=8), []

    def trained(saved=None):
        releases.append(handle(CLIENTS, 1.0, stream(0, "noise", {}), Ledger()))
        return train_together(clients, options, releases[-1], 0, saved)

    whole = trained()
    with pytest.raises(KeyboardInterrupt):
        trained(Stopped(tmp_path / "state.npz", {}, 0.0))
    rest = trained(StateFile(tmp_path / "state.npz", {}, 0.0))
    assert rest.numbers == whole.numbers
    np.testing.assert_array_equal(rest.by_client, whole.by_client)
    assert releases[0].ledger.entries == releases[2].ledger.entries and len(releases[1].ledger.entries) == 4


def test_methods_have_their_names_and_the_steps_of_the_scripts(clients):
    options = ImageOptions(**QUICK | {"batch": 9, "momentum": 0.5}, method="pmtl", rounds=1)
    kinds = {"centaur": "ImageCentaur", "fedavg": "FedAvg", "pmtl": "Pmtl", "ppsgd": "Ppsgd"}
    found = {name: federated_method(replace(options, method=name), clients.task()) for name in kinds}
    for name, one in found.items():
        assert type(one).__name__ == kinds[name]
        assert (one.local.step, one.local.epochs, one.head.step, one.head.epochs) == (0.01, 1, 0.01, 2)
        assert {(rule.batch, rule.momentum, rule.decay) for rule in (one.local, one.head)} == {(9, 0.5, 1e-4)}
    assert (found["ppsgd"].correction.step, found["ppsgd"].correction.epochs) == (0.1, 1)
    assert found["pmtl"].strength == 1 and clients.task(3).shift == 3


def test_eighths_are_those_of_the_rounds():
    """Lengths over the clip, and which are cut, of each eighth; accuracy after it. Fewer rounds have one look."""
    assert (
        checkpoints(40) == [5, 10, 15, 20, 25, 30, 35, 40]
        and checkpoints(12) == [2, 3, 4, 6, 8, 9, 10, 12]
        and checkpoints(7) == [7]
    )
    lengths = [np.array([0.6, 1.0, number]) for number in range(1, 17)]
    found = Progress(lengths, [part / 10 for part in range(1, 9)]).numbers(2.0)
    assert found["clipped_share"] == pytest.approx(14 / 48)
    assert found["length_1_8"] == 0.5 and found["cut_1_8"] == 0 and found["cut_2_8"] == pytest.approx(1 / 3)
    assert [found[f"accuracy_{part}_8"] for part in range(1, 9)] == pytest.approx([part / 10 for part in range(1, 9)])


def test_a_whole_run_has_all_its_numbers():
    """The budget is for adding or removing a client: noise follows from mu = sqrt(T) zeta / sd. The ledger has twice
    that, for replacing one."""
    task = make_task(Users(PROBLEM), Budget(1.0, 1e-5, "exact"))
    options = QUICK | {"method": "centaur", "rounds": 8, "clip": 0.25}
    outcome = fit(load_options("federated_images", options), task)
    mu, entries = gdp_mu(1.0, 1e-5), task.ledger.entries
    assert {(entry.sensitivity, entry.noise_sd) for entry in entries} == {(0.5, entries[0].noise_sd)}
    assert len(entries) == 8 and 8**0.5 * 0.25 / entries[0].noise_sd == pytest.approx(mu, rel=1e-9)
    assert task.ledger.mu == pytest.approx(2 * mu, rel=1e-9)
    assert outcome.log["epsilon_add_remove"] == pytest.approx(1.0, rel=1e-9)
    assert outcome.log["noise_multiplier"] == pytest.approx(entries[0].noise_sd / 0.5, rel=1e-12)
    assert set(outcome.log) - {"noise_multiplier"} == set(ImageOptions.numbers) - {"accuracy_moved_last"}
    assert all(np.isfinite(value) for value in outcome.log.values())
    assert outcome.log["tested"] == CLIENTS and outcome.log["parameters"] == 64 * 256 + 256 * 129 + 128 * 17 + 16


def test_clients_learn_alone_without_a_budget():
    """The first of them, on five classes far better than by guessing."""
    task = make_task(Users(PROBLEM))
    options = QUICK | {"method": "stand_alone", "batch": 6, "local_epochs": 60}
    found = fit(load_options("federated_images", options), task).log
    assert not task.ledger.entries
    assert set(found) == {"accuracy", "accuracy_once", "accuracy_sd", "tested", "validation"}
    assert found["tested"] == 5 and 0.6 < found["accuracy"] <= 1 and 0.6 < found["accuracy_once"] <= 1


@pytest.mark.parametrize(
    ("options", "problem", "words"),
    [
        ({"method": "sgd"}, {}, "method is 'sgd'; it must be one of stand_alone, fedavg, pmtl, ppsgd, centaur"),
        ({"clip": 0.0}, {}, "clip is 0.0; it must be positive"),
        ({"rounds": 0}, {}, "rounds is 0; fedavg needs at least 1"),
        ({"batch": 19}, {}, "batch is 19; a client trains on 18 images, and a batch can have no more"),
        ({"images": "cifar10"}, {}, "dim is 64; an image of cifar10 has 3072 numbers"),
        ({}, {"rank": 11}, "rank is 11; digits has 10 classes"),
        ({"nominal": 5}, {}, "nominal is no option of federated_images"),
    ],
)
def test_wrong_options_are_named(options, problem, words):
    with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
        load_options("federated_images", QUICK | {"method": "fedavg", "rounds": 2} | options).experiment(
            replace(PROBLEM, **problem)
        )


def test_a_cell_without_its_files_or_packages_is_not_run(tmp_path, monkeypatch):
    """It names the file that is missing, or the package and what brings it; nothing is released."""
    monkeypatch.setattr(federated_images, "DATA", tmp_path)
    options = load_options("federated_images", QUICK | {"images": "mnist", "method": "fedavg", "rounds": 1})
    task = make_task(Users(replace(PROBLEM, dim=784)), Budget(1.0, 1e-5, "exact"))
    with pytest.raises(NotRun, match=f"^{re.escape(str(tmp_path))}/mnist/train-images-idx3-ubyte: no such file"):
        fit(options, task)
    assert not task.ledger.entries
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.delitem(sys.modules, "images.experiment")
    monkeypatch.delattr(images, "experiment")
    with pytest.raises(NotRun, match=r"^jax is not installed; the extra `images` brings it: pip install -e"):
        fit(options, task)
