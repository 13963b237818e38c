"""Public numbers given to methods in addition to the users' data: known in a simulation, else stated by a person."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Known:
    """Public inputs of a method.

    The units of methods: features have a root mean square coordinate of 1, and the smallest scale of the heads is 1.

    Attributes
    ----------
    users, samples, dim, rank : n, m (largest number of samples of a user), d and k.
    label_noise_sd : sigma_F in these units.
    head_condition : sqrt(lam_1 / lam_k) >= 1, with lam_i the eigenvalues of E v v^T; the scales sqrt(lam_i) are in
        geometric steps.
    longest_head : max ||v_j|| / sqrt(k lam_1), for heads of limited length; None for Gaussian ones.
    """

    users: int
    samples: int
    dim: int
    rank: int
    label_noise_sd: float = 0.0
    head_condition: float = 1.0
    longest_head: float | None = 1.0

    @property
    def head_scales(self) -> np.ndarray:
        """sqrt(lam_i) of E v v^T, largest first; (k,)."""
        return np.geomspace(self.head_condition, 1.0, self.rank)

    @property
    def head_variance(self) -> float:
        """Mean square coordinate of a head."""
        return float((self.head_scales**2).mean())

    @property
    def mu(self) -> float | None:
        """The incoherence of both papers, max ||v_j|| / sqrt(k lam_k); None for Gaussian heads."""
        return None if self.longest_head is None else self.head_condition * self.longest_head

    @property
    def head_bound(self) -> float:
        """The largest ||v_j||, mu sqrt(k) at lam_k = 1: exact for heads of limited length; for Gaussian heads a bound
        on n norms that holds in more than 95 % of draws of 100 users or more, not with probability 1 - n^-10."""
        k = self.rank
        if self.mu is None:
            log_users = math.log(self.users)
            return math.sqrt(k + 2 * math.sqrt(k * log_users) + 2 * log_users)
        return self.mu * math.sqrt(k)

    @property
    def bytes(self) -> int:
        """Memory of all features, labels, feature norms and heads in float32."""
        return 4 * self.users * (self.samples * (self.dim + 2) + self.rank)
