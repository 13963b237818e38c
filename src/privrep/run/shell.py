"""One fit from a Python shell, without a study: the same cell that a study would run, with the same random streams.

from privrep.run.shell import fit
row, ledger = fit("centaur", users=2000, samples=24, dim=20, rank=2, epsilon=2.0, rounds=20, clip=0.5, batch_samples=8)
print(row["excess_risk"], row["dist2"], ledger)
"""

from __future__ import annotations

from dataclasses import fields

from privrep.algorithms.method import load_options
from privrep.data.problem import Problem, Users
from privrep.privacy.accounting import Budget
from privrep.privacy.ledger import Ledger
from privrep.run.grids import Cell
from privrep.run.results import run_cell

AXES = {field.name for field in fields(Problem)}


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
        If a setting is unknown or out of range.
    """
    problem = Problem(**{name: value for name, value in settings.items() if name in AXES})
    options = {name: value for name, value in settings.items() if name not in AXES}
    load_options(algorithm, options).build(problem)
    budget = None if epsilon is None else Budget(epsilon, delta, calibration)
    cell = Cell("shell", "shell", algorithm, tuple(options.items()), problem, budget)
    row, _, ledger = run_cell(cell, Users(problem, master_seed))
    return row, ledger
