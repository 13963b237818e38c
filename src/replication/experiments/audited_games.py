"""False alarms of the audits' guessing game, on uninformative scores and on scores as informative as an epsilon allows.

A false alarm is a lower limit above 0 on blind scores, above the true epsilon on calibrated ones; at most 5 % may be.
"""

from __future__ import annotations

import numpy as np

from privrep.methods.running.experiment import Spending, experiment
from privrep.methods.running.method import Task
from privrep.options import among, check_count, option
from privrep.privacy.accounting import Budget, gdp_mu
from privrep.privacy.ledger import GaussianRelease, Ledger
from privrep.privacy.mechanisms import GAUSSIAN_COST
from replication.experiments.auditing.distinguishing import Game, PrivacyClaim
from replication.experiments.columns import columns_of

SCORES = ("blind", "calibrated")
NEAR = 0.85  # a limit of at least this share of epsilon counts as near it


def game(mu: float, runs: int, rng: np.random.Generator) -> Game:
    """Draw a game whose scores are log-likelihood ratios of N(mu, 1) and N(0, 1); for mu = 0 guesses are coin flips."""
    first = rng.random(runs) < 0.5
    shown = np.where(first, mu / 2, -mu / 2) + rng.standard_normal(runs)
    return Game(first, mu * shown, (shown > 0) == first)


@experiment(
    columns_of("audited_games"),
    prepare=lambda options, problem: Spending(GAUSSIAN_COST, spends=0 * GAUSSIAN_COST),
)
def audited_games(
    task: Task,
    *,
    kind: str = option("scores: blind, or calibrated, as informative as epsilon allows", among(SCORES)),
    runs: int = option("runs of a game", check_count, 1000),
    repeats: int = option("games", check_count, 200),
) -> dict[str, float]:
    """Count false alarms in many games of one kind; no users are read, and nothing is released."""
    budget, rng = task.given, task.stream("scores")
    assert isinstance(budget, Budget)
    mu = gdp_mu(budget.epsilon, budget.delta)
    claim = PrivacyClaim(Ledger([GaussianRelease("score", mu, 1.0, 0, 1)]))
    shown, true = (0.0, 0.0) if kind == "blind" else (mu, budget.epsilon)
    limits = np.array([claim.epsilon_at(game(shown, runs, rng).low(), budget.delta) for _ in range(repeats)])
    return {
        "false_alarms": float((limits > true).sum()),
        "near": float(((limits >= NEAR * true) & (limits <= true)).sum()),
        "median_limit": np.median(limits),
    }
