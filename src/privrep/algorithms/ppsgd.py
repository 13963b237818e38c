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

from dataclasses import dataclass

import numpy as np

from privrep.algorithms.dp_fedavg import model_steps, start_model
from privrep.algorithms.federated import LocalSteps, clipped_sum
from privrep.algorithms.server import ClippedSum
from privrep.privacy.clipping import check_bound
from privrep.problem import Block
from privrep.risk import block_excess
from privrep.task import Outcome, Task


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
class Algorithm(LocalSteps):
    """Options of `privrep.algorithms.federated.LocalSteps`, and the step of the personal part.

    Parameters
    ----------
    personal_step : step size of v_i.
    """

    personal_step: float = 0.25

    def __post_init__(self):
        super().__post_init__()
        check_bound("personal_step", self.personal_step)

    def fit(self, task: Task) -> Outcome:
        users, problem, batches = task.users, task.users.problem, self.mini_batches(task)
        personal = np.zeros((problem.users, problem.rank))
        model = self.learn(
            task,
            start_model(problem.dim, problem.rank, task.stream("init")),
            lambda bound: client(batches(), personal, self.local_step, self.personal_step, bound),
        )
        basis, heads = model[:-1], model[-1] + personal
        parts = (
            block_excess(block, users.truth, basis, heads[block.start : block.start + block.users])
            for block in users.blocks()
        )
        return self.outcome(task, sum(part.sum() for part in parts) / problem.users, basis)
