"""PPSGD, additive personalisation, a baseline of shen2023 Section 6, for a linear representation.

    (B, w) <- (random, 0), each user: v_i <- 0
    for t = 1..T:
        each user: T_l gradient steps on (B, w) and v_i, half the mean squared residual of <B (w + v_i), x> on a mini-batch of q samples
        (B, w) <- (B, w) + ( sum_i clip(displacement of (B, w); zeta) + N(0, (sigma zeta)^2) ) / n
    each user predicts by <B (w + v_i), x>

shen2023 defines the method by a citation (Bietti et al. 2022). The linear analogue is this project's: the personal part is a head that
is added to the shared one, since the methods of Section 6 share their representation. v_i is state of its user: it depends on the
user's own samples and on released models alone, and never leaves. sigma is twice the noise multiplier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privrep.algorithms.dp_fedavg import model_steps, start_model
from privrep.algorithms.federated import Federated, LocalOptions, LocalSteps, clipped_sum
from privrep.algorithms.method import Iterate, LowRank
from privrep.algorithms.server import ClippedSum
from privrep.data.problem import Block, Problem, UserData
from privrep.data.subspace import orthonormalise
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import Release


def client(
    batches: list[np.ndarray], personal: np.ndarray, step: float, personal_step: float, bound: float
) -> ClippedSum:
    """What the users send in one round. `personal` (n, k) holds v of all users; those who take part write theirs anew."""

    def displacements(block: Block, model: np.ndarray, taking_part: np.ndarray) -> np.ndarray:
        own = slice(block.start, block.start + block.users)
        moved, heads = model_steps(block, batches, model, personal[own], step, personal_step)
        new = taking_part & np.isfinite(heads).all(axis=1)
        personal[own] = np.where(new[:, None], heads, personal[own])
        return clipped_sum(moved, bound, taking_part)

    return displacements


@dataclass(frozen=True, kw_only=True)
class PPSGD(Federated):
    """Rounds on (B, w), with a head of the user's own beside w. personal_step : step size of v_i."""

    rank: int
    steps: LocalSteps
    personal_step: float

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        personal = np.zeros((users.problem.users, self.rank))
        start = start_model(users.problem.dim, self.rank, release.streams["init"])
        batches = self.steps.draw(users, release)

        def clients() -> ClippedSum:
            return client(batches(), personal, self.steps.size, self.personal_step, self.server.clip)

        for model in self.rounds(users, start, clients, release):
            basis, heads = model[:-1], model[-1] + personal
            own = LowRank(basis, lambda block, heads=heads: heads[block.start : block.start + block.users])
            yield Iterate(orthonormalise(basis), own, self.log)


@dataclass(frozen=True, kw_only=True)
class Options(LocalOptions):
    """Options of `privrep.algorithms.federated.LocalOptions`, and the step of the personal part.

    Parameters
    ----------
    personal_step : step size of v_i.
    """

    personal_step: float = 0.25
    columns: ClassVar = LocalOptions.columns | {
        "personal_step": "step size for the part that a user keeps",
    }

    def __post_init__(self):
        super().__post_init__()
        check_bound("personal_step", self.personal_step)

    def build(self, problem: Problem) -> PPSGD:
        """The method for a problem."""
        return PPSGD(
            server=self.server(problem),
            rank=problem.rank,
            steps=self.steps(problem),
            personal_step=self.personal_step,
        )
