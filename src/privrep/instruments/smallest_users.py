"""The smallest number of users at which private alternating minimisation reaches a target risk, see `privrep.instruments.user_search`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privrep.algorithms import altmin
from privrep.data.problem import Problem
from privrep.instruments.user_search import Search, Target, without_target


@dataclass(frozen=True)
class Options(Target, altmin.Options):
    """Options of `privrep.algorithms.altmin`, and the target."""

    columns: ClassVar = altmin.Options.columns | Target.columns

    def __post_init__(self):
        super().__post_init__()
        self.check_target()

    def build(self, problem: Problem) -> Search:
        """The search among the users of a problem."""
        plain = without_target(self, altmin.Options)
        return Search(plain, self.risk(problem.rank), fewest=self.batches, cost=plain.build(problem).cost)
