"""Reference models that know the truth, as limits for unit steps.

`floor`: heads in the true subspace, by least squares or ridge; nothing is released.
`step`: one release of unit steps at the true subspace, with true heads and the whole budget, divided by its true gain:

    g_i <- (I - U* U*^T) X_i^T (y_i - X_i U* v_i)
    U   <- QR( U* + ( sum_i (g_i/|g_i|) (v_i/|v_i|)^T + noise ) / (n kappa) ),     kappa = sqrt(m/d) E|v| / (k sigma_F)

Its error is that of the noise in the best of steps, and of the labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privrep.methods.running.method import LowRank, Outcome, Task
from privrep.methods.running.runner import open_release
from privrep.methods.unit_steps import unit
from privrep.options import Declared, among, option
from privrep.privacy.contributions import Outer
from privrep.privacy.mechanisms import GAUSSIAN_COST
from privrep.users.heads import FINAL_HEADS, FINAL_HEADS_COLUMN, FittedHeads, final_penalty
from privrep.users.passes import total
from privrep.users.problem import Block, Problem
from privrep.users.risk import personal_risk
from privrep.users.subspace import orthonormalise

KINDS = ("floor", "step")


@dataclass(frozen=True, eq=False)
class StepAtTruth:
    """The users' contributions (g/|g|)(v/|v|)^T at the truth (d, k)."""

    truth: np.ndarray

    def __call__(self, block: Block) -> Outer:
        fitted = np.einsum("qbk,bk->qb", block.features @ self.truth.astype(np.float32), block.heads)
        gradients = np.einsum("qbd,qb->bd", block.features, block.labels - fitted).astype(np.float64)
        gradients -= (gradients @ self.truth) @ self.truth.T
        return Outer(unit(gradients), unit(block.heads))


@dataclass(frozen=True)
class Floor:
    """Heads in the true subspace, on all samples, with a ridge penalty."""

    penalty: float = 0.0

    def run(self, task: Task) -> Outcome:
        truth = task.users.truth.basis
        heads = FittedHeads(truth, slice(0, task.users.problem.samples), self.penalty)
        return Outcome(excess_risk=personal_risk(task.users, truth, heads), subspace=truth)


@dataclass(frozen=True)
class TrueStep:
    """One release at the truth, with a ridge penalty on the heads."""

    penalty: float = 0.0

    cost = GAUSSIAN_COST
    theorem = None

    def run(self, task: Task) -> Outcome:
        users, problem, truth = task.users, task.users.problem, task.users.truth.basis
        release = open_release(self, task)
        step = release.sum("true_step", users, StepAtTruth(truth), clip=1.0)
        spread = math.sqrt(problem.dim / problem.samples) * problem.label_noise_sd
        lengths = total(users, lambda block: float(np.linalg.norm(block.heads, axis=1).sum()))
        basis = orthonormalise(truth + step * problem.rank * spread / lengths)
        personal = LowRank(basis, FittedHeads(basis, slice(0, problem.samples), self.penalty))
        return Outcome(
            excess_risk=personal_risk(users, basis, personal.heads),
            subspace=basis,
            log={"noise_multiplier": release.noise_multiplier},
        )


@dataclass(frozen=True)
class OracleStepOptions(Declared):
    """Options of the reference models."""

    kind: str = option("which reference model", among(KINDS), "step")
    final_heads: str = option(FINAL_HEADS_COLUMN["final_heads"], among(FINAL_HEADS), "least squares")

    def experiment(self, problem: Problem) -> Floor | TrueStep:
        penalty = final_penalty(self.final_heads, problem.known)
        if self.kind == "floor":
            return Floor(penalty)
        if problem.adversaries:
            raise ValueError(f"adversaries is {problem.adversaries!r}; kind 'step' needs true heads of all users")
        if not problem.label_noise_sd > 0:
            raise ValueError(f"label_noise_sd is {problem.label_noise_sd!r}; kind 'step' needs it positive")
        return TrueStep(penalty)
