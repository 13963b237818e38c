"""Models that use no data to choose the representation: points of reference for Figure 2 of jain2021.

`random`: independent U and v_j ~ N(0, I_k), expected excess risk 2k ("a purely random model is around 4").
`random-subspace`: random U, heads fitted by the users. `zero`: theta = 0, expected excess risk k. `planted-subspace`: U at a
given distance from the truth, heads fitted on the second half of the samples, as in jain2021 Theorem 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from privrep.algorithms.altmin import check_split
from privrep.problem import Problem
from privrep.risk import block_excess, personalised_risk
from privrep.splits import split_samples
from privrep.subspace import check_planted, planted_subspace, random_subspace
from privrep.task import Outcome, Task, check_choice

KINDS = ("random", "random-subspace", "zero", "planted-subspace")


@dataclass(frozen=True)
class Algorithm:
    """Options: `kind`, one of KINDS; `start_sine`, the sine of every angle between a planted subspace and the truth."""

    kind: str
    start_sine: float = 0.0

    def __post_init__(self):
        check_choice("kind", self.kind, KINDS)
        if not 0 <= self.start_sine <= 1:
            raise ValueError(f"start_sine is {self.start_sine!r}; it must lie between 0 and 1")

    def check(self, problem: Problem) -> None:
        if self.kind == "planted-subspace":
            check_planted(problem.dim, problem.rank)
            check_split("text", problem)
        if self.kind == "random-subspace":
            check_split("all-samples-reused", problem)

    def fit(self, task: Task) -> Outcome:
        users, problem = task.users, task.users.problem
        rng = task.stream("init")
        if self.kind == "planted-subspace":
            basis = planted_subspace(users.truth.basis, self.start_sine, rng)
            return Outcome(personalised_risk(users, basis, split_samples("text", problem.samples).final), basis)
        basis = random_subspace(problem.dim, problem.rank, rng)
        if self.kind == "random-subspace":
            return Outcome(personalised_risk(users, basis, slice(0, problem.samples)), basis)
        scale = 1.0 if self.kind == "random" else 0.0
        total = 0.0
        for block in users.blocks():
            heads = scale * rng.standard_normal((block.users, problem.rank))
            total += block_excess(block, users.truth, basis, heads).sum()
        return Outcome(float(total / problem.users), basis if self.kind == "random" else None)
