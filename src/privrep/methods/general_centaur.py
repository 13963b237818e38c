"""CENTAUR as printed for any model (shen2023, Algorithms 1 and 2), here for a linear representation,
from a random start.

    B <- random
    for t = 1..T:                                         SERVER
        w_i <- least squares of y on B^T x, all samples   CLIENT, on the user's side
        B_i <- B, then T_l times: B_i <- B_i - eta_l grad_B of half the mean squared residual
               on a mini-batch of q samples
        B   <- B + ( sum_i clip(B_i - B; zeta_g) + N(0, (sigma_g zeta_g)^2) ) / n
    each user: w_i <- least squares in the final B, on all samples

The algorithm is printed for any model; the linear analogue is this project's. B is any (d, k) matrix
(`feasible: free`), or is made orthonormal after each round. sigma_g is twice the noise multiplier.

>>> from privrep.simulate import fit
>>> row, _ = fit("general_centaur", users=2000, samples=16, dim=8, rank=2, epsilon=8.0, rounds=40, clip=0.2,
...              batch_samples=8)
>>> row["releases"], row["dist2"] < 0.2
(40, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from privrep.methods.running.method import Iterate, LowRank
from privrep.methods.steps.federated import LocalGradients, gradient
from privrep.options import among, option
from privrep.privacy.contributions import Outer
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import Block, UserData
from privrep.users.heads import FittedHeads, fit_heads
from privrep.users.subspace import orthonormalise, random_subspace

FEASIBLE = ("free", "orthonormal")


def representation_steps(
    block: Block, batches: list[np.ndarray], basis: np.ndarray, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Compute CLIENT for a block: factors l (B, d) and w (B, k) of displacements at a fixed head w."""
    moved = np.zeros((block.users, len(basis)))
    with np.errstate(over="ignore", invalid="ignore"):
        heads = fit_heads(block.features, block.labels, basis)
        start, square = heads @ basis.T, np.einsum("bk,bk->b", heads, heads)[:, None]
        for batch in batches:
            moved = moved - step * gradient(block.features[batch], block.labels[batch], start + square * moved)
    return moved, heads


def displacements(basis: np.ndarray, batches: list[np.ndarray], step: float, block: Block) -> Outer:
    """Contribution of users in one round: the displacement of their copies of B."""
    return Outer(*representation_steps(block, batches, basis, step))


@dataclass(frozen=True, kw_only=True)
class GeneralCentaurOptions(LocalGradients):
    """CENTAUR as printed for any model (Algorithms 1 and 2 of shen2023)."""

    feasible: str = option("feasible set of the representation: free, or orthonormal", among(FEASIBLE), "free")

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        basis = random_subspace(users.known.dim, users.known.rank, release.streams["init"])
        batches = self.batches(users, release)
        for _ in range(self.rounds):
            basis = basis + self.moved(users, partial(displacements, basis, batches(), self.local_step), release)
            if self.feasible == "orthonormal":
                basis = orthonormalise(basis)
            everything = FittedHeads(basis, slice(0, users.known.samples))
            yield Iterate(orthonormalise(basis), LowRank(basis, everything), {"zeta": self.clip})
