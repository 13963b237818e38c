"""Games in which an adversary sees less than in `privrep.audits.audit`: the released subspace of the end alone,
or a single run.

    subspace   the adversary has run the mechanism in both worlds often, and tells its last subspaces apart linearly
    one run    all users are canaries, a coin each; after one run the adversary guesses all coins

From one run (Steinke, Nasr and Jagielski 2023, Theorem 5.2): where the mechanism is (epsilon, delta)-DP for each coin,
so many of m guesses are right with probability at most that of a binomial with success 1 / (1 + e^-epsilon), and 2 m
delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from scipy.optimize import brentq

from privrep.audits.audit import AUDITED, OfAMethod, Stage, mechanism, worst
from privrep.audits.canaries import Background, Canary, unit_vectors
from privrep.audits.distinguishing import LEVEL, Game, PrivacyClaim, play
from privrep.audits.replay import GaussianRecord, Transcript, recorded, streams
from privrep.data.given_users import GivenUsers
from privrep.data.problem import Problem
from privrep.fitting.method import Method, Outcome, Task
from privrep.fitting.options import Declared, among, check_count, option
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release

GAMES = ("subspace", "one run")
RIDGE = 1e-3
"""Of the covariance in the linear rule, as a share of its mean variance."""


def projector(stage: Stage, world: int, run: int) -> np.ndarray:
    """The last released subspace of a run, as the upper triangle of its projector.

    Parameters
    ----------
    stage : the mechanism.
    world : played, 0 or 1.
    run : number of its noise, >= 0.
    """
    users = stage.worlds[world]
    allowed = stage.method.cost.at(stage.multiplier)
    release = Release(stage.multiplier, Ledger(), range(users.known.users), streams(run, stage.seed), allowed)
    for last in stage.method.fit(users, release):
        pass
    whole = last.subspace @ last.subspace.T
    return whole[np.triu_indices(len(whole))]


def subspace_game(stage: Stage, runs: int, seed: int) -> Game:
    """The adversary learns from as many runs of its own as are played.

    Parameters
    ----------
    stage : the mechanism.
    runs : that are played, at least 4.
    seed : of the coins.
    """
    learnt = [np.array([projector(stage, world, 2 * run + world) for run in range(runs // 2)]) for world in (0, 1)]
    middles = [part.mean(axis=0) for part in learnt]
    spread = sum(np.cov(part.T) for part in learnt) / 2
    spread += RIDGE * np.trace(spread) / len(spread) * np.eye(len(spread))
    rule = np.linalg.solve(spread, middles[0] - middles[1])
    threshold = rule @ (middles[0] + middles[1]) / 2

    def score(first: bool, run: int) -> float:
        return float(rule @ projector(stage, 0 if first else 1, 2 * runs + run) - threshold)

    return play(score, runs, np.random.default_rng([seed, 3]))


def turned(canary: Canary, turn: np.ndarray) -> Canary:
    """All samples of a user, turned.

    Parameters
    ----------
    canary : the user.
    turn : (d, d) orthogonal.
    """
    return Canary(canary.features @ turn, canary.labels)


def exact(transcript: Transcript) -> np.ndarray:
    """All statistics of a run, in units of the claimed noise.

    Parameters
    ----------
    transcript : of a run.
    """
    return np.concatenate([one.exact for one in transcript.records if isinstance(one, GaussianRecord)])


def one_run_game(
    method: Method, pair: tuple[Canary, Canary], problem: Problem, multiplier: float, seed: int
) -> tuple[Game, Ledger]:
    """Coins of all users from one run.

    Parameters
    ----------
    method : that is run once.
    pair : two users that it tells apart, of whom every canary is a turned copy.
    problem : whose sizes the users have.
    multiplier : noise sd over sensitivity, > 0.
    seed : of turns, coins and noise.
    """
    rng = np.random.default_rng([seed, 4])
    turns = [np.linalg.qr(unit_vectors(problem.dim, problem.dim, rng))[0] for _ in range(problem.users)]
    canaries = [[turned(one, turn) for turn in turns] for one in pair]
    features = [np.stack([one.features for one in part], axis=1) for part in canaries]
    labels = [np.stack([one.labels for one in part], axis=1) for part in canaries]
    coins = rng.random(problem.users) < 0.5

    def background(first: np.ndarray) -> GivenUsers:
        chosen = np.where(first[:, None], features[0], features[1]), np.where(first, labels[0], labels[1])
        return GivenUsers(problem.known, *chosen)

    transcript, ledger = recorded(method, background(coins), multiplier, streams(0, seed))

    def told(first: np.ndarray) -> np.ndarray:
        return exact(recorded(method, background(first), multiplier, streams(0, seed), transcript)[0])

    everybody = np.ones(problem.users, bool)
    all_first = told(everybody)
    middle = (all_first + told(~everybody)) / 2
    # What one canary adds, given the answers, does not depend on the other coins: sums over users.
    apart = np.array([all_first - told(np.arange(problem.users) != user) for user in range(problem.users)])
    # To one canary the coins of the others are noise beside that of the mechanism.
    seen = np.concatenate([one.noisy for one in transcript.records if isinstance(one, GaussianRecord)]) - middle
    scores = apart @ np.linalg.solve(np.eye(apart.shape[1]) + apart.T @ apart / 4, seen)
    return Game(coins, scores, (scores > 0) == coins), ledger


def epsilon_of_one_run(right: int, guesses: int, delta: float) -> float:
    """Empirical epsilon from the right guesses of one run; 0 where chance does as well.

    Parameters
    ----------
    right : guesses out of `guesses`, >= 0.
    guesses : of coins, at least 1.
    delta : in (0, 1).

    References
    ----------
    Steinke, Nasr and Jagielski 2023, Theorem 5.2.
    """
    allowed = 1 - LEVEL - 2 * guesses * delta

    def excess(epsilon: float) -> float:
        return float(scipy.stats.binom.sf(right - 1, guesses, 1 / (1 + math.exp(-epsilon)))) - allowed

    return brentq(excess, 0.0, 50.0) if excess(0.0) < 0 < excess(50.0) else 0.0


class WeakerGame(OfAMethod):
    """A game on a mechanism."""

    def run(self, task: Task) -> Outcome:
        """Guesses, and the limit of epsilon that they give. Parameters as in `Experiment.run`."""
        options, problem, delta = self.options, task.users.problem, task.budget.delta
        multiplier, seed = self.begun(task)
        pair, _ = worst(options.mechanism, problem, multiplier, options.draws, options.changes, seed)
        if options.game == "one run":
            game, ledger = one_run_game(self.audited, pair, problem, multiplier, seed)
            low = epsilon_of_one_run(int(game.right.sum()), len(game.right), delta)
        else:
            background = Background.drawn(problem, np.random.default_rng([seed, 0]))
            stage = Stage(self.audited, tuple(map(background.with_user, pair)), multiplier, seed)
            game, ledger = subspace_game(stage, options.runs, seed), stage.run(0, 0).ledger
            low = PrivacyClaim(ledger).epsilon_at(game.low(), delta)
        task.ledger.entries.extend(ledger.entries)
        return Outcome(
            log={
                "noise_multiplier": multiplier,
                "guesses": len(game.right),
                "share_right": game.share,
                "share_attainable": PrivacyClaim(ledger).right(),
                "epsilon_low": low,
            }
        )


@dataclass(frozen=True)
class WeakerGamesOptions(Declared):
    """Options of a weaker game."""

    mechanism: str = option("what is audited, see privrep.audits.audit", among(AUDITED))
    game: str = option(
        "what the adversary sees: the last subspace alone, or one run in which all users are canaries", among(GAMES)
    )
    runs: int = option("runs of the game on the subspace", check_count, 1000)
    draws: int = option("pairs of users that the adversary draws", check_count, 100)
    changes: int = option("changes of one sample that the adversary tries", check_count, 100)
    numbers: ClassVar = {
        "guesses": "guesses of the adversary",
        "share_right": "attack accuracy in the game",
        "share_attainable": "the share of the best adversary against the ledger, who sees everything",
        "epsilon_low": "empirical epsilon: lower 95 % limit from the attack accuracy",
    }

    def experiment(self, problem: Problem) -> WeakerGame:
        return WeakerGame(self, mechanism(self.mechanism, problem))
