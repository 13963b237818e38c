"""Every file of `privrep.methods` that has options, run on a tiny problem under the same rules.

A new file must get entries in ABOUT and OPTIONS. The audit counts privacy from the outside: sds as drawn from the
generators, sensitivities from the options by formulas of this file, composition user by user. The ledger must say the
same.

Truth and heads serve for scoring alone. Instruments that start from the truth, or take true heads, are marked in ABOUT.
For them the audit still holds, since U* belongs to no user and a user's own head moves no bound; but what they release
tells nothing about learning.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from types import SimpleNamespace
from typing import get_type_hints

import numpy as np
import pytest
from conftest import Recorder, fake_users, fixed_noise, gather, make_task, recut

from privrep.methods.running.method import Outcome, Task
from privrep.methods.running.options import Declared
from privrep.methods.running.runner import fit, open_release
from privrep.methods.running.scoring import SCORES
from privrep.methods.unit_steps import ABLATIONS
from privrep.privacy.accounting import Budget, FixedNoise, gdp_epsilon
from privrep.privacy.ledger import Ledger
from privrep.users.problem import Block, Problem, Truth, Users
from privrep.users.rng import Streams, stream
from privrep.users.splits import count, split_samples
from privrep.users.subspace import dist_frobenius, random_subspace
from replication.run.registry import load_options, method_files, options_class

PROBLEM = Problem(60, 16, 16, 2, label_noise_sd=0.1)
DELTA = 1e-6

Audit = Callable[[dict, dict[str, list[float]]], list[float]]
"""Options and sds drawn per role -> mu^2 of each release that touches one user."""


def absolute(options: dict) -> dict:
    """The options with the three thresholds in absolute terms: c sqrt(dk) and c sqrt(k) + sigma_F, here with c = 1."""
    units = {"absolute": (1.0, 1.0), "data": (32**0.5, 2**0.5 + 0.1)}[options.get("clip_scale", "absolute")]
    names = {"clip_feature": units[0], "clip_label": units[1], "init_label_clip": units[1]}
    return options | {name: options[name] * unit for name, unit in names.items() if name in options}


def spectral_cost(samples: slice, label_clip: float, sds: list[float]) -> list[float]:
    """Algorithm 3: (2 P zeta^2 / sd)^2."""
    (sd,) = sds
    return [(2 * (count(samples) // 2) * label_clip**2 / sd) ** 2]


def all_pairs_cost(samples: slice, label_clip: float, sds: list[float]) -> list[float]:
    """The same from all P pairs, clipped by user to zeta^2 sqrt(P): (2 zeta^2 sqrt(P) / sd)^2."""
    (sd,) = sds
    return [4 * math.comb(count(samples), 2) * label_clip**4 / sd**2]


def sample_moments_cost(q: int, eta: float, zeta: float, sds: list[float]) -> float:
    """Algorithm 2: the largest of ||dA||^2/sA^2 + ||db||^2/sb^2 over s = |<w, w'>| in [0, 1], on a grid."""
    s = np.linspace(0, 1, 10_001)
    second = (q * eta**2) ** 2 * (2 - 2 * s**2) / sds[0] ** 2
    first = (q * eta * zeta) ** 2 * (2 + 2 * s) / sds[1] ** 2
    return float((second + first).max())


def moments_audit(options, sds, per_user: int) -> list[float]:
    """A and b are drawn in turn; a user is in one batch per epoch, and all batches have the same noise."""
    noise = sds["noise"]
    steps = [noise[i : i + 2] for i in range(0, len(noise), 2)]
    batches = options.get("batches", 1)
    assert len(steps) == per_user * batches
    costs = []
    for epoch in range(per_user):
        batch_costs = []
        for step in steps[epoch * batches : (epoch + 1) * batches]:
            if options.get("clip_unit") == "user":
                second, first = options["clip_feature"], options["clip_label"]
                batch_costs.append(2 * (second / step[0]) ** 2 + (2 * first / step[1]) ** 2)
            else:
                split = options.get("split")
                q = count(split_samples(split, PROBLEM.samples).subspace) if split else PROBLEM.samples
                batch_costs.append(sample_moments_cost(q, options["clip_feature"], options["clip_label"], step))
        costs.append(max(batch_costs))
    return costs


def altmin_audit(options, sds) -> list[float]:
    options = absolute({"init_label_clip": 2.0} | options)
    costs = moments_audit(options, sds, options.get("epochs", 1))
    if options["init"] == "spectral":
        split = split_samples(options["split"], PROBLEM.samples)
        cost = all_pairs_cost if options.get("init_pairs") == "all" else spectral_cost
        costs += cost(split.init, options["init_label_clip"], sds["init_noise"])
    return costs


def spectral_audit(options, sds) -> list[float]:
    options = absolute({"split": "all-samples-reused"} | options)
    return spectral_cost(
        split_samples(options["split"], PROBLEM.samples).init, options["init_label_clip"], sds["init_noise"]
    )


def step_lemmas_audit(options, sds) -> list[float]:
    return moments_audit(absolute({"clip_scale": "data"} | options), sds, 1)


def gradient_audit(options, sds) -> list[float]:
    assert len(sds["noise"]) == options.get("epochs", 1)
    costs = [(2 * options["clip_feature"] / sd) ** 2 for sd in sds["noise"]]
    if options.get("init") == "spectral":
        costs += spectral_cost(split_samples(options["split"], PROBLEM.samples).init, 2.0, sds["init_noise"])
    return costs


def power_method_audit(options, sds, role="noise") -> list[float]:
    """Each run and iteration: a user's product is at most zeta_0 = c sqrt(d) k^1.5, or c."""
    unit = 1.0 if options.get("clip_scale") == "absolute" else 16**0.5 * 2**1.5
    assert len(sds[role]) == options.get("starts", 1) * options["iterations"]
    return [(2 * options["init_clip"] * unit / sd) ** 2 for sd in sds[role]]


def centaur_audit(options, sds) -> list[float]:
    unit = 1.0 if options.get("clip_scale") == "absolute" else 16**0.5 * 2**1.5
    assert len(sds["noise"]) == options["rounds"]
    costs = [(2 * options["clip"] * unit / sd) ** 2 for sd in sds["noise"]]
    if options["init"] == "power_method":
        start = power_method_audit({"init_clip": 1.0} | options, sds, "init_noise")
        assert sum(start) == pytest.approx(options.get("init_share", 0.5) * (sum(start) + sum(costs)), rel=1e-9)
        costs += start
    return costs


def federated_audit(options, sds) -> list[float]:
    """Each round: a user's update is at most zeta, in absolute terms or in units of sqrt(d) k^1.5."""
    unit = 16**0.5 * 2**1.5 if options.get("clip_scale") == "practical" else 1.0
    assert len(sds["noise"]) == options["rounds"]
    return [(2 * options["clip"] * unit / sd) ** 2 for sd in sds["noise"]]


def private_fedrep_audit(options, sds) -> list[float]:
    """The rounds as in CENTAUR; Algorithm 3 takes its share, with labels clipped at zeta = c (sqrt(k) + sigma_F),
    or c."""
    costs = centaur_audit({"rounds": 5, "clip": 0.5, "init": "random"} | {**options, "init": "random"}, sds)
    if options.get("init", "spectral") == "spectral":
        unit = 1.0 if options.get("clip_scale") == "absolute" else 2**0.5 + 0.1
        pairs = slice(0, PROBLEM.samples - options.get("final_samples", 0))
        start = spectral_cost(pairs, options.get("init_label_clip", 0.5) * unit, sds["init_noise"])
        assert sum(start) == pytest.approx(options.get("init_share", 0.5) * (sum(start) + sum(costs)), rel=1e-9)
        costs += start
    return costs


def unit_steps_audit(options, sds) -> list[float]:
    """A log size of width 9.2 and log scales of norm 2 sqrt(d); three covariances, where they are released; a log scale
    of width 9.2; then a start and second moments of semidefinite units, log residuals of width 18.4 at first and
    then 4, and steps of norm one."""
    level, coordinates, *noise = sds["noise"]
    covariances = noise[:3] if len(noise) > 3 and len(set(noise[:3])) == 1 else []
    scale, *rounds = noise[len(covariances) :]
    starts = [] if options.get("without") == "start" else sds["init_noise"]
    residuals, heads, steps = (rounds[i::3] for i in range(3))
    costs = [(9.2 / level) ** 2, 16 * PROBLEM.dim / coordinates**2, (9.2 / scale) ** 2, (18.4 / residuals[0]) ** 2]
    costs += [2 / sd**2 for sd in [*starts, *covariances, *heads]]
    costs += [(4 / sd) ** 2 for sd in residuals[1:]] + [(2 / sd) ** 2 for sd in steps]
    assert len(steps) == len(heads) == len(residuals)
    return costs


def full_prior_audit(options, sds) -> list[float]:
    """Log scales of width 9.2, and products of halves of norm one."""
    scale, products = sds["noise"]
    return [(9.2 / scale) ** 2, (2 / products) ** 2]


def mixed_model_audit(options, sds) -> list[float]:
    """Log lengths of width 6; a shape of norm one, and gains of norm 1/2 and sqrt(1/2). Clips of moments and steps are
    released lengths, so that their costs are those of their shares: 12 and 8 times that of a length."""
    length, _, *steps, level, shape, choice, answer = sds["noise"]
    lengths = [(6 / sd) ** 2 for sd in (length, *steps[::2], level)]
    assert lengths == pytest.approx([lengths[0]] * 5) and len(steps) == 6
    costs = [*lengths, 12 * lengths[0], *3 * [8 * lengths[0]], (2 / shape) ** 2, (1 / choice) ** 2, 2 / answer**2]
    return costs


def oracle_step_audit(options, sds) -> list[float]:
    (step,) = sds["noise"]
    return [(2 / step) ** 2]


def client_lemmas_audit(options, sds) -> list[float]:
    return centaur_audit({"rounds": 1, "init": "planted"} | options, sds)


def single_model_audit(options, sds) -> list[float]:
    return moments_audit(options, sds, 1) if options["method"] == "moments" else gradient_audit(options, sds)


@dataclass(frozen=True)
class Case:
    """Options to run with. `audit` None: the algorithm takes no budget; `releases` says whether it releases anything.

    `reads_truth`: an instrument of analysis, whose released subspace depends on the truth or on true heads by intent.
    `scored` False: a step that personalises nothing and has no risk. `paper_holds` False: the printed privacy statement
    falls short (E10, E13), so that the noise which it prescribes costs more than it says. `printed` False: no privacy
    statement of the papers covers it. `pure`: an exponential mechanism, whose privacy is audited in
    tests/test_exponential_privacy.py.
    """

    name: str
    options: dict = field(default_factory=dict)
    audit: Audit | None = None
    releases: bool = True
    reads_truth: bool = False
    scored: bool = True
    paper_holds: bool = True
    printed: bool = True
    pure: bool = False

    @property
    def budgeted(self) -> bool:
        return self.audit is not None or self.pure

    def __str__(self):
        return f"{self.name}({', '.join(f'{key}={value}' for key, value in self.options.items())})"


ABOUT = {
    "altmin": {"audit": altmin_audit},
    "spectral_init": {"audit": spectral_audit, "scored": False},
    "step_lemmas": {"audit": step_lemmas_audit, "reads_truth": True, "scored": False},
    "gradient_descent": {"audit": gradient_audit},
    "power_method": {"audit": power_method_audit, "scored": False, "paper_holds": False},
    "centaur": {"audit": centaur_audit, "paper_holds": False},
    "private_fedrep": {"audit": private_fedrep_audit, "printed": False},
    "unit_steps": {"audit": unit_steps_audit, "printed": False},
    "full_prior": {"audit": full_prior_audit, "printed": False},
    "mixed_model": {"audit": mixed_model_audit, "printed": False},
    "oracle_step": {"audit": oracle_step_audit, "reads_truth": True, "printed": False},
    **{
        key: {"audit": federated_audit, "paper_holds": False}
        for key in ("general_centaur", "dp_fedavg", "ppsgd", "pmtl")
    },
    "update_norms": {"releases": False, "reads_truth": True, "scored": False},
    "client_lemmas": {"audit": client_lemmas_audit, "reads_truth": True, "scored": False, "paper_holds": False},
    "single_model": {"audit": single_model_audit},
    "nonprivate_altmin": {},
    **{key: {"pure": True} for key in ("exponential", "exponential_chain", "exponential_staged")},
    **{key: {"releases": False} for key in ("own_data", "reference_model")},
}
"""What holds of an algorithm with any options, but that some options read the truth: see `reads_truth`."""
CLIPS = {"clip_feature": 2.0, "clip_label": 1.5}
SCALED = {"clip_feature": 0.9, "clip_label": 1.2}
CENTAUR = {"rounds": 3, "clip": 0.5, "batch_samples": 4}
FEDERATED = {"rounds": 3, "clip": 0.5, "batch_samples": 6}
RUNS = {"init": "power_method", "starts": 2, "iterations": 2}
OPTIONS = {
    "altmin": [
        {"init": "random", "split": "text", **CLIPS},
        {"init": "spectral", "split": "text", "batches": 3, **CLIPS},
        {"init": "spectral", "split": "proof-halves", "epochs": 2, "batches": 2, **CLIPS},
        {"init": "random", "split": "all-samples-reused", "epochs": 3, **CLIPS},
        {"init": "spectral", "split": "halves-then-all", "clip_unit": "user", "init_label_clip": 0.7, **CLIPS},
        {"init": "random", "split": "text", "fallback": "ridge", **CLIPS},
        {"init": "random", "split": "text", "symmetry": "averaged", "epochs": 2, **CLIPS},
        {"init": "spectral", "split": "halves-then-all", "init_pairs": "all", "init_label_clip": 0.7, **CLIPS},
        {"init": "spectral", "split": "text", "fallback": "eigclip", "epochs": 2, **CLIPS},
        {"init": "spectral", "split": "text", "batches": 2, "clip_scale": "data", "init_label_clip": 0.7, **SCALED},
        {"init": "random", "split": "text", "heads": "true", **CLIPS},
        {"init": "spectral", "split": "text", "heads": "true", "clip_scale": "data", "init_label_clip": 0.7, **SCALED},
        {"init": "planted", "start_sine": 0.3, "split": "text", "batches": 2, "fallback": "ridge", **CLIPS},
    ],
    "spectral_init": [
        {"init_label_clip": 1.5},
        {"init_label_clip": 0.7, "clip_scale": "data", "split": "text"},
    ],
    "step_lemmas": [
        {"split": "text", **SCALED},
        {"split": "halves-then-all", "clip_scale": "absolute", "start_sine": 0.3, **CLIPS},
    ],
    "gradient_descent": [
        {"init": "random", "split": "text", "clip_feature": 0.5, "step": 1.0},
        {"init": "spectral", "split": "proof-halves", "clip_feature": 0.5, "step": 1.0, "epochs": 3},
    ],
    "power_method": [
        {"iterations": 3, "init_clip": 0.7, "starts": 2},
        {"iterations": 4, "init_clip": 5.0, "init_samples": 4, "clip_scale": "absolute", "sample_use": "fresh"},
        {"iterations": 2, "init_clip": 0.7, "starts": 2, "init": "planted"},
    ],
    "centaur": [
        CENTAUR | {"init": "planted"},
        CENTAUR | {"init": "random", "clip_scale": "absolute", "step": 0.1},
        CENTAUR | {"init": "random", "participation": 0.7, "divide_by": "realised"},
        CENTAUR | RUNS | {"starts": 3, "init_samples": 4},
        {
            "rounds": 2,
            "clip": 0.5,
            "batch_samples": 3,
            **RUNS,
            "init_samples": 2,
            "sample_use": "fresh",
            "init_share": 0.2,
        },
    ],
    "private_fedrep": [
        {},
        {"init": "random", "clip_scale": "absolute", "clip": 3.0, "step": 0.5, "final_samples": 6},
        {"rounds": 2, "clip_scale": "absolute", "clip": 2.0, "sample_use": "fresh", "final_samples": 4}
        | {"init_label_clip": 0.7, "init_share": 0.2},
        {"init": "planted", "rounds": 3, "sample_use": "reuse", "batch_samples": 5, "start_sine": 0.3},
    ],
    "unit_steps": [
        {},
        {"scale_guess": 3.0, "noise_guess": 0.3},
        {"assumed_rank": 3},
        *({"without": part} for part in ABLATIONS[2:]),
    ],
    "full_prior": [{}, {"scale_guess": 0.5, "noise_guess": 2.0}],
    "mixed_model": [{}],
    "oracle_step": [{}],
    "general_centaur": [
        FEDERATED | {"local_steps": 2},
        {"rounds": 2, "clip": 0.1, "batch_samples": 16, "feasible": "orthonormal", "clip_scale": "practical"},
    ],
    "dp_fedavg": [FEDERATED | {"local_steps": 3, "local_step": 0.1}],
    "ppsgd": [FEDERATED | {"local_step": 0.1, "personal_step": 0.1}],
    "pmtl": [
        {"rounds": 3, "clip": 0.5},
        {"rounds": 2, "clip": 0.1, "clip_scale": "practical", "penalty": 0.1},
    ],
    "update_norms": [{"start_sine": 0.3, "batch_samples": 6}],
    "client_lemmas": [
        {"clip": 0.5, "batch_samples": 4},
        {"clip": 5.0, "batch_samples": 8, "clip_scale": "absolute", "step": 0.1, "start_sine": 0.4},
    ],
    "single_model": [{"method": "moments", **CLIPS}, {"method": "gradient", "clip_feature": 0.5, "epochs": 3}],
    "nonprivate_altmin": [{"max_epochs": 4}, {"init": "spectral", "split": "halves-then-all", "max_epochs": 2}],
    "exponential": [{"count": 40}, {"loss": "huber", "clip_scale": "prescribed", "count": 5}],
    "exponential_chain": [{"burn_in": 20, "steps": 20}],
    "exponential_staged": [{"around": 4}, {"first": "centaur", "runs": 2, "rounds": 2, "around": 0}],
    "own_data": [{}, {"penalty": 1.0}],
    "reference_model": [
        *({"kind": kind} for kind in ("random", "random-subspace", "zero")),
        {"kind": "planted-subspace", "start_sine": 0.3},
    ],
}


def about(name: str, options: dict) -> dict:
    """What holds of an algorithm with these options."""
    reading = options.get("init") == "planted" or options.get("heads") == "true" or "planted" in options.get("kind", "")
    return ABOUT[name] | ({"reads_truth": True} if reading else {})


CASES = [Case(name, options, **about(name, options)) for name, several in OPTIONS.items() for options in several]
CASES.append(Case("oracle_step", {"kind": "floor"}, releases=False, reads_truth=True))
PRIVATE = [case for case in CASES if case.audit]
every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_printed_case = pytest.mark.parametrize("case", [case for case in PRIVATE if case.printed], ids=str)
every_private_case = pytest.mark.parametrize("case", PRIVATE, ids=str)


def run(case: Case, *, budget: Budget | FixedNoise | None = None, users=None, noise_seed=0) -> tuple[Outcome, Task]:
    if budget is None and case.budgeted:
        budget = Budget(2.0, DELTA, "exact")
    algorithm = load_options(case.name, case.options)
    task = make_task(Users(PROBLEM) if users is None else users, budget, noise_seed)
    return fit(algorithm, task), task


def score(outcome: Outcome, task: Task) -> float:
    """The excess risk, or the distance to the truth of a step without one."""
    if outcome.excess_risk is None:
        return dist_frobenius(outcome.subspace, task.users.truth.basis)
    return outcome.excess_risk


SEARCHES = {"smallest_users", "smallest_users_centaur", "smallest_users_private_fedrep", "smallest_users_unit_steps"}
"""Many fits of another algorithm: no budget of its own, tested in a file of its own."""
WITHOUT_USERS = {
    "audit",
    "audited_games",
    "exponential_neighbours",
    "federated_images",
    "made_up_candidates",
    "noisy_power_method",
    "real_table",
    "sensitivity_search",
}
"""Simulations of what a theorem is about, without drawn users: tested in files of their own."""
LAWS = {"exponential_law"}
"""What a mechanism draws from, and no draw: tested in a file of its own."""


def test_every_file_has_an_entry():
    """A new algorithm is not left untested."""
    assert set(method_files()) == {case.name for case in CASES} | SEARCHES | WITHOUT_USERS | LAWS


@pytest.mark.parametrize("name", method_files())
def test_interface(name):
    """A frozen dataclass of declared options, which makes a method or an experiment."""
    algorithm = options_class(name)
    assert is_dataclass(algorithm)
    assert algorithm.__dataclass_params__.frozen
    assert issubclass(algorithm, Declared)
    of_a_method = algorithm.__module__.startswith("privrep.methods.")
    assert callable(algorithm.build if of_a_method else algorithm.experiment)
    assert hasattr(algorithm, "experiment") != of_a_method
    assert set(algorithm.scores) <= set(SCORES)


@every_case
def test_outcome_is_sound(case):
    """Finite risk, orthonormal subspace of the right shape, finite log; data not written to."""
    users = Users(PROBLEM)
    before = [block.features.tobytes() + block.labels.tobytes() + block.heads.tobytes() for block in users.blocks()]
    outcome, _ = run(case, users=users)
    after = [block.features.tobytes() + block.labels.tobytes() + block.heads.tobytes() for block in users.blocks()]
    assert before == after
    if case.scored:
        assert isinstance(outcome.excess_risk, float)
        assert 0 <= outcome.excess_risk < math.inf
    else:
        assert outcome.excess_risk is None
        assert outcome.subspace is not None
    if outcome.subspace is not None:
        assert outcome.subspace.shape == (PROBLEM.dim, case.options.get("assumed_rank") or PROBLEM.rank)
        np.testing.assert_allclose(outcome.subspace.T @ outcome.subspace, np.eye(outcome.subspace.shape[1]), atol=1e-10)
    assert all(np.isfinite(value) for value in outcome.log.values())


@every_case
def test_same_streams_same_result(case):
    """Byte for byte, whether blocks are kept or drawn again."""
    first, task = run(case)
    second, again = run(case, users=Users(PROBLEM, memory_budget=0))
    assert first.excess_risk == second.excess_risk
    assert first.log == second.log
    assert task.ledger == again.ledger
    if first.subspace is not None:
        assert first.subspace.tobytes() == second.subspace.tobytes()


@pytest.mark.parametrize(
    "case",
    # Whether a chain moves may hang on the last digit.
    [case for case in CASES if case.options.get("kind") != "random" and case.name != "exponential_chain"],
    ids=str,
)
def test_block_size_changes_rounding_only(case):
    """The result is that of the users, however they are cut into blocks.
    Little noise, so that no solve is ill-conditioned."""
    budget = fixed_noise(1e-4) if case.budgeted else None
    users = Users(PROBLEM)
    whole, parts = (score(*run(case, budget=budget, users=source)) for source in (users, recut(users, 7)))
    assert parts == pytest.approx(whole, rel=1e-3)


@every_case
def test_the_truth_is_for_scoring(case):
    """Other heads and another U* behind the same samples leave all that is released as it was, but for experiments."""
    users = Users(PROBLEM)
    features, labels, heads = gather(users)
    other = Truth(random_subspace(PROBLEM.dim, PROBLEM.rank, np.random.default_rng(9)), np.eye(PROBLEM.rank))
    disguised = replace(fake_users(features, labels, heads[::-1] - 0.5, truth=other), problem=PROBLEM)
    (plain, task), (seen, again) = (run(case, users=source) for source in (recut(users, 60), disguised))
    assert task.ledger == again.ledger
    if plain.subspace is not None:
        assert np.array_equal(plain.subspace, seen.subspace) != case.reads_truth
    if not case.reads_truth:
        assert plain.log == seen.log
    if case.scored:
        assert plain.excess_risk != seen.excess_risk


@dataclass(frozen=True)
class Brought:
    """Data that somebody brings: samples and their sizes, without a truth, without heads, and without
    a scale or a law."""

    source: Users

    @property
    def known(self):
        return SimpleNamespace(**{name: getattr(PROBLEM, name) for name in ("users", "samples", "dim", "rank")})

    def blocks(self, start: int = 0, stop: int | None = None):
        for block in self.source.blocks(start, stop):
            yield Block(block.start, block.features, block.labels)


@pytest.mark.parametrize("case", [case for case in CASES if not case.reads_truth], ids=str)
def test_a_method_runs_on_data_without_a_truth(case):
    """What it learns and makes of each user is, to the last bit, what it is where the truth is known."""
    method, learnt = load_options(case.name, case.options).build(PROBLEM.known), []
    for users in (Users(PROBLEM), Brought(Users(PROBLEM))):
        streams = Streams(lambda role: stream(3, role, {"test": "brought"}))
        release = open_release(method, make_task(users, fixed_noise(1.0 if case.budgeted else 0.0)))
        *_, last = method.fit(users, replace(release, streams=streams))
        (block,) = users.blocks()
        personal = last.personal
        own = None if personal is None else (personal.models if hasattr(personal, "models") else personal.heads)(block)
        learnt.append([None if one is None else one.tobytes() for one in (last.subspace, own)])
    assert learnt[0] == learnt[1]
    assert any(learnt[0])


@every_private_case
def test_the_noise_reaches_the_result(case):
    """Other draws of one noise alone, with all other streams as they were, change the result:
    what is used is what was released."""
    task = make_task(Users(PROBLEM), Budget(2.0, DELTA, "exact"))
    algorithm = load_options(case.name, case.options)

    def fitted(changed: str | None) -> tuple[float, set[str]]:
        recorders: dict[str, Recorder] = {}

        def recording(role):
            rng = np.random.default_rng(7) if role == changed else task.stream(role)
            return recorders.setdefault(role, Recorder(rng))

        own = Task(task.users, task.budget, recording, Ledger())
        return score(fit(algorithm, own), own), {role for role, recorder in recorders.items() if recorder.calls}

    plain, roles = fitted(None)
    if case.options.get("heads") == "true":
        roles.discard("init_noise")  # one step with true heads forgets where it started
    assert roles
    for role in roles:
        assert fitted(role)[0] != plain, role


@every_case
def test_epsilon_is_finite_exactly_with_a_budget(case):
    """With a budget: positive and finite. Without: infinite if anything is released, 0 if nothing is."""
    _, task = run(case)
    if case.budgeted:
        assert 0 < task.ledger.epsilon(DELTA) < math.inf
    else:
        assert task.ledger.epsilon(DELTA) == (math.inf if case.releases else 0)
        assert bool(task.ledger.entries) == case.releases


@every_private_case
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 8.0])
def test_exact_budget_is_met(case, epsilon):
    """The ledger's epsilon equals the target to 1e-9."""
    _, task = run(case, budget=Budget(epsilon, DELTA, "exact"))
    assert task.ledger.epsilon(DELTA) == pytest.approx(epsilon, abs=1e-9)


@every_printed_case
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 8.0])
def test_paper_budget_is_kept(case, epsilon):
    """The ledger's epsilon is below the target, which is what the theorem promises, or above where the theorem is
    wrong."""
    outcome, task = run(case, budget=Budget(epsilon, DELTA, "paper"))
    assert task.ledger.epsilon(DELTA) > 0
    assert (task.ledger.epsilon(DELTA) < epsilon) == case.paper_holds
    assert outcome.epsilon_paper == pytest.approx(epsilon, rel=1e-9)
    assert outcome.theorem


@every_private_case
def test_the_ledger_is_complete(case):
    """mu of the ledger equals mu counted from the sds that were drawn; no release is missing, none is undersized."""
    recorders: dict[str, Recorder] = {}
    task = make_task(Users(PROBLEM), Budget(2.0, DELTA, "exact"))

    def recording(role):
        assert role not in recorders, "a stream was started twice, which repeats its numbers"
        recorders[role] = Recorder(task.stream(role))
        return recorders[role]

    fit(load_options(case.name, case.options), Task(task.users, task.budget, recording, task.ledger))
    sds = {role: [sd for sd, _ in recorder.calls] for role, recorder in recorders.items()}
    costs = case.audit(case.options, sds)
    drawn = sum(len(part) for part in sds.values())
    pairs = ("moment_step", "step_lemmas")
    assert sum(2 if entry.name in pairs else 1 for entry in task.ledger.entries) == drawn
    assert task.ledger.mu == pytest.approx(math.sqrt(sum(costs)), rel=1e-6)
    assert gdp_epsilon(math.sqrt(sum(costs)), DELTA) == pytest.approx(2.0, abs=1e-4)


@every_private_case
def test_without_noise_the_ledger_says_so(case):
    """Multiplier 0: every release is recorded, with mu = inf."""
    outcome, task = run(case, budget=fixed_noise())
    assert task.ledger.entries
    assert {entry.mu for entry in task.ledger.entries} == {math.inf}
    assert outcome.epsilon_paper == (math.inf if case.printed else None)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("no_such_file", {}, "^algorithm is 'no_such_file'; there is no file"),
        ("moment_step", {}, "^algorithm is 'moment_step'; there is no file"),
        ("own_data", {"lambda": 1.0}, "^lambda is no option of own_data; the nearest is penalty; it has penalty"),
        ("altmin", {"init": "random"}, "^options of altmin: .*missing"),
        ("reference_model", {"kind": "best"}, "^kind is 'best'"),
    ],
)
def test_bad_requests_are_named(name, options, message):
    """An unknown file, a step that cannot run alone, an unknown or missing option, a bad value."""
    with pytest.raises(ValueError, match=message):
        load_options(name, options)


NEVER_ONE = ("step_lemmas", "client_lemmas", "centaur", "private_fedrep", "power_method")
"""A start orthogonal to the truth is out of range here, where Q has no inverse."""


@pytest.mark.parametrize("name", sorted({case.name for case in CASES}))
def test_values_out_of_range_are_named(name):
    """Of every option, when the options are read, before any release; a split is checked with the sizes."""
    sound = next(case.options for case in CASES if case.name == name)
    for option, kind in get_type_hints(options_class(name)).items():
        if option not in {one.name for one in fields(options_class(name))} - {"split"}:
            continue
        wrong = ["nowhere"] if kind is str else [math.nan, -1.0] if "float" in str(kind) else [0.5, -1]
        if option in ("participation", "start_sine", "init_share", "accuracy"):
            wrong.append(1.0 if name in NEVER_ONE and option == "start_sine" else 1.5)
        for value in wrong:
            with pytest.raises(ValueError, match=rf"^{option} is {re.escape(repr(value))}; "):
                load_options(name, sound | {option: value})
