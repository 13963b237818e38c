"""Reference models that know the truth, as limits for unit steps.

`floor`: heads in the true subspace, by least squares or ridge; nothing is released.
`step`: one release of unit steps at the true subspace, with true heads and the whole budget, divided by its true gain:

    g_i <- (I - U* U*^T) X_i^T (y_i - X_i U* v_i)
    U   <- QR( U* + ( sum_i (g_i/|g_i|) (v_i/|v_i|)^T + noise ) / (n kappa) ),     kappa = sqrt(m/d) E|v| / (k sigma_F)

The error of `step` comes from the noise of one release at the best place, the truth, and from the labels' noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privrep.methods.running.experiment import Spending, experiment
from privrep.methods.running.method import Outcome, Task
from privrep.methods.unit_steps.method import unit
from privrep.options import among, option
from privrep.privacy.contributions import Outer
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release
from privrep.users.blocks import Block, true_heads
from privrep.users.heads import FINAL_HEADS, FINAL_HEADS_COLUMN, FittedHeads, final_penalty
from privrep.users.passes import total
from privrep.users.risk import personal_risk
from privrep.users.simulated import Problem
from privrep.users.subspace import orthonormalise


@dataclass(frozen=True, eq=False)
class StepAtTruth:
    """The users' contributions (g/|g|)(v/|v|)^T to a step at the true subspace (d, k)."""

    truth: np.ndarray

    def __call__(self, block: Block) -> Outer:
        fitted = np.einsum("qbk,bk->qb", block.features @ self.truth.astype(np.float32), true_heads(block))
        gradients = np.einsum("qbd,qb->bd", block.features, block.labels - fitted).astype(np.float64)
        gradients -= (gradients @ self.truth) @ self.truth.T
        return Outer(unit(gradients), unit(true_heads(block)))


def prepare(options, problem: Problem) -> Spending | None:
    """Check the conditions of the step; the floor spends nothing."""
    final_penalty(options.final_heads, problem.known)
    if options.kind == "floor":
        return None
    if problem.adversaries:
        raise ValueError(f"adversaries is {problem.adversaries!r}; kind 'step' needs true heads of all users")
    if not problem.label_noise_sd > 0:
        raise ValueError(f"label_noise_sd is {problem.label_noise_sd!r}; kind 'step' needs it positive")
    return Spending(GAUSSIAN_COST)


@experiment({}, prepare=prepare)
def oracle_step(
    task: Task,
    release: Release | None,
    *,
    kind: str = option("which reference model", among(("floor", "step")), "step"),
    final_heads: str = option(FINAL_HEADS_COLUMN, among(FINAL_HEADS), "least squares"),
) -> Outcome:
    """Fit a reference model: heads on all samples, in the true subspace or after one release at the truth."""
    users, problem, basis = task.simulated, task.simulated.problem, task.simulated.truth.basis
    if release is not None:
        step = release.sum("true_step", users, StepAtTruth(basis), clip=1.0)
        spread = math.sqrt(problem.dim / problem.samples) * problem.label_noise_sd
        lengths = total(users, lambda block: float(np.linalg.norm(true_heads(block), axis=1).sum()))
        basis = orthonormalise(basis + step.value * problem.rank * spread / lengths)
    heads = FittedHeads(basis, slice(0, problem.samples), final_penalty(final_heads, problem.known))
    return Outcome(excess_risk=personal_risk(users, basis, heads), subspace=basis)
