"""Plain unit steps, the version for which docs/unit_steps_theorem.md proves a rate: fresh users in each round.

    for t = 1..T, each with n_t new users:
        w_i  <- least squares head of user i in X_i B
        g_i  <- (I - B B^T) X_i^T (y_i - X_i B w_i)
        R    <- ( sum_i (g_i/|g_i|) (w_i/|w_i|)^T + (2/mu) N ) / n_t
        B    <- QR( B + c_t (I - B B^T) R )

From a planted start the steps c_t are those of Theorem 1, from a random start that of Theorem 3 (R). A user is part
of one release, of sensitivity 2: all rounds together are mu-GDP.

For analysis: the experiment reads the truth and the label noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privrep.methods.running.experiment import Spending, experiment
from privrep.methods.running.method import Outcome, Task
from privrep.methods.steps.moment_step import disjoint_batches
from privrep.methods.unit_steps.round import unit
from privrep.options import check_count, check_positive, check_sine, option
from privrep.privacy.contributions import Outer
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release
from privrep.theory.unit_steps import Plain
from privrep.users.blocks import Block
from privrep.users.heads import fit_heads
from privrep.users.simulated import Problem
from privrep.users.subspace import check_planted, orthonormalise, planted_subspace, random_subspace
from replication.experiments.columns import columns_of

TAIL = 3.0  # l of condition (1), which fails with probability at most 2 T exp(-l^2 / 2)


@dataclass(frozen=True, eq=False)
class PlainProducts:
    """The users' contributions (g/|g|)(w/|w|)^T at a basis (d, k)."""

    basis: np.ndarray

    def __call__(self, block: Block) -> Outer:
        heads = fit_heads(block.features, block.labels, self.basis)
        left = block.labels - np.einsum("mbd,dk,bk->mb", block.features, self.basis, heads, optimize=True)
        gradients = np.einsum("mbd,mb->bd", block.features, left).astype(np.float64)
        return Outer(unit(gradients - (gradients @ self.basis) @ self.basis.T), unit(heads))


def plain(problem: Problem) -> Plain:
    """Return the constants of the theorems for these users."""
    return Plain(problem.samples, problem.dim, problem.rank, problem.label_noise_sd)


def prepare(options, problem: Problem) -> Spending:
    """Check the sizes; each user is in one release."""
    if problem.samples <= problem.rank or not problem.label_noise_sd > 0:
        raise ValueError(
            f"samples is {problem.samples} and label_noise_sd {problem.label_noise_sd!r}; samples must be above "
            f"rank, {problem.rank}, and label_noise_sd positive"
        )
    check_planted(problem.dim, problem.rank)
    return Spending(GAUSSIAN_COST)


@experiment(
    columns_of("unit_steps_plain"),
    prepare=prepare,
)
def unit_steps_plain(
    task: Task,
    release: Release,
    *,
    rounds: int = option("rounds, each with users of its own", check_count),
    start_sine: float | None = option("sine of the angles of a planted start; none: random", check_sine, None),
    longer: float = option("step over that of the theorem", check_positive, 1.0),
) -> Outcome:
    """Run plain unit steps with the schedule of Theorem 1 or 3 (R)."""
    users, problem, truth = task.simulated, task.simulated.problem, task.simulated.truth.basis
    theory, rng = plain(problem), release.streams["init"]
    planted = start_sine is not None
    basis = planted_subspace(truth, start_sine, rng) if planted else random_subspace(problem.dim, problem.rank, rng)
    cosines, over = [smallest_cosine(basis, truth)], 0.0
    for number, batch in enumerate(disjoint_batches(problem.users, rounds)):
        mean = release.of(batch).sum("plain_step", users, PlainProducts(basis), clip=1.0).value / len(batch)
        length = longer * (theory.step(theory.error(number)) if planted else theory.random_step)
        basis = orthonormalise(basis + length * (mean - basis @ (basis.T @ mean)))
        cosines.append(smallest_cosine(basis, truth))
        over = max(over, float(np.linalg.norm(truth - basis @ (basis.T @ truth))) / theory.error(number + 1))
    asked = theory.users_needed(theory.error(rounds - 1), release.noise_multiplier, TAIL)
    log = {"over_condition": problem.users / rounds / asked, "start_cosine": cosines[0], "end_cosine": cosines[-1]}
    return Outcome(subspace=basis, log=log | ({"over_bound": over} if planted else {}))


def smallest_cosine(basis: np.ndarray, truth: np.ndarray) -> float:
    """Return the cosine of the largest angle between two subspaces."""
    return float(np.linalg.svd(basis.T @ truth, compute_uv=False)[-1])
