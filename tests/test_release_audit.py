"""What an adversary can tell from the releases of CENTAUR: never more than the ledger says, and all of it.

A distinguishing game on whole runs: the adversary knows everybody's data, sees all releases, and tells which of two users took
part. Its score is the log-likelihood ratio, so its means differ by mu standard deviations, with mu = 2 sqrt(T) / sigma_g for T rounds
(replacement of a user; the printed Remark 4.1 would have half of it). Faults put in on purpose must be noticed.
"""

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from conftest import FALSE_ALARM, door, fake_users, fixed_noise, make_task
from pieces import clip_outer
from scipy import stats

from privrep.algorithms.centaur import Options, representation_gradients
from privrep.algorithms.parts.server import Server
from privrep.data.given_users import GivenUsers
from privrep.data.problem import Problem
from privrep.data.subspace import orthonormalise, random_subspace
from privrep.fitting.runner import fit
from privrep.privacy.accounting import composed_epsilon
from privrep.privacy.contributions import Outer, Rows
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release

BOUND = 0.4
# Telling two users apart from all rounds of a run

DIM, RANK, BATCH, ROUNDS, MULTIPLIER, RUNS = 4, 2, 2, 4, 0.7, 200
CENTAUR = Options(
    rounds=ROUNDS, clip=BOUND, batch_samples=BATCH, clip_scale="absolute", init="random", sample_use="fresh"
)
CLAIMED = math.sqrt(ROUNDS) / MULTIPLIER
"""2 sqrt(T) / sigma_g with sigma_g = 2 noise multipliers."""


def two_worlds():
    """Two data sets of four users that differ in the first one, whose gradients are opposite and clipped in every round.

    Fresh samples come in order, so the adversary knows which serve the heads and which the gradients. The former are the same in
    both worlds, hence the heads. The latter have labels of 1e6 and -1e6, next to which any prediction is small.
    """
    rng = np.random.default_rng(12)
    samples = 2 * BATCH * ROUNDS
    features = rng.standard_normal((samples, 4, DIM))
    labels = rng.standard_normal((samples, 4))
    worlds = []
    for sign in (1.0, -1.0):
        changed = labels.copy()
        changed[np.arange(samples) % (2 * BATCH) >= BATCH, 0] = sign * 1e6
        worlds.append(fake_users(features, changed, np.zeros((4, RANK))))
    return worlds


def contributions(users, basis: np.ndarray, t: int) -> tuple[np.ndarray, np.ndarray]:
    """What the first user and the others add to round t."""
    (block,) = users.blocks()
    first = np.arange(2 * BATCH * t, 2 * BATCH * t + BATCH)
    left, heads = representation_gradients(block, first, first + BATCH, basis)
    own = np.arange(4) == 0
    return tuple(clip_outer(left, heads, BOUND, who) for who in (own, ~own))


@dataclass(frozen=True)
class Game:
    """Scores of the adversary in both worlds."""

    first: np.ndarray
    second: np.ndarray

    @property
    def separation(self) -> float:
        """Distance of the mean scores in standard deviations: mu of the releases."""
        spread = math.sqrt((self.first.var(ddof=1) + self.second.var(ddof=1)) / 2)
        return float((self.first.mean() - self.second.mean()) / spread)

    @property
    def error(self) -> float:
        """What `separation` misses mu by with probability FALSE_ALARM on each side, for normal scores."""
        return stats.norm.isf(FALSE_ALARM) * math.sqrt(2 / len(self.first) * (1 + self.separation**2 / 8))


released_sum = Release._gaussian


def play(monkeypatch, release=released_sum) -> Game:
    """Run CENTAUR many times in each world and score the released sums, given all data but the world.

    The subspaces of the rounds are computed from the releases: the start is public, and the rest is post-processing.
    """
    worlds, released, scores = two_worlds(), [], ([], [])

    def spying(*arguments):
        found = release(*arguments)
        released.extend(found)
        return found

    monkeypatch.setattr(Release, "_gaussian", spying)
    for world, found in zip(worlds, scores, strict=True):
        for run in range(RUNS):
            released.clear()
            task = make_task(world, fixed_noise(MULTIPLIER), noise_seed=run)
            fit(CENTAUR, task)
            assert task.ledger.mu == pytest.approx(CLAIMED, rel=1e-12)
            basis, score = random_subspace(DIM, RANK, task.stream("init")), 0.0
            for t, total in enumerate(released):
                (plus, rest), (minus, _) = (contributions(users, basis, t) for users in worlds)
                score += float(((total - rest - (plus + minus) / 2) * (plus - minus)).sum())
                basis = orthonormalise(basis - CENTAUR.step * total / 4)
            found.append(score)
    return Game(*map(np.array, scores))


def test_the_adversary_gains_what_the_ledger_says(monkeypatch):
    """mu = 2 sqrt(T) / sigma_g: not more, and not less. The printed sqrt(T) / sigma_g of Remark 4.1 is exceeded (E10)."""
    (plus, _), (minus, _) = (
        contributions(users, random_subspace(DIM, RANK, np.random.default_rng(0)), 2) for users in two_worlds()
    )
    assert np.linalg.norm(plus - minus) == pytest.approx(2 * BOUND, rel=1e-4)
    game = play(monkeypatch)
    assert abs(game.separation - CLAIMED) < game.error
    assert game.separation - CLAIMED / 2 > game.error
    for wrong in (CLAIMED / 2, CLAIMED / ROUNDS**0.5, CLAIMED * 2**0.5):
        assert abs(game.separation - wrong) > game.error


def noise_over_root_two(door, *arguments):
    """A mechanism that adds less noise than it reports."""
    quiet = replace(door, whole=door.whole / 2**0.5, ledger=Ledger())
    real = released_sum(quiet, *arguments)
    released_sum(door, *arguments)
    return real


def test_too_little_noise_is_flagged(monkeypatch):
    game = play(monkeypatch, noise_over_root_two)
    assert game.separation - CLAIMED > game.error


def test_a_sum_clipped_too_late_is_flagged(monkeypatch):
    """Updates of twice the clip in the sum, noise and ledger for the clip."""
    real = Outer.clipped
    monkeypatch.setattr(Outer, "clipped", lambda self, clip, there=None: real(self, 2 * clip, there))
    game = play(monkeypatch)
    assert game.separation - CLAIMED > game.error


# Telling two users apart when they take part at random

RATE, SAMPLED_ROUNDS = 0.4, 20_000


@cache
def sampled_sums(sign: float, taking_part: float = RATE) -> np.ndarray:
    """Released sums of many rounds in which one user, far beyond the clip on the side of `sign`, takes part with probability `taking_part`."""
    server = Server(SAMPLED_ROUNDS, BOUND, taking_part)
    alone = GivenUsers(Problem(1, 1, 1, 1), np.zeros((1, 1, 1)), np.zeros((1, 1)))
    noise, coins = (np.random.default_rng([stream, int(sign > 0)]) for stream in (5, 6))
    ledger = Ledger()
    release = door(1, MULTIPLIER, noise, ledger, coins)
    means = [
        server.mean("update", alone, lambda block: Rows(np.full((block.users, 1), 9 * sign)), release)
        for _ in range(server.rounds)
    ]
    sums = taking_part * np.array(means)[:, 0]
    assert len(ledger.entries) == SAMPLED_ROUNDS
    ((mu, rate),) = {(entry.mu, entry.rate) for entry in ledger.entries}
    assert mu == pytest.approx(1 / MULTIPLIER, rel=1e-12)
    assert rate == taking_part
    return sums


def density(x: np.ndarray, sign: float) -> np.ndarray:
    """Of a released sum, as accounted."""
    sd = 2 * BOUND * MULTIPLIER
    return (1 - RATE) * stats.norm.pdf(x, 0, sd) + RATE * stats.norm.pdf(x, sign * BOUND, sd)


def excess(x: np.ndarray, epsilon: float) -> np.ndarray:
    """p - e^eps p'; the best set S is where this is positive."""
    return density(x, 1) - math.exp(epsilon) * density(x, -1)


@pytest.mark.parametrize("epsilon", [0.05, 0.4, 0.8])
def test_random_participation_hides_as_much_as_accounted(epsilon):
    """P(S) - e^eps P'(S) for the best set S, by frequencies, is delta(eps); with everybody taking part it is far more."""
    grid = np.linspace(-8, 8, 200_001)
    delta = float(np.trapezoid(np.maximum(excess(grid, epsilon), 0), grid))
    assert composed_epsilon(((1 / MULTIPLIER, RATE),), delta) == pytest.approx(epsilon, abs=1e-3)
    for taking_part in (RATE, 1.0):
        inside, other = (excess(sampled_sums(sign, taking_part), epsilon) > 0 for sign in (1, -1))
        advantage = inside.mean() - math.exp(epsilon) * other.mean()
        variance = (inside.var() + math.exp(2 * epsilon) * other.var()) / SAMPLED_ROUNDS
        limit = stats.norm.isf(FALSE_ALARM) * math.sqrt(variance)
        assert (abs(advantage - delta) < limit) == (taking_part == RATE)
