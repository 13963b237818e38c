"""The server of shen2023: who takes part, what is summed, the noise on the mean, and what the ledger records."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from conftest import fake_users, handle

from privrep.methods.steps.server import Server
from privrep.privacy.accounting import gdp_epsilon
from privrep.privacy.contributions import Rows
from privrep.privacy.ledger import Ledger

USERS, DIM, RANK = 12, 4, 2
CLIP, MULTIPLIER = 0.7, 1.3


def clip(matrix: np.ndarray, bound: float) -> np.ndarray:
    """clip(a; c) = a min(1, c / ||a||)."""
    norm = np.linalg.norm(matrix)
    return matrix if norm <= bound else matrix * (bound / norm)


def blank_users(count: int = USERS, block_size: int | None = None):
    """Users without data, for contributions that look at their numbers only."""
    return fake_users(np.zeros((1, count, DIM)), np.zeros((1, count)), np.zeros((count, RANK)), block_size)


@dataclass(frozen=True, eq=False)
class Attended(Rows):
    """Rows that keep who took part when they were clipped."""

    start: int = 0
    seen: list | None = None

    def clipped(self, clip, there):
        if self.seen is not None:
            everybody = np.ones(len(self.values), bool)
            assert there is None or (there.dtype == bool and there.shape == everybody.shape)
            self.seen.append((self.start, everybody if there is None else there.copy()))
        return super().clipped(clip, there)


def given_updates(updates: np.ndarray, seen: list | None = None):
    """What users add: given updates (n, d, k)."""
    return lambda block: Attended(updates[block.start :][: block.users], start=block.start, seen=seen)


def run(server: Server, updates=None, *, users=None, multiplier=MULTIPLIER, seed=0, seen=None, aggregate=None):
    """The states of a run (rounds, d, k), by default the noisy means, its ledger, and the generator of participants
    after it.

    What users add follows the state where they are told how to `aggregate` it.
    """
    users = blank_users() if users is None else users
    updates = np.zeros((users.known.users, DIM, RANK)) if updates is None else updates
    ledger = Ledger()
    participants = np.random.default_rng([seed, 1])
    release = handle(users, multiplier, np.random.default_rng([seed, 0]), ledger, participants)
    state, states = np.zeros((DIM, RANK)), []
    for _ in range(server.rounds):
        contribution = given_updates(updates + state if aggregate else updates, seen)
        mean = server.mean("update", users, contribution, release)
        state = aggregate(state, mean) if aggregate else mean
        states.append(state)
    return np.array(states), ledger, participants


def drawn(rounds: int, rate: float, users: int = USERS, seed: int = 0) -> np.ndarray:
    """Who takes part in each round, from a copy of the generator of participants; (rounds, n)."""
    generator = np.random.default_rng([seed, 1])
    return np.array([generator.random(users) < rate for _ in range(rounds)])


# The mean


@pytest.mark.parametrize("multiplier", [0.0, MULTIPLIER])
def test_a_mean_is_the_noisy_sum_over_p_n_or_those_who_took_part(multiplier, rng):
    """Of the clipped updates, with noise of sd 2 clip multiplier on each entry of each round from one generator."""
    updates = rng.standard_normal((USERS, DIM, RANK)) * rng.uniform(0, 1, (USERS, 1, 1))
    norms = np.linalg.norm(updates, axis=(1, 2))
    assert 0.2 < (norms > CLIP).mean() < 0.8
    clipped = np.array([clip(update, CLIP) for update in updates])
    for rate in (1.0, 0.5):
        took_part = drawn(6, rate) if rate < 1 else np.ones((6, USERS), bool)
        sums = np.array([clipped[each].sum(axis=0) for each in took_part])
        sums += np.random.default_rng([0, 0]).normal(0, 2 * CLIP * multiplier, sums.shape)
        means, _, _ = run(Server(6, CLIP, rate), updates, multiplier=multiplier)
        np.testing.assert_allclose(means, sums / (rate * USERS), atol=1e-12)
        means, _, _ = run(Server(6, CLIP, rate, "realised"), updates, multiplier=multiplier)
        np.testing.assert_allclose(means, sums / took_part.sum(axis=1)[:, None, None], atol=1e-12)


# Who takes part


@pytest.mark.parametrize("divide_by", ["expected", "realised"])
def test_who_takes_part_does_not_depend_on_data(divide_by, rng):
    """The same users, whatever the updates, the state, the noise and the blocks are."""
    server = Server(30, CLIP, 0.5, divide_by)
    masks = []
    variants = [
        {},
        {"updates": rng.standard_normal((USERS, DIM, RANK)) * 1e6},
        {"multiplier": 0.0},
        {"aggregate": lambda state, mean: state + 5 + mean},
        {"users": blank_users(block_size=5)},
        {"users": blank_users(block_size=1)},
    ]
    for variant in variants:
        seen = []
        run(server, seen=seen, **variant)
        masks.append(np.concatenate([mask for _, mask in seen]).reshape(30, USERS))
    for mask in masks:
        np.testing.assert_array_equal(mask, drawn(30, 0.5))


def test_an_empty_round_has_no_mean():
    """Divided by |C_t| = 0: an error before anything is released. Over p n it is noise alone."""
    server = Server(5, CLIP, 1e-12, "realised")
    ledger = Ledger()
    release = handle(USERS, MULTIPLIER, ledger=ledger, participants=np.random.default_rng(0))
    with pytest.raises(ArithmeticError, match=r"^nobody takes part in a round"):
        server.mean("update", blank_users(), given_updates(np.zeros((USERS, DIM, RANK))), release)
    assert not ledger.entries
    means, ledger, _ = run(Server(5, CLIP, 1e-3))
    assert np.isfinite(means).all()
    assert len(ledger.entries) == 5


def test_two_handles_of_one_round_are_apart():
    """The divisor is that of the release handle whose sum it divides: |C_t| of those who took part there,
    also of a part of the users."""
    server = Server(1, CLIP, 0.5, "realised")
    release = handle(USERS, participants=np.random.default_rng(3))
    handles = [server.handle(release.of(part)) for part in (range(USERS), range(3, 9))]
    assert [len(each.taking_part) for each in handles] == [USERS, 6]
    assert [server.divisor(each) for each in handles] == [each.taking_part.sum() for each in handles]
    assert [replace(server, divide_by="expected").divisor(each) for each in handles] == [0.5 * USERS, 3.0]


# The ledger


@pytest.mark.parametrize(
    ("rate", "divide_by", "recorded"),
    [(1.0, "expected", 1.0), (0.4, "expected", 0.4), (1.0, "realised", 1.0), (0.4, "realised", 1.0)],
)
def test_the_ledger_of_a_run(rate, divide_by, recorded):
    """One entry a round about all users: sensitivity 2 clip, noise as drawn;
    a gain from sampling only if divided by p n (E51)."""
    _, ledger, _ = run(Server(7, CLIP, rate, divide_by))
    assert len(ledger.entries) == 7
    for entry in ledger.entries:
        assert (entry.name, entry.start, entry.stop, entry.rate) == ("update", 0, USERS, recorded)
        assert entry.sensitivity == pytest.approx(2 * CLIP, rel=1e-14)
        assert entry.noise_sd == pytest.approx(2 * CLIP * MULTIPLIER, rel=1e-14)
    # sigma_g = 2 multiplier, and replacing a user costs mu = 2 sqrt(T) / sigma_g.
    assert ledger.mu == pytest.approx(2 * math.sqrt(7) / (2 * MULTIPLIER), rel=1e-12)
    plain = gdp_epsilon(ledger.mu, 1e-6)
    if recorded < 1:
        assert 0 < ledger.epsilon(1e-6) < 0.8 * plain
    else:
        assert ledger.epsilon(1e-6) == plain
