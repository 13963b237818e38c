"""Exponential mechanism over candidates that a cheap first stage has released; no paper has this method.

    with part of the budget (Gaussian mechanism):
        N <- releases of one or several runs of the first stage: Algorithm 3 of jain2021, or each round of CENTAUR
             from a random start
    N <- N, and subspaces at random directions and several distances from the last release of each run
    draw U from N with probability proportional to exp(-beta score(U)), with the rest of the budget

All of N is released and charged, or computed from releases, so the draw is exact and both stages together are
(eps, delta)-DP by composition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privrep.methods.centaur import CentaurOptions
from privrep.methods.spectral_init import SpectralInit
from privrep.methods.steps.clip_units import label_threshold
from privrep.options import among, check_count, check_positive, check_whole, option
from privrep.privacy.accounting import Cost
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import UserData
from privrep.users.known import Known
from replication.methods.exponential import Exponential, ScoreOptions

FIRST = ("spectral", "centaur")
SPREAD = (0.03, 1.0)  # least and largest norm of a perturbation; for k = 1 about the sine of its angle


@dataclass(frozen=True)
class StagedCandidates:
    """Subspaces that a first stage released, and perturbed ones around its last releases."""

    first: SpectralInit | CentaurOptions
    runs: int
    around: int
    noise: float

    @property
    def relative(self) -> float:
        """Noise multiplier of one release of the first stage over that of the choice."""
        return self.noise * math.sqrt(self.runs * self.first.cost.mu_squared)

    @property
    def cost(self) -> Cost:
        return self.runs / self.relative**2 * self.first.cost

    def bases(self, users: UserData, release: Release) -> np.ndarray:
        norms, bases = np.geomspace(*SPREAD, self.around), []
        for _ in range(self.runs):
            bases += [iterate.basis for iterate in self.first.fit(users, release.start(self.relative))]
            basis = bases[-1]
            drawn = release.streams["candidates"].standard_normal((self.around, *basis.shape))
            bases += list(np.linalg.qr(basis + (norms / math.sqrt(basis.size))[:, None, None] * drawn)[0])
        return np.array(bases)


@dataclass(frozen=True, kw_only=True)
class ExponentialStagedOptions(ScoreOptions):
    """Options of the score and of the first stage."""

    first: str = option(
        "first stage: Algorithm 3 of jain2021 (spectral), or CENTAUR from a random start", among(FIRST), "spectral"
    )
    runs: int = option("runs of the first stage", check_count, 1)
    around: int = option("perturbed subspaces around the last release of each run", check_whole, 100)
    init_noise: float = option(
        "noise multiplier of the first stage over that of the choice, as if each made one release", check_positive, 4.2
    )
    init_label_clip: float = option(
        "clipping bound of the labels in Algorithm 3, over c sqrt(k) + sigma_F", check_bound, 0.5
    )
    rounds: int = option("rounds of CENTAUR in the first stage", check_count, 24)
    clip: float = option("clipping bound of CENTAUR's gradients, in units of sqrt(d) k^1.5", check_bound, 0.125)
    numbers: ClassVar = {**ScoreOptions.numbers, "chosen_from": "number of candidates"}

    def build(self, known: Known) -> Exponential:
        if self.first == "spectral":
            first = SpectralInit(slice(0, known.samples), label_threshold("data", self.init_label_clip, known))
        else:
            first = CentaurOptions(self.rounds, self.clip, known.samples // 2, init="random").build(known)
        staged = StagedCandidates(first, self.runs, self.around, self.init_noise)
        return Exponential(self.score(known), staged.bases, None, staged.cost)
