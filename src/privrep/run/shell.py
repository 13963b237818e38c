"""One fit from a Python shell, without a study: the same cell that a study would run, with the same random streams;
or a fit of users of your own.

from privrep.run.shell import fit, fit_users
row, ledger = fit("centaur", users=2000, samples=24, dim=20, rank=2, epsilon=2.0, rounds=20, clip=0.5, batch_samples=8)
print(row["excess_risk"], row["dist2"], ledger)

from privrep.data.given_users import GivenUsers
table = pd.read_csv("people.csv")
users = GivenUsers.from_rows(table[["x1", "x2", "x3"]], table.y, table.who, rank=1, held_out=0.2, label_noise_sd=0.5)
outcome, ledger = fit_users("unit_steps", users, epsilon=2.0)
print(outcome.held_out, ledger)

Both take an engine on which passes over users run, and the same bytes come out: engine="threads", or engine="dask" with
the address of a scheduler, or without one for a worker on each core of this machine.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from privrep.data.engines import running_on
from privrep.data.problem import STREAMS_PER_BLOCK, Problem, UserData, Users
from privrep.data.rng import stream
from privrep.fitting.method import Outcome, Task
from privrep.fitting.runner import check_spent, prepared, scored
from privrep.privacy.accounting import Budget
from privrep.privacy.ledger import Ledger
from privrep.run.grids import PROBLEM_AXES, Cell, check_budget
from privrep.run.registry import load_options
from privrep.run.results import run_cell
from privrep.run.settings import Model, WholeProblem, checked

LETTERS = {"n": "users", "m": "samples", "d": "dim", "k": "rank"}
"""Letter of the papers -> name of the argument."""


class Privacy(Model):
    """Arguments of a fit on its privacy and its randomness."""

    epsilon: Annotated[float, Field(gt=0)] | None
    delta: Annotated[float, Field(gt=0, lt=1)]
    calibration: Literal["paper", "exact"]
    master_seed: Annotated[int, Field(ge=0)]


class Arguments(WholeProblem, Privacy):
    """Arguments of a fit, but for the options of its algorithm."""

    seed: Annotated[int, Field(ge=0)] = 0


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
    """Fit simulated users, and return the row of the fit, as in cells.csv, and its ledger.

    Parameters
    ----------
    algorithm : a method or an experiment, see `privrep.run.registry`. epsilon : None for a method without privacy.
    calibration : `exact` or `paper`.
    engine, scheduler : see `privrep.data.engines.running_on`.
    settings : sizes and laws of the problem (`privrep.data.problem.Problem`), and options of the algorithm.

    Raises
    ------
    ValueError
        If a setting is unknown, of the wrong kind or out of range, or if epsilon is missing, or given to a method
        without privacy; or if a block of users does not fit into the memory of this machine.
    """
    for letter, name in LETTERS.items():
        if letter in settings:
            raise ValueError(f"{letter} is {settings[letter]!r}; fit has no argument of this name, write {name}=")
    settings |= {"epsilon": epsilon, "delta": delta, "calibration": calibration, "master_seed": master_seed}
    settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    options = {name: value for name, value in settings.items() if name not in Arguments.model_fields}
    checked(Arguments, {name: value for name, value in settings.items() if name not in options}, "fit")
    problem = Problem(**{name: value for name, value in settings.items() if name in PROBLEM_AXES})
    check_memory(problem)
    method = prepared(load_options(algorithm, options), problem)
    budget = budget_of(algorithm, method, epsilon, delta, calibration)
    cell = Cell("shell", "shell", algorithm, tuple(options.items()), problem, budget)
    with running_on(engine, scheduler):
        row, _, ledger = run_cell(cell, Users(problem, settings["master_seed"]))
    return row, ledger


def check_memory(problem: Problem) -> None:
    """Raise ValueError where a block of a problem's users, and as much again to work on it, exceeds the memory here."""
    users = min(problem.users, STREAMS_PER_BLOCK * problem.stream_users)
    needed = 2 * replace(problem, users=users, adversaries=0).bytes
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        raise ValueError(
            f"samples is {problem.samples} and dim is {problem.dim}; {users} users at once take {needed:.2g} bytes, "
            f"and this machine has {there:.2g}"
        )


def fit_users(
    algorithm: str,
    users: UserData,
    *,
    epsilon: float | None = None,
    delta: float = 1e-6,
    calibration: str = "exact",
    master_seed: int = 0,
    engine: str = "process",
    scheduler: str | None = None,
    **options: object,
) -> tuple[Outcome, Ledger]:
    """Fit given users (`privrep.data.given_users`, `privrep.data.scattered`), and return the outcome and its ledger.

    Its privacy is that of its releases. `Outcome.personal` has the users' own models, and `held_out` is exact; all else
    in an outcome may be published.

    Parameters
    ----------
    algorithm : file of `privrep.algorithms`. epsilon : None for a method without privacy.
    calibration : `exact` or `paper`. options : of the algorithm.
    engine, scheduler : see `privrep.data.engines.running_on`.

    Raises
    ------
    ValueError
        As `fit`, and if the algorithm is an experiment, which needs a simulated problem.
    """
    privacy = {"epsilon": epsilon, "delta": delta, "calibration": calibration, "master_seed": master_seed}
    checked(Privacy, privacy, "fit_users")
    chosen = load_options(algorithm, options)
    if hasattr(chosen, "experiment"):
        raise ValueError(f"algorithm is {algorithm!r}; it needs a simulated problem, and runs with fit")
    method, ledger = chosen.build(users.known), Ledger()
    budget = budget_of(algorithm, method, epsilon, delta, calibration)
    axes = {"algorithm": algorithm, **options, **privacy, **vars(users.known)}
    task = Task(users, budget, partial(stream, master_seed, axes=axes), ledger)
    with running_on(engine, scheduler):
        outcome = scored(method, chosen.scores, task)
    return check_spent(method, task, outcome), ledger


def budget_of(algorithm: str, method: object, epsilon: float | None, delta: float, calibration: str) -> Budget | None:
    """Return the budget, after checking that a private method has one, and no other."""
    budget = None if epsilon is None else Budget(float(epsilon), delta, calibration)
    check_budget(algorithm, method, budget, "epsilon is None, not a number greater than 0", f"epsilon is {epsilon!r}")
    return budget
