"""What several demonstrations share: users in other units, and one private step with the noise drawn anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from privrep.algorithms.parts.moment_step import UserMoments
from privrep.data.known import Known
from privrep.data.passes import total
from privrep.data.problem import Block, Problem, Users
from privrep.data.subspace import orthonormalise
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release
from privrep.privacy.regression_moments import SampleClip


def slope(sizes, values) -> float:
    """Exponent of a power law, by least squares of logarithm on logarithm."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def head_moments(users: Users) -> np.ndarray:
    """Sigma = (1/n) sum_j v_j v_j^T, (k, k); its eigenvalues are lam_1, ..., lam_k."""
    return total(users, lambda block: block.heads.T.astype(float) @ block.heads) / users.problem.users


def subspace_risk(users: Users, basis: np.ndarray) -> float:
    """(1/n) sum_j ||(I - U U^T) theta_j||^2: the excess risk once every head is fitted without error."""
    truth = users.truth.basis
    residual = truth - basis @ (basis.T @ truth)
    return float(np.trace(residual @ head_moments(users) @ residual.T))


def thresholds(problem: Problem, slack: float) -> SampleClip:
    """Thresholds of Lemma 4.4 for heads of norm sqrt(k), lam = 1: eta^2 = slack d k, and zeta of six standard deviations."""
    return SampleClip((slack * problem.dim * problem.rank) ** 0.5, 6 * problem.rank**0.5)


def noisy_moments(
    users: Users, contribution: UserMoments, clip: SampleClip, noise_multiplier: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """A and b of Algorithm 2 as released; with the noise drawn anew the sums are taken once."""
    release = Release.from_one(noise_multiplier, rng, users.problem.users, Ledger())
    return release.sum("erratum", users, contribution, clip=clip)


def subspace_of(second: np.ndarray, first: np.ndarray, dim: int) -> np.ndarray:
    """The subspace that Algorithm 2 returns for (A, b)."""
    return orthonormalise(np.linalg.solve(second, first).reshape(-1, dim).T)


@dataclass(frozen=True)
class Rescaled:
    """The same users with labels in other units: theta and sigma_F times `factor`."""

    users: Users
    factor: float

    @property
    def problem(self) -> Problem:
        return self.users.problem

    @property
    def known(self) -> Known:
        return self.users.known

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        for block in self.users.blocks(start, stop):
            factor = np.float32(self.factor)
            yield replace(block, labels=factor * block.labels, heads=factor * block.heads)
