"""Errata on Algorithm 2, Lemma 4.4 and its proof (jain2021)."""

from __future__ import annotations

import math

import numpy as np

from privrep.methods.steps.moment_step import MomentStep, UserMoments, disjoint_batches
from privrep.privacy.accounting import sequential_theorem
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release, clipped_sums
from privrep.privacy.noise import symmetric_noise
from privrep.privacy.regression_moments import MOMENTS_COST, SampleClip
from privrep.users.blocks import true_heads
from privrep.users.heads import FittedHeads, fit_heads
from privrep.users.passes import rows
from privrep.users.rng import stream
from privrep.users.simulated import Users
from privrep.users.subspace import dist_frobenius, orthonormalise, planted_subspace
from replication.errata.finding import Finding, decides, demonstrates
from replication.errata.tools import head_moments, noisy_steps, sphere, thresholds
from replication.evidence.intervals import log_slope

DELTA = 1e-6


@demonstrates("E20")
def step_needs_more_users_than_assumed_as_the_rank_grows(rng: np.random.Generator) -> Finding:
    ranks, d, constant, multiplier = [1, 4, 9], 12, 20, 1.0

    def step(k: int, power: float) -> tuple[float, float]:
        """Return mean distF and the share of draws with positive definite A, for n = constant k^power d^1.5 Delta."""
        users = Users(sphere(round(constant * k**power * d**1.5 * multiplier), 4, d, k))
        # eta^2 = 2 d k clips few samples.
        drawn = noisy_steps(users, multiplier, 10, 2.0, rng)
        definite = [np.linalg.eigvalsh(second)[0] > 0 for second, _ in drawn]
        distances = [dist_frobenius(basis, users.truth.basis) for _, basis in drawn]
        return float(np.mean(distances)), float(np.mean(definite))

    (distances, shares), (_, enough) = (zip(*(step(k, power) for k in ranks), strict=True) for power in (1.0, 1.5))
    confirmed = distances[-1] > 4 * distances[0] and shares[-1] < 0.2 and min(enough) > 0.8
    return Finding(confirmed, distances, 100 * np.array(shares), 100 * np.array(enough))


@demonstrates("E24")
def printed_rounds_are_negative_and_forget_the_users(rng: np.random.Generator) -> Finding:
    theorem = sequential_theorem(MOMENTS_COST)
    epsilons = [1, 3, 10]
    printed = [math.log(1 / theorem.noise_multiplier(epsilon, DELTA)) for epsilon in epsilons]
    # Rounds from distF 1/32 to the bound of Lemma 4.4, each dividing distF by 4, at sigma_F = 0, mu = kappa = 1.
    multiplier, k, d = theorem.noise_multiplier(1, DELTA), 2, 50
    needed = [math.log(n / (32 * multiplier * k**2 * d**1.5)) / math.log(4) for n in (1e6, 1e8, 1e10)]
    problem = sphere(users=16_000, samples=16, dim=10, rank=2)
    users, clip = Users(problem), thresholds(problem, 2.0)

    def distance(rounds: int) -> float:
        basis = planted_subspace(users.truth.basis, 1 / 32, rng)
        for batch in disjoint_batches(problem.users, rounds):
            heads = FittedHeads(basis, slice(0, 8))
            release = Release.from_one(0.2, rng, problem.users, Ledger()).of(batch)
            basis = orthonormalise(MomentStep(slice(8, 16), clip)(users, heads, release).minimiser)
        return dist_frobenius(basis, users.truth.basis)

    passes = [1, 2, 4, 8]
    distances = [float(np.mean([distance(rounds) for _ in range(4)])) for rounds in passes]
    power = log_slope(passes, distances)
    confirmed = printed[0] < 0 and needed[-1] > needed[0] + 1 and decides(power, printed=0, correct=1, within=0.3)
    return Finding(confirmed, printed, epsilons, needed, distances, power)


@demonstrates("E25")
def heads_do_not_shrink_with_the_users() -> Finding:
    sizes = [500, 2000, 8000]
    norms, bounds = [], []
    for n in sizes:
        users = Users(sphere(users=n, samples=12, dim=20, rank=2))
        basis = planted_subspace(users.truth.basis, 0.03, stream(0, "erratum", {"erratum": 25}))
        (heads,) = rows(users, lambda block, basis=basis: (fit_heads(block.features, block.labels, basis),))
        norms.append(np.linalg.norm(heads, axis=1).max())
        # mu^2 k lam_k is the largest ||v_j*||^2, which is k here.
        bounds.append(users.problem.rank / n)
    power, ratios = log_slope(sizes, norms), np.array(norms) ** 2 / users.problem.rank
    confirmed = decides(power, printed=-1, correct=0, within=0.1) and max(ratios.tolist()) < 2
    return Finding(confirmed, norms, bounds, ratios)


@demonstrates("E26")
def whitened_noise_falls_as_one_over_users(rng: np.random.Generator) -> Finding:
    sizes, d, k = [1000, 4000, 16_000], 20, 2
    noise = symmetric_noise(d * k, 1.0, rng)

    def norms(n: int, unit: float) -> tuple[float, float, float]:
        """Return the measured and the printed norm, each over Delta, and lam_k, with labels in the given unit."""
        users = Users(sphere(users=n, samples=1, dim=d, rank=k))
        sigma = unit**2 * head_moments(users)
        lam = np.linalg.eigvalsh(sigma)[0]
        eta_squared = 2 * d * k * lam
        values, vectors = np.linalg.eigh(n * sigma)
        whiten = np.kron(vectors / np.sqrt(values) @ vectors.T, np.eye(d))
        measured = float(np.linalg.norm(whiten @ (2 * eta_squared * noise) @ whiten, ord=2))
        return measured, 8 * k**0.5 * eta_squared * (d * k / (n * lam)) ** 0.5, lam

    measured = [norms(n, 1.0)[0] for n in sizes]
    # 4 eta^2 sqrt(dk) / (n lam_k) with eta^2 = 2 dk lam_k.
    right = [4 * 2 * (d * k) ** 1.5 / n for n in sizes]
    power = log_slope(sizes, measured)
    small, printed, lam = norms(sizes[0], 1e-3)
    confirmed = decides(power, printed=-0.5, correct=-1, within=0.1) and small > printed
    return Finding(confirmed, power, np.array(measured) / right, lam, small, printed)


@demonstrates("E27")
def frobenius_deviation_is_linear_in_dim() -> Finding:
    dims, k = [10, 20, 40, 80], 2
    spectral, frobenius = [], []
    for d in dims:
        problem = sphere(users=8000, samples=8, dim=d, rank=k)
        users, samples = Users(problem), slice(0, problem.samples)
        gram, _ = clipped_sums(users, UserMoments(true_heads, samples), SampleClip(math.inf, math.inf))
        values, vectors = np.linalg.eigh(problem.users * head_moments(users))
        root = np.kron(vectors * np.sqrt(values) @ vectors.T, np.eye(d))
        deviation = root @ np.linalg.solve(gram / problem.samples, root) - np.eye(d * k)
        spectral.append(np.linalg.norm(deviation, ord=2))
        frobenius.append(np.linalg.norm(deviation))
    powers = log_slope(dims, spectral), log_slope(dims, frobenius)
    confirmed = decides(powers[1], printed=0.5, correct=1, within=0.15) and abs(powers[0] - 0.5) < 0.15
    return Finding(confirmed, powers[1], powers[0], frobenius, spectral)


@demonstrates("E28")
def samples_must_grow_with_the_squared_noise_ratio() -> Finding:
    ratios, d, k, constant = [1, 4, 16], 4, 2, 16

    def head_bias(noise: float, samples: int) -> float:
        """Return ||M||_F of the proof at U = U*, where Q = I: M = sum_j (v_j* - v_j) v_j^T (sum_j v_j v_j^T)^-1."""
        users = Users(sphere(200, samples, d, k, label_noise_sd=float(noise)))
        true, fitted = rows(
            users, lambda block: (true_heads(block), fit_heads(block.features, block.labels, users.truth.basis))
        )
        return float(np.linalg.norm((true - fitted).T @ fitted @ np.linalg.inv(fitted.T @ fitted)))

    linear = [head_bias(ratio, constant * (ratio * k + k**2)) for ratio in ratios]
    square = [head_bias(ratio, constant * (ratio**2 * k + k**2)) for ratio in ratios]
    return Finding(linear[-1] > 10 * linear[0] and square[-1] < 2 * square[1], linear, square, 1 / 64)
