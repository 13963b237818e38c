"""One fit of simulated users from a Python shell, with the random streams of a study.

from privrep.simulate import fit
row, ledger = fit("centaur", users=2000, samples=24, dim=20, rank=2, epsilon=2.0, rounds=20, clip=0.5, batch_samples=8)
print(row["excess_risk"], row["dist2"], ledger)

The master seed reproduces the fit's noise. For data of people use `privrep.estimator`: nobody can reproduce its noise.

Passes over users can run on another engine, with results equal to the byte: engine="threads", or engine="dask" with the
address of a scheduler, or without one for a worker on each core of this machine.
"""

from __future__ import annotations

import difflib
import os
import time
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from privrep.methods.running import runner
from privrep.methods.running.columns import check_columns, option_column
from privrep.methods.running.method import MethodOptions, NotRun, Task
from privrep.methods.running.registry import load_options, options_class
from privrep.methods.running.runner import is_private, prepared
from privrep.options import build, check_positive, check_whole, ensure
from privrep.privacy.accounting import Budget, FixedNoise
from privrep.privacy.ledger import Ledger
from privrep.users.blocks import STREAMS_PER_BLOCK
from privrep.users.engines import running_on
from privrep.users.rng import digest, stream
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import dist2, dist_frobenius

PROBLEM_AXES = tuple(field.name for field in fields(Problem))
MOST = 10**12
"""Largest size of a fit; one pass over 10^12 users takes a day or more."""
SHARED_ROLES = ("init",)
"""Roles whose streams belong to the data set, not to the cell. A random start is drawn once per data set, so that
budgets and numbers of epochs are compared from the same starts: a few bad starts dominate the mean error, and separate
draws would decide whether this mean falls from one epsilon to the next."""


@dataclass(frozen=True)
class Cell:
    """One fit of simulated users, named by its values: a method and its options, a problem, a budget."""

    algorithm: str
    options: MethodOptions
    problem: Problem
    budget: Budget | FixedNoise | None

    def __post_init__(self):
        for name in ("users", "samples", "dim", "rank"):
            value = getattr(self.problem, name)
            ensure(value <= MOST, name, value, f"it must be at most {MOST}")

    @property
    def axes(self) -> dict:
        """All values that define the cell, by name. Options at their default are left out, so that a new option of a
        method changes no existing cell."""
        own = {field.name: field.default for field in fields(self.options)}
        chosen = {f"option.{name}": value for name, value in vars(self.options).items() if value != own[name]}
        budget = self.budget.axes if self.budget else {}
        return {"algorithm": self.algorithm, **self.problem.axes, **budget, **chosen}

    @cached_property
    def key(self) -> str:
        """The first twelve hexadecimal digits of the hash of the cell's values."""
        return digest(self.axes)[:12]

    @property
    def row(self) -> dict:
        """The columns of the cell's row that are known before the run."""
        budget = self.budget.axes if self.budget else {}
        options = {option_column(name): value for name, value in vars(self.options).items()}
        return {"key": self.key, "algorithm": self.algorithm, **vars(self.problem), **budget, **options}

    def stream(self, role: str, master_seed: int) -> np.random.Generator:
        """Return the random stream of a role, keyed by the problem alone for `SHARED_ROLES`, otherwise by the cell."""
        return stream(master_seed, role, self.problem.axes if role in SHARED_ROLES else self.axes)


def run_cell(cell: Cell, users: Users) -> tuple[dict, dict, Ledger]:
    """Run one cell on its users, and return row, timing and ledger.

    A numerical failure gives a row with status `failed` and a reason; missing data give one with `not run`.
    """
    ledger = Ledger()
    task = Task(users, cell.budget, lambda role: cell.stream(role, users.master_seed), ledger)
    row = {}
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        outcome = runner.fit(cell.options, task)
        if outcome.excess_risk is not None and not np.isfinite(outcome.excess_risk):
            raise ArithmeticError(f"the excess risk is {outcome.excess_risk}")
    except (np.linalg.LinAlgError, ArithmeticError) as error:
        row |= {"status": "failed", "reason": str(error)}
    except NotRun as missing:
        row |= {"status": "not run", "reason": str(missing)}
    else:
        row |= {"status": "ok", "theorem": outcome.theorem, "epsilon_paper": outcome.epsilon_paper}
        row |= outcome.log | outcome.scores
        if outcome.excess_risk is not None:
            row |= {"excess_risk": outcome.excess_risk, "mse": outcome.excess_risk + cell.problem.label_noise_sd**2}
        if outcome.subspace is not None:
            both = outcome.subspace, users.truth.basis
            row |= {"dist2": dist2(*both), "distF": dist_frobenius(*both)}
    if ledger.entries:
        row |= {"releases": len(ledger.entries), "mu": ledger.mu, "ledger": ledger.summary}
        if cell.budget:
            row["epsilon_exact"] = ledger.epsilon(cell.budget.delta)
    check_columns(cell.algorithm, cell.options, row)
    cpu, wall = round(time.process_time() - cpu, 4), round(time.perf_counter() - wall, 4)
    return cell.row | row, {"key": cell.key, "cpu_seconds": cpu, "wall_seconds": wall}, ledger


class Row(dict):
    """The row of a fit; if a risk is missing in it, the KeyError says why."""

    def __missing__(self, name: str) -> None:
        if name in ("excess_risk", "mse") and self["status"] == "ok":
            raise KeyError(
                f"{self['algorithm']} releases a subspace and no models of users, so it has no {name}; "
                "dist2 and distF are its distances from the truth"
            )
        raise KeyError(f"{name}; the fit {self['status']}: {self['reason']}" if "reason" in self else name)


def check_budget(name: str, method: object, budget: object, without: str, with_one: str) -> None:
    """Raise ValueError if a private method has no budget, with a message that begins with `without`, or if a method
    without privacy has one, with a message that begins with `with_one`."""
    if is_private(method) and budget is None:
        raise ValueError(f"{without}; {name} is private and needs one")
    if budget is not None and not is_private(method):
        raise ValueError(f"{with_one}; {name} takes none")


LETTERS = {"n": "users", "m": "samples", "d": "dim", "k": "rank"}
"""Letter of the papers -> name of the argument."""


def fit(
    algorithm: str,
    *,
    epsilon: float | None = None,
    delta: float = 1e-6,
    calibration: str = "exact",
    master_seed: int = 0,
    engine: str = "process",
    scheduler: str | None = None,
    **settings: object,
) -> tuple[dict, Ledger]:
    """Fit simulated users, and return the row of the fit (`privrep.methods.running.columns`) and its ledger.

    Parameters
    ----------
    algorithm : name of the method's file in `privrep.methods`. epsilon : None for a method without privacy.
    calibration : `exact` or `paper`.
    engine, scheduler : see `privrep.users.engines.running_on`.
    settings : sizes and laws of the problem (`privrep.users.simulated.Problem`), and options of the algorithm.

    Raises
    ------
    ValueError
        If a setting is unknown, of the wrong kind or out of range, or if epsilon is missing, or given to a method
        without privacy; or if a block of users does not fit into the memory of this machine.
    """
    for letter, name in LETTERS.items():
        if letter in settings:
            raise ValueError(f"{letter} is {settings[letter]!r}; fit has no argument of this name, write {name}=")
    check_whole("master_seed", master_seed)
    budget = None
    if epsilon is not None:
        check_positive("epsilon", epsilon)
        budget = Budget(float(epsilon), delta, calibration)
    known = [*PROBLEM_AXES, *(field.name for field in fields(options_class(algorithm)))]
    for name in settings:
        if name not in known:
            (near,) = difflib.get_close_matches(name, known, n=1, cutoff=0)
            raise ValueError(f"{name} is no option of {algorithm}, nor of a problem; the nearest is {near}")
    options = load_options(algorithm, {name: value for name, value in settings.items() if name not in PROBLEM_AXES})
    problem = build(Problem, {name: value for name, value in settings.items() if name in PROBLEM_AXES}, "fit")
    check_memory(problem)
    without = "epsilon is None, not a number greater than 0"
    check_budget(algorithm, prepared(options, problem), budget, without, f"epsilon is {epsilon!r}")
    cell = Cell(algorithm, options, problem, budget)
    with running_on(engine, scheduler):
        row, _, ledger = run_cell(cell, Users(problem, master_seed))
    return Row(row), ledger


def check_memory(problem: Problem) -> None:
    """Raise ValueError if twice the size of a block of a problem's users exceeds the memory of this machine."""
    users = min(problem.users, STREAMS_PER_BLOCK * problem.stream_users)
    needed = 2 * replace(problem, users=users, adversaries=0).known.bytes
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise ValueError(
            f"samples is {problem.samples} and dim is {problem.dim}; {users} users at once take {needed:.2g} bytes, "
            f"and this machine has {there:.2g}"
        )
