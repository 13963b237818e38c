"""Unit steps with one part left out, to measure the benefit of that part."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privrep.methods.unit_steps.method import HeadMoments, Round, UnitSteps, UnitStepsOptions
from privrep.methods.unit_steps.schedule import Schedule, Sizes, Values, schedule
from privrep.methods.unit_steps.tracking import FilterState
from privrep.methods.unit_steps.whitening import Whitening
from privrep.options import among, option
from privrep.privacy.contributions import Outer
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import UserData
from privrep.users.known import Known
from privrep.users.subspace import random_subspace


class WithoutStart(UnitSteps):
    """Unit steps from a random start; the rounds get the start's share of the cost."""

    @staticmethod
    def schedule(sizes: Sizes, mu: float, noise2: float) -> Schedule:
        plan = schedule(sizes, mu, noise2)
        return replace(plan, start=0.0, rounds=plan.rounds / (1 - plan.start))

    def start(self, users: UserData, whitening: Whitening, noise2: float, release: Release) -> np.ndarray:
        return random_subspace(users.known.dim, self.rank, release.streams["init"])


class WithoutTracking(UnitSteps):
    """Unit steps whose tracking of the error ignores the measured residual and the energy of a step."""

    class tracker(FilterState):
        """The filter's state without measurements."""

        def measured(self, *ignored: float) -> FilterState:
            return self


class WithoutGain(UnitSteps):
    """Unit steps whose step length is computed as if their variance from noise were 0."""

    class tracker(FilterState):
        """The filter's state, with the step length for variance 0."""

        def step_length(self, variance: float) -> float:
            return super().step_length(0.0)


class WithoutMoments(UnitSteps):
    """Unit steps that assume the heads' second moments to be I."""

    class head_moments(HeadMoments):
        """Head moments that are always I."""

        def within(self, basis: np.ndarray, missing: float) -> tuple[np.ndarray, np.ndarray]:
            return np.eye(self.rank), np.eye(self.rank)


@dataclass(frozen=True, eq=False)
class ClippedRound(Round):
    """A round whose contributions have norm |g| |w| over a bound, clipped to norm one."""

    length: float  # the bound on |g| |w|

    def steps(self, gradients: np.ndarray, heads: np.ndarray) -> Outer:
        with np.errstate(over="ignore", invalid="ignore"):
            length = np.linalg.norm(gradients, axis=1) * np.linalg.norm(heads, axis=1)
        plain = super().steps(gradients, heads)
        return replace(plain, left=plain.left * np.where(length < self.length, length / self.length, 1.0)[:, None])


class Halved(Sizes):
    """Sizes for steps that are half as long on average."""

    def gain(self, error2: Values, noise2: Values) -> Values:
        return super().gain(error2, noise2) / 2


class WithoutNormOne(UnitSteps):
    """Unit steps whose contributions keep their length, clipped at twice the expected length."""

    sizes = Halved

    def round(self, known: FilterState, plain: Round) -> Round:
        gradient2, head2 = known.sizes.lengths2(known.error2, known.noise2)
        length = 2 * float(np.sqrt(gradient2 * head2))
        return ClippedRound(**vars(plain), length=length)


ABLATIONS = {
    "start": WithoutStart,
    "tracking": WithoutTracking,
    "gain": WithoutGain,
    "moments": WithoutMoments,
    "norm one": WithoutNormOne,
}
"""Part that is left out -> method without it."""


@dataclass(frozen=True)
class UnitStepsAblationsOptions(UnitStepsOptions):
    """Options of unit steps, and the part that is left out."""

    without: str = option("part of unit steps that is left out", among(ABLATIONS), "")
    varies = "unit_steps"

    def build(self, known: Known) -> UnitSteps:
        return ABLATIONS[self.without](**vars(super().build(known)))
