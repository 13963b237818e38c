"""The smallest number of users at which CENTAUR reaches a target risk, see `privrep.search`."""

from __future__ import annotations

from dataclasses import dataclass

from privrep.algorithms import centaur
from privrep.search import Target
from privrep.task import Outcome, Task


@dataclass(frozen=True)
class Algorithm(Target, centaur.Algorithm):
    """Options of `privrep.algorithms.centaur`, and the target."""

    def __post_init__(self):
        super().__post_init__()
        self.check_target()

    def fit(self, task: Task) -> Outcome:
        return self.search(task, super().fit, fewest=1)
