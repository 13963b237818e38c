"""Tools of several demonstrations: synthetic users, their head moments and risk, and private steps with new noise."""

from __future__ import annotations

from functools import partial

import numpy as np

from privrep.methods.steps.moment_step import UserMoments
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import NamedSum, Release
from privrep.privacy.regression_moments import SampleClip
from privrep.users.blocks import UserData, true_heads
from privrep.users.passes import total
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import orthonormalise

sphere = partial(Problem, head_law="sphere")  # heads of norm sqrt(k), uniform in direction, in most demonstrations


def head_moments(users: UserData) -> np.ndarray:
    """Return Sigma = (1/n) sum_j v_j v_j^T, (k, k), whose eigenvalues are lam_1, ..., lam_k."""
    return total(users, lambda block: true_heads(block).T.astype(float) @ true_heads(block)) / users.known.users


def subspace_risk(users: Users, basis: np.ndarray) -> float:
    """Return (1/n) sum_j ||(I - U U^T) theta_j||^2, the excess risk once every head is fitted without error."""
    truth = users.truth.basis
    residual = truth - basis @ (basis.T @ truth)
    return float(np.trace(residual @ head_moments(users) @ residual.T))


def thresholds(problem: Problem, slack: float) -> SampleClip:
    """Return the thresholds of Lemma 4.4 for heads of norm sqrt(k): eta^2 = slack d k, zeta = 6 sqrt(k)."""
    return SampleClip((slack * problem.dim * problem.rank) ** 0.5, 6 * problem.rank**0.5)


def noisy_steps(
    users: Users, multiplier: float, draws: int, slack: float, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the released A, (dk, dk), and the subspace after one step with the true heads, for each draw of noise."""
    problem, clip = users.problem, thresholds(users.problem, slack)
    contribution = UserMoments(true_heads, slice(0, problem.samples))
    release = Release.from_one(multiplier, rng, problem.users, Ledger())
    sums = ([part.value for part in release.sums(users, contribution, NamedSum("erratum", clip))] for _ in range(draws))
    return [(a, orthonormalise(np.linalg.solve(a, b).reshape(-1, problem.dim).T)) for a, b in sums]
