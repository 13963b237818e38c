"""Alternating minimisation whose subspace step is one private gradient step (jain2021 Section 4.1: "line 6 by DP-SGD").

    v_j <- least squares of y_ij on U^T x_ij
    g_j <- clip( (2/q) sum_i (<U^T x_ij, v_j> - y_ij) x_ij v_j^T ; c )            (d, k), Frobenius norm
    G   <- ( sum_j g_j + N(0, (2 c Delta)^2) ) / n
    U   <- QR( U - (alpha / t) G / c )                                            step t

The paper names DP-SGD as an option and gives no step size; `alpha / t`, in units of the clip, is this project's choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privrep.algorithms.altmin import STARTS, check_split, start_of
from privrep.algorithms.method import Iterate, LowRank, check_choice, check_count
from privrep.algorithms.starts import Start
from privrep.data.heads import FittedHeads, HeadRule
from privrep.data.passes import total
from privrep.data.problem import Block, Problem, UserData
from privrep.data.splits import SPLIT_COLUMN, Split
from privrep.data.subspace import orthonormalise
from privrep.privacy.accounting import Cost, Theorem, sequential_theorem
from privrep.privacy.clipping import check_bound, clip_factor
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release


def clipped_gradients(block: Block, samples: slice, basis: np.ndarray, heads: np.ndarray, bound: float) -> np.ndarray:
    """Sum over the users of a block of the clipped gradients of their mean squared error in U, (d, k) float64."""
    # In float64 throughout: a head can be huge, and the norms must be exact where they are clipped.
    features, labels = block.features[samples].astype(np.float64), block.labels[samples]
    residual = np.einsum("qbk,bk->qb", features @ basis, heads) - labels
    direction = np.einsum("qb,qbd->bd", residual, features) * (2 / len(labels))
    # g_j = direction_j v_j^T has Frobenius norm ||direction_j|| ||v_j||
    norms = np.linalg.norm(direction, axis=1) * np.linalg.norm(heads, axis=1)
    return direction.T @ (heads * clip_factor(norms, bound)[:, None])


def private_gradient(
    users: UserData, basis: np.ndarray, heads: HeadRule, samples: slice, bound: float, release: Release
) -> np.ndarray:
    """n G: the released sum of the users' clipped gradients, (d, k)."""
    gradients = total(users, lambda block: clipped_gradients(block, samples, basis, heads(block), bound))
    return release.vector("gradient", gradients, bound=bound)


@dataclass(frozen=True)
class GradientAltMin:
    """Alternation with one gradient step per epoch. clip : c, the bound on a user's gradient. step : alpha."""

    start: Start
    split: Split
    clip: float
    step: float
    epochs: int

    @property
    def steps_cost(self) -> Cost:
        """Of one user, without the start."""
        return self.epochs * GAUSSIAN_COST

    @property
    def cost(self) -> Cost:
        """Of one user."""
        return self.start.cost_with(self.steps_cost)

    @property
    def theorem(self) -> Theorem:
        """Lemma 4.3, composed."""
        return sequential_theorem(self.cost)

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        start = self.start.first(users, release, self.steps_cost)
        yield start
        basis, unit = start.subspace, users.problem.users * self.clip
        for t in range(1, self.epochs + 1):
            heads = FittedHeads(basis, self.split.heads)
            gradient = private_gradient(users, basis, heads, self.split.subspace, self.clip, release)
            basis = orthonormalise(basis - self.step / t * gradient / unit)
            yield Iterate(basis, LowRank(basis, FittedHeads(basis, self.split.final)))


@dataclass(frozen=True)
class Options:
    """Options: `init`, `split`, `epochs` and `init_label_clip` as in `altmin`; `clip_feature` the clip c of a user's gradient; `step` alpha."""

    init: str
    split: str
    clip_feature: float
    step: float
    epochs: int = 1
    init_label_clip: float = 2.0
    scores = ()
    columns: ClassVar = SPLIT_COLUMN | {
        "init": "initial subspace: random, spectral (Algorithm 3), or planted at a given distance from the truth",
        "clip_feature": "clipping bound of a user's gradient",
        "step": "step size, in units of the clipping bound",
        "epochs": "passes over all users, E",
        "init_label_clip": "clipping bound of the labels in Algorithm 3",
    }

    def __post_init__(self):
        check_choice("init", self.init, STARTS)
        check_count("epochs", self.epochs)
        check_bound("clip_feature", self.clip_feature)
        check_bound("step", self.step)
        check_bound("init_label_clip", self.init_label_clip)

    def build(self, problem: Problem) -> GradientAltMin:
        """The method for a problem."""
        split = check_split(self.split, problem)
        start = start_of(self.init, problem, split, self.init_label_clip)
        return GradientAltMin(start, split, self.clip_feature, self.step, self.epochs)
