"""Errata on Theorems 1.1 and 4.2, the proof of its risk bound, Assumption 4.1, remarks and Section 6 (jain2021)."""

from __future__ import annotations

import math

import numpy as np

from privrep.methods import nonprivate_altmin
from privrep.methods.running.method import Task
from privrep.methods.running.runner import fit
from privrep.privacy.ledger import Ledger
from privrep.theory.jain2021 import personal_risk
from privrep.users.heads import fit_heads
from privrep.users.risk import personalised_risk
from privrep.users.rng import stream
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import dist2, dist_frobenius, orthonormalise, planted_subspace
from replication.errata.finding import Finding, decides, demonstrates
from replication.errata.tools import noisy_steps, sphere, subspace_risk
from replication.evidence.intervals import log_slope


def noisy_risk(users: Users, multiplier: float, draws: int, slack: float, rng: np.random.Generator) -> float:
    """Return the mean risk after one step of Algorithm 2 with the true heads, a risk due to the privacy noise alone."""
    steps = noisy_steps(users, multiplier, draws, slack, rng)
    return float(np.mean([subspace_risk(users, basis) for _, basis in steps]))


@demonstrates("E2")
def privacy_risk_is_quadratic_in_the_noise(rng: np.random.Generator) -> Finding:
    multipliers = [0.125, 0.25, 0.5, 1.0, 2.0]
    users = Users(sphere(users=20_000, samples=2, dim=20, rank=2))
    risks = [noisy_risk(users, multiplier, 5, 4.0, rng) for multiplier in multipliers]
    power = log_slope(multipliers, risks)
    growth = risks[-1] / risks[0] / (multipliers[-1] / multipliers[0])
    return Finding(decides(power, printed=1, correct=2, within=0.2), power, growth)


@demonstrates("E8")
def final_fit_costs_more_risk_than_printed(rng: np.random.Generator) -> Finding:
    h, k, noise = 8, 2, 0.5
    users = Users(Problem(users=40_000, samples=h, dim=20, rank=k, label_noise_sd=noise))
    basis = planted_subspace(users.truth.basis, 0.3, rng)
    outside = subspace_risk(users, basis)
    measured = personalised_risk(users, basis, slice(0, h))
    printed, exact = outside + noise**2 * k / h, float(np.asarray(personal_risk(outside, k, h, noise)))
    # With U = U* and m = 2 h only the last term of the theorem is left.
    floor = personalised_risk(users, users.truth.basis, slice(0, h)) / (noise**2 * k / (2 * h))
    confirmed = decides(measured, printed=printed, correct=exact, within=0.02 * exact) and floor > 2
    return Finding(confirmed, measured, h, printed, exact, floor)


@demonstrates("E22")
def privacy_risk_has_rank_to_the_fourth(rng: np.random.Generator) -> Finding:
    ranks = [1, 2, 4, 8]
    risks, spectral, frobenius = [], [], []
    for k in ranks:
        users = Users(sphere(users=8000, samples=2, dim=40, rank=k))
        risks.append(noisy_risk(users, 0.03, 4, 2.5, rng))
        truth = users.truth.basis
        basis = planted_subspace(truth, 0.1, rng)
        # Heads of norm sqrt(k) have mu^2 k lam_k = k.
        for distance, ratios in ((dist2, spectral), (dist_frobenius, frobenius)):
            ratios.append(distance(basis, truth) ** 2 * k / subspace_risk(users, basis))
    power = log_slope(ranks, risks)
    lost = log_slope(ranks, frobenius) - log_slope(ranks, spectral)
    confirmed = decides(power, printed=5, correct=4, within=0.3) and decides(lost, printed=0, correct=1, within=0.1)
    return Finding(confirmed, power, spectral, frobenius)


@demonstrates("E60")
def mean_risk_exceeds_twice_its_expectation_too_often(rng: np.random.Generator) -> Finding:
    k, sets, users, samples = 2, 2000, (25, 100), (5, 8, 12, 16)

    def above(n: int, h: int) -> float:
        """Return the share of data sets whose mean risk in the subspace U* is above twice its expectation."""
        features = rng.standard_normal((h, sets * n, k), dtype=np.float32)
        heads = fit_heads(features, rng.standard_normal((h, sets * n)), np.eye(k))
        risks = (heads**2).sum(axis=1).reshape(sets, n).mean(axis=1)
        return float(np.mean(risks > 2 * personal_risk(0.0, k, h, 1.0)))

    few, many = ([above(n, h) for h in samples] for n in users)
    confirmed = few[0] > many[0] > 10 / sets and few[-1] < few[0] / 5
    return Finding(confirmed, samples, few, users[0], many, users[1], users[0] ** -9.0)


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
        """Return risk / k at n = constant (kd)^1.5 Delta, Delta = 1: the premise with Delta, not 1/eps, more users."""
        users = Users(sphere(round(constant * (rank * dim) ** 1.5), 2, dim, rank))
        return noisy_risk(users, 1.0, 20, 4.0, rng) / rank

    risks = [risk_over_rank(constant, 20, 4) for constant in (1, 40)]
    random = 1 - 4 / 20
    confirmed = min(trivial) > 1 - 1e-9 and power > 1.9 and risks[0] > 0.7 * random and risks[1] < 0.1
    return Finding(confirmed, trivial, power, risks[0], risks[1], random)


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
        outcome = fit(nonprivate_altmin.NonprivateAltminOptions(tolerance=1e-4), task)
        distances.append(dist_frobenius(np.asarray(outcome.subspace), users.truth.basis))
    confirmed = decides(power, printed=0, correct=1, within=0.3) and max(distances) < 0.01
    return Finding(confirmed, over_dim, power, distances)


@demonstrates("E36")
def ten_samples_do_not_suit_the_algorithm() -> Finding:
    m, k = 10, 2
    return Finding(m % 4 != 0 and m / 4 < k + 2, m % 4, m / 4, k + 2)


def predicts(basis: np.ndarray, numbers: int) -> bool:
    """Return whether U v is defined for a head v with `numbers` entries."""
    try:
        np.matmul(basis, np.ones(numbers))
    except ValueError:
        return False
    return True


@demonstrates("E38")
def prediction_needs_a_head_in_the_subspace(rng: np.random.Generator) -> Finding:
    d, k = 6, 2
    basis = orthonormalise(rng.standard_normal((d, k)))
    defined = [predicts(basis, numbers) for numbers in (k, d)]
    return Finding(defined == [True, False], *("defined" if yes else "not defined" for yes in defined))
