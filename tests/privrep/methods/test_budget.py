"""What a method declares is what it may spend: stub methods that do otherwise, entered nowhere, end red,
as a fit and as a study's cell."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from conftest import Recorder, fixed_noise, make_task
from hypothesis import given
from hypothesis import strategies as st

from privrep import simulate as shell
from privrep.methods.running.method import Iterate
from privrep.methods.running.runner import fit, open_release
from privrep.privacy.accounting import UNLIMITED, Budget, Cost
from privrep.privacy.contributions import Rows, Scores
from privrep.privacy.ledger import GaussianRelease, Ledger, OverBudget, PureRelease
from privrep.privacy.mechanisms import GAUSSIAN_COST, PURE_COST, Release
from privrep.simulate import run_cell
from privrep.users.problem import Problem, Users
from replication.run.grids import Cell

PROBLEM = Problem(20, 4, 3, 1)
USERS = Users(PROBLEM)
ITERATE = Iterate(np.eye(3, 1))


def add(release: Release, name: str = "sum", rate: float = 1.0) -> None:
    release.sampled(rate).sum(name, USERS, lambda block: Rows(np.zeros((block.users, 2))), clip=0.3)


def choose(release: Release) -> None:
    release.choice("choice", USERS, lambda block: Scores(np.zeros((3, block.users))), width=1.0)


def once(release):
    add(release)
    yield ITERATE


def in_parts(release):
    for share in (0.1, 0.2, 0.3, 0.4):
        add(release.share(share))
    yield ITERATE


def on_disjoint_users(release):
    for users in (range(7), range(7, 13), range(13, 20)):
        add(release.of(users))
    yield ITERATE


def of_both_kinds(release):
    add(release)
    choose(release)
    yield ITERATE


def twice(release):
    add(release, "first")
    yield ITERATE
    add(release, "second")
    yield ITERATE


def twice_at_random(release):
    add(release, "first", rate=0.1)
    add(release, "second", rate=0.1)
    yield ITERATE


def after_the_last(release):
    yield from once(release)
    add(release, "second")


def shares_of_more_than_one(release):
    for share in (0.5, 0.4, 0.3):
        add(release.share(share))
    yield ITERATE


def one_user_twice(release):
    add(release.of(range(8)), "first")
    add(release.of(range(7, 20)), "second")
    yield ITERATE


def past_the_handle(release):
    add(release)
    release.ledger.record(release.ledger.entries[0])
    yield ITERATE


def choice_of_two(release):
    choose(release)
    choose(release)
    yield ITERATE


def nothing(release):
    yield ITERATE


def no_iterate(release):
    add(release)
    return
    yield


@dataclass(frozen=True)
class StubMethod:
    """A method that releases what a function says, and declares a cost."""

    steps: object
    cost: Cost
    theorem = None

    def fit(self, users, release):
        return self.steps(release)


def options(steps, cost: Cost) -> type:
    """The class of options of a stub file."""

    @dataclass(frozen=True)
    class StubOptions:
        scores = ()
        columns: ClassVar = {}

        def build(self, problem):
            return StubMethod(steps, cost)

    return StubOptions


BOTH = GAUSSIAN_COST + PURE_COST
SOUND = [(once, GAUSSIAN_COST), (in_parts, GAUSSIAN_COST), (on_disjoint_users, GAUSSIAN_COST), (of_both_kinds, BOTH)]
SOUND += [(twice, 2 * GAUSSIAN_COST), (choice_of_two, 2 * PURE_COST)]
WRONG = [
    (twice, GAUSSIAN_COST, "release 'second' asks for mu_squared"),
    (twice_at_random, GAUSSIAN_COST, "release 'second' asks for mu_squared"),
    (after_the_last, GAUSSIAN_COST, "release 'second' asks for mu_squared"),
    (one_user_twice, GAUSSIAN_COST, "release 'second' asks for mu_squared"),
    (shares_of_more_than_one, GAUSSIAN_COST, "release 'sum' asks for mu_squared"),
    (choice_of_two, PURE_COST, "release 'choice' asks for pure"),
    (of_both_kinds, GAUSSIAN_COST, "release 'choice' asks for pure"),
    (of_both_kinds, PURE_COST, "release 'sum' asks for mu_squared"),
    (past_the_handle, GAUSSIAN_COST, "the ledger has mu_squared"),
    (nothing, GAUSSIAN_COST, "StubMethod declares a cost, and its ledger is empty"),
    (nothing, PURE_COST, "StubMethod declares a cost, and its ledger is empty"),
    (no_iterate, GAUSSIAN_COST, "StubMethod yields no iterate"),
]
BUDGET = Budget(2.0, 1e-6, "exact")


def name_of(value) -> str:
    return getattr(value, "__name__", "")


def as_cell(steps, cost: Cost) -> Cell:
    return Cell("stub", options(steps, cost)(), PROBLEM, BUDGET)


@pytest.mark.parametrize(("steps", "cost"), SOUND, ids=name_of)
def test_a_method_that_spends_what_it_declares_is_ok(steps, cost):
    """Its ledger has all of it, whatever the noise; without noise nothing is limited."""
    row, _, ledger = run_cell(as_cell(steps, cost), Users(PROBLEM))
    assert row["status"] == "ok"
    allowed = cost.at(row["noise_multiplier"])
    assert ledger.spent("mu_squared") == pytest.approx(allowed.mu_squared, rel=1e-12)
    assert ledger.spent("pure") == pytest.approx(allowed.pure, rel=1e-12)
    for multiplier in (0.0, 1e-3, 7.0):
        fit(options(steps, cost)(), make_task(Users(PROBLEM), fixed_noise(multiplier)))


@pytest.mark.parametrize(("steps", "cost", "message"), WRONG, ids=name_of)
def test_a_method_that_does_not_is_an_error(steps, cost, message):
    """And no row, neither ok nor failed; the ledger keeps within what was declared unless it was written past the
    release handle."""
    with pytest.raises(RuntimeError, match=message):
        run_cell(as_cell(steps, cost), Users(PROBLEM))
    task = make_task(Users(PROBLEM), BUDGET)
    with pytest.raises(RuntimeError, match=message):
        fit(options(steps, cost)(), task)
    if steps is not past_the_handle:
        task.ledger.check(cost.at(BUDGET.noise_multiplier(cost, None)))


def test_without_noise_an_empty_ledger_is_still_an_error():
    with pytest.raises(OverBudget, match="its ledger is empty"):
        fit(options(nothing, GAUSSIAN_COST)(), make_task(Users(PROBLEM), fixed_noise(0.0)))


@pytest.mark.parametrize("steps", [add, choose])
def test_a_refused_release_draws_no_noise_and_leaves_no_entry(steps, rng):
    """The message names the release, what it asks for, what is spent and what is allowed."""
    noise, ledger = Recorder(rng), Ledger()
    release = Release(0.5, ledger, range(20), {"noise": noise}, BOTH.at(0.5))
    steps(release)
    state, calls, entries = str(rng.bit_generator.state), list(noise.calls), list(ledger.entries)
    with pytest.raises(OverBudget) as caught:
        steps(release)
    assert (str(rng.bit_generator.state), noise.calls, ledger.entries) == (state, calls, entries)
    name, part, each = {add: ("sum", "mu_squared", 4), choose: ("choice", "pure", 2)}[steps]
    assert str(caught.value) == (
        f"release {name!r} asks for {part} = {each} when {each} is spent; its method declares {each} in all"
    )


def test_under_the_paper_s_calibration_the_declared_cost_is_enforced_not_the_target():
    """The multiplier of a printed theorem may be too small for its epsilon, which is a finding;
    what the method declares is spent all the same."""
    from privrep.methods import pmtl

    task = make_task(Users(PROBLEM), Budget(2.0, 1e-6, "paper"))
    method = pmtl.PmtlOptions(rounds=3, clip=0.5)
    fit(method, task)
    assert task.ledger.epsilon(1e-6) > 2.0
    with pytest.raises(OverBudget):
        add(open_release(method.build(PROBLEM.known), task))


entries = st.lists(
    st.tuples(st.booleans(), st.floats(0.1, 3), st.integers(0, 20), st.integers(1, 10), st.floats(0.01, 1)), max_size=12
)


@given(entries, st.integers(0, 20), st.integers(1, 10))
def test_what_is_spent_is_the_sum_of_the_user_who_is_charged_most(drawn, start, length):
    """By counting each user, whatever the order, the rates and whether entries came through the release handle."""
    ledger, users = Ledger(), range(start, start + length)
    for number, (pure, size, first, count, rate) in enumerate(drawn):
        kind = (
            PureRelease("choice", size, first, first + count)
            if pure
            else GaussianRelease("sum", size, 1.0, first, first + count, rate)
        )
        if number % 2:
            ledger.enter(kind, UNLIMITED)
        else:
            ledger.entries.append(kind)
    for part in ("mu_squared", "pure"):
        counted = [
            sum(
                one.charge
                for one in ledger.entries
                if isinstance(one, PureRelease) == (part == "pure") and one.start <= user < one.stop
            )
            for user in range(40)
        ]
        assert ledger.spent(part) == pytest.approx(max(counted), rel=1e-12)
        assert ledger.spent(part, users) == pytest.approx(max(counted[user] for user in users), rel=1e-12)


def test_rounding_is_allowed_for_and_no_more():
    ledger = Ledger()
    for _ in range(2):
        ledger.enter(GaussianRelease("half", math.sqrt(0.5), 1.0, 0, 5), GAUSSIAN_COST)
    assert ledger.spent("mu_squared") > 1
    with pytest.raises(OverBudget):
        ledger.enter(GaussianRelease("more", 1e-4, 1.0, 0, 5), GAUSSIAN_COST)
    ledger.enter(GaussianRelease("others", 1.0, 1.0, 5, 9), GAUSSIAN_COST)


SIZES = {"users": 60, "samples": 8, "dim": 6, "rank": 2}
CENTAUR = SIZES | {"epsilon": 1.0, "init": "random", "rounds": 3, "clip": 0.5, "batch_samples": 2}


@pytest.mark.parametrize(
    ("algorithm", "changes", "message"),
    [
        ("nonprivate_altmin", SIZES | {"epsilon": 1}, "epsilon is 1; nonprivate_altmin takes none"),
        (
            "centaur",
            {"epsilon": None},
            "epsilon is None, not a number greater than 0; centaur is private and needs one",
        ),
        ("centaur", {"epsilon": "1"}, "epsilon is '1', a text; it must be a number"),
        ("centaur", {"epsilon": True}, "epsilon is True; it must be a number"),
        ("centaur", {"epsilon": 0}, "epsilon is 0; it must be positive and finite"),
        ("centaur", {"epsilon": math.inf}, "epsilon is inf; it must be positive and finite"),
        ("centaur", {"delta": "1e-6"}, "delta is '1e-6', a text; it must be a number; YAML reads"),
        ("centaur", {"calibration": "best"}, "calibration is 'best'; it must be one of paper, exact"),
        ("centaur", {"seed": None}, "seed is None; it must be a number"),
        ("centaur", {"seed": -1}, "seed is -1; it must be an integer of at least 0"),
        ("centaur", {"master_seed": None}, "master_seed is None; it must be a number"),
        ("centaur", {"users": "60"}, "users is '60', a text; it must be a number"),
        ("centaur", {"users": np.True_}, "users is True; it must be a number"),
        ("centaur", {"label_noise_sd": "0.1"}, "label_noise_sd is '0.1', a text; it must be a number"),
        ("centaur", {"label_noise_sd": True}, "label_noise_sd is True; it must be a number"),
        ("centaur", {"clip": "0.5"}, "clip is '0.5', a text; it must be a number"),
        ("centaur", {"clip": True}, "clip is True; it must be a number"),
        ("centaur", {"clip": None}, "clip is None; it must be a number"),
        ("centaur", {"init": None}, "init is None; it must be one of planted, power_method, random"),
        ("centaur", {"n": 2000}, "n is 2000; fit has no argument of this name, write users="),
        ("centaur", {"clip": np.ones(2)}, "clip is array([1., 1.]); it must be one value"),
        ("centaur", {"users": 10**30}, f"it must be at most {10**12}"),
        ("centaur", {"samples": 10**12}, "4 users at once take 2.6e+14 bytes, and this machine has"),
    ],
)
def test_a_shell_checks_what_a_study_checks(algorithm, changes, message):
    """One line that names the argument, the value and what it may be."""
    settings = changes if algorithm != "centaur" else CENTAUR | changes
    with pytest.raises(ValueError) as caught:
        shell.fit(algorithm, **settings)
    assert message in str(caught.value) and "\n" not in str(caught.value)
