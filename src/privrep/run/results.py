"""Running of a cell into a row of the results table; its columns stand in `privrep.run.columns`."""

from __future__ import annotations

import time

import numpy as np

from privrep.data.problem import Users
from privrep.data.rng import stream
from privrep.data.subspace import dist2, dist_frobenius
from privrep.fitting.method import NotRun, Task
from privrep.fitting.runner import fit
from privrep.privacy.ledger import Ledger
from privrep.run.columns import check_columns, option_column
from privrep.run.grids import Cell

TIMING_COLUMNS = ("key", "series", "cpu_seconds", "wall_seconds")


def cell_row(cell: Cell) -> dict:
    """Return the part of a row that is known before the run."""
    return {
        **{name: getattr(cell, name) for name in ("study", "series", "key", "algorithm")},
        **vars(cell.problem),
        **(cell.budget.axes if cell.budget else {}),
        **{option_column(name): value for name, value in vars(cell.chosen).items()},
    }


SHARED_ROLES = ("init",)
"""Streams that belong to the repetition and not to the cell. A random start is drawn once for each data set, so that
budgets and numbers of epochs are compared from the same starts: a few bad starts carry the mean, and drawn anew in each
cell they would decide whether it falls from one epsilon to the next."""


def cell_stream(cell: Cell, role: str, master_seed: int) -> np.random.Generator:
    """Return a cell's random stream for a role, keyed by the problem alone for `SHARED_ROLES` and else by the cell."""
    return stream(master_seed, role, cell.problem.axes if role in SHARED_ROLES else cell.axes)


def run_cell(cell: Cell, users: Users) -> tuple[dict, dict, Ledger]:
    """Run one cell on its users, and return row, timing and ledger.

    A numerical failure is a row with status `failed` and a reason, and so is a cell that lacks its data, `not run`.
    """
    ledger = Ledger()
    task = Task(users, cell.budget, lambda role: cell_stream(cell, role, users.master_seed), ledger)
    row = cell_row(cell)
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        outcome = fit(cell.chosen, task)
        if outcome.excess_risk is not None and not np.isfinite(outcome.excess_risk):
            raise ArithmeticError(f"the excess risk is {outcome.excess_risk}")
    except (np.linalg.LinAlgError, ArithmeticError) as error:
        row |= {"status": "failed", "reason": str(error)}
    except NotRun as missing:
        row |= {"status": "not run", "reason": str(missing)}
    else:
        row |= {
            "status": "ok",
            "theorem": outcome.theorem,
            "epsilon_paper": outcome.epsilon_paper,
            **outcome.log,
            **outcome.scores,
        }
        if outcome.excess_risk is not None:
            row |= {"excess_risk": outcome.excess_risk, "mse": outcome.excess_risk + cell.problem.label_noise_sd**2}
        if outcome.subspace is not None:
            row |= {
                "dist2": dist2(outcome.subspace, users.truth.basis),
                "distF": dist_frobenius(outcome.subspace, users.truth.basis),
            }
    if ledger.entries:
        row |= {"releases": len(ledger.entries), "mu": ledger.mu, "ledger": ledger.summary}
        if cell.budget:
            row["epsilon_exact"] = ledger.epsilon(cell.budget.delta)
    check_columns(row)
    timing = {
        "key": cell.key,
        "series": cell.series,
        "cpu_seconds": round(time.process_time() - cpu, 4),
        "wall_seconds": round(time.perf_counter() - wall, 4),
    }
    return row, timing, ledger
