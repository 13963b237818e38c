"""Exponential mechanism over a set of subspaces (jain2021, Algorithm 4 `Exp`).

    score(U) <- sum_j min_{||v|| <= C} (2/m) sum_{i <= m/2} l( <clip(U^T x_ij; L_f), v>; y_ij )
    N        <- subspaces chosen without the data
    draw U from N with probability proportional to exp(-beta score(U))
    each user: v_j <- argmin_{||v|| <= C} (2/m) sum_{i > m/2} l( <U^T x_ij, v>; y_ij )

The candidates N are a net of the paper's kind, where one is small enough, or random subspaces.
Both are public and the draw is exact, so the mechanism is epsilon-DP without a delta for any N.

beta: the proof of Theorem 5.1 has eps / (8 L_f C xi), eq. (34); the box of Algorithm 4 has n times that, with a score
that is a sum (E1). `exponent` chooses the beta that calibration `paper` takes from the theorem.
Calibration `exact` takes the largest beta that is safe, eps / (2 L_f C xi) (E34).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privrep.methods.running.method import Iterate, LowRank
from privrep.methods.steps.clip_units import PROJECTION_SCALES, projection_threshold
from privrep.options import Declared, among, check_count, option
from privrep.privacy.accounting import Cost, PureTheorem
from privrep.privacy.clipping import check_bound
from privrep.privacy.mechanisms import PURE_COST, Release
from privrep.users.blocks import UserData
from privrep.users.known import Known
from privrep.users.losses import Loss
from privrep.users.subspace import random_subspaces
from replication.methods.steps.nets import chart_net, check_net
from replication.methods.steps.user_scores import BoundedHeads, Shares, UserScore

EXPONENTS = ("proved", "printed")


def personalised(basis: np.ndarray, score: UserScore, known: Known) -> LowRank:
    """Return the users' own models in a subspace, on the second half of their samples (Algorithm 4, last line)."""
    return LowRank(basis, BoundedHeads(basis, score.loss, score.bound, slice(known.samples // 2, known.samples)))


@dataclass(frozen=True)
class Exponential:
    """The exponential mechanism over a set of subspaces (Algorithm 4 of jain2021)."""

    score: UserScore
    bases: Callable[[UserData, Release], np.ndarray]  # N, (c, d, k), orthonormal columns in each
    theorem: PureTheorem | None  # with the beta that a printed epsilon gives
    first: Cost = 0 * PURE_COST  # cost of N

    @property
    def cost(self) -> Cost:
        """Privacy cost of one user at noise multiplier 1: epsilon 1 for the choice, and the cost of the candidates."""
        return PURE_COST + self.first

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        bases = self.bases(users, release)
        chosen = release.choice("subspace", users, Shares(self.score, bases, kept=True), width=self.score.width)
        basis = bases[chosen]
        yield Iterate(basis, personalised(basis, self.score, users.known), {"chosen_from": len(bases)})


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(Declared):
    """Options of the score."""

    loss: str = option("loss of the score and of the final fit, see privrep.users.losses", default="pseudo-huber")
    loss_width: float = option("residual up to which the loss is quadratic", default=1.0)
    clip_feature: float = option(
        "clipping bound of the projected features, L_f, in units of clip_scale", check_bound, 1.0
    )
    clip_scale: str = option(
        "unit of L_f, see PROJECTION_SCALES in privrep.methods.steps.clip_units", among(PROJECTION_SCALES), "projected"
    )
    head_bound: float = option(
        "largest length of a head, C, over sqrt(k) times the largest head scale", check_bound, 1.0
    )
    scores: ClassVar = ("excess_loss",)

    def __post_init__(self):
        super().__post_init__()
        Loss(self.loss, self.loss_width)

    def score(self, known: Known) -> UserScore:
        """Return the score for a problem, on the first half of the samples."""
        if known.samples % 2:
            raise ValueError(f"samples is {known.samples}; Algorithm 4 needs an even number")
        clip = projection_threshold(self.clip_scale, self.clip_feature, known)
        bound = self.head_bound * known.head_condition * known.rank**0.5
        return UserScore(Loss(self.loss, self.loss_width), clip, bound, slice(0, known.samples // 2))


@dataclass(frozen=True, kw_only=True)
class PrintedOptions(ScoreOptions):
    """Options of the score, and of its exponent for calibration `paper`."""

    exponent: str = option(
        "beta for calibration paper: eps / (8 L_f C xi) (proved), or n times that (printed)", among(EXPONENTS), "proved"
    )

    def theorem(self, known: Known) -> PureTheorem:
        """Return the theorem with either beta: epsilon = 4 / Delta as proved, 4 / (n Delta) as printed, where 1 / Delta
        = 2 beta L_f C xi (jain2021, Theorem 5.1)."""
        return PureTheorem("A-T5.1", 4.0 if self.exponent == "proved" else 4.0 / known.users)


@dataclass(frozen=True, kw_only=True)
class ExponentialOptions(PrintedOptions):
    """Options of the exact mechanism."""

    candidates: str = option("candidates: a net, or random subspaces", among(("net", "random")), "random")
    radius: float = option("radius of the net, phi", check_bound, 0.1)
    count: int = option("number of random subspaces", check_count, 1000)
    numbers: ClassVar = {**ScoreOptions.numbers, "chosen_from": "number of candidates"}

    def build(self, known: Known) -> Exponential:
        if self.candidates == "net":
            check_net(known.dim, known.rank, self.radius)
        return Exponential(self.score(known), self.bases, self.theorem(known))

    def bases(self, users: UserData, release: Release) -> np.ndarray:
        """Return the net, or independent uniform subspaces from a public stream."""
        d, k = users.known.dim, users.known.rank
        if self.candidates == "net":
            return chart_net(d, k, self.radius).bases
        return random_subspaces(self.count, d, k, release.streams["init"])
