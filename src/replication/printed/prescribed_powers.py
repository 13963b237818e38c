"""Prescriptions of shen2023 for the linear case, as functions of the problem, to compute their exponents.

Without constants and logarithms and at s_k = 1 each is asymptotically a power law; `power` returns its exponent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

FAR = 1e20  # where exponents are read off: sums such as 1 + sqrt(k) are within 1e-10 of a power there


@dataclass(frozen=True)
class Size:
    """Users n, dimension d, rank k, incoherence mu and condition number kappa = s_1 / s_k of the heads."""

    n: float = 1.0
    d: float = 1.0
    k: float = 1.0
    mu: float = 1.0
    kappa: float = 1.0


Law = Callable[[Size], float]


def power(law: Law, name: str, size: Size = Size()) -> float:
    """Return the asymptotic exponent of a law in one argument, the others as in `size`."""
    near, far = (law(replace(size, **{name: value})) for value in (FAR, 10 * FAR))
    return math.log10(far / near)


def moment_clip(size: Size) -> float:
    """zeta_0 of Lemma F.1: mu^2 k^1.5 s_k^2 sqrt(d) (1 + sqrt(k))."""
    return size.mu**2 * size.k**1.5 * math.sqrt(size.d) * (1 + math.sqrt(size.k))


def moment_norm(size: Size) -> float:
    """The bound of the proof of Lemma G.1 on |y|^2 ||x|| ||x^T X||: mu^2 k s_k^2 times sqrt(d) times 1 + sqrt(k)."""
    return size.mu**2 * size.k * math.sqrt(size.d) * (1 + math.sqrt(size.k))


def gradient_clip(size: Size) -> float:
    """zeta_g of Lemma C.1: mu^2 k s_k^2 sqrt(dk)."""
    return size.mu**2 * size.k * math.sqrt(size.d * size.k)


def step(size: Size) -> float:
    """eta_g = 1 / (4 s_1^2)."""
    return 1 / (4 * size.kappa**2)


def iterations(size: Size) -> float:
    """Number of iterations L of Lemma F.1: (s_k^2 + sum_j s_j^2) / s_k^2, at most 1 + k kappa^2.

    The kappa^2 of eq. (67) comes from it.
    """
    return 1 + size.k * size.kappa**2


def runs(size: Size) -> float:
    """T_0 of Corollary F.1: k."""
    return size.k


def rounds(size: Size) -> float:
    """T_g of Theorem 5.1: kappa^2."""
    return size.kappa**2


def start_noise(size: Size) -> float:
    """sigma_0 of Lemma F.1: n s_k^2 / (zeta_0 k sqrt(d))."""
    return size.n / (moment_clip(size) * size.k * math.sqrt(size.d))


def run_cost(size: Size) -> float:
    """eps'_init / alpha of (67): L / sigma_0^2."""
    return iterations(size) / start_noise(size) ** 2


def start_cost(size: Size) -> float:
    """eps_init / alpha of (70): T_0 runs."""
    return runs(size) * run_cost(size)


def utility_cap(size: Size) -> float:
    """sigma_g that Theorem 5.1 permits: n kappa^4 / (mu^2 d sqrt(k))."""
    return size.n * size.kappa**4 / (size.mu**2 * size.d * math.sqrt(size.k))


def privacy_cap(size: Size) -> float:
    """sigma_g at which the start costs as much as the rounds: eps_init = T_g / sigma_g^2 (Theorem 5.2)."""
    return math.sqrt(rounds(size) / start_cost(size))


def least_epsilon(cap: Law) -> Law:
    """Smallest epsilon under a cap on sigma_g: sqrt(T_g) / sigma_g."""
    return lambda size: math.sqrt(rounds(size)) / cap(size)


def utility(sigma: Law) -> Law:
    """Theorem 5.1: dist <= kappa^2 eta_g sigma_g zeta_g sqrt(d) / n, for a sigma_g."""
    return lambda size: size.kappa**2 * step(size) * sigma(size) * gradient_clip(size) * math.sqrt(size.d) / size.n


def trade_off(size: Size) -> float:
    """eps_a eps_dp of Corollary 5.1, in which sigma_g cancels."""
    return utility(lambda _: 1.0)(size) * least_epsilon(lambda _: 1.0)(size)


def start_samples(size: Size) -> float:
    """mbar_0 of eq. (66): d k^3 mu^2 (sum_i s_i^2 / s_k^2) / n, and at least one."""
    return max(1.0, size.d * size.k**4 * size.mu**2 * size.kappa**2 / size.n)


def round_samples(size: Size) -> float:
    """mbar of Theorem 5.1: max(kappa^2 k^2, k^2 d / n)."""
    return max((size.kappa * size.k) ** 2, size.k**2 * size.d / size.n)


def fresh_samples(size: Size) -> float:
    """Samples that T_0 runs of L iterations and T_g rounds, with two subsets each, use up if no sample serves twice."""
    return runs(size) * iterations(size) * start_samples(size) + 2 * rounds(size) * round_samples(size)


def assumed_samples(size: Size) -> float:
    """m of Assumption 5.3: max(k^2, k^4 d / n)."""
    return max(size.k**2, size.k**4 * size.d / size.n)
