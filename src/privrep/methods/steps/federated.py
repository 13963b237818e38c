"""Rounds, local gradient steps, clipping of whole updates and cost of the federated methods of shen2023 Section 6.

The loss of a user on a mini-batch is half the mean squared residual; the server's step eta_g is 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from privrep.methods.steps.clip_units import CLIP_SCALE_COLUMN, UPDATE_SCALES, gradient_threshold
from privrep.methods.steps.server import DIVISORS, SERVER_COLUMNS, Server, check_rate
from privrep.options import Declared, among, check_count, ensure, option
from privrep.privacy.accounting import Cost, Theorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import UserData
from privrep.users.known import Known
from privrep.users.splits import SampleDraws


@dataclass(frozen=True, kw_only=True)
class Federated(Declared):
    """Base class of the methods of Section 6: rounds of a server, and their options."""

    rounds: int = option(SERVER_COLUMNS["rounds"], check_count)
    clip: float = option(SERVER_COLUMNS["clip"], check_bound)
    clip_scale: str = option(CLIP_SCALE_COLUMN, among(UPDATE_SCALES), "absolute")
    participation: float = option(SERVER_COLUMNS["participation"], check_rate, 1.0)
    divide_by: str = option(SERVER_COLUMNS["divide_by"], among(DIVISORS), "expected")
    numbers: ClassVar = {"zeta": SERVER_COLUMNS["zeta"]}

    def build(self, known: Known) -> Self:
        return replace(self, clip_scale="absolute", clip=gradient_threshold(self.clip_scale, self.clip, known))

    @property
    def server(self) -> Server:
        return Server(self.rounds, self.clip, self.participation, self.divide_by)

    @property
    def cost(self) -> Cost:
        """Privacy cost of one user at noise multiplier 1, with no gain from sampling users."""
        return self.server.cost

    @property
    def theorem(self) -> Theorem:
        """Rényi DP, (alpha, alpha T / (2 sigma^2)), turned into eps = 2 sqrt(rho ln(1/delta)) as in Theorem 5.2
        (shen2023, Remark 4.1). The remark takes a sensitivity of zeta, which is that of adding or removing a user;
        replacing one costs four times as much (E10)."""
        return Theorem("B-R4.1", self.rounds / 2)

    def moved(self, users: UserData, contribution: Callable, release: Release) -> np.ndarray:
        """Release the noisy mean displacement of a round."""
        return self.server.mean("displacement", users, contribution, release)


@dataclass(frozen=True, kw_only=True)
class LocalGradients(Federated):
    """Base class of the methods whose users take gradient steps in a round."""

    batch_samples: int = option("samples per user for each of head and gradient in a round", check_count)
    local_steps: int = option("gradient steps of a user in a round, T_l", check_count, 1)
    local_step: float = option("step size of a user's gradient steps, eta_l", check_bound, 0.25)

    def build(self, known: Known) -> Self:
        """Return the method, after checking that mini-batches and the final heads have samples."""
        for name, needed in (("batch_samples", self.batch_samples), ("the rank", known.rank)):
            ensure(known.samples >= needed, "samples", known.samples, f"it must be at least {name}, {needed}")
        return super().build(known)

    def batches(self, users: UserData, release: Release) -> Callable[[], list[np.ndarray]]:
        """Return a function that draws one round's mini-batches, anew from all samples for each local step."""
        draws = SampleDraws("reuse", users.known.samples, release.streams["samples"])
        return lambda: [draws.take(self.batch_samples)[0] for _ in range(self.local_steps)]


def gradient(features: np.ndarray, labels: np.ndarray, models: np.ndarray) -> np.ndarray:
    """Return (1/q) sum (<theta, x> - y) x with a model theta for each user; (B, d) float64."""
    features = features.astype(np.float64)
    residual = np.einsum("qbd,bd->qb", features, models) - labels
    return np.einsum("qbd,qb->bd", features, residual) / len(labels)
