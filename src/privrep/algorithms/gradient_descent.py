"""Alternating minimisation whose subspace step is one private gradient step (jain2021 Section 4.1: "line 6 by DP-SGD").

    v_j <- least squares of y_ij on U^T x_ij
    g_j <- clip( (2/q) sum_i (<U^T x_ij, v_j> - y_ij) x_ij v_j^T ; c )            (d, k), Frobenius norm
    G   <- ( sum_j g_j + N(0, (2 c Delta)^2) ) / n
    U   <- QR( U - (alpha / t) G / c )                                            step t

The paper names DP-SGD as an option and gives no step size; `alpha / t`, in units of the clip, is this project's choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privrep.algorithms.altmin import STARTS, check_split, start_subspace
from privrep.heads import fit_heads
from privrep.privacy.accounting import Cost, sequential_theorem
from privrep.privacy.clipping import check_bound, clip_factor
from privrep.privacy.mechanisms import GAUSSIAN_COST, release_vector
from privrep.problem import Block, Problem
from privrep.risk import personalised_risk
from privrep.subspace import orthonormalise
from privrep.task import Outcome, Task, check_choice, check_count


def clipped_gradients(block: Block, samples: slice, basis: np.ndarray, heads: np.ndarray, bound: float) -> np.ndarray:
    """Sum over the users of a block of the clipped gradients of their mean squared error in U, (d, k) float64."""
    # In float64 throughout: a head can be huge, and the norms must be exact where they are clipped.
    features, labels = block.features[samples].astype(np.float64), block.labels[samples]
    residual = np.einsum("qbk,bk->qb", features @ basis, heads) - labels
    direction = np.einsum("qb,qbd->bd", residual, features) * (2 / len(labels))
    # g_j = direction_j v_j^T has Frobenius norm ||direction_j|| ||v_j||
    norms = np.linalg.norm(direction, axis=1) * np.linalg.norm(heads, axis=1)
    return direction.T @ (heads * clip_factor(norms, bound)[:, None])


@dataclass(frozen=True)
class Algorithm:
    """Options: `init`, `split`, `epochs` and `init_label_clip` as in `altmin`; `clip_feature` the clip c of a user's gradient; `step` alpha."""

    init: str
    split: str
    clip_feature: float
    step: float
    epochs: int = 1
    init_label_clip: float = 2.0

    def __post_init__(self):
        check_choice("init", self.init, STARTS)
        check_count("epochs", self.epochs)
        check_bound("clip_feature", self.clip_feature)
        check_bound("step", self.step)
        check_bound("init_label_clip", self.init_label_clip)

    @property
    def cost(self) -> Cost:
        steps = self.epochs * GAUSSIAN_COST
        return GAUSSIAN_COST + steps if self.init == "spectral" else steps

    def check(self, problem: Problem) -> None:
        check_split(self.split, problem)

    def fit(self, task: Task) -> Outcome:
        users, split = task.users, check_split(self.split, task.users.problem)
        n = users.problem.users
        theorem = sequential_theorem(self.cost)
        noise_multiplier = task.budget.noise_multiplier(self.cost, theorem)
        basis = start_subspace(self.init, users, split, self.init_label_clip, noise_multiplier, task)
        noise = task.stream("noise")
        for t in range(1, self.epochs + 1):
            total = np.zeros_like(basis)
            for block in users.blocks():
                heads = fit_heads(block.features[split.heads], block.labels[split.heads], basis)
                total += clipped_gradients(block, split.subspace, basis, heads, self.clip_feature)
            gradient = release_vector(
                total,
                bound=self.clip_feature,
                noise_multiplier=noise_multiplier,
                rng=noise,
                ledger=task.ledger,
                users=range(n),
                name="gradient",
            )
            basis = orthonormalise(basis - self.step / t * gradient / (n * self.clip_feature))
        return Outcome(
            excess_risk=personalised_risk(users, basis, split.final),
            subspace=basis,
            theorem=theorem.id,
            epsilon_paper=theorem.epsilon(noise_multiplier, task.budget.delta),
            log={"noise_multiplier": noise_multiplier},
        )
