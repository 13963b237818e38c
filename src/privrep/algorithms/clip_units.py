"""Clipping thresholds in units of the data, so that one number serves a whole sweep.

jain2021 sets eta = O~(mu sqrt(lam_k d k)) and zeta = O~(sigma_F + mu sqrt(k lam_k)) (Lemmas 4.4 and 4.6) and hides the
logarithms. `data` drops them and leaves a constant to choose; `printed` takes the ones of the proofs, under which nothing
is clipped with probability 1 - n^-10 if no ||v_j|| exceeds `head_bound`. Both use the law of the heads, which is public
here, and an orthonormal truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from privrep.algorithms.method import check_choice
from privrep.data.problem import Problem

CLIP_SCALE_COLUMN = {
    "clip_scale": "unit of the clipping bounds, see SCALES and UPDATE_SCALES in privrep.algorithms.clip_units",
}

FAILURE_POWER = 10
"""The papers' statements fail with probability n^-10."""


def head_bound(problem: Problem) -> float:
    """mu sqrt(k lam_k), the largest ||v_j||: exact for heads on a sphere; for Gaussian heads a bound on n norms that holds in
    more than 95 % of draws of 100 users or more, not with probability 1 - n^-10."""
    k = problem.rank
    if problem.head_law == "gauss":
        log_users = math.log(problem.users)
        return math.sqrt(k + 2 * math.sqrt(k * log_users) + 2 * log_users)
    return problem.head_condition * problem.longest_head * math.sqrt(k)


def _absolute(problem: Problem) -> tuple[float, float]:
    return 1.0, 1.0


def _data(problem: Problem) -> tuple[float, float]:
    scale = problem.head_condition * math.sqrt(problem.rank)
    return scale * math.sqrt(problem.dim), scale + problem.label_noise_sd


def _printed(problem: Problem) -> tuple[float, float]:
    log_samples = math.log(4 * problem.users * problem.samples) + FAILURE_POWER * math.log(problem.users)
    bound = head_bound(problem)
    longest = math.sqrt(problem.dim) + math.sqrt(2 * log_samples)
    return bound * longest, (bound + problem.label_noise_sd) * math.sqrt(2 * log_samples)


SCALES: dict[str, Callable[[Problem], tuple[float, float]]] = {
    "absolute": _absolute,
    "data": _data,
    "printed": _printed,
}
"""Name -> units of (eta, zeta): 1; (c sqrt(dk), c sqrt(k) + sigma_F) with c the largest head scale; the proofs' thresholds, with
zeta = (mu sqrt(k lam_k) + sigma_F) sqrt(2 ln(4 n m / beta)) (Lemma B.1) and eta = mu sqrt(k lam_k) (sqrt(d) + sqrt(2 ln(4 n m / beta)))."""


def check_scale(name: str) -> None:
    """Raise ValueError unless the name is one of `SCALES`."""
    check_choice("clip_scale", name, tuple(SCALES))


def feature_threshold(scale: str, factor: float, problem: Problem) -> float:
    """eta: `factor` in units of the scale."""
    return factor * SCALES[scale](problem)[0]


def label_threshold(scale: str, factor: float, problem: Problem) -> float:
    """zeta: `factor` in units of the scale."""
    return factor * SCALES[scale](problem)[1]


def _typical_sums(problem: Problem, samples: int) -> tuple[float, float]:
    d, k, q = problem.dim, problem.rank, samples
    head = problem.head_condition**2 * k
    return head * math.sqrt(q * d * (d + q + 1)), math.sqrt(
        head * q * (head * (d + q + 1) + problem.label_noise_sd**2 * d)
    )


USER_SCALES: dict[str, Callable[[Problem, int], tuple[float, float]]] = {
    "absolute": lambda problem, samples: (1.0, 1.0),
    "data": _typical_sums,
}
"""Name -> units of the bounds on a user's whole A_j and b_j from q samples: 1; their root mean square norms for a user whose head is the
longest, ||A_j||_F = ||X X^T||_F ||v||^2 and ||b_j|| = ||sum_i y_i x_i|| ||v||, exact for Gaussian features."""


def user_units(scale: str, problem: Problem, samples: int) -> tuple[float, float]:
    """Units of the bounds on ||A_j||_F and ||b_j|| from `samples` samples per user."""
    return USER_SCALES[scale](problem, samples)


def _prescribed_gradient(problem: Problem) -> float:
    return head_bound(problem) ** 2 * math.sqrt(problem.dim * problem.rank * math.log(problem.users))


def _prescribed_moment(problem: Problem) -> float:
    log_users = math.log(problem.users)
    shape = math.sqrt(problem.rank * problem.dim) * log_users * (math.sqrt(log_users) + math.sqrt(problem.rank))
    return head_bound(problem) ** 2 * shape


def _practical(problem: Problem) -> float:
    return math.sqrt(problem.dim) * problem.rank**1.5


UPDATE_SCALES: dict[str, tuple[Callable[[Problem], float], Callable[[Problem], float]]] = {
    "absolute": (lambda problem: 1.0, lambda problem: 1.0),
    "practical": (_practical, _practical),
    "prescribed": (_prescribed_gradient, _prescribed_moment),
}
"""Name -> units of (zeta_g, zeta_0) of shen2023: 1; sqrt(d) k^1.5, without logarithms; mu^2 k s_k^2 sqrt(dk ln n) (Theorem 5.1)
and mu^2 k^1.5 s_k^2 sqrt(d) ln(n) (sqrt(ln n) + sqrt(k)) (Lemma F.1), with mu^2 k s_k^2 from `head_bound` and all constants 1."""


def check_update_scale(name: str) -> None:
    """Raise ValueError unless the name is one of `UPDATE_SCALES`."""
    check_choice("clip_scale", name, tuple(UPDATE_SCALES))


def gradient_threshold(scale: str, factor: float, problem: Problem) -> float:
    """zeta_g, the bound on a user's gradient: `factor` in units of the scale."""
    return factor * UPDATE_SCALES[scale][0](problem)


def moment_threshold(scale: str, factor: float, problem: Problem) -> float:
    """zeta_0, the bound on a user's Y_i in the power method: `factor` in units of the scale."""
    return factor * UPDATE_SCALES[scale][1](problem)


PROJECTION_SCALES: dict[str, Callable[[Problem], float]] = {
    "absolute": lambda problem: 1.0,
    "prescribed": lambda problem: 40 * math.sqrt(problem.dim) * math.log(problem.users * problem.samples),
    "projected": lambda problem: math.sqrt(problem.rank * math.log(problem.users * problem.samples)),
}
"""Name -> unit of L_f, the bound on ||U^T x|| in Algorithm 4 of jain2021: 1; 40 sqrt(d) ln(n m) (Theorem 5.2); sqrt(k ln(n m)), the size of
a projection on k directions with the logarithm of how many there are."""


def projection_threshold(scale: str, factor: float, problem: Problem) -> float:
    """L_f: `factor` in units of the scale."""
    return factor * PROJECTION_SCALES[scale](problem)
