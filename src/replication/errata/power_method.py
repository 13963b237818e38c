"""Errata on the private power method of shen2023, the selection among its runs, and the samples that both use."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import roots_hermitenorm
from scipy.stats import binom

from privrep.methods.power_method import Products
from privrep.methods.steps.candidate_selection import select
from privrep.methods.steps.clip_units import moment_threshold
from privrep.users.blocks import Block
from privrep.users.passes import parts, rows
from privrep.users.simulated import Users
from privrep.users.subspace import dist2, planted_subspace, random_subspace
from replication.errata.finding import Finding, decides, demonstrates
from replication.errata.tools import sphere
from replication.evidence.intervals import log_slope
from replication.printed.prescribed_powers import (
    Size,
    assumed_samples,
    fresh_samples,
    gradient_clip,
    moment_clip,
    moment_norm,
    power,
)


def clipped(features: tuple[float, float], basis: np.ndarray, bound: float) -> np.ndarray:
    """Return clip(y^2 x x^T X; bound), (d, k), of a user with one sample (x, y = 30)."""
    ones = np.ones((1, 1), np.float32)
    user = Block(0, np.array([[features]], np.float32), 30 * ones, ones)
    (products,) = Products(np.arange(1), basis[None], bound)(user)
    return products.clipped(bound)[0]


@demonstrates("E13")
def replacing_costs_twice_the_printed() -> Finding:
    # X = e_1 sees the first coordinate alone, which is small, and y^2 x x^T X points along x.
    basis = np.array([[1.0], [0.0]])
    user, other = (clipped((2e-3, sign), basis, 1.0) for sign in (1.0, -1.0))
    removed, replaced = float(np.linalg.norm(user)), float(np.linalg.norm(user - other))
    # A release is (change / sigma_0)^2 alpha / 2-RDP; (67) has alpha / sigma_0^2.
    costs = [change**2 / 2 for change in (replaced, removed)]
    twice = decides(costs[0], printed=1, correct=2, within=0.02)
    return Finding(twice and decides(costs[1], printed=1, correct=0.5, within=0.02), replaced, removed, costs)


@demonstrates("E44")
def printed_start_clip_is_loose_in_the_rank(rng: np.random.Generator) -> Finding:
    ranks, ratios = [1, 2, 4, 8, 16], []
    for k in ranks:
        users = Users(sphere(users=2000, samples=4, dim=64, rank=k))
        basis = random_subspace(users.problem.dim, k, rng)

        def largest(block: Block, basis=basis) -> tuple[np.ndarray, ...]:
            """Return the largest |y|, ||x|| and ||x^T X|| of a block, which the proof bounds one by one."""
            seen = np.linalg.norm(block.features @ basis, axis=2)
            return tuple(np.asarray(sizes.max()) for sizes in (np.abs(block.labels), block.feature_norms, seen))

        label, length, projected = np.max(parts(users, largest), axis=1)
        ratios.append(float(label**2 * length * projected / moment_threshold("prescribed", 1.0, users.problem.known)))
    growth, correct = log_slope(ranks, ratios), power(moment_norm, "k") - power(moment_clip, "k")
    return Finding(decides(growth, printed=0, correct=correct, within=0.2), ratios, growth)


@demonstrates("E48")
def half_of_the_runs_do_not_decide(rng: np.random.Generator) -> Finding:
    d, k = 12, 2
    truth = random_subspace(d, k, rng)
    good, bad = planted_subspace(truth, 0.005, rng), planted_subspace(truth, 0.5, rng)
    half, most = np.array([bad, bad, good, good]), np.array([bad, bad, good, good, good])
    tied, clear = select(half, 0.01), select(most, 0.01)
    wrong, right = dist2(half[tied.index], truth), dist2(most[clear.index], truth)
    left, values, other = np.linalg.svd(truth.T @ good)
    least = float(left[:, 0] @ truth.T @ good @ -other[0])
    # Signs of the columns are free, so B_i may be -B*.
    turned = float(np.linalg.norm(np.eye(k) + truth.T @ truth, 2))
    p, runs = 0.99, math.ceil(8 * 0.99 * math.log(1e4))
    outcome, chance = "passes" if tied.passed else "fails", binom.cdf(runs // 2, runs, p)
    chosen = tied.passed and wrong > 0.2 > right
    confirmed = chosen and least < 0 and turned > 1 - (1 - 0.01**2) ** 0.5 and p - 0.5 < 0.5
    return Finding(confirmed, wrong, outcome, right, least, values[-1], turned, p - 0.5, runs, chance)


def sixth_moment(d: int) -> tuple[float, float]:
    """Return entries (1, 1) and (2, 2) of E[y^4 ||x||^2 x x^T] for y = x_1, by Gauss-Hermite quadrature, exact here."""
    nodes, weights = roots_hermitenorm(10)
    weights = np.outer(weights, weights) / (2 * math.pi)
    first, second = np.meshgrid(nodes, nodes, indexing="ij")
    common = weights * first**4 * (first**2 + second**2 + d - 2)
    return float((common * first**2).sum()), float((common * second**2).sum())


@demonstrates("E49")
def sixth_moment_has_larger_entries() -> Finding:
    dims = [12, 50]
    along, across = zip(*(sixth_moment(d) for d in dims), strict=True)
    agree = all(
        decides(a, printed=5 * d + 90, correct=15 * d + 90, within=1e-6)
        and decides(b, printed=3 * d + 15, correct=3 * d + 18, within=1e-6)
        for d, a, b in zip(dims, along, across, strict=True)
    )
    return Finding(agree, dims, along, [5 * d + 90 for d in dims], across, [3 * d + 15 for d in dims])


@demonstrates("E52")
def fresh_samples_need_rank_to_the_sixth() -> Finding:
    scarce, plenty = Size(d=1e80), Size(n=1e200)
    needed, assumed = (power(law, "k", scarce) for law in (fresh_samples, assumed_samples))
    both = [power(law, "k", plenty) for law in (fresh_samples, assumed_samples)]
    return Finding(decides(needed, printed=assumed, correct=6, within=0.01), needed, assumed, both)


def mean_gain(users: Users, summed: int, divided_by: int) -> float:
    """Return the mean of tr(U*^T M_i U*) / (k (2 lam_k + tr)), M_i the sum of `summed` samples over `divided_by`."""
    truth, rank = users.truth.basis, users.problem.rank

    def gains(block: Block) -> tuple[np.ndarray]:
        squares = block.labels[:summed].astype(float) ** 2, (block.features[:summed] @ truth) ** 2
        return (np.einsum("qb,qbk->b", *squares),)

    return float(rows(users, gains)[0].mean()) / (divided_by * rank * (2 + rank))


@demonstrates("E58")
def mean_is_over_the_summed_samples() -> Finding:
    users = Users(sphere(users=20_000, samples=16, dim=10, rank=2))
    right, printed = mean_gain(users, 4, 4), mean_gain(users, 4, 16)
    growth = gradient_clip(Size(d=80)) / gradient_clip(Size(d=20))
    confirmed = decides(right, printed=printed, correct=1, within=0.05)
    return Finding(confirmed and decides(growth, printed=1, correct=2, within=0.01), right, printed, growth)
