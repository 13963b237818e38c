"""SERVER and the Gaussian mechanism GM of shen2023 (Algorithm 1), for any CLIENT and AGGREGATION; these are defined by
each method.

    for t = 1..T:
        C_t <- each user with probability p, independently
        g   <- ( sum_{i in C_t} clip(g_i; zeta) + N(0, (sigma zeta)^2) ) / (p n)
        b   <- AGGREGATION(b, g)

This file has GM. sigma is twice the noise multiplier: sensitivity under replacement of a user is 2 zeta. It differs
from the print, where GM divides by |C_t|: that is not the subsampled Gaussian mechanism, and is undefined for an empty
C_t (E51). `divide_by: realised` does so, without amplification by sampling.

Not in the paper: with `last_clip`, zeta falls or rises from round to round in equal ratios, on a schedule that is
public before the first round. A round is clipped at its own zeta_t, has sensitivity 2 zeta_t, and noise in proportion,
so that its cost does not depend on zeta_t.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privrep.options import requires
from privrep.privacy.accounting import Cost
from privrep.privacy.mechanisms import GAUSSIAN_COST, Release
from privrep.users.blocks import UserData

SERVER_COLUMNS = {
    "rounds": "rounds of the server, T_g",
    "clip": "clipping bound of a user's update (zeta_g), in units of clip_scale",
    "participation": "probability with which a user takes part in a round, p_g",
    "divide_by": "divisor of the noisy sum: expected or realised number of participants",
    "zeta": "clipping bound of a user's update in absolute terms",
}
DIVISORS = ("expected", "realised")
check_rate = requires(lambda value: 0 < value <= 1, "be greater than 0 and at most 1")


@dataclass(frozen=True)
class Server:
    """Rounds of a server."""

    rounds: int
    clip: float
    participation: float = 1.0  # p in (0, 1]
    divide_by: str = "expected"  # p n, or |C_t| where "realised"
    last_clip: float | None = None  # of the last round; by default all have `clip`

    @property
    def cost(self) -> Cost:
        """Privacy cost of one user at noise multiplier 1, with no gain from sampling users."""
        return self.rounds * GAUSSIAN_COST

    def clip_of(self, number: int) -> float:
        """Return the clipping bound of round `number`, counted from 0."""
        if self.last_clip is None:
            return self.clip
        return self.clip * (self.last_clip / self.clip) ** (number / max(self.rounds - 1, 1))

    def handle(self, release: Release) -> Release:
        """Return the release handle of one round; dividing by |C_t| makes |C_t| known."""
        return release.sampled(self.participation, count_known=self.divide_by == "realised")

    def divisor(self, handle: Release) -> float:
        """Return the number by which the sum of a round is divided."""
        many = self.participation * len(handle.users) if self.divide_by == "expected" else handle.present
        if many == 0:
            raise ArithmeticError("nobody takes part in a round, and the mean over nobody is not defined")
        return many

    def mean(self, name: str, users: UserData, contribution: Callable, release: Release, number: int = 0) -> np.ndarray:
        """Release the noisy mean of round `number` by GM (shen2023, Algorithm 1)."""
        handle = self.handle(release)
        many = self.divisor(handle)
        return handle.sum(name, users, contribution, clip=self.clip_of(number)).value / many
