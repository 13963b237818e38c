"""The smallest number of users at which private FedRep reaches a target risk, see `privrep.instruments.user_search`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from privrep.algorithms import private_fedrep
from privrep.data.problem import Problem
from privrep.instruments.user_search import Search, Target, without_target


@dataclass(frozen=True)
class Options(Target, private_fedrep.Options):
    """Options of `privrep.algorithms.private_fedrep`, and the target."""

    columns: ClassVar = private_fedrep.Options.columns | Target.columns

    def __post_init__(self):
        super().__post_init__()
        self.check_target()

    def build(self, problem: Problem) -> Search:
        """The search among the users of a problem."""
        plain = without_target(self, private_fedrep.Options)
        return Search(plain, self.risk(problem.rank), fewest=1, cost=plain.build(problem).cost)
