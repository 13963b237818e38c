"""Starts of methods: a random subspace, one released by an initialisation, or one planted near the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privrep.methods.running.method import Iterate
from privrep.privacy.accounting import Cost
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import UserData
from privrep.users.known import Known
from privrep.users.subspace import check_planted, planted_subspace, random_subspace

START_COLUMNS = {
    "init": "initial subspace: random, spectral (Algorithm 3), or planted at a given distance from the truth",
    "start_sine": "sine of every principal angle between a planted start and the truth",
}


class Start(Protocol):
    """First iterate of a method, and its cost."""

    @property
    def samples_used(self) -> int:
        """Number of a user's first samples that the start uses up, where no sample may be used twice."""
        ...

    def cost_with(self, steps: Cost) -> Cost:
        """Return the cost of one user for start and steps together, at noise multiplier 1 of the steps."""
        ...

    def first(self, users: UserData, release: Release, steps: Cost) -> Iterate:
        """Return the iterate before the first step."""
        ...


@dataclass(frozen=True)
class FreeStart:
    """A start that releases nothing: a uniformly distributed subspace, or one that is planted.

    A planted subspace has a given sine of every principal angle to the truth, in random directions, for the local
    theory. It alone reads the truth, which no real method can; later releases are private if the truth is public."""

    sine: float | None = None  # of a planted start
    samples_used = 0

    def cost_with(self, steps: Cost) -> Cost:
        return steps

    def first(self, users: UserData, release: Release, steps: Cost) -> Iterate:
        rng = release.streams["init"]
        if self.sine is None:
            return Iterate(random_subspace(users.known.dim, users.known.rank, rng))
        return Iterate(planted_subspace(truth_of(users), self.sine, rng))


def truth_of(users: UserData) -> np.ndarray:
    """Return the true subspace, (d, k); ValueError where none is known."""
    if users.truth is None:
        raise ValueError("init is 'planted'; there is no known truth near which a start could be planted")
    return users.truth.basis


def free_start(init: str, sine: float | None) -> FreeStart:
    """Return a start that releases nothing: `random`, or `planted`."""
    return FreeStart(None if init == "random" else sine)


def check_start(init: str, known: Known) -> None:
    """Raise ValueError for a planted start if the dimension is too small for it."""
    if init == "planted":
        check_planted(known.dim, known.rank)
