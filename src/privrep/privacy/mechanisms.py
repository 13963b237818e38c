"""The only doors through which data leave the users. Each takes the generator and writes to the ledger.

Sensitivities are replace-one: neighbours differ in all samples of one user. A noise multiplier is noise sd over
sensitivity. Multiplier 0 releases without privacy, and the ledger says so (mu = inf).
"""

from __future__ import annotations

import math

import numpy as np

from privrep.privacy.accounting import Cost
from privrep.privacy.ledger import Entry, Ledger

DOMINATED = 9 / 8
"""(||dA||^2 / (2a)^2 + ||db||^2 / (2b)^2) is at most this for w-moments, see `release_moments`."""
INDEPENDENT = 3 / 2
"""The same when A_j and b_j are clipped separately."""

GAUSSIAN_COST = Cost(mu_squared=1.0, rho=1 / 2)
MOMENTS_COST = Cost(mu_squared=DOMINATED, rho=1.0)
USER_MOMENTS_COST = Cost(mu_squared=INDEPENDENT, rho=1.0)


def symmetric_noise(size: int, sd: float, rng: np.random.Generator) -> np.ndarray:
    """N_sym(0, sd^2): independent entries on and above the diagonal, the upper triangle copied below."""
    noise = np.triu(rng.normal(0.0, sd, (size, size)))
    return noise + np.triu(noise, 1).T


def _check(noise_multiplier: float, *bounds: float) -> None:
    if not noise_multiplier >= 0:
        raise ValueError(f"noise_multiplier is {noise_multiplier!r}; it must be at least 0")
    if noise_multiplier > 0 and not all(0 < bound < math.inf for bound in bounds):
        raise ValueError(f"clipping bounds are {bounds}; a private release needs them positive and finite")


def release_vector(
    value: np.ndarray,
    *,
    bound: float,
    noise_multiplier: float,
    rng: np.random.Generator,
    ledger: Ledger,
    users: range,
    name: str,
    rate: float = 1.0,
) -> np.ndarray:
    """Gaussian mechanism for a sum over users of arrays of norm at most `bound`; sensitivity 2 * bound.

    With `rate` below 1 the caller has drawn who takes part, each user with that probability and without looking at data.
    """
    _check(noise_multiplier, bound)
    sensitivity = 2 * bound
    sd = noise_multiplier * sensitivity if noise_multiplier else 0.0
    ledger.record(Entry(name, sensitivity, sd, users.start, users.stop, rate))
    return value + rng.normal(0.0, sd, value.shape) if sd else value


def release_symmetric(
    value: np.ndarray,
    *,
    bound: float,
    noise_multiplier: float,
    rng: np.random.Generator,
    ledger: Ledger,
    users: range,
    name: str,
) -> np.ndarray:
    """Gaussian mechanism for a symmetric sum over users whose upper triangles have norm at most `bound`.

    Only the upper triangle, diagonal included, is released; the lower one is a copy. Its sensitivity is 2 * bound,
    attained by two users with opposite contributions (jain2021 Lemma 4.5).
    """
    _check(noise_multiplier, bound)
    sensitivity = 2 * bound
    sd = noise_multiplier * sensitivity if noise_multiplier else 0.0
    ledger.record(Entry(name, sensitivity, sd, users.start, users.stop))
    return value + symmetric_noise(len(value), sd, rng) if sd else value


def release_moments(
    second: np.ndarray,
    first: np.ndarray,
    *,
    second_bound: float,
    first_bound: float,
    joint: float,
    noise_multiplier: float,
    rng: np.random.Generator,
    ledger: Ledger,
    users: range,
    name: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Joint Gaussian release of A = sum_j A_j and b = sum_j b_j (jain2021 Algorithm 2).

    With ||A_j||_F <= a = `second_bound` and ||b_j|| <= b = `first_bound`, the noise is N_sym(0, (2 a Delta)^2) on A and
    N(0, (2 b Delta)^2) on b, as printed. The ledger gets *one* entry, in units in which both noises have sd Delta:
    its sensitivity is the square root of `joint`, a bound on ||A_j - A_j'||^2 / (2a)^2 + ||b_j - b_j'||^2 / (2b)^2.

    * `DOMINATED` = 9/8, when A_j = sum_i w_i w_i^T, b_j = sum_i y_i w_i with ||w_i|| <= eta, |y_i| <= zeta, a = q eta^2,
      b = q eta zeta. The pair (A_j / a, b_j / b) is then in the convex hull of {(u u^T, c u): ||u|| <= 1, |c| <= 1}, and a
      convex function of two such points is largest at extreme points, where with s = |<u, u'>| it is
      (2 - 2 s^2) / 4 + (2 + 2 s) / 4, at most 9/8 at s = 1/2. The paper adds two triangle inequalities: 2 (claim E61).
    * `INDEPENDENT` = 3/2, when A_j is only positive semidefinite: ||A - A'||^2 <= ||A||^2 + ||A'||^2 <= 2 a^2.
    """
    _check(noise_multiplier, second_bound, first_bound)
    ledger.record(Entry(name, math.sqrt(joint), noise_multiplier, users.start, users.stop))
    if noise_multiplier == 0:
        return second, first
    noisy_second = second + symmetric_noise(len(second), 2 * second_bound * noise_multiplier, rng)
    noisy_first = first + rng.normal(0.0, 2 * first_bound * noise_multiplier, first.shape)
    return noisy_second, noisy_first
