"""DP-FedAvg with local fine tuning, a baseline of shen2023 Section 6 (`DP-FedAvg-fb`), for a linear representation.

    (B, w) <- (random, 0)
    for t = 1..T:
        each user: T_l gradient steps on (B, w), half the mean squared residual of <B w, x> on a mini-batch of q samples
        (B, w) <- (B, w) + ( sum_i clip(displacement_i; zeta) + N(0, (sigma zeta)^2) ) / n
    each user: w_i <- least squares in the final B, on all samples

shen2023 defines the method by a citation (Yu et al. 2020). The linear analogue is this project's: one representation
and one head for all, the whole displacement clipped, and a head of the user's own at the end. sigma is twice the noise
multiplier.

>>> from privrep.simulate import fit
>>> row, _ = fit("dp_fedavg", users=2000, samples=16, dim=8, rank=2, epsilon=8.0, head_bias=1.0, rounds=60, clip=0.5,
...              batch_samples=16, local_steps=2)
>>> row["releases"], row["dist2"] < 0.5
(60, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from privrep.methods.running.method import Iterate, LowRank
from privrep.methods.steps.federated import LocalGradients, gradient
from privrep.privacy.contributions import Rows
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import Block, UserData
from privrep.users.heads import FittedHeads
from privrep.users.known import Known
from privrep.users.subspace import orthonormalise, random_subspace


def start_model(known: Known, rng: np.random.Generator) -> np.ndarray:
    """Return a random orthonormal B stacked on a shared head of zeros, (d + 1, k)."""
    return np.concatenate([random_subspace(known.dim, known.rank, rng), np.zeros((1, known.rank))])


def model_steps(
    block: Block, batches: list[np.ndarray], model: np.ndarray, personal: np.ndarray, step: float, personal_step: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the displacements of B and a shared head w by gradient steps, (B, d + 1, k), and each user's own head v
    after them, (B, k), where <B (w + v), x> predicts y.

    Numbers of a user that overflow are not finite; the clip lets none of them through."""
    # Columns of B first: each is then one contiguous vector per user.
    basis = np.repeat(model[:-1].T[:, None], block.users, axis=1)
    shared = np.repeat(model[-1:], block.users, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        for batch in batches:
            heads = shared + personal
            slope = gradient(block.features[batch], block.labels[batch], np.einsum("kbd,bk->bd", basis, heads))
            head_slope = np.einsum("kbd,bd->bk", basis, slope)
            basis -= (step * heads.T)[:, :, None] * slope
            shared, personal = shared - step * head_slope, personal - personal_step * head_slope
        return np.concatenate([basis.transpose(1, 2, 0), shared[:, None]], axis=1) - model, personal


def displacements(model: np.ndarray, batches: list[np.ndarray], step: float, block: Block) -> Rows:
    """Contribution of users in one round: the displacement of their copies of the model."""
    personal = np.zeros((block.users, model.shape[1]))
    return Rows(model_steps(block, batches, model, personal, step, 0.0)[0])


@dataclass(frozen=True, kw_only=True)
class DpFedavgOptions(LocalGradients):
    """DP-FedAvg: rounds on (B, w), and a head of each user's own at the end."""

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        model = start_model(users.known, release.streams["init"])
        batches = self.batches(users, release)
        for _ in range(self.rounds):
            model = model + self.moved(users, partial(displacements, model, batches(), self.local_step), release)
            basis = model[:-1]
            everything = FittedHeads(basis, slice(0, users.known.samples))
            yield Iterate(orthonormalise(basis), LowRank(basis, everything), {"zeta": self.clip})
