"""The smallest number of users at which a method reaches a target risk, by bisection; the method here is private
alternating minimisation.

Trials run on the first n users of one data set with the same draws of noise, so that the risk falls smoothly with n. No
privacy statement covers the search: its ledger holds all trials, and its choice of n depends on the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from privrep.methods import altmin
from privrep.methods.running.experiment import Spending, experiment
from privrep.methods.running.method import MethodOptions, Outcome, Task
from privrep.methods.running.runner import fit
from privrep.methods.running.scoring import SCORE_COLUMNS
from privrep.options import Declared, among, option
from privrep.privacy.accounting import UNLIMITED
from privrep.privacy.clipping import check_bound
from privrep.privacy.ledger import Ledger
from privrep.users.blocks import Block, UserData
from privrep.users.simulated import Users

PRECISION = 1.03  # ratio of the ends of the bracket at which the bisection stops
FIRST_TRIAL = 64  # largest number of users over that of the first trial, which is then doubled or halved


@dataclass
class FirstUsers(UserData):
    """The first `count` users of a larger set without corrupted users, with the same samples."""

    users: Users
    count: int

    memory_budget = 0

    def __post_init__(self):
        corrupted = self.users.problem.adversaries
        if corrupted:
            raise ValueError(f"adversaries is {corrupted!r}; the search needs a problem without adversaries")
        self.problem = replace(self.users.problem, users=self.count)
        self.known, self.truth, self.block_size = self.problem.known, self.users.truth, self.users.block_size

    def read(self, first: int, last: int) -> Block:
        (block,) = self.users.blocks(first, last)
        return block


def searching(kind: type[Any], fewest: Callable[[Any], int] = lambda options: 1) -> type[Declared]:
    """Return an experiment that searches with one method. Each fit keeps to the budget; all fits together exceed it."""
    scores = {name: SCORE_COLUMNS[name] for name in kind.scores}
    numbers = {"smallest_users": "smallest number of users that reaches the target", "trials": "fits in the search"}

    def plain(options: MethodOptions) -> Any:
        return kind(**{field.name: getattr(options, field.name) for field in fields(kind)})

    @experiment(
        numbers | scores,
        base=kind,
        prepare=lambda options, problem: Spending(plain(options).build(problem.known).cost, spends=UNLIMITED),
    )
    def search(
        task: Task,
        options: MethodOptions,
        *,
        target: float = option("excess risk to reach", check_bound, 0.02),
        target_unit: str = option(
            "unit of the target; rank: the zero model's risk", among(("absolute", "rank")), "absolute"
        ),
    ) -> Outcome:
        """Return the outcome at the smallest number of users at which the excess risk is at most the target."""
        method, problem = plain(options), task.simulated.problem
        risk = target * (problem.rank if target_unit == "rank" else 1)
        tried: dict[int, Outcome | None] = {}

        def reached(users: int) -> bool:
            ledger = Ledger()
            try:
                outcome = fit(method, replace(task, users=FirstUsers(task.simulated, users), ledger=ledger))
            except np.linalg.LinAlgError:
                outcome = None
            finally:
                task.ledger.entries.extend(ledger.entries)
            excess = math.inf if outcome is None or outcome.excess_risk is None else outcome.excess_risk
            tried[users] = outcome if excess <= risk else None
            return tried[users] is not None

        failed, enough = bracket(reached, fewest(method), problem.users)
        while enough > failed + 1 and enough > failed * PRECISION:
            middle = max(failed + 1, int((failed * enough) ** 0.5))
            failed, enough = (failed, middle) if reached(middle) else (middle, enough)
        best = tried[enough]
        assert best is not None
        log = best.log | {"smallest_users": enough, "trials": len(tried)}
        return replace(best, theorem="", epsilon_paper=None, log=log)

    return search


def bracket(reached: Callable[[int], bool], fewest: int, most: int) -> tuple[int, int]:
    """Return two numbers of users, at most a factor 2 apart, of which the second alone reaches the target."""
    users = max(fewest, most // FIRST_TRIAL)
    if reached(users):
        while users > fewest and reached(max(fewest, users // 2)):
            users = max(fewest, users // 2)
        return (max(fewest, users // 2) if users > fewest else fewest - 1), users
    while users < most:
        failed, users = users, min(2 * users, most)
        if reached(users):
            return failed, users
    raise ArithmeticError(f"the target is not reached with {most} users")


smallest_users = searching(altmin.AltminOptions, fewest=lambda options: options.batches)
