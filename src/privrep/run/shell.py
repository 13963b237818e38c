"""One fit from a Python shell, without a study: the same cell that a study would run, with the same random streams.

from privrep.run.shell import fit
row, ledger = fit("centaur", users=2000, samples=24, dim=20, rank=2, epsilon=2.0, rounds=20, clip=0.5, batch_samples=8)
print(row["excess_risk"], row["dist2"], ledger)
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from privrep.data.problem import Problem, Users
from privrep.privacy.accounting import Budget
from privrep.privacy.ledger import Ledger
from privrep.run.grids import Cell, check_budget
from privrep.run.registry import load_options
from privrep.run.results import run_cell
from privrep.run.settings import WholeProblem, checked

AXES = {field.name for field in fields(Problem)}


class Arguments(WholeProblem):
    """What a fit is given, but for the options of its algorithm."""

    seed: Annotated[int, Field(ge=0)] = 0
    epsilon: Annotated[float, Field(gt=0)] | None
    delta: Annotated[float, Field(gt=0, lt=1)]
    calibration: Literal["paper", "exact"]
    master_seed: Annotated[int, Field(ge=0)]


def fit(
    algorithm: str,
    *,
    epsilon: float | None = None,
    delta: float = 1e-6,
    calibration: str = "exact",
    master_seed: int = 0,
    **settings: object,
) -> tuple[dict, Ledger]:
    """The row of a fit, as in cells.csv, and its ledger.

    Parameters
    ----------
    algorithm : file of `privrep.algorithms` or `privrep.instruments`. epsilon : None for a method without privacy. calibration : `exact` or `paper`.
    settings : sizes and laws of the problem (`privrep.data.problem.Problem`), and options of the algorithm.

    Raises
    ------
    ValueError
        If a setting is unknown, of the wrong kind or out of range, or if epsilon is missing, or given to a method without privacy.
    """
    settings |= {"epsilon": epsilon, "delta": delta, "calibration": calibration, "master_seed": master_seed}
    settings = {name: value.item() if isinstance(value, np.generic) else value for name, value in settings.items()}
    options = {name: value for name, value in settings.items() if name not in Arguments.model_fields}
    checked(Arguments, {name: value for name, value in settings.items() if name not in options}, "fit")
    problem = Problem(**{name: value for name, value in settings.items() if name in AXES})
    load_options(algorithm, options).build(problem)
    budget = None if epsilon is None else Budget(float(epsilon), delta, calibration)
    cell = Cell("shell", "shell", algorithm, tuple(options.items()), problem, budget)
    check_budget(cell, f"epsilon is {epsilon!r}", f"epsilon is {epsilon!r}")
    row, _, ledger = run_cell(cell, Users(problem, settings["master_seed"]))
    return row, ledger
