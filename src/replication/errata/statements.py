"""Assumption 4.1, Theorem 1.1, the remarks and Section 6."""

from __future__ import annotations

import math

import numpy as np

from privrep.methods import nonprivate_altmin
from privrep.methods.running.method import Task
from privrep.methods.running.runner import fit
from privrep.privacy.ledger import Ledger
from privrep.users.problem import Users
from privrep.users.rng import stream
from privrep.users.subspace import dist_frobenius, orthonormalise
from replication.errata.finding import Finding, decides, demonstrates, spell
from replication.errata.risk import noisy_risk
from replication.errata.tools import sphere
from replication.evidence.intervals import log_slope


def bound_of_theorem_1_1(n: float, d: int, k: int, epsilon: float) -> float:
    """Return d^3 k^5 / (eps^2 n^2), Theorem 1.1 for sigma_F = 0."""
    return d**3 * k**5 / (epsilon * n) ** 2


@demonstrates("E23")
def bound_says_nothing_at_its_premise(rng: np.random.Generator) -> Finding:
    ranks, d = [1, 2, 4, 8], 50
    # Predicting zero has risk k.
    trivial = [bound_of_theorem_1_1((k * d) ** 1.5, d, k, 1.0) / k for k in ranks]
    sizes = [math.sqrt(bound_of_theorem_1_1(1.0, d, k, 1.0) / k) for k in ranks]
    power = log_slope(ranks, sizes)

    def risk_over_rank(constant: float, dim: int, rank: int) -> float:
        """At n = constant (kd)^1.5 Delta, Delta = 1: the premise with Delta for 1/eps, which asks for more users."""
        users = Users(sphere(round(constant * (rank * dim) ** 1.5), 2, dim, rank))
        return noisy_risk(users, 1.0, 20, 4.0, rng) / rank

    risks = [risk_over_rank(constant, 20, 4) for constant in (1, 40)]
    random = 1 - 4 / 20
    return Finding(
        f"bound over k {spell(trivial)} at the premise; it reaches k at n of exponent {power:.2f} in k; measured risk "
        f"over k {risks[0]:.2f} at (kd)^1.5 Delta, {risks[1]:.3f} at 40 times that, {random:.2f} for a random subspace",
        min(trivial) > 1 - 1e-9 and power > 1.9 and risks[0] > 0.7 * random and risks[1] < 0.1,
    )


@demonstrates("E37")
def assumed_users_grow_with_the_rank() -> Finding:
    ranks, d = [2, 4, 8, 16], 40
    # Assumption 4.1 (iii), mu^2 d k + mu^4 d, for eps -> infinity, sigma_F = 0, lam_1 = lam_k and mu = 1, without logs.
    over_dim = [k + 1.0 for k in ranks]
    power = log_slope(ranks, over_dim)
    distances = []
    for k in (4, 6):
        users = Users(sphere(users=2 * d, samples=k**2, dim=d, rank=k))
        task = Task(users, None, lambda role, users=users: stream(0, role, users.problem.axes), Ledger())
        found = fit(nonprivate_altmin.NonprivateAltminOptions(tolerance=1e-4), task)
        distances.append(dist_frobenius(found.subspace, users.truth.basis))
    return Finding(
        f"Assumption 4.1 over d {spell(over_dim)}, exponent of k {power:.2f}; Frobenius distance without privacy at "
        f"n = 2d, m = k^2: {spell(distances)}",
        decides(power, printed=0, correct=1, within=0.3) and max(distances) < 0.01,
    )


@demonstrates("E36")
def ten_samples_do_not_suit_the_algorithm() -> Finding:
    m, k = 10, 2
    return Finding(f"m mod 4 = {m % 4}; m/4 = {m / 4:g} against k + 2 = {k + 2}", m % 4 != 0 and m / 4 < k + 2)


def predicts(basis: np.ndarray, numbers: int) -> bool:
    """Return whether U v is defined for a head of so many numbers."""
    try:
        basis @ np.ones(numbers)
    except ValueError:
        return False
    return True


@demonstrates("E38")
def prediction_needs_a_head_in_the_subspace(rng: np.random.Generator) -> Finding:
    d, k = 6, 2
    basis = orthonormalise(rng.standard_normal((d, k)))
    defined = {numbers: predicts(basis, numbers) for numbers in (k, d)}
    words = [f"{numbers} numbers: {'defined' if yes else 'not defined'}" for numbers, yes in defined.items()]
    return Finding("; ".join(words), defined[k] and not defined[d])
