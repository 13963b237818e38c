"""CENTAUR as printed for any model (shen2023, Algorithms 1 and 2), here for a linear representation, from a random start.

    B <- random
    for t = 1..T:                                         SERVER
        w_i <- least squares of y on B^T x, all samples   CLIENT, on the user's side
        B_i <- B, then T_l times: B_i <- B_i - eta_l grad_B of half the mean squared residual on a mini-batch of q samples
        B   <- B + ( sum_i clip(B_i - B; zeta_g) + N(0, (sigma_g zeta_g)^2) ) / n
    each user: w_i <- least squares in the final B, on all samples

The algorithm is printed for any model; the linear analogue is this project's. B is any (d, k) matrix (`feasible: free`), or is made
orthonormal after each round. sigma_g is twice the noise multiplier.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privrep.algorithms.federated import LocalSteps, gradient
from privrep.algorithms.server import ClippedSum, clip_outer
from privrep.heads import fit_heads
from privrep.problem import Block
from privrep.risk import personalised_risk
from privrep.subspace import orthonormalise, random_subspace
from privrep.task import Outcome, Task, check_choice

FEASIBLE = ("free", "orthonormal")


def representation_steps(
    block: Block, batches: list[np.ndarray], basis: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """CLIENT of Algorithm 2 for all users of a block: l (B, d) and w (B, k) with displacement l_i w_i^T.

    The head stays as it is during the local steps, so a gradient is g w^T, and the user's model B_i w is B w + ||w||^2 l.
    """
    moved = np.zeros((block.users, len(basis)))
    with np.errstate(over="ignore", invalid="ignore"):
        heads = fit_heads(block.features, block.labels, basis)
        start, square = heads @ basis.T, np.einsum("bk,bk->b", heads, heads)[:, None]
        for batch in batches:
            moved = moved - step * gradient(block.features[batch], block.labels[batch], start + square * moved)
    return moved, heads


def client(batches: list[np.ndarray], step: float, bound: float) -> ClippedSum:
    """The CLIENT of one round, with its mini-batches."""

    def displacements(block: Block, basis: np.ndarray, taking_part: np.ndarray) -> np.ndarray:
        return clip_outer(*representation_steps(block, batches, basis, step), bound, taking_part)

    return displacements


@dataclass(frozen=True, kw_only=True)
class Algorithm(LocalSteps):
    """Options of `privrep.algorithms.federated.LocalSteps`, and the feasible set.

    Parameters
    ----------
    feasible : {"free", "orthonormal"}, where B is kept.
    """

    feasible: str = "free"

    def __post_init__(self):
        super().__post_init__()
        check_choice("feasible", self.feasible, FEASIBLE)

    def aggregate(self, basis: np.ndarray, displacement: np.ndarray) -> np.ndarray:
        """B after a round."""
        moved = basis + displacement
        return orthonormalise(moved) if self.feasible == "orthonormal" else moved

    def fit(self, task: Task) -> Outcome:
        problem, batches = task.users.problem, self.mini_batches(task)
        start = random_subspace(problem.dim, problem.rank, task.stream("init"))
        basis = self.learn(
            task, start, lambda bound: client(batches(), self.local_step, bound), aggregate=self.aggregate
        )
        return self.outcome(task, personalised_risk(task.users, basis, slice(0, problem.samples)), basis)
