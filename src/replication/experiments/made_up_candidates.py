"""Selection (shen2023, Algorithm 3, lines 6 to 9) among synthetic candidates:
the premise of Lemma F.3 without the runs that should meet it.

Looks at no data and releases nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privrep.methods.running.method import Outcome, Task
from privrep.methods.steps.candidate_selection import select
from privrep.options import Declared, among, check_count, check_share, option
from privrep.users.problem import Problem
from privrep.users.subspace import check_planted, dist2, planted_subspace, random_subspace

BAD = ("alike", "scattered")
"""Bad candidates are all the same, or lie in directions of their own."""


def trials_needed(good_share: float, failure: float) -> int:
    """Return T_0 = 8 p ln(1/delta') of Lemma F.3, rounded up."""
    return math.ceil(8 * good_share * math.log(1 / failure))


@dataclass(frozen=True)
class MadeUpCandidatesOptions(Declared):
    """Selections among synthetic candidates."""

    good_share: float = option("probability that a candidate is good, p", check_share)
    failure: float = option("failure probability asked for, delta'", check_share)
    bad: str = option("bad candidates: all alike, or scattered", among(BAD))
    accuracy: float = option("accuracy of a good candidate, eps_i", check_share, 0.01)
    needed: float = option("distance that the selected candidate must keep, eps_0", check_share, 0.2)
    selections: int = option("selections made, each among candidates of its own", check_count, 30)
    numbers: ClassVar = {"candidates": "candidates in each, T_0", "failed_share": "share of the selections that fail"}

    def experiment(self, problem: Problem) -> MadeUpCandidatesOptions:
        check_planted(problem.dim, problem.rank)
        return self

    def candidates(self, count: int, dim: int, rank: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw candidates (count, d, k) and the truth: good ones at a random distance up to eps_i, bad ones just above
        eps_0."""
        truth = random_subspace(dim, rank, rng)
        wrong = planted_subspace(truth, self.needed * 1.001, rng)
        found = []
        for good in rng.random(count) < self.good_share:
            if good:
                found.append(planted_subspace(truth, self.accuracy * rng.random(), rng))
            else:
                found.append(wrong if self.bad == "alike" else planted_subspace(truth, self.needed * 1.001, rng))
        return np.array(found), truth

    def run(self, task: Task) -> Outcome:
        """Count how often selection fails: no candidate passes, or the selected one is farther than eps_0."""
        dim, rank, rng = task.users.problem.dim, task.users.problem.rank, task.stream("candidates")
        count, failed = trials_needed(self.good_share, self.failure), 0
        for _ in range(self.selections):
            some, truth = self.candidates(count, dim, rank, rng)
            chosen = select(some, self.accuracy)
            failed += not chosen.passed or dist2(some[chosen.index], truth) > self.needed
        return Outcome(log={"candidates": count, "failed_share": failed / self.selections})
