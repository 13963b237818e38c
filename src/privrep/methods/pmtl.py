"""Private multi-task learning, a baseline of shen2023 Section 6 (`PMTL-ft`), for linear models.

    theta_bar <- 0
    for t = 1..T:
        each user: theta_i <- argmin (1/2m) ||y_i - X_i theta||^2 + (lambda/2) ||theta - theta_bar||^2
        theta_bar <- theta_bar + ( sum_i clip(theta_i - theta_bar; zeta) + N(0, (sigma zeta)^2) ) / n
    each user keeps theta_i for the final theta_bar

shen2023 defines the method by a citation (Hu et al. 2021). The linear analogue is this project's: the local problem is
solved exactly, so that nothing is left to fine tune. Models are free in R^d; no representation of lower rank is used.
sigma is twice the noise multiplier.

>>> from privrep.simulate import fit
>>> row, _ = fit("pmtl", users=2000, samples=16, dim=8, rank=2, epsilon=8.0, rounds=1, clip=0.5, penalty=0.1)
>>> row["releases"], row["excess_risk"] < 1
(1, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from privrep.methods.running.method import FullRank, Iterate
from privrep.methods.steps.federated import Federated
from privrep.options import option
from privrep.privacy.clipping import check_bound
from privrep.privacy.contributions import Rows
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import Block, UserData
from privrep.users.heads import solve_positive_definite


def displacements(block: Block, centre: np.ndarray, penalty: float) -> np.ndarray:
    """Return theta_i - theta_bar of a block, (B, d) float64, by ridge in the dual or primal form."""
    features = block.features.astype(np.float64)
    samples, _, dim = features.shape
    ridge = penalty * samples * np.eye(min(samples, dim))[:, :, None]
    with np.errstate(over="ignore", invalid="ignore"):
        left = block.labels - features @ centre
        if samples < dim:
            kernel = np.einsum("ibd,jbd->ijb", features, features) + ridge
            return np.einsum("mbd,mb->bd", features, solve_positive_definite(kernel, left))
        gram = np.einsum("mbi,mbj->ijb", features, features) + ridge
        return solve_positive_definite(gram, np.einsum("mbd,mb->db", features, left)).T


@dataclass(frozen=True, eq=False)
class OwnModels:
    """Models theta_i of the users of a block, (B, d), and their displacements theta_i - theta_bar."""

    centre: np.ndarray
    penalty: float

    def __call__(self, block: Block) -> np.ndarray:
        return self.centre + displacements(block, self.centre, self.penalty)

    def moved(self, block: Block) -> Rows:
        """Contribution of users: theta_i - theta_bar."""
        return Rows(displacements(block, self.centre, self.penalty))


@dataclass(frozen=True, kw_only=True)
class PmtlOptions(Federated):
    """Private multi-task learning: rounds on theta_bar, with the pull lambda, for which shen2023 takes 1."""

    penalty: float = option("pull of a user's model towards the centre, lambda", check_bound, 1.0)

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        models = OwnModels(np.zeros(users.known.dim), self.penalty)
        for _ in range(self.rounds):
            models = OwnModels(models.centre + self.moved(users, models.moved, release), self.penalty)
            yield Iterate(None, FullRank(models), {"zeta": self.clip})
