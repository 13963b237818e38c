"""The smallest number of users at which a method reaches a target risk, by bisection.

Trials run on the first n users of one data set with the same noise numbers, so that the risk falls smoothly with n. No
privacy statement covers the search: its ledger holds the releases of all trials, and its choice of n depends on the
truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np

from privrep.methods.running.method import MethodOptions, Outcome, Task
from privrep.methods.running.runner import fit
from privrep.options import Declared, among, option
from privrep.privacy.accounting import UNLIMITED, Cost
from privrep.privacy.clipping import check_bound
from privrep.privacy.ledger import Ledger
from privrep.users.problem import Block, Problem, UserData, Users

PRECISION = 1.03
"""Ratio of the ends of the bracket at which the bisection stops."""
FIRST_TRIAL = 64
"""Ratio of the largest number of users to that at which the search starts; from there it doubles or halves."""


@dataclass(frozen=True)
class Target(Declared):
    """The target of a search, mixed into the options of a method."""

    target: float = option("excess risk to reach", check_bound, 0.02)
    target_unit: str = option(
        "unit of the target: absolute, or the rank, which is the risk of the zero model",
        among(("absolute", "rank")),
        "absolute",
    )
    numbers: ClassVar = {
        "smallest_users": "smallest number of users that reaches the target",
        "trials": "fits made in the search for it",
    }

    def risk(self, rank: int) -> float:
        """Return the target in absolute terms."""
        return self.target * (rank if self.target_unit == "rank" else 1)


@dataclass
class FirstUsers(UserData):
    """The first `count` users of a larger set without corrupted users, with the same samples."""

    users: Users
    count: int

    memory_budget = 0

    def __post_init__(self):
        corrupted = self.users.problem.adversaries
        if corrupted:
            raise ValueError(f"adversaries is {corrupted!r}; a part of the users has no given number of them")
        self.problem = replace(self.users.problem, users=self.count)
        self.known, self.truth, self.block_size = self.problem.known, self.users.truth, self.users.block_size

    def read(self, first: int, last: int) -> Block:
        """Cut these users out of a block of the larger set."""
        (block,) = self.users.blocks(first, last)
        return block


@dataclass(frozen=True)
class Search:
    """The search for the smallest number of users, at least `fewest`, at which the excess risk is at most `risk`.

    Each fit keeps to the cost of the method; all fits together spend more.
    """

    options: MethodOptions
    risk: float
    fewest: int
    cost: Cost
    spends = UNLIMITED

    def run(self, task: Task) -> Outcome:
        """Return the outcome of the method at that number of users."""
        tried: dict[int, Outcome | None] = {}

        def reached(users: int) -> bool:
            ledger = Ledger()
            try:
                outcome = fit(self.options, replace(task, users=FirstUsers(task.users, users), ledger=ledger))
            except np.linalg.LinAlgError:
                outcome = None
            finally:
                task.ledger.entries.extend(ledger.entries)
            tried[users] = outcome if outcome is not None and outcome.excess_risk <= self.risk else None
            return tried[users] is not None

        failed, enough = bracket(reached, self.fewest, task.users.problem.users)
        while enough > failed + 1 and enough > failed * PRECISION:
            middle = max(failed + 1, int((failed * enough) ** 0.5))
            failed, enough = (failed, middle) if reached(middle) else (middle, enough)
        best = tried[enough]
        return replace(
            best, theorem="", epsilon_paper=None, log=best.log | {"smallest_users": enough, "trials": len(tried)}
        )


def searching(
    kind: type[MethodOptions], fewest: Callable[[MethodOptions], int] = lambda options: 1
) -> type[MethodOptions]:
    """Return a class of options of a method and a target, given the least number of users that its options need."""

    @dataclass(frozen=True)
    class SearchOptions(Target, kind):
        numbers: ClassVar = dict(kind.numbers) | Target.numbers

        def experiment(self, problem: Problem) -> Search:
            plain = kind(**{one.name: getattr(self, one.name) for one in fields(kind)})
            return Search(plain, self.risk(problem.rank), fewest(self), plain.build(problem.known).cost)

    return SearchOptions


def bracket(reached: Callable[[int], bool], fewest: int, most: int) -> tuple[int, int]:
    """Return two numbers of users, at most a factor 2 apart, of which the second alone reaches the target.

    The first is `fewest` - 1 if `fewest` users reach it. Raises ArithmeticError if `most` users do not.
    """
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
