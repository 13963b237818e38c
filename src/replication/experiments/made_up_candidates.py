"""Selection (shen2023, Algorithm 3, lines 6 to 9) among candidates drawn as Lemma F.3 assumes, without users' data."""

from __future__ import annotations

import math

import numpy as np

from privrep.methods.running.experiment import experiment
from privrep.methods.running.method import Task
from privrep.methods.steps.candidate_selection import select
from privrep.options import among, check_count, check_share, option
from privrep.users.subspace import check_planted, dist2, planted_subspace, random_subspace
from replication.experiments.columns import columns_of

BAD = ("alike", "scattered")  # bad candidates are all the same, or each lies in a random direction


def trials_needed(good_share: float, failure: float) -> int:
    """Return T_0 = 8 p ln(1/delta') of Lemma F.3, rounded up."""
    return math.ceil(8 * good_share * math.log(1 / failure))


def candidates(
    truth: np.ndarray, count: int, share: float, accuracy: float, needed: float, bad: str, rng: np.random.Generator
) -> np.ndarray:
    """Draw candidates (count, d, k): good ones at a random distance of up to eps_i, bad ones just beyond eps_0."""
    wrong = planted_subspace(truth, needed * 1.001, rng)
    drawn = []
    for good in rng.random(count) < share:
        if good:
            drawn.append(planted_subspace(truth, accuracy * rng.random(), rng))
        else:
            drawn.append(wrong if bad == "alike" else planted_subspace(truth, needed * 1.001, rng))
    return np.array(drawn)


@experiment(
    columns_of("made_up_candidates"),
    prepare=lambda options, problem: check_planted(problem.dim, problem.rank),
)
def made_up_candidates(
    task: Task,
    *,
    good_share: float = option("probability that a candidate is good, p", check_share),
    failure: float = option("failure probability asked for, delta'", check_share),
    bad: str = option("bad candidates: all alike, or scattered", among(BAD)),
    accuracy: float = option("accuracy of a good candidate, eps_i", check_share, 0.01),
    needed: float = option("distance that the selected candidate must keep, eps_0", check_share, 0.2),
    selections: int = option("selections made, each among candidates of its own", check_count, 30),
) -> dict[str, float]:
    """Count how often selection fails: no candidate passes, or the selected one is farther than eps_0."""
    dim, rank, rng = task.simulated.problem.dim, task.simulated.problem.rank, task.stream("candidates")
    count, failed = trials_needed(good_share, failure), 0
    for _ in range(selections):
        truth = random_subspace(dim, rank, rng)
        some = candidates(truth, count, good_share, accuracy, needed, bad, rng)
        chosen = select(some, accuracy)
        failed += not chosen.passed or dist2(some[chosen.index], truth) > needed
    return {"candidates": count, "failed_share": failed / selections}
