"""What an adversary can tell from the rounds of a server in which users take part at random: as much as is accounted.

The other games are those of `privrep.audits`.
"""

import math
from functools import cache

import numpy as np
import pytest
from conftest import FALSE_ALARM, handle
from scipy import stats

from privrep.algorithms.parts.server import Server
from privrep.data.given_users import GivenUsers
from privrep.data.problem import Problem
from privrep.privacy.accounting import composed_epsilon
from privrep.privacy.contributions import Rows
from privrep.privacy.ledger import Ledger

BOUND = 0.4
MULTIPLIER = 0.7
RATE, SAMPLED_ROUNDS = 0.4, 20_000


@cache
def sampled_sums(sign: float, taking_part: float = RATE) -> np.ndarray:
    """Released sums of many rounds in which one user, far beyond the clip on the side of `sign`, takes part with
    probability `taking_part`."""
    server = Server(SAMPLED_ROUNDS, BOUND, taking_part)
    alone = GivenUsers(Problem(1, 1, 1, 1), np.zeros((1, 1, 1)), np.zeros((1, 1)))
    noise, coins = (np.random.default_rng([stream, int(sign > 0)]) for stream in (5, 6))
    ledger = Ledger()
    release = handle(1, MULTIPLIER, noise, ledger, coins)
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
    """P(S) - e^eps P'(S) for the best set S, by frequencies, is delta(eps); with everybody taking part it is far
    more."""
    grid = np.linspace(-8, 8, 200_001)
    delta = float(np.trapezoid(np.maximum(excess(grid, epsilon), 0), grid))
    assert composed_epsilon(((1 / MULTIPLIER, RATE),), delta) == pytest.approx(epsilon, abs=1e-3)
    for taking_part in (RATE, 1.0):
        inside, other = (excess(sampled_sums(sign, taking_part), epsilon) > 0 for sign in (1, -1))
        advantage = inside.mean() - math.exp(epsilon) * other.mean()
        variance = (inside.var() + math.exp(2 * epsilon) * other.var()) / SAMPLED_ROUNDS
        limit = stats.norm.isf(FALSE_ALARM) * math.sqrt(variance)
        assert (abs(advantage - delta) < limit) == (taking_part == RATE)
