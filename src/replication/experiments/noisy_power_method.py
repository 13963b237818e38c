"""Noisy power method (shen2023, Algorithm 6 `NPM`, after Hardt and Price 2014), the device behind Theorem G.1.

    for l = 1..L:   X <- QR(A X + G_l)          G_l: any perturbation

No data are read: A = diag(1, .., 1, 1 - gap, ..) with k ones, and G_l is the largest that the theorem permits.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from privrep.methods.running.experiment import experiment
from privrep.methods.running.method import Task
from privrep.options import check_count, check_positive, check_share, option
from privrep.users.simulated import Problem
from privrep.users.subspace import random_subspaces
from replication.experiments.columns import columns_of


def noisy_iterates(
    matrix: np.ndarray, start: np.ndarray, iterations: int, perturbation: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return X_1, ..., X_L, (L, ..., d, k), of independent runs; `perturbation` maps iterates to G_l."""
    bases, iterates = start, []
    for _ in range(iterations):
        bases = np.linalg.qr(matrix @ bases + perturbation(bases))[0]
        iterates.append(bases)
    return np.array(iterates)


def limit_noise(basis: np.ndarray, gap: float, tau: float, accuracy: float) -> np.ndarray:
    """Return the worst G that Theorem G.1 permits: U^T G shrinks the part in U, the rest points out of U."""
    dim, rank = basis.shape[-2:]
    norm = accuracy * gap / 5
    inward = min(gap / (5 * tau * math.sqrt(rank * dim)), norm)
    left, _, right = np.linalg.svd(basis[..., :rank, :])
    push = np.zeros_like(basis)
    push[..., :rank, :] = -inward * (left @ right)
    push[..., rank : 2 * rank, :] = math.sqrt(norm**2 - inward**2) * np.eye(rank)
    return push


def least_cosine(bases: np.ndarray) -> np.ndarray:
    """Return the cosine of the largest angle between U, spanned by the first k axes, and each basis, (...)."""
    return np.linalg.svd(bases[..., : bases.shape[-1], :], compute_uv=False)[..., -1]


def check_room(options, problem: Problem) -> None:
    """Raise ValueError unless k dimensions are orthogonal to U, for the perturbation's part that points out of U."""
    if problem.dim < 2 * problem.rank:
        raise ValueError(f"dim is {problem.dim}; it must be at least twice the rank, {problem.rank}")


@experiment(
    columns_of("noisy_power_method"),
    prepare=check_room,
)
def noisy_power_method(
    task: Task,
    *,
    gap: float = option("1 - s_{k+1} / s_k of the matrix", check_share),
    tau: float = option("tau of Theorem G.1; a smaller one permits more noise against the part in U", check_positive),
    length: float = option("iterations over ln(k d tau / eps) / gap", check_positive, 1.0),
    starts: int = option("independent runs", check_count, 54),
    accuracy: float = option("distance at which a run has succeeded, eps", check_share, 0.1),
) -> dict[str, float]:
    """Run L iterations from random starts; count those needed to reach the accuracy, and the runs that reach it."""
    dim, rank = task.simulated.problem.dim, task.simulated.problem.rank
    iterations = int(length * math.log(rank * dim * tau / accuracy) / gap)
    matrix = np.diag(np.where(np.arange(dim) < rank, 1.0, 1 - gap))
    start = random_subspaces(starts, dim, rank, task.stream("init"))
    path = noisy_iterates(matrix, start, iterations, lambda basis: limit_noise(basis, gap, tau, accuracy))
    away = np.sqrt(np.maximum(0, 1 - least_cosine(path) ** 2)) > accuracy
    first = least_cosine(start)
    return {
        "iterations": iterations,
        "iterations_needed": (away.sum(axis=0) + 1).mean(),
        "runs_within": 1 - away[-1].mean(),
        "start_log_tangent": np.log(np.sqrt(1 - first**2) / first).mean(),
    }
