"""PPSGD, additive personalisation, a baseline of shen2023 Section 6, for a linear representation.

    (B, w) <- (random, 0), each user: v_i <- 0
    for t = 1..T:
        each user: T_l gradient steps on (B, w) and v_i, half the mean squared residual of <B (w + v_i), x>
                   on a mini-batch of q samples
        (B, w) <- (B, w) + ( sum_i clip(displacement of (B, w); zeta) + N(0, (sigma zeta)^2) ) / n
    each user predicts by <B (w + v_i), x>

shen2023 defines the method by a citation (Bietti et al. 2022). The linear analogue is this project's: the personal part
is a head that is added to the shared one, since the methods of Section 6 share their representation. v_i stays with its
user: it depends on the user's own samples and on released models alone, and is never released. sigma is twice the noise
multiplier.

>>> from privrep.simulate import fit
>>> row, _ = fit("ppsgd", users=2000, samples=16, dim=8, rank=2, epsilon=8.0, rounds=40, clip=0.5, batch_samples=8)
>>> row["releases"], row["dist2"] < 0.2
(40, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from privrep.methods.dp_fedavg import model_steps, start_model
from privrep.methods.running.method import Iterate, LowRank
from privrep.methods.steps.federated import LocalGradients
from privrep.options import option
from privrep.privacy.clipping import check_bound
from privrep.privacy.contributions import Rows
from privrep.privacy.mechanisms import NamedSum, Release
from privrep.users.blocks import Block, UserData
from privrep.users.passes import UserRows
from privrep.users.subspace import orthonormalise


def displacements(
    model: np.ndarray, personal: UserRows, batches: list[np.ndarray], step: float, personal_step: float, block: Block
) -> tuple[Rows, UserRows]:
    """Contribution of users with heads v in one round: the displacement of their models; each user keeps a new v."""
    before = personal.of(block)
    moved, heads = model_steps(block, batches, model, before, step, personal_step)
    sound = np.all(np.isfinite(heads), axis=1)
    return Rows(moved), UserRows(np.where(sound[:, None], heads, before), block.start)


def shared_and_own(shared: np.ndarray, personal: UserRows, block: Block) -> np.ndarray:
    """Return heads w + v_i."""
    return shared + personal.of(block)


@dataclass(frozen=True, kw_only=True)
class PpsgdOptions(LocalGradients):
    """PPSGD: rounds on (B, w), with a head v_i of the user's own that is added to w."""

    personal_step: float = option("step size of the part that stays with its user", check_bound, 0.25)

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        personal = UserRows(np.zeros((users.known.users, users.known.rank)))
        model = start_model(users.known, release.streams["init"])
        batches = self.batches(users, release)
        for _ in range(self.rounds):
            handle = self.server.handle(release)
            many = self.server.divisor(handle)
            contribution = partial(displacements, model, personal, batches(), self.local_step, self.personal_step)
            moved, kept = handle.sums(users, contribution, NamedSum("displacement", self.clip))
            model, personal = model + moved.value / many, personal.updated(kept, handle.taking_part)
            basis = model[:-1]
            heads = partial(shared_and_own, model[-1], personal)
            yield Iterate(orthonormalise(basis), LowRank(basis, heads), {"zeta": self.clip})
