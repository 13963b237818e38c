"""Alternating minimisation whose subspace step is one private gradient step (jain2021 Section 4.1: "line 6 by DP-SGD").

    v_j <- least squares of y_ij on U^T x_ij
    g_j <- clip( (2/q) sum_i (<U^T x_ij, v_j> - y_ij) x_ij v_j^T ; c )            (d, k), Frobenius norm
    G   <- ( sum_j g_j + N(0, (2 c Delta)^2) ) / n
    U   <- QR( U - (alpha / t) G / c )                                            step t

The paper names DP-SGD as an option and gives no step size; `alpha / t`, in units of the clip, is this project's choice.

>>> from privrep.simulate import fit
>>> row, _ = fit("gradient_descent", users=2000, samples=16, dim=8, rank=2, epsilon=8.0, init="spectral",
...              init_label_clip=1.5, split="text", clip_feature=0.5, step=1.0)
>>> row["releases"], row["dist2"] < 0.5
(2, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from privrep.methods.running.method import Iterate, LowRank
from privrep.methods.spectral_init import StartedSpectrally
from privrep.methods.steps.moment_step import check_split
from privrep.methods.steps.starts import START_COLUMNS
from privrep.options import among, check_count, option
from privrep.privacy.accounting import Cost, Theorem, sequential_theorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.contributions import Outer
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release
from privrep.users.blocks import Block, UserData
from privrep.users.heads import FittedHeads, HeadRule
from privrep.users.known import Known
from privrep.users.splits import SPLIT_COLUMN, split_samples
from privrep.users.subspace import orthonormalise


def gradients(basis: np.ndarray, head_rule: HeadRule, samples: slice, block: Block) -> Outer:
    """Contribution of users: the gradients of their mean squared error in U (d, k), with heads from `head_rule`."""
    # In float64 throughout: a head can be huge, and the norms must be exact where they are clipped.
    features, labels, heads = block.features[samples].astype(np.float64), block.labels[samples], head_rule(block)
    residual = np.einsum("qbk,bk->qb", features @ basis, heads) - labels
    return Outer(np.einsum("qb,qbd->bd", residual, features) * (2 / len(labels)), heads)


class Sequential:
    """Base class of methods whose printed privacy condition is the composition of Lemma 4.3 of jain2021."""

    cost: ClassVar[Cost]

    @property
    def theorem(self) -> Theorem:
        return sequential_theorem(self.cost)


@dataclass(frozen=True)
class GradientDescentOptions(Sequential, StartedSpectrally):
    """Alternating minimisation with one gradient step per epoch, and its options."""

    init: str = option(START_COLUMNS["init"], among(("random", "spectral")))
    split: str = option(SPLIT_COLUMN["split"])
    clip_feature: float = option("clipping bound of a user's gradient", check_bound)
    step: float = option("step size, in units of the clipping bound", check_bound)
    epochs: int = option("passes over all users, E", check_count, 1)
    init_label_clip: float = option("clipping bound of the labels in Algorithm 3", check_bound, 2.0)
    init_share = start_sine = None  # one noise multiplier serves start and steps, and no start is planted

    def build(self, known: Known) -> GradientDescentOptions:
        check_split(self.split, known)
        return self

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        split = split_samples(self.split, users.known.samples)
        start = self.start(split.init).first(users, release, self.steps_cost)
        yield start
        basis, unit = start.basis, users.known.users * self.clip_feature
        for t in range(1, self.epochs + 1):
            contribution = partial(gradients, basis, FittedHeads(basis, split.heads), split.subspace)
            gradient = release.sum("gradient", users, contribution, clip=self.clip_feature)
            basis = orthonormalise(basis - self.step / t * gradient.value / unit)
            yield Iterate(basis, LowRank(basis, FittedHeads(basis, split.final)))

    @property
    def steps_cost(self) -> Cost:
        """Privacy cost of one user at noise multiplier 1, without the start."""
        return self.epochs * GAUSSIAN_COST

    @property
    def cost(self) -> Cost:
        """Privacy cost of one user at noise multiplier 1."""
        return self.start().cost_with(self.steps_cost)
