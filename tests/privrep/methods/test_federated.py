"""Methods of shen2023 Section 6, against slow loops over users: what a user adds, noise, state that stays private."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from conftest import fake_users, fixed_noise, gather, handle, make_task, recut

from privrep.methods import dp_fedavg, general_centaur, pmtl, ppsgd
from privrep.methods.running.runner import fit
from privrep.methods.steps.server import Server
from privrep.privacy.contributions import Rows
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import NamedSum, Release
from privrep.users.passes import UserRows
from privrep.users.simulated import Problem, Users
from privrep.users.splits import SampleDraws
from privrep.users.subspace import random_subspace
from replication.run.registry import load_options

PROBLEM = Problem(20, 8, 6, 2, label_noise_sd=0.2)
BATCHES = [np.array([0, 2, 5]), np.array([1, 2, 7]), np.array([3, 4, 6])]
STEP = 0.07


def squared_loss_slope(features, labels, model):
    """Gradient of half the mean squared residual in theta, for one user."""
    return features.T @ (features @ model - labels) / len(labels)


def people(users):
    """Features (m, d), labels (m,) of each user."""
    features, labels, _ = gather(users)
    return [(features[:, j], labels[:, j]) for j in range(labels.shape[1])]


def test_representation_steps_are_local_gradient_descent(rng):
    """B_i - B after three mini-batches, the head of all samples held fixed, by user; a head fitted anew differs."""
    users, basis = Users(PROBLEM), 0.8 * random_subspace(6, 2, rng)
    (block,) = users.blocks()
    left, heads = general_centaur.representation_steps(block, BATCHES, basis, STEP)
    moved_head = 0.0
    for j, (features, labels) in enumerate(people(users)):
        head = np.linalg.lstsq(features @ basis, labels, rcond=None)[0]
        own = basis.copy()
        for batch in BATCHES:
            own -= STEP * np.outer(squared_loss_slope(features[batch], labels[batch], own @ head), head)
        np.testing.assert_allclose(heads[j], head, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(np.outer(left[j], heads[j]), own - basis, rtol=1e-3, atol=1e-5)
        moved_head = max(moved_head, np.abs(np.linalg.lstsq(features @ own, labels, rcond=None)[0] - head).max())
    assert moved_head > 0.01


def test_model_steps_are_local_gradient_descent(rng):
    """B, the shared and the personal head move together, user by user, the personal one with a step of its own."""
    users, model = Users(PROBLEM), rng.standard_normal((7, 2))
    (block,) = users.blocks()
    personal = 0.3 * rng.standard_normal((20, 2))
    moved, after = dp_fedavg.model_steps(block, BATCHES, model, personal, STEP, 0.02)
    for j, (features, labels) in enumerate(people(users)):
        basis, shared, own = model[:-1].copy(), model[-1].copy(), personal[j].copy()
        for batch in BATCHES:
            slope = squared_loss_slope(features[batch], labels[batch], basis @ (shared + own))
            change, along = np.outer(slope, shared + own), basis.T @ slope
            basis, shared, own = basis - STEP * change, shared - STEP * along, own - 0.02 * along
        np.testing.assert_allclose(moved[j], np.vstack([basis, shared]) - model, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(after[j], own, rtol=1e-6)


@pytest.mark.parametrize("samples", [4, 6, 9])
@pytest.mark.parametrize("penalty", [1.0, 0.05])
def test_pmtl_solves_its_local_problem(samples, penalty, rng):
    """The slope of (1/2m) ||y - X theta||^2 + (lambda/2) ||theta - theta_bar||^2 vanishes, in dual and primal form."""
    users, centre = Users(replace(PROBLEM, samples=samples)), rng.standard_normal(6)
    (block,) = users.blocks()
    found = pmtl.displacements(block, centre, penalty)
    for j, (features, labels) in enumerate(people(users)):
        slope = squared_loss_slope(features, labels, centre + found[j]) + penalty * found[j]
        np.testing.assert_allclose(slope, 0, atol=1e-6)


OPTIONS = {
    "general_centaur": {"rounds": 1, "clip": 0.5, "batch_samples": 4, "local_steps": 2},
    "dp_fedavg": {"rounds": 1, "clip": 0.5, "batch_samples": 4, "local_steps": 2},
    "ppsgd": {"rounds": 1, "clip": 0.5, "batch_samples": 4, "local_steps": 2},
    "pmtl": {"rounds": 1, "clip": 0.5},
}


def asked(name: str, users, noise: float = 0.0, seed: int = 0, **more) -> list:
    """What users are asked to add in each round."""
    kept = []
    released = Release.sums

    def watch(self, users, contribution, *parts):
        kept.append(contribution)
        return released(self, users, contribution, *parts)

    algorithm = load_options(name, OPTIONS[name] | more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Release, "sums", watch)
        fit(algorithm, make_task(users, fixed_noise(noise), seed))
    return kept


def shared(contribution) -> np.ndarray:
    """The shared model from which users start."""
    if hasattr(contribution, "__self__"):
        return contribution.__self__.centre
    return contribution.args[0]


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("participation", [1.0, 0.6])
def test_rounds_follow_each_other(name, participation):
    """A round starts from the model to which the last has added its mean over p n, with mini-batches of its own."""
    users = Users(PROBLEM)
    rounds = asked(name, users, rounds=5, participation=participation)
    coins = make_task(users, fixed_noise()).stream("participants")
    for before, after in pairwise(rounds):
        here = coins.random(20) < participation if participation < 1 else None
        moved = replace(handle(users), taking_part=here).sums(users, before, NamedSum("moved", 0.5))[0].value
        np.testing.assert_allclose(shared(after), shared(before) + moved / (participation * 20), rtol=0, atol=1e-12)
        assert np.abs(moved).max() > 0.01
    if name != "pmtl":
        draws = SampleDraws("reuse", 8, make_task(users, fixed_noise()).stream("samples"))
        drawn = [[draws.take(4)[0] for _ in range(2)] for _ in rounds]
        place = 2 if name == "ppsgd" else 1
        np.testing.assert_array_equal([contribution.args[place] for contribution in rounds], drawn)


def test_a_head_that_overflowed_keeps_its_last_sound_value(rng):
    model = rng.standard_normal((7, 2))
    # In the domain, and the steps overflow.
    wild = fake_users(1e11 * np.ones((8, 1, 6)), np.ones((8, 1)), np.ones((1, 2)))
    (block,) = wild.blocks()
    wild = partial(ppsgd.displacements, 1e30 * model, UserRows(np.full((1, 2), 0.25)), BATCHES * 20, 1.0, 1.0)
    np.testing.assert_array_equal(wild(block)[1].rows, 0.25)


def test_a_fit_keeps_the_heads_of_those_who_stay_away():
    """Round by round, with the coins: PPSGD starts from a user's last own head, 0 until it takes part."""
    users = recut(Users(PROBLEM), 7)
    coins = make_task(users, fixed_noise()).stream("participants")
    rounds = asked("ppsgd", users, rounds=4, participation=0.4)
    (block,) = Users(PROBLEM).blocks()
    heads = np.zeros((20, 2))
    for contribution in rounds:
        np.testing.assert_allclose(contribution.args[1].rows, heads, rtol=0, atol=1e-12)
        found = contribution(block)[1].rows
        heads = np.where((coins.random(20) < 0.4)[:, None], found, heads)
    assert 0 < (heads == 0).all(axis=1).sum() < 10


# The server: what a sum is divided by, and rounds in which nobody takes part


TWELVE = fake_users(np.zeros((1, 12, 4)), np.zeros((1, 12)), np.zeros((12, 2)))


@pytest.mark.parametrize("divide_by", ["realised", "expected"])
def test_an_empty_round_has_no_mean(divide_by):
    """Divided by |C_t| = 0: an error before anything is released. Over p n it is noise alone."""
    ledger = Ledger()
    release = handle(TWELVE, 1.3, ledger=ledger, participants=np.random.default_rng(0))

    def mean() -> np.ndarray:
        server = Server(5, 0.7, 1e-12, divide_by)
        return server.mean("update", TWELVE, lambda block: Rows(np.ones((block.users, 4))), release)

    if divide_by == "expected":
        assert np.isfinite(mean()).all() and len(ledger.entries) == 1
        return
    with pytest.raises(ArithmeticError, match=r"^nobody takes part in a round"):
        mean()
    assert not ledger.entries


def test_two_handles_of_one_round_are_apart():
    """The divisor is that of the handle whose sum it divides: |C_t| of those in it, also of a part of the users."""
    server = Server(1, 0.7, 0.5, "realised")
    release = handle(TWELVE, participants=np.random.default_rng(3))
    handles = [server.handle(release.of(part)) for part in (range(12), range(3, 9))]
    assert [len(each.taking_part) for each in handles] == [12, 6]
    assert [server.divisor(each) for each in handles] == [each.taking_part.sum() for each in handles]
    assert [replace(server, divide_by="expected").divisor(each) for each in handles] == [6.0, 3.0]
