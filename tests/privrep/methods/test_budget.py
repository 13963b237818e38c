"""What a method declares is what it may spend: stub methods that do otherwise, entered nowhere, end red,
as a fit and as a study's cell."""

import math
from collections.abc import Callable
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
from privrep.users.simulated import Problem, Users
from replication.run.grids import Cell

PROBLEM = Problem(20, 4, 3, 1)
USERS = Users(PROBLEM)
ITERATE = Iterate(np.eye(3, 1))


def add(release: Release, name: str = "sum", rate: float = 1.0) -> None:
    release.sampled(rate).sum(name, USERS, lambda block: Rows(np.zeros((block.users, 2))), clip=0.3)


def choose(release: Release) -> None:
    release.choice("choice", USERS, lambda block: Scores(np.zeros((3, block.users))), width=1.0)


def part(share: float) -> Callable[[Release], None]:
    return lambda release: add(release.share(share))


def of(users: range, name: str = "sum") -> Callable[[Release], None]:
    return lambda release: add(release.of(users), name)


def more(**given) -> Callable[[Release], None]:
    return lambda release: add(release, "second", **given)


def past_the_handle(release: Release) -> None:
    release.ledger.record(release.ledger.entries[0])


END = ITERATE
STEPS = {
    "once": [add, END],
    "in parts": [part(0.1), part(0.2), part(0.3), part(0.4), END],
    "on disjoint users": [of(range(7)), of(range(7, 13)), of(range(13, 20)), END],
    "of both kinds": [add, choose, END],
    "twice": [add, END, more(), END],
    "twice at random": [lambda release: add(release, "first", 0.1), more(rate=0.1), END],
    "after the last": [add, END, more()],
    "shares of more than one": [part(0.5), part(0.4), part(0.3), END],
    "one user twice": [of(range(8), "first"), of(range(7, 20), "second"), END],
    "past the handle": [add, past_the_handle, END],
    "choice of two": [choose, choose, END],
    "nothing": [END],
    "no iterate": [add],
}
"""Name -> what a stub method does, where `END` is an iterate that it yields."""


@dataclass(frozen=True)
class StubMethod:
    """A method that takes these steps, and declares a cost."""

    steps: str  # name in `STEPS`
    cost: Cost
    theorem = None

    def fit(self, users, release):
        for step in STEPS[self.steps]:
            if step is END:
                yield step
            else:
                step(release)


def options(steps: str, cost: Cost) -> type:
    """The class of options of a stub file."""

    @dataclass(frozen=True)
    class StubOptions:
        scores = ()
        columns: ClassVar = {}

        def build(self, problem):
            return StubMethod(steps, cost)

    return StubOptions


BOTH = GAUSSIAN_COST + PURE_COST
SOUND = [
    ("once", GAUSSIAN_COST),
    ("in parts", GAUSSIAN_COST),
    ("on disjoint users", GAUSSIAN_COST),
    ("of both kinds", BOTH),
]
SOUND += [("twice", 2 * GAUSSIAN_COST), ("choice of two", 2 * PURE_COST)]
WRONG = [
    ("twice", GAUSSIAN_COST, "release 'second' asks for mu_squared"),
    ("twice at random", GAUSSIAN_COST, "release 'second' asks for mu_squared"),
    ("after the last", GAUSSIAN_COST, "release 'second' asks for mu_squared"),
    ("one user twice", GAUSSIAN_COST, "release 'second' asks for mu_squared"),
    ("shares of more than one", GAUSSIAN_COST, "release 'sum' asks for mu_squared"),
    ("choice of two", PURE_COST, "release 'choice' asks for pure"),
    ("of both kinds", GAUSSIAN_COST, "release 'choice' asks for pure"),
    ("of both kinds", PURE_COST, "release 'sum' asks for mu_squared"),
    ("past the handle", GAUSSIAN_COST, "the ledger has mu_squared"),
    ("nothing", GAUSSIAN_COST, "StubMethod declares a cost, and its ledger is empty"),
    ("nothing", PURE_COST, "StubMethod declares a cost, and its ledger is empty"),
    ("no iterate", GAUSSIAN_COST, "StubMethod yields no iterate"),
]
BUDGET = Budget(2.0, 1e-6, "exact")


def as_cell(steps: str, cost: Cost) -> Cell:
    return Cell("stub", options(steps, cost)(), PROBLEM, BUDGET)


@pytest.mark.parametrize(("steps", "cost"), SOUND)
def test_a_method_that_spends_what_it_declares_is_ok(steps, cost):
    """Its ledger has all of it, whatever the noise; without noise nothing is limited."""
    row, _, ledger = run_cell(as_cell(steps, cost), Users(PROBLEM))
    assert row["status"] == "ok"
    allowed = cost.at(row["noise_multiplier"])
    assert ledger.spent("mu_squared") == pytest.approx(allowed.mu_squared, rel=1e-12)
    assert allowed.rho * row["noise_multiplier"] ** 2 == pytest.approx(cost.rho, rel=1e-12)
    assert ledger.spent("pure") == pytest.approx(allowed.pure, rel=1e-12)
    for multiplier in (0.0, 1e-3, 7.0):
        fit(options(steps, cost)(), make_task(Users(PROBLEM), fixed_noise(multiplier)))


@pytest.mark.parametrize(("steps", "cost", "message"), WRONG)
def test_a_method_that_does_not_is_an_error(steps, cost, message):
    """And no row; the ledger keeps within what was declared unless it was written past the release handle."""
    with pytest.raises(RuntimeError, match=message):
        run_cell(as_cell(steps, cost), Users(PROBLEM))
    task = make_task(Users(PROBLEM), BUDGET)
    with pytest.raises(RuntimeError, match=message):
        fit(options(steps, cost)(), task)
    if steps != "past the handle":
        task.ledger.check(cost.at(BUDGET.noise_multiplier(cost, None)))
    if steps == "nothing":  # without noise, too
        with pytest.raises(OverBudget, match="its ledger is empty"):
            fit(options(steps, cost)(), make_task(Users(PROBLEM), fixed_noise(0.0)))


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
    ("changes", "message"),
    [
        ({"epsilon": None}, "epsilon is None, not a number greater than 0; centaur is private and needs one"),
        ({"epsilon": "1"}, "epsilon is '1'; it must be positive and finite"),
        ({"epsilon": True}, "epsilon is True; it must be positive and finite"),
        ({"epsilon": 0}, "epsilon is 0; it must be positive and finite"),
        ({"epsilon": math.inf}, "epsilon is inf; it must be positive and finite"),
        ({"delta": "1e-6"}, "delta is '1e-6'; it must lie strictly between 0 and 1"),
        ({"calibration": "best"}, "calibration is 'best'; it must be one of paper, exact"),
        ({"seed": None}, "seed is None; it must be a number"),
        ({"seed": -1}, "seed is -1; it must be an integer of at least 0"),
        ({"master_seed": None}, "master_seed is None; it must be an integer of at least 0"),
        ({"users": "60"}, "users is '60', a text; it must be a number"),
        ({"users": np.True_}, "users is True; it must be a number"),
        ({"clip": "0.5"}, "clip is '0.5', a text; it must be a number"),
        ({"clip": True}, "clip is True; it must be a number"),
        ({"clip": None}, "clip is None; it must be a number"),
        ({"init": None}, "init is None; it must be one of planted, power_method, random"),
        ({"n": 2000}, "n is 2000; fit has no argument of this name, write users="),
        ({"clip": np.ones(2)}, "clip is array([1., 1.]); it must be one value"),
        ({"users": 10**30}, f"it must be at most {10**12}"),
        ({"samples": 10**12}, "4 users at once take 2.6e+14 bytes, and this machine has"),
    ],
)
def test_a_shell_checks_what_a_study_checks(changes, message):
    """One line that names the argument, the value and what it may be."""
    with pytest.raises(ValueError) as caught:
        shell.fit("centaur", **CENTAUR | changes)
    assert message in str(caught.value) and "\n" not in str(caught.value)
