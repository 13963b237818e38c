"""Alternating minimisation without privacy, trained to convergence: the `Non-private` curve of jain2021's Figure 2.

The same steps as `altmin`, with noise multiplier 0 and no clipping. The ledger records mu = inf.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from privrep.algorithms.altmin import STARTS, alternate, check_split, start_subspace
from privrep.algorithms.moment_step import SampleClip
from privrep.problem import Problem
from privrep.risk import personalised_risk
from privrep.subspace import dist2, orthonormalise
from privrep.task import Outcome, Task, check_choice, check_count


@dataclass(frozen=True)
class Algorithm:
    """Options: `init` ("random" or "spectral"), `split`, `tolerance` on dist2 between successive subspaces, `max_epochs`."""

    init: str = "random"
    split: str = "all-samples-reused"
    tolerance: float = 1.0e-5
    max_epochs: int = 200

    def __post_init__(self):
        check_choice("init", self.init, STARTS)
        check_count("max_epochs", self.max_epochs)

    def check(self, problem: Problem) -> None:
        check_split(self.split, problem)

    def fit(self, task: Task) -> Outcome:
        users, split = task.users, check_split(self.split, task.users.problem)
        everyone = range(users.problem.users)
        noise = task.stream("noise")
        basis = start_subspace(self.init, users, split, math.inf, 0.0, task)
        for epoch in range(1, self.max_epochs + 1):
            step = alternate(users, everyone, basis, split, SampleClip(math.inf, math.inf), 0.0, noise, task.ledger)
            previous, basis = basis, orthonormalise(step.minimiser)
            if dist2(basis, previous) < self.tolerance:
                break
        return Outcome(
            excess_risk=personalised_risk(users, basis, split.final),
            subspace=basis,
            epsilon_paper=math.inf,
            log={"noise_multiplier": 0.0, "min_eigenvalue": step.min_eigenvalue, "epochs_run": epoch},
        )
