"""Exponential mechanism over candidates that a cheap first stage has released. In no paper.

    U_0 <- Algorithm 3 of jain2021, with part of the budget (Gaussian mechanism)
    N   <- U_0, and subspaces at random directions and several distances from it
    draw U from N with probability proportional to exp(-beta score(U)), with the rest of the budget

U_0 is released and charged, so N is public and the draw exact: both together are (eps, delta)-DP by composition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privrep.algorithms.clip_units import label_threshold
from privrep.algorithms.exponential import Exponential, ScoreOptions, final_samples
from privrep.algorithms.method import check_count
from privrep.algorithms.spectral_init import SpectralInit
from privrep.data.problem import Problem, UserData
from privrep.privacy.accounting import Cost
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import Release

SPREAD = (0.03, 1.0)
"""Least and largest size of a perturbation over its direction's own, 1 / sqrt(d k) per entry; sizes between are evenly spread in logarithm."""


@dataclass(frozen=True)
class AroundRelease:
    """What a first stage released, and subspaces around it.

    Attributes
    ----------
    noise : noise multiplier of the first stage over that of the choice. count : subspaces in all.
    """

    first: SpectralInit
    noise: float
    count: int

    @property
    def cost(self) -> Cost:
        return 1 / self.noise**2 * self.first.cost

    def bases(self, users: UserData, release: Release) -> np.ndarray:
        found = self.first.subspace(users, release.start(self.noise))
        rng = release.streams["candidates"]
        sizes = np.geomspace(*SPREAD, self.count - 1) / np.sqrt(found.size)
        moved = found + sizes[:, None, None] * rng.standard_normal((self.count - 1, *found.shape))
        return np.linalg.qr(np.concatenate([found[None], moved]))[0]


@dataclass(frozen=True, kw_only=True)
class Options(ScoreOptions):
    """Options of the score and of the first stage.

    Parameters
    ----------
    count : subspaces to choose from. init_label_clip : zeta of Algorithm 3, in units of c sqrt(k) + sigma_F.
    init_noise : noise multiplier of Algorithm 3 over that of the choice. 4.2 gives both about half of an epsilon from 0.5 to 4 at
        delta = 1e-6.
    """

    count: int = 200
    init_label_clip: float = 1.0
    init_noise: float = 4.2
    columns: ClassVar = ScoreOptions.columns | {
        "count": "subspaces to choose from: the one released by Algorithm 3, and others around it",
        "chosen_from": "number of subspaces that were chosen from",
        "init_label_clip": "clipping bound of the labels in Algorithm 3, over c sqrt(k) + sigma_F",
        "init_noise": "noise multiplier of Algorithm 3 over that of the choice",
    }

    def __post_init__(self):
        super().__post_init__()
        check_count("count", self.count)
        check_bound("init_label_clip", self.init_label_clip)
        check_bound("init_noise", self.init_noise)

    def build(self, problem: Problem) -> Exponential:
        """The method for a problem."""
        label_clip = label_threshold("data", self.init_label_clip, problem)
        first = SpectralInit(problem.rank, slice(0, problem.samples), label_clip)
        subspaces = AroundRelease(first, self.init_noise, self.count)
        return Exponential(self.score(problem), subspaces, final_samples(problem), None)
