"""Privacy statements of shen2023 as printed, and the guarantees that follow from them.

A round adds noise of sd sigma zeta to a sum of vectors of norm at most zeta. Removing a user moves the sum by zeta,
replacing one, as in Definition 2.1, by 2 zeta. T rounds are then c alpha T / sigma^2-RDP with c = 1/2 or 2, and
Theorem 5.2 allows as much again for the start. With eps = 2 sqrt(T L) / sigma, everything is a function of eps
and L = ln(1/delta).
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from privrep.privacy.accounting import gdp_epsilon, gdp_mu, zcdp_epsilon, zcdp_rho
from replication.printed.renyi import Mixture, participation, renyi_divergence

DELTA = 1e-5  # delta in all experiments of the paper
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)  # values of epsilon in Figure 1
REPLACED = 2.0  # Rényi cost of a round, in alpha / sigma^2, when a user is replaced (proof of Theorem 5.2)
REMOVED = 0.5  # the same cost when a user is removed or added (Remark 4.1)
WHOLE = "start and rounds, replace a user"
ROUNDS, ROUNDS_REMOVED = "rounds alone, replace a user", "rounds alone, remove a user"
SCOPES = {WHOLE: 2 * REPLACED, ROUNDS: REPLACED, ROUNDS_REMOVED: REMOVED}
"""Releases that are charged and neighbouring relation -> their cost, as (alpha, cost alpha T / sigma^2)-RDP."""


def rho(scope: str, epsilon: float, delta: float) -> float:
    """Return the zCDP parameter at the sigma of Theorem 5.2 for (epsilon, delta): the cost times eps^2 / (4 L)."""
    return SCOPES[scope] * epsilon**2 / (4 * math.log(1 / delta))


def achieved(scope: str, epsilon: float, delta: float) -> float:
    """Return the epsilon that the paper's own conversion gives, Theorem A.1 at its best alpha."""
    return zcdp_epsilon(rho(scope, epsilon, delta), delta)


def exact_mu(scope: str, epsilon: float, delta: float) -> float:
    """Return the Gaussian-DP parameter if all charged releases are Gaussian, as the algorithm's are."""
    return math.sqrt(2 * rho(scope, epsilon, delta))


def missing_noise(scope: str, epsilon: float, delta: float) -> float:
    """Return the factor by which sigma must grow for the paper's conversion to give epsilon."""
    return math.sqrt(rho(scope, epsilon, delta) / zcdp_rho(epsilon, delta))


def missing_noise_exactly(scope: str, epsilon: float, delta: float) -> float:
    """Return the factor by which sigma must grow for exact accounting to give epsilon."""
    return exact_mu(scope, epsilon, delta) / gdp_mu(epsilon, delta)


def largest(function, scope: str) -> float:
    """Return the largest value of a function of (scope, eps, delta) over eps from 0.02 L to L at delta = 1e-5."""
    return max(function(scope, epsilon, DELTA) for epsilon in np.geomspace(0.02, 1, 21) * math.log(1 / DELTA))


def printed_mixture(rate: float, sd: float) -> Mixture:
    """Return N(0, s^2) + p N(1, s^2) of Remark 4.1, whose mass is 1 + p."""
    return Mixture((1.0, rate), (0.0, 1.0), (sd, sd))


def alone(sd: float) -> Mixture:
    """Return N(0, s^2), the release when the user does not take part."""
    return Mixture((1.0,), (0.0,), (sd,))


def printed_divergence(alpha: float, rate: float, sd: float) -> float:
    """Return S_alpha(p, s) of Remark 4.1 as it is printed."""
    return renyi_divergence(alpha, alone(sd), printed_mixture(rate, sd))


def printed_order(alpha: float, rate: float, sd: float) -> float:
    """Return S_alpha with the right mixture, (1 - p) N(0, s^2) + p N(1, s^2), and Remark 4.1's argument order."""
    return renyi_divergence(alpha, alone(sd), participation(rate, 1.0, sd))


def removal_divergence(alpha: float, rate: float, sd: float) -> float:
    """Return the RDP of a round when a user is removed (Mironov, Talwar and Zhang 2019, Theorem 5)."""
    return renyi_divergence(alpha, participation(rate, 1.0, sd), alone(sd))


def replacement_divergence(alpha: float, rate: float, sd: float) -> float:
    """Return the RDP of a round when a user is replaced by one of the opposite contribution."""
    return renyi_divergence(alpha, participation(rate, 1.0, sd), participation(rate, -1.0, sd))


OPACUS_ORDERS = np.array([1 + tenth / 10 for tenth in range(1, 100)] + list(range(12, 64)))  # Rényi orders of Opacus


def opacus_mu(epsilon: float, delta: float) -> float:
    """Return the sqrt(T) / sigma_g that Opacus' Rényi accountant permits when a user is added or removed."""
    orders = OPACUS_ORDERS  # Balle et al. 2020, Theorem 21
    converted = np.log((orders - 1) / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)
    return float(brentq(lambda mu: float((orders * mu**2 / 2 + converted).min()) - epsilon, 1e-3, 50))


def experiments_epsilon(epsilon: float, shift: float) -> float:
    """Return the exact epsilon of experiments labelled `epsilon` when a user moves a sum by `shift` clips."""
    return gdp_epsilon(shift * opacus_mu(epsilon, DELTA), DELTA)
