"""An audit of a whole mechanism: how well its releases distinguish two users, compared with what its ledger claims.

    replay    distance of the worst pair of users found, given the same past answers, over the ledger's mu: at most 1
    ledger    number of its entries: equal to the number of releases
    budget    epsilon of the ledger: at most that of the budget
    noise     released minus exact values over the claimed sd: standard normal, drawn anew in each release and each run
    game      a guess which of the two users took part, by the likelihood ratio: the exact lower limit of mu is at most
              that of the ledger

A mutant is the same mechanism with an injected fault.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import inf

import numpy as np

from privrep.methods.running.experiment import Spending, experiment
from privrep.methods.running.method import Method, Task
from privrep.methods.running.registry import load_options, method_files
from privrep.methods.running.runner import declared
from privrep.options import among, check_count, option
from privrep.privacy.accounting import UNLIMITED, Budget, gdp_epsilon
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release
from privrep.users.given_users import GivenUsers
from privrep.users.simulated import Problem
from replication.experiments.auditing import replay
from replication.experiments.auditing.canaries import Pair, before_others, larger, worst_pair
from replication.experiments.auditing.distinguishing import PrivacyClaim, play
from replication.experiments.auditing.mechanisms import example_options, stated_options
from replication.experiments.auditing.mutants import MUTANTS, Mutant, clipped_by
from replication.experiments.auditing.network_rounds import NetworkRounds
from replication.experiments.auditing.noise_check import SURE, noise_alarm, noise_found
from replication.experiments.auditing.replay import INSIDE, OUTSIDE, Transcript, aligned, attained_mu, log_ratio, loss
from replication.experiments.columns import columns_of

AUDITED = stated_options("mechanisms")
"""Mechanism -> options, with clipping bounds at which the canaries (the worst pair of users) are clipped."""
OTHERS = tuple(name for name in method_files() if name not in AUDITED)  # audited with the example in their docstring
NETWORKS = "rounds of networks"  # a further mechanism: `replication.experiments.auditing.network_rounds`
NOT_BY_LIBRARY = (NETWORKS, "unit_steps", "full_prior", "exponential")  # a mutant cannot replace their clips
HISTORIES = 4  # runs over which the distance of a pair is averaged in the search for the worst pair
ROUNDING = 1e-5  # relative error of sums of float32 data
GAME_ALARM = 0.9999  # confidence level of the lower limit by which the game reports a fault
LARGER = (1.0, 10.0, 100.0)  # factors of the worst pair's features and labels; for a faulty clip the most revealing two
MUTANT_SHARE, FEWEST_RUNS = 10, 100
"""A mutant's game has a tenth of the runs, at least 100; all runs if only the game sees its fault (participation)."""


def mechanism(name: str, problem: Problem) -> Method:
    """Return an audited method, built for the sizes of a problem."""
    if name == NETWORKS:
        return NetworkRounds()
    options = load_options(name, example_options(name)) if name in OTHERS else AUDITED[name]
    return options.build(problem.known)


@dataclass(frozen=True)
class ReplayedRun:
    """Transcript of one run, its replays on both neighbours and without the canary, and its ledger."""

    transcript: Transcript
    both: tuple[Transcript, Transcript]
    without: Transcript | None
    ledger: Ledger


@dataclass(frozen=True)
class Stage:
    """A mechanism, sound or with a fault, on two neighbouring data sets, at the noise multiplier that it claims."""

    method: Method
    worlds: tuple[GivenUsers, GivenUsers]
    multiplier: float
    seed: int
    mutant: Mutant = MUTANTS["none"]

    @classmethod
    def of_pair(
        cls, method: Method, problem: Problem, pair: Pair, multiplier: float, seed: int, mutant: str = "none"
    ) -> Stage:
        """Build the two data sets: each has one user of the pair first, then the same other users."""
        worlds = before_others(pair, problem, np.random.default_rng([seed, 0]))
        return cls(method, worlds, multiplier, seed, MUTANTS[mutant])

    def _recorded(self, world: int, run: int, own=None, replayed=None) -> tuple[Transcript, Ledger]:
        drawn = replay.streams(0 if self.mutant.one_seed else run, self.seed, own, self.mutant.everyone)
        fault = self.mutant.fault_at(self.multiplier)
        with clipped_by(self.mutant.clip):
            return replay.recorded(self.method, self.worlds[world], self.multiplier, drawn, replayed, fault)

    def run(self, world: int, run: int) -> ReplayedRun:
        """Run the mechanism on data set `world` with the noise of run number `run`; replay its answers on both."""
        transcript, ledger = self._recorded(world, run)
        ledger = self.mutant.ledger(ledger)
        if all(record.rate == 1 for record in transcript.records):
            other = self._recorded(1 - world, run, replayed=transcript)[0]
            return ReplayedRun(transcript, (other, transcript) if world else (transcript, other), None, ledger)
        first, second = (self._recorded(each, run, INSIDE, transcript)[0] for each in (0, 1))
        return ReplayedRun(transcript, (first, second), self._recorded(0, run, OUTSIDE, transcript)[0], ledger)


def attained(run: ReplayedRun) -> float:
    """Return the larger of two ratios: mu, or privacy loss, between a run's two data sets over that of its ledger."""
    return PrivacyClaim(run.ledger).attained(attained_mu(*run.both), loss(*run.both))


def largest_attained(run: ReplayedRun) -> float:
    """Return the largest `attained` of the whole run and of each release in the ledger alone; above 1 is a fault."""
    parts = []
    if len(run.ledger.entries) == len(run.transcript.records):
        pairs = zip(*([Transcript(records=[record]) for record in each.records] for each in run.both), strict=True)
        alone = zip(run.ledger.entries, pairs, strict=True)
        parts = [replace(run, both=pair, ledger=Ledger([entry])) for entry, pair in alone]
    return max(map(attained, (run, *parts)))


@cache
def worst(
    name: str, problem: Problem, multiplier: float, draws: int, changes: int, seed: int, mutant: str = "none"
) -> tuple[Pair, float]:
    """Return a mechanism's worst pair of users, and the pair's distance over the ledger's, mean of `HISTORIES` runs."""
    method = mechanism(name, problem)
    reached = attained if mutant == "none" else largest_attained

    def score(pair: Pair) -> float:
        stage = Stage.of_pair(method, problem, pair, multiplier, seed, mutant)
        return float(np.mean([reached(stage.run(0, run)) for run in range(HISTORIES)]))

    return worst_pair(score, problem, draws, changes, np.random.default_rng([seed, 1]))


def staged(name: str, mutant: str, problem: Problem, sound: float, draws: int, changes: int, seed: int) -> Stage | None:
    """Return a mutant on its worst pair, given the sound mechanism's multiplier; None if the fault does not apply."""
    method, wrong, search = mechanism(name, problem), MUTANTS[mutant], (draws, changes, seed)
    pair, _ = worst(name, problem, sound, *search)
    transcript = Stage.of_pair(method, problem, pair, sound, seed).run(0, 0).transcript
    if not wrong.applicable(transcript, sound, name not in NOT_BY_LIBRARY):
        return None
    multiplier = wrong.multiplier(sound, len(transcript.records))

    def stage(pair: Pair) -> Stage:
        return Stage.of_pair(method, problem, pair, multiplier, seed, mutant)

    if wrong.searched:
        pair, _ = worst(name, problem, multiplier, *search, mutant)
    if wrong.clip:
        longer = [larger(pair, *factors) for factors in product(LARGER, repeat=2)]
        pair = max(longer, key=lambda canaries: attained(stage(canaries).run(0, 0)))
    return stage(pair)


def expected_epsilon(stage: Stage, delta: float) -> float:
    """Return the epsilon of a mechanism or mutant, by its actual noise, for users who attain the sensitivity."""
    if stage.mutant.unbounded:
        return inf
    all_in = replace(MUTANTS["none"], everyone=stage.mutant.everyone)
    entries = replace(stage, mutant=all_in).run(0, 0).ledger.entries
    if stage.mutant.everyone:
        entries = [replace(entry, rate=1.0) for entry in entries]
    noise_reduction = stage.mutant.noise_reduction(stage.multiplier, len(stage.worlds[0].features[0]))
    return PrivacyClaim(Ledger(entries)).epsilon(delta, noise_reduction)


def prepare(options, problem: Problem) -> Spending:
    """Return the cost of the mechanism; the ledger of a mutant has no limit, so that the audit sees its whole cost."""
    spends = None if options.mutant == "none" else UNLIMITED
    method = mechanism(options.mechanism, problem)
    return Spending(declared(method), spends=spends)


@experiment(columns_of("audit"), prepare=prepare)
def audit(
    task: Task,
    release: Release,
    *,
    mechanism: str = option("mechanism, see replication.experiments.audit", among((*AUDITED, NETWORKS, *OTHERS))),
    mutant: str = option("injected fault, see replication.experiments.auditing.mutants", among(MUTANTS), "none"),
    runs: int = option("runs of the game; for most mutants a tenth of them, and at least 100", check_count, 1000),
    draws: int = option("pairs of users that the adversary draws", check_count, 300),
    changes: int = option("changes of one sample that the adversary tries", check_count, 400),
) -> dict[str, float]:
    """Run all five checks of a mechanism on a pair of canaries among other users."""
    problem, budget, multiplier = task.simulated.problem, task.given, release.noise_multiplier
    assert isinstance(budget, Budget)
    seed = int(task.stream("init").integers(2**31))
    search = (problem, multiplier, draws, changes, seed)
    stage = staged(mechanism, mutant, *search)
    if stage is None:
        return {}
    kept, distances, reached = [], [], []

    def score(first: bool, number: int) -> float:
        run = stage.run(0 if first else 1, 1 + HISTORIES + number)
        kept.append(replay.noises(run.transcript))
        distances.append(attained_mu(*run.both))
        reached.append((attained(run), largest_attained(run)))
        return log_ratio(*run.both, run.without)

    example = stage.run(0, 0)
    for entry in example.ledger.entries:
        task.ledger.record(entry)
    often = mutant == "none" or stage.mutant.everyone
    plays = runs if often else max(FEWEST_RUNS, runs // MUTANT_SHARE)
    game = play(score, plays, np.random.default_rng([seed, 2]))
    claim, table = PrivacyClaim(example.ledger), aligned(kept, np.random.default_rng([seed, 3]))
    alarm = noise_alarm(table)
    whole, largest = np.array(reached).T
    caught = {
        "replay": largest.max() > 1 + ROUNDING,
        "ledger": len(example.ledger.entries) != len(example.transcript.records),
        "budget": example.ledger.epsilon(budget.delta) > budget.epsilon * (1 + ROUNDING),
        "noise": alarm < SURE,
        "game": game.low(GAME_ALARM) > claim.right(),
    }
    log = {
        "noise_multiplier": stage.multiplier,
        "attained": whole.mean(),
        "attained_honest": worst(mechanism, *search)[1],
        "noise_alarm": alarm,
        "noise_found": noise_found(table),
        "share_right": game.share,
        "share_attainable": claim.right(),
        "epsilon_expected": expected_epsilon(stage, budget.delta),
        "caught": float(any(caught.values())),
    }
    if mutant == "none":
        log["epsilon_low"] = claim.epsilon_at(game.low(), budget.delta)
        log["epsilon_low_rates"] = game.by_rates(claim.mu**2 / 2 or claim.pure / 2, budget.delta)
        if claim.gaussian:
            log["epsilon_low_score"] = gdp_epsilon(game.by_score(np.array(distances)), budget.delta)
            log["epsilon_low_order"] = gdp_epsilon(game.by_order(), budget.delta)
    return log | {f"caught_{name}": float(alarm) for name, alarm in caught.items()}
