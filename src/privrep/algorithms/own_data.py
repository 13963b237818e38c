"""Each user alone: the `Own data` baseline of jain2021's Figure 2. Nothing is released.

With m < d samples the regression is underdetermined and the paper does not say how it was solved. `penalty` 0 is the
minimum-norm solution, whose expected excess risk is (1 - m/d) E||theta||^2; a positive `penalty` is ridge regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privrep.problem import Problem
from privrep.task import Outcome, Task


def own_data_models(features: np.ndarray, labels: np.ndarray, penalty: float) -> np.ndarray:
    """theta_j = X_j^T (X_j X_j^T + penalty I)^{-1} y_j for all users of a block, (B, d); needs m <= d."""
    features = features.transpose(1, 0, 2).astype(np.float64)
    kernel = features @ features.transpose(0, 2, 1) + penalty * np.eye(features.shape[1])
    dual = np.linalg.solve(kernel, labels.T.astype(np.float64)[:, :, None])
    return np.einsum("bmd,bm->bd", features, dual[:, :, 0])


@dataclass(frozen=True)
class Algorithm:
    """Option: `penalty`, lambda of the ridge in units of one squared feature; 0 for minimum norm."""

    penalty: float = 0.0

    def __post_init__(self):
        if not self.penalty >= 0:
            raise ValueError(f"penalty is {self.penalty!r}; it must be at least 0")

    def check(self, problem: Problem) -> None:
        if problem.samples > problem.dim:
            raise ValueError(f"samples is {problem.samples}; own_data needs at most dim = {problem.dim} of them")

    def fit(self, task: Task) -> Outcome:
        users = task.users
        total = 0.0
        for block in users.blocks():
            error = block.heads @ users.truth.basis.T - own_data_models(block.features, block.labels, self.penalty)
            total += float((error**2).sum())
        return Outcome(excess_risk=total / users.problem.users)
