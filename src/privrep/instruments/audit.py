"""An audit of a mechanism, run whole: how far two users can be told apart, against what its ledger says.

    replay    the worst pair of users found: their distance under one history, over the ledger's mu; at most 1
    ledger    as many entries as releases
    noise     released minus exact, in units of the claimed noise: standard normal, new in each release and each run
    game      a guess which of the two took part, by the likelihood ratio; its exact lower limit of mu is at most the ledger's

A mutant is the same mechanism behind a door that is wrong on purpose. Full participation; Gaussian releases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import ClassVar

import numpy as np
from scipy.stats import chi2, norm

from privrep.algorithms.method import Method, Outcome, Task, check_choice, check_count, load_options
from privrep.data.problem import Problem
from privrep.instruments.canaries import Crowd, Pair, worst_pair
from privrep.instruments.distinguishing import attainable, play
from privrep.instruments.network_rounds import NetworkRounds
from privrep.instruments.replay import apart, log_ratio, noises, streams, taped
from privrep.privacy.accounting import Cost, gdp_epsilon
from privrep.privacy.ledger import Ledger

CLIPS = {"clip_feature": 1.0, "clip_label": 1.0, "clip_scale": "absolute"}
START = {"init": "spectral", "split": "halves-then-all", "init_label_clip": 1.0}
LOCAL = {"rounds": 3, "clip": 0.4, "batch_samples": 4, "local_steps": 2, "local_step": 0.1}
AUDITED = {
    "altmin": ("altmin", START | CLIPS),
    "altmin, users clipped": ("altmin", START | CLIPS | {"clip_unit": "user"}),
    "altmin, all pairs": ("altmin", START | CLIPS | {"init_pairs": "all"}),
    "spectral_init": ("spectral_init", {"init_label_clip": 1.0, "clip_scale": "absolute"}),
    "gradient_descent": (
        "gradient_descent",
        {"init": "random", "split": "text", "clip_feature": 0.5, "step": 1.0, "epochs": 2},
    ),
    "power_method": ("power_method", {"iterations": 1, "init_clip": 0.7, "starts": 1, "clip_scale": "absolute"}),
    "power_method, iterated": (
        "power_method",
        {"iterations": 3, "init_clip": 0.7, "starts": 1, "clip_scale": "absolute"},
    ),
    "centaur": (
        "centaur",
        {"rounds": 3, "clip": 0.4, "batch_samples": 2, "clip_scale": "absolute", "init": "random"}
        | {"sample_use": "fresh"},
    ),
    "general_centaur": ("general_centaur", LOCAL),
    "dp_fedavg": ("dp_fedavg", LOCAL),
    "ppsgd": ("ppsgd", LOCAL | {"personal_step": 0.1}),
    "pmtl": ("pmtl", {"rounds": 3, "clip": 0.4}),
    "private_fedrep": ("private_fedrep", {"rounds": 3}),
    "single_model": ("single_model", {"method": "moments", "clip_feature": 1.0, "clip_label": 1.0}),
    "full_prior": ("full_prior", {}),
    "unit_steps": ("unit_steps", {}),
}
"""Mechanism -> algorithm and options; thresholds are those at which the canaries are clipped."""
NETWORKS = "rounds of networks"
"""Audited, too: `privrep.instruments.network_rounds`."""
MUTANTS = {
    "none": {},
    "half the noise": {"quiet": 0.5},
    "half the sensitivity": {"charged": 0.5},
    "noise repeated over rounds": {"repeats": True},
    "noise of one seed": {},
    "a release uncharged": {},
}
"""What is wrong with the door. Half the sensitivity: noise for adding or removing a user, or a clip at twice its bound."""
HISTORIES = 2
"""Runs over whose noise the distance of a pair of users is averaged when the worst pair is sought."""
ROUNDING = 1e-5
"""Of float32 data."""
SURE = 1e-6
"""A noise check alarms below this p-value."""
GAME_ALARM = 0.9999
"""Level of the lower limit at which the game alarms."""
SEVERAL = ("noise repeated over rounds", "a release uncharged")
"""Mutants of mechanisms with more than one release."""


def mechanism(name: str, problem: Problem) -> Method:
    """The method that is audited."""
    if name == NETWORKS:
        return NetworkRounds()
    algorithm, options = AUDITED[name]
    return load_options(algorithm, options).build(problem)


@cache
def worst(name: str, problem: Problem, multiplier: float, draws: int, changes: int, seed: int) -> tuple[Pair, float]:
    """The worst pair of users of a mechanism behind an honest door, and its distance over the ledger's mu."""
    method, crowd = mechanism(name, problem), Crowd.drawn(problem, np.random.default_rng([seed, 0]))

    def score(pair: Pair) -> float:
        first, second = map(crowd.with_user, pair)
        found = []
        for run in range(HISTORIES):
            tape, ledger = taped(method, first, multiplier, streams(run, seed))
            found.append(apart(tape, taped(method, second, multiplier, streams(run, seed), tape)[0]) / ledger.mu)
        return float(np.mean(found))

    return worst_pair(score, problem, draws, changes, np.random.default_rng([seed, 1]))


def noise_alarm(runs: list[list[np.ndarray]]) -> float:
    """Smallest p-value, times the number of looks, of: the variance; the correlation of releases of one run; that of successive runs.

    runs : what was added to each release of each run, in units of the claimed noise.
    """
    everything = np.concatenate([np.concatenate(run) for run in runs])
    tail = chi2.cdf((everything**2).sum(), len(everything))
    looks = [2 * min(tail, 1 - tail)]
    in_turn = [pair for run in runs for pair in pairwise(run)]
    run_by_run = list(pairwise(map(np.concatenate, runs)))
    for pairs in (in_turn, run_by_run):
        if pairs:
            pairs = [(a[: len(b)], b[: len(a)]) for a, b in pairs]
            left, right = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
            score = (left @ right) / np.sqrt((left @ left) * (right @ right)) * np.sqrt(len(left))
            looks.append(2 * norm.sf(abs(score)))
    return float(min(looks)) * len(looks)


@dataclass(frozen=True)
class Audit:
    """The audit of a mechanism."""

    options: Options
    audited: Method
    theorem = None

    @property
    def cost(self) -> Cost:
        return self.audited.cost

    def run(self, task: Task) -> Outcome:
        """All four checks. The task's own users are not read: the canaries and their crowd are made up."""
        options, problem = self.options, task.users.problem
        multiplier = task.budget.noise_multiplier(self.cost, self.theorem)
        seed = int(task.stream("init").integers(2**31))
        pair, honest = worst(options.mechanism, problem, multiplier, options.draws, options.changes, seed)
        crowd = Crowd.drawn(problem, np.random.default_rng([seed, 0]))
        worlds = [crowd.with_user(one) for one in pair]
        wrong, kept, distances = MUTANTS[options.mutant], [], []

        def one_run(world: int, run: int, tape=None):
            run = 0 if options.mutant == "noise of one seed" else run
            return taped(self.audited, worlds[world], multiplier, streams(1 + run, seed), tape, **wrong)

        def score(first: bool, run: int) -> float:
            world = 0 if first else 1
            tape, _ = one_run(world, run)
            kept.append(noises(tape))
            other, _ = one_run(1 - world, run, tape)
            distances.append(apart(tape, other))
            return log_ratio(tape, other) * (1 if first else -1)

        tape, ledger = one_run(0, 0)
        releases = len(tape.taken)
        if releases == 1 and options.mutant in SEVERAL:
            return Outcome(log={"noise_multiplier": multiplier})
        if options.mutant == "a release uncharged":
            ledger = Ledger(ledger.entries[:-1])
        for entry in ledger.entries:
            task.ledger.record(entry)
        game = play(score, options.runs, np.random.default_rng([seed, 2]))
        attained, alarm = float(np.mean(distances)) / ledger.mu, noise_alarm(kept)
        delta = task.budget.delta
        caught = {
            "replay": max(distances) > ledger.mu * (1 + ROUNDING),
            "ledger": len(ledger.entries) != releases,
            "noise": alarm < SURE,
            "game": game.mu(GAME_ALARM) > ledger.mu,
        }
        return Outcome(
            log={
                "noise_multiplier": multiplier,
                "attained": attained,
                "attained_honest": honest,
                "noise_alarm": alarm,
                "right": game.right,
                "share_right": game.right / game.runs,
                "share_attainable": attainable(ledger.mu),
                "mu_low": game.mu(),
                "epsilon_low": gdp_epsilon(game.mu(), delta) if game.mu() else 0.0,
                "caught": float(any(caught.values())),
            }
            | {f"caught_{name}": float(found) for name, found in caught.items()}
        )


@dataclass(frozen=True)
class Options:
    """Options of an audit.

    Parameters
    ----------
    mechanism : one of `AUDITED`, or `NETWORKS`. mutant : one of `MUTANTS`. runs : of the game. draws, changes : of the search for the canaries.
    """

    mechanism: str
    mutant: str = "none"
    runs: int = 1000
    draws: int = 300
    changes: int = 400
    scores = ()
    columns: ClassVar = {
        "mechanism": "what is audited, see privrep.instruments.audit",
        "mutant": "what is wrong with its door, on purpose",
        "runs": "runs of the distinguishing game",
        "draws": "pairs of users that the adversary draws",
        "changes": "changes of one sample that the adversary tries",
        "attained": "distance of the canaries under one history over the ledger's mu, mean over the runs; above 1 is a fault",
        "attained_honest": "the same behind an honest door in the runs for which the canaries were sought",
        "noise_alarm": "smallest p-value of the looks at the noise, times their number",
        "right": "right guesses in the game",
        "share_right": "their share",
        "share_attainable": "the share of the best adversary against the ledger's mu",
        "mu_low": "lower 95 % limit of mu from the game",
        "epsilon_low": "epsilon at that mu",
        "caught": "1 where a check found a fault; nothing where the mutant needs more than one release",
        "caught_replay": "1 where the replay found it",
        "caught_ledger": "1 where the number of entries did",
        "caught_noise": "1 where the noise did",
        "caught_game": "1 where the game did",
    }

    def __post_init__(self):
        check_choice("mechanism", self.mechanism, (*AUDITED, NETWORKS))
        check_choice("mutant", self.mutant, tuple(MUTANTS))
        for name in ("runs", "draws", "changes"):
            check_count(name, getattr(self, name))

    def build(self, problem: Problem) -> Audit:
        """The audit for a problem."""
        return Audit(self, mechanism(self.mechanism, problem))
