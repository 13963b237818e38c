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
from contextlib import suppress
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import get_type_hints

import numpy as np
import pytest
from conftest import Recorder, fake_users, fixed_noise, gather, make_task, recut
from made_up_cells import FOLDER, numbers_held
from method_cases import CASES, DELTA, PRIVATE, PROBLEM, Case

from privrep.methods.running.method import Outcome, Task
from privrep.methods.running.runner import fit, open_release, prepared
from privrep.methods.running.scoring import SCORES
from privrep.options import Declared
from privrep.privacy.accounting import Budget, FixedNoise, gdp_epsilon
from privrep.privacy.ledger import Ledger
from privrep.users.blocks import Block, Truth
from privrep.users.losses import LOSSES
from privrep.users.rng import Streams, stream
from privrep.users.simulated import Problem, Users
from privrep.users.splits import PRESETS
from privrep.users.subspace import dist_frobenius, random_subspace
from replication.experiments.unit_steps_ablations import ABLATIONS, UnitStepsAblationsOptions
from replication.run.registry import load_options, method_files, options_class

REFERENCE = FOLDER.parent / "methods"
every_case = pytest.mark.parametrize("case", CASES, ids=str)
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
    of_a_method = ".methods." in algorithm.__module__ or hasattr(algorithm, "varies")
    assert callable(algorithm.build if of_a_method else algorithm.experiment)
    assert hasattr(algorithm, "experiment") != of_a_method
    assert set(algorithm.scores) <= set(SCORES)


@every_case
def test_outcome_is_sound(case):
    """Finite risk, orthonormal subspace of the right shape, finite log; data not written to. Without a budget epsilon
    is infinite if anything is released, else 0."""
    users = Users(PROBLEM)
    before = [block.features.tobytes() + block.labels.tobytes() + block.heads.tobytes() for block in users.blocks()]
    outcome, task = run(case, users=users)
    after = [block.features.tobytes() + block.labels.tobytes() + block.heads.tobytes() for block in users.blocks()]
    assert before == after
    if case.scored:
        assert isinstance(outcome.excess_risk, float)
        assert 0 <= outcome.excess_risk < math.inf
    else:
        assert outcome.excess_risk is None
        assert outcome.subspace is not None
    if outcome.subspace is not None:
        assert outcome.subspace.shape == (PROBLEM.dim, case.options.get("assumed_rank") or case.rank)
        np.testing.assert_allclose(outcome.subspace.T @ outcome.subspace, np.eye(outcome.subspace.shape[1]), atol=1e-10)
    assert all(np.isfinite(value) for value in outcome.log.values())
    assert bool(task.ledger.entries) == (case.budgeted or case.releases)
    spent = task.ledger.epsilon(DELTA)
    assert 0 < spent < math.inf if case.budgeted else spent == (math.inf if case.releases else 0)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("case", {case.name: case for case in CASES}.values(), ids=str)
def test_the_subspace_may_be_the_whole_space(case, size):
    """Where the rank is all dimensions a method runs, or says which number is too small."""
    users = Users(replace(PROBLEM, dim=size, rank=size))
    try:
        outcome, _ = run(case, users=users)
    except ValueError as error:
        assert re.match(r"(dim|rank|assumed_rank|batch_samples) is \d+; ", str(error))
    else:
        assert outcome.excess_risk is None or math.isfinite(outcome.excess_risk)


@pytest.mark.parametrize("name", sorted({case.name for case in CASES}))
def test_same_streams_same_result(name, file_regression):
    """Byte for byte, whether blocks are kept or drawn again; to a share of 1e-4 what tests/reference/methods holds."""
    held = {}
    for case in CASES:
        if case.name != name:
            continue
        (first, task), (second, again) = run(case), run(case, users=Users(PROBLEM, memory_budget=0))
        assert first.excess_risk == second.excess_risk and first.log == second.log and task.ledger == again.ledger, case
        if first.subspace is not None:
            assert first.subspace.tobytes() == second.subspace.tobytes(), case
        numbers = {"score": score(first, task), "mu": task.ledger.mu} | first.log
        held |= {f"{case}: {key}": float(number) for key, number in numbers.items() if not isinstance(number, str)}
    path = REFERENCE / f"{name}.csv"
    file_regression.check(numbers_held(path, held), fullpath=path)


@pytest.mark.parametrize(
    "case",
    # Whether a chain moves may hang on the last digit.
    [case for case in CASES if case.options.get("kind") != "random" and case.name != "exponential_chain"],
    ids=str,
)
def test_block_size_changes_rounding_only(case):
    """However users are cut into blocks; with little noise, so that no solve is ill-conditioned."""
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
    """Data that somebody brings: samples, their sizes and public guesses, without a truth, heads or a law."""

    source: Users

    @property
    def known(self):
        names = ("users", "samples", "dim", "rank", "label_noise_sd", "head_variance")
        return SimpleNamespace(**{name: getattr(PROBLEM.known, name) for name in names})

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
    """Other draws of one noise alone, all other streams as they were, change the result: what was released is used."""
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


@every_private_case
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 8.0])
def test_a_budget_is_kept(case, epsilon):
    """The ledger's epsilon equals the target to 1e-9; by a theorem it is below, or above where the theorem is wrong."""
    _, task = run(case, budget=Budget(epsilon, DELTA, "exact"))
    assert task.ledger.epsilon(DELTA) == pytest.approx(epsilon, abs=1e-9)
    if case.printed:
        outcome, task = run(case, budget=Budget(epsilon, DELTA, "paper"))
        assert task.ledger.epsilon(DELTA) > 0 and outcome.theorem
        assert (task.ledger.epsilon(DELTA) < epsilon) == case.paper_holds
        assert outcome.epsilon_paper == pytest.approx(epsilon, rel=1e-9)


@every_private_case
def test_the_ledger_is_complete(case):
    """mu of the ledger equals mu counted from the sds that were drawn, where a test counts it; no release is missing,
    none is undersized. What every user's data can add is found in test_replay.py."""
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
    if costs is None:
        return
    assert task.ledger.mu == pytest.approx(math.sqrt(sum(costs)), rel=1e-6)
    assert gdp_epsilon(math.sqrt(sum(costs)), DELTA) == pytest.approx(2.0, abs=1e-4)


@dataclass
class FirstNumbers(Recorder):
    """A generator that keeps the first number of each draw of noise, in units of its sd."""

    numbers: list[float] = field(default_factory=list)

    def normal(self, loc, scale, size):
        drawn = super().normal(loc, scale, size)
        self.numbers += [float(np.ravel(drawn)[0] / scale)] if scale else []
        return drawn


@every_private_case
def test_no_noise_is_drawn_twice(case):
    """In no two releases, roles or seeds, all of which are found by running."""
    started: list[FirstNumbers] = []
    for seed in (0, 1):
        task = make_task(Users(PROBLEM), Budget(2.0, DELTA, "exact"), seed)

        def recording(role, task=task):
            started.append(FirstNumbers(task.stream(role)))
            return started[-1]

        fit(load_options(case.name, case.options), Task(task.users, task.budget, recording, task.ledger))
    numbers = [round(number, 9) for recorder in started for number in recorder.numbers]
    assert numbers and len(set(numbers)) == len(numbers), f"{case}: two releases have the same noise"


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
        ("altmin", {"init": "random"}, "^split is missing; altmin needs"),
        ("reference_model", {"kind": "best"}, "^kind is 'best'"),
    ],
)
def test_bad_requests_are_named(name, options, message):
    """An unknown file, a step that cannot run alone, an unknown or missing option, a bad value."""
    with pytest.raises(ValueError, match=message):
        load_options(name, options)


TWICE = "it must be at least twice"
PLANTED = "a planted start needs at least 2 rank = "
POWER_METHOD = {"init": "power_method", "batch_samples": 5}
FRESH = {"sample_use": "fresh", "iterations": 2, "init_samples": 3}
QUIET = "label_noise_sd is 0.0; kind 'step' needs it positive"
REFUSED = [
    ("altmin", {"clip_unit": "user", "clip_scale": "printed"}, {}, "clip_scale is 'printed'; clip_unit 'user'", {}),
    ("altmin", {"init": "random", "init_share": 0.5}, {}, "init_share is 0.5; init 'random' takes none", {}),
    ("altmin", {"batches": 61}, {}, "batches is 61; it must not exceed users", {"users": 61}),
    ("altmin", {"split": "none"}, {}, "split is 'none'; it must be one of text, ", {}),
    ("altmin", {}, {"samples": 8, "dim": 5, "rank": 3}, "samples is 8; split 'text' leaves 2", {"samples": 12}),
    ("step_lemmas", {}, {"samples": 8, "rank": 3}, "samples is 8; split 'text' leaves 2 for heads", {"samples": 12}),
    ("step_lemmas", {}, {"dim": 5, "rank": 3}, f"dim is 5; {PLANTED}6", {"dim": 6}),
    ("spectral_init", {"split": "thirds"}, {}, "split is 'thirds'", {}),
    ("spectral_init", {}, {"samples": 7}, "samples is 7; split", {"samples": 8}),
    ("reference_model", {"kind": "planted-subspace"}, {"dim": 3}, f"dim is 3; {PLANTED}4", {"dim": 4}),
    ("reference_model", {"kind": "planted-subspace"}, {"samples": 6}, "samples is 6; split 'text'", {"samples": 8}),
    ("single_model", {"method": "moments", "epochs": 2}, {}, "epochs is 2; method moments releases once", {}),
    ("centaur", {"batch_samples": 2}, {"rank": 3}, "batch_samples is 2; it must be at least the rank, 3", {"rank": 2}),
    ("centaur", {"batch_samples": 6}, {"samples": 11}, "samples is 11; sample_use 'reuse' needs at least 12", {}),
    ("centaur", {"sample_use": "fresh"}, {"samples": 23}, "samples is 23; sample_use 'fresh' needs at least 24", {}),
    ("centaur", POWER_METHOD | FRESH, {"samples": 35}, "samples is 35; sample_use 'fresh' needs at least 36", {}),
    ("centaur", POWER_METHOD | {"init_samples": 13}, {"samples": 12}, "samples is 12; sample_use 'reuse' needs", {}),
    ("centaur", {}, {"dim": 3}, f"dim is 3; {PLANTED}4", {"dim": 4}),
    ("private_fedrep", {"init": "random"}, {"samples": 2}, "samples is 2; it must be at least rank + 1 = 3", {}),
    ("dp_fedavg", {"batch_samples": 4}, {"samples": 3}, "samples is 3; it must be at least batch_samples, 4", {}),
    ("dp_fedavg", {"batch_samples": 4}, {"samples": 4, "rank": 5}, "samples is 4; it must be at least the rank, 5", {}),
    ("client_lemmas", {"batch_samples": 1}, {}, "batch_samples is 1; it must be at least the rank, 2", {"rank": 1}),
    ("client_lemmas", {"batch_samples": 4}, {"samples": 7}, f"samples is 7; {TWICE} batch_samples, 4", {}),
    ("client_lemmas", {}, {"dim": 3}, f"dim is 3; {PLANTED}4", {"dim": 4}),
    ("update_norms", {"batch_samples": 4}, {"samples": 7}, f"samples is 7; {TWICE} batch_samples, 4", {}),
    ("update_norms", {"batch_samples": 1}, {}, "batch_samples is 1; it must be at least the rank, 2", {"rank": 1}),
    ("noisy_power_method", {"gap": 0.1, "tau": 2.0}, {"dim": 3}, f"dim is 3; {TWICE} the rank, 2", {"dim": 4}),
    ("oracle_step", {"kind": "step"}, {"label_noise_sd": 0.0}, QUIET, {"label_noise_sd": 0.1}),
    ("unit_steps_plain", {}, {"samples": 2}, "samples is 2 and label_noise_sd ", {}),
    ("exponential", {}, {"samples": 7}, "samples is 7; Algorithm 4 needs an even number", {}),
    ("exponential", {"candidates": "net", "radius": 0.001}, {}, "radius is 0.001; a net of it", {}),
    ("exponential_law", {"loss": "huber", "loss_width": 0.0}, {}, "loss_width is 0.0", {}),
    ("exponential_neighbours", {"others": "some"}, {}, "others is 'some'", {}),
    ("exponential_neighbours", {"radius": 3.0}, {"dim": 6}, "dim and rank are 6 and 2; these users need", {"rank": 1}),
]
"""Algorithm, options, sizes, what is said of them, and sizes that are just enough: by default one sample more."""


@pytest.mark.parametrize(("name", "options", "sizes", "message", "enough"), REFUSED)
def test_what_does_not_fit_is_named(name, options, sizes, message, enough):
    """Options that do not fit each other or the problem; what is just enough is accepted."""
    chosen = next((case.options for case in CASES if case.name == name), {}) | options
    problem = replace(PROBLEM, **sizes)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        prepared(load_options(name, chosen), problem)
    if enough or "samples" in sizes:
        prepared(load_options(name, chosen), replace(problem, **enough or {"samples": problem.samples + 1}))


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


COUNTS_WITH = {
    "divide_by": {"participation": 0.7},
    "init_label_clip": {"init": "spectral", "init_pairs": "disjoint"},
    "start_sine": {"init": "planted"},
}
"""Option -> others with which it counts, beside those of a case."""
SILENT = {"accuracy", "exponential.candidates", "exponential.radius"}
SILENT |= {f"exponential_staged.{name}" for name in ("clip_feature", "clip_scale")}
"""Options that change nothing here: nets are too large, and of few candidates the same one is chosen."""


def alternatives(one: Field, value: object) -> list:
    """Other values of an option, of which some may be right."""
    if not isinstance(value, str):
        number = 1 if value is None else value
        return [other for other in (2 * number, number + 1, number / 2, 0.3, 2, 1) if other != value]
    choices = [*PRESETS, *LOSSES]
    if one.metadata["check"]:
        with pytest.raises(ValueError) as said:
            one.metadata["check"](one.name, "nowhere")
        choices = str(said.value).split("one of ")[1].split(", ")
    return [other for other in choices if other != value]


KEPT = Users(PROBLEM)
"""Users of many fits, who keep sums and what was computed of their blocks from one to the next."""


def result(name: str, users: Users, calibration: str | None, given: dict) -> str | None:
    """All that comes out of a fit with these options; None where they do not fit together."""
    task = make_task(users, calibration and Budget(2.0, DELTA, calibration))
    with suppress(ValueError):
        outcome = fit(load_options(name, given), task)
        models = outcome.personal and [outcome.personal.models(block) for block in task.users.blocks()]
        return f"{replace(outcome, personal=None)} {models} {task.ledger}"


@cache
def told(name: str, budgeted: bool, **given: object) -> str | None:
    """The results with each calibration; what other fits have left with the users must not change them."""
    found = []
    for calibration in ("exact", "paper") if budgeted else (None,):
        fresh, after_others = (result(name, users, calibration, given) for users in (Users(PROBLEM), KEPT))
        assert fresh == after_others, f"{name} with {given}: a fit depends on what earlier fits left with the users"
        found += [fresh] if fresh else []
    return str(found) if found else None


def counts(name: str, one: Field, budgeted: bool, given: dict) -> bool:
    """Whether another value of an option gives another result."""
    plain = told(name, budgeted, **given)
    values = alternatives(one, given.get(one.name, one.default)) if plain else []
    results = (told(name, budgeted, **given | {one.name: value}) for value in values)
    return any(result not in (None, plain) for result in results)


@pytest.mark.parametrize("name", sorted({case.name for case in CASES}))
def test_every_option_reaches_the_fit(name):
    """In a case in which it counts."""
    cases = [case for case in CASES if case.name == name]
    for one in fields(options_class(name)):
        tried = [(case.budgeted, case.options | more) for more in ({}, COUNTS_WITH.get(one.name, {})) for case in cases]
        assert {one.name, f"{name}.{one.name}"} & SILENT or any(counts(name, one, *each) for each in tried), one.name


@pytest.mark.parametrize("without", ABLATIONS)
def test_what_is_left_out_leaves_nothing_unspent(without):
    """An ablation has the same budget: what the part would have cost serves the others."""
    task = make_task(Users(Problem(400, 8, 10, 2, 0.1)), Budget(1.0, DELTA, "exact"))
    outcome = fit(UnitStepsAblationsOptions(without=without), task)
    assert "unspent" not in outcome.log
    assert task.ledger.epsilon(1e-6) == pytest.approx(1.0)
