"""Expected risk of each complete method, as a share of the risk of predicting zero, from public sizes and the privacy
budget alone.

The laws are the project's own, for whole methods: the start from users' models, steps F3 to F5, rounds F8 to F10, heads
F6, the recursion of unit steps. They hold for heads on a sphere with E v v^T = I and Gaussian features; no part of them
was fitted to measurements.

    sizes                n users (a number or an array), m samples, d, k, and sigma, the sd of the label noise
    S, outside           share of E ||theta||^2 outside a subspace: the mean square sine, distF^2 / k; 1 - k/d for
                         a random subspace
    mu, mu2              mu-GDP of all releases of a method together; mu^2 of one part of the method
    rounds, step         settings of a method's parts

A method's releases share mu^2: a share is the start's, the rest the steps', in equal parts within either. So a noise
multiplier is sqrt(cost / share) / mu, with the cost of the releases at multiplier 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privrep.methods.unit_steps import schedule as unit
from privrep.privacy.contributions import Rows
from privrep.theory import jain2021, shen2023
from privrep.theory.clipped_step import user_step
from privrep.theory.shared import Values

STARTED = 0.5
"""A start with S above this is mostly noise: chance decides which of its directions are near the truth."""
NEAR = 0.1
"""A law of leading order does not hold if S ends above this."""


@dataclass(frozen=True)
class Regime:
    """Sizes of a problem in which a law is evaluated."""

    users: Values
    samples: int
    dim: int
    rank: int
    noise: float

    @property
    def random(self) -> float:
        """S of a random subspace."""
        return 1 - self.rank / self.dim


@dataclass(frozen=True)
class Prediction:
    """Expected risk of a method, and whether the law's own assumptions hold."""

    risk: Values  # mean excess risk divided by k, the risk of predicting zero; infinite if there is no mean
    known: Values  # whether the law's own assumptions hold
    start: Values = 0.0  # S after the start; 0 for a method without one


@dataclass(frozen=True)
class Rounds:
    """Settings of rounds of clipped gradient steps."""

    rounds: int  # number of rounds, each with an equal part of mu^2
    batch: int  # samples for each of head and gradient; 0 if both use all m
    step: Values  # eta
    clip: Values  # zeta_g of the first round
    fall: Values = 1.0  # clip of the last round over that of the first; it falls in equal ratios
    averaged: float = 0.0  # share of the rounds, namely the last ones, whose subspaces are averaged


@dataclass(frozen=True)
class Moments:
    """Settings of one step of Algorithm 2 with user-level clipping."""

    heads: int  # samples of a user for the head
    samples: int  # samples of a user for the step
    factors: tuple[float, float]  # factors of the clips, as in `user_step`
    units: tuple[float, float]
    cost: float  # mu^2 of the release at multiplier 1


# Heads


def inverse_traces(coordinates: int, samples: int, penalty: Values) -> tuple[Values, Values]:
    """Return E tr (X^T X + l I)^-1 and E tr (X^T X + l I)^-2 divided by the number p of
    `coordinates`, for X with q Gaussian `samples` and l the `penalty`.

    The first, M, solves p l M^2 + (l + q - p) M = 1, the law of Marchenko and Pastur; with q - 1 in place of q it is
    exact for l = 0 and q > p + 1. The second is minus its derivative by l. With more coordinates than samples, p - q
    of the eigenvalues are l."""
    p, q, penalty = coordinates, samples, np.asarray(penalty, dtype=float)
    if p > q:
        first, second = inverse_traces(q, p, penalty)
        return (p - q) / p / penalty + q / p * first, (p - q) / p / penalty**2 + q / p * second
    spare = penalty + max(q - 1, p) - p
    root = np.sqrt(spare**2 + 4 * p * penalty)
    first = 2 / (spare + root)
    return first, (p * first**2 + first) / root


def ridge_error(coordinates: int, samples: int, penalty: Values, power: Values, noise2: Values) -> Values:
    """Return the mean square error of a coordinate in a ridge regression, for mean square `power` of the coordinate and
    label noise of variance `noise2`."""
    first, second = inverse_traces(coordinates, samples, penalty)
    return power * penalty**2 * second + noise2 * (first - penalty * second)


def own_data(sizes: Regime, penalty: Values) -> Prediction:
    """Predict the risk of each user alone: ridge regression on m samples in d dimensions. Left out: corrections to the
    limit law for few samples, at m = d or next to it."""
    m, d, k = sizes.samples, sizes.dim, sizes.rank
    risk = d / k * ridge_error(d, m, penalty, k / d, sizes.noise**2)
    return Prediction(*np.broadcast_arrays(risk, abs(m - d) > 1))


def personal(sizes: Regime, outside: Values) -> Values:
    """Return the risk, divided by k, of ridge heads on all samples, with the label noise as penalty
    (`privrep.users.heads.final_penalty`): F6 with a penalty. The part of a head outside the subspace acts as noise.
    """
    k, noise2 = sizes.rank, sizes.noise**2
    return outside + ridge_error(k, sizes.samples, noise2, 1 - outside, k * outside + noise2)


def fixed_point(variances: np.ndarray, samples: int, counts: np.ndarray | int = 1) -> np.ndarray:
    """Solve kappa (m - sum p / (p + kappa)) = 1 for the kappa of ridge regression with penalty 1 and variances p, of
    multiplicities `counts`, over the last axis."""
    high = (1 + (counts * variances).sum(axis=-1)) / samples
    low = np.full_like(high, 1e-15)
    for _ in range(60):
        middle = np.sqrt(low * high)
        taken = (counts * variances / (variances + middle[..., None])).sum(axis=-1)
        below = middle * (samples - taken) < 1
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return high


def posterior_risk(
    variances: np.ndarray, squares: np.ndarray, samples: int, noise2: float, counts: np.ndarray | int = 1
) -> np.ndarray:
    """Return the mean square error of posterior means under a prior, by the deterministic equivalent of ridge
    regression, for label noise of variance `noise2`, prior variances / `noise2`, and mean squares of coordinates."""
    samples = samples - 1
    kappa = fixed_point(variances, samples, counts)[..., None]
    freedom = (counts * (variances / (variances + kappa)) ** 2).sum(axis=-1) / samples
    bias = (counts * squares * (kappa / (variances + kappa)) ** 2).sum(axis=-1)
    return (bias + noise2 * freedom) / (1 - freedom)


# Unit steps


def unit_recursion(sizes: Regime, mu: Values) -> tuple[np.ndarray, np.ndarray]:
    """Return S after the start and after the last round of unit steps, by their recursion, for arrays of n and mu."""
    n, mu = np.broadcast_arrays(np.asarray(sizes.users, dtype=float), mu)
    all_ = unit.Sizes(n, sizes.samples, sizes.dim, sizes.rank)
    noise2, outside = sizes.noise**2, sizes.dim - sizes.rank
    mu = np.sqrt(all_.isotropic_share(mu)) * mu
    start = all_.start_error2(math.sqrt(unit.START) * mu, noise2)
    growths = np.reshape(unit.GROWTHS, (-1, *[1] * n.ndim))
    best = best_risk = np.asarray(math.inf)
    for rounds in unit.ROUNDS:
        error2 = np.broadcast_to(start, (len(growths), *n.shape))
        total = (growths ** np.arange(rounds).reshape(-1, *[1] * growths.ndim)).sum(axis=0)
        for number in range(rounds):
            mu2 = unit.STEPS * growths**number / total * (1 - unit.START) * mu**2
            error2 = np.asarray(all_.planned(error2, np.sqrt(mu2), noise2))
        error2 = error2.min(axis=0)
        risk = all_.risk(error2, noise2)
        taken = risk < unit.WORTH * best_risk
        best, best_risk = np.where(taken, error2, best), np.where(taken, risk, best_risk)
    return np.asarray(outside * start), outside * best


def unit_steps(sizes: Regime, mu: Values) -> Prediction:
    """Predict the risk of unit steps: their recursion, then posterior means. Left out: the cost of the moments of the
    heads, and the noise in the server's measurement of the error."""
    d, k, noise2 = sizes.dim, sizes.rank, sizes.noise**2
    start, outside = unit_recursion(sizes, mu)
    spread = k * outside / (d - k)
    variances, squares = (np.stack(np.broadcast_arrays(inside, spread), axis=-1) for inside in (1.0, 1 - outside))
    risk = posterior_risk(variances / noise2, squares, sizes.samples, noise2, np.array([k, d - k])) / k
    return Prediction(risk, (start <= STARTED) & (outside <= NEAR), start)


# Start and rounds of the published methods


def models_outside(sizes: Regime, mu: Values) -> Values:
    """Return S of a start from users' models, at most that of a random subspace: the start of unit steps."""
    unit_sizes = unit.Sizes(np.asarray(sizes.users), sizes.samples, sizes.dim, sizes.rank)
    error2 = unit_sizes.start_error2(np.asarray(mu), sizes.noise**2)
    return np.minimum(sizes.random, (sizes.dim - sizes.rank) * error2)


def mixed(inside2: Values, outside2: Values, noise2: Values, sizes: Regime) -> Values:
    """Return S of directions with squared lengths `inside2` in the subspace and `outside2` outside, after noise of
    variance `noise2` on every coordinate: the S of a random subspace if all is noise."""
    d, k = sizes.dim, sizes.rank
    return (outside2 + (d - k) * noise2) / (inside2 + outside2 + d * noise2)


def gradient_norm(sizes: Regime, outside: Values, batch: int) -> Values:
    """Return the root mean square of ||G_j||, from q = `batch` samples each for head and gradient
    (`shen2023.representation_update`), or, if `batch` is 0, from all m for both.

    On the same samples the residual of a head has m - k degrees of freedom (`privrep.methods.unit_steps.schedule`). The
    law uses at least k + 2 samples: with q <= k + 1 the mean square of heads is infinite, their typical square is not.
    """
    m, d, k, sigma = sizes.samples, sizes.dim, sizes.rank, sizes.noise
    if batch:
        return shen2023.representation_update(np.sqrt(outside), d, k, max(batch, k + 2), sigma)
    left = max(m - k, 2)
    gradient2 = left * ((d - k) * sigma**2 + (d + m - 2 * k + 1) * k * outside) / m**2
    return np.sqrt(gradient2 * k * (1 - outside + (k * outside + sigma**2) / (left - 1)))


def rounds_outside(sizes: Regime, mu2: Values, rounds: Rounds, outside: Values) -> Values:
    """Return S after the rounds: F8 and F9 iterated over the whole range of angles, with the clip of F10.

    The mean gradient at angle phi is cos phi sin phi, towards the truth; a clip below the typical norm scales it and
    its sampling error. With heads and gradients on the same samples it is (m - k) / m as large. Averaging lowers S
    only near the truth, where an error is the contracted error of the round before plus fresh noise. Left out: users
    whose norms are far from the typical one."""
    n, m, d, k = sizes.users, sizes.samples, sizes.dim, sizes.rank
    step = rounds.step if rounds.batch else rounds.step * (m - k) / m
    last = max(1, round(rounds.averaged * rounds.rounds))
    with_sum = sum2 = 0.0  # mean product of the last error and the sum of averaged errors; mean square of this sum
    for number in range(rounds.rounds):
        clip = rounds.clip * rounds.fall ** (number / max(rounds.rounds - 1, 1))
        norm = gradient_norm(sizes, outside, rounds.batch)
        kept = np.minimum(1, clip / norm)
        noise2 = rounds.step**2 * (
            (Rows.sensitivity(1.0) * clip / n) ** 2 * rounds.rounds / mu2 + (kept * norm) ** 2 / (n * d * k)
        )
        inside2 = (1 - outside) * (1 + step * kept * outside) ** 2
        left = 1 - step * kept * (1 - outside)
        outside2 = outside * left**2
        outside = mixed(inside2, outside2, noise2, sizes)
        if number >= rounds.rounds - last:
            left = left / np.sqrt(inside2 + outside2)
            sum2 = sum2 + 2 * left * with_sum + outside
            with_sum = left * with_sum + outside
    return np.where(outside <= NEAR, sum2 / last**2, outside)


def by_rounds(sizes: Regime, mu: Values, start: Values, share: Values, rounds: Rounds) -> Prediction:
    """Predict the risk of rounds from a start with a share of mu^2, then ridge heads: CENTAUR, with fresh samples for
    head and gradient, and private FedRep, with all samples for both."""
    outside = rounds_outside(sizes, (1 - share) * np.square(mu), rounds, start)
    return with_heads(sizes, start, outside, rounds.batch or sizes.samples)


def with_heads(sizes: Regime, start: Values, outside: Values, heads: int) -> Prediction:
    """Predict the risk of final ridge heads on all samples, in the subspace of steps that fit heads on `heads` samples;
    infinite if these are fewer than the coordinates of a head."""
    risk = personal(sizes, outside) if heads >= sizes.rank else np.full(np.shape(outside), math.inf)
    return Prediction(risk, (start <= STARTED) & (outside <= NEAR) & (heads > sizes.rank + 1), start)


# Alternating minimisation


def moments_outside(sizes: Regime, mu2: Values, step: Moments, start: Values) -> Values:
    """Return S after one step of Algorithm 2 from a start with this S.

    The privacy error is F3 at any x, a random subspace for x >= 1, with clips that bind for all users. Heads fitted
    in a poor start point elsewhere than the true ones: with c^2 = 1 - S and variance nu of the fit, the signal in b is
    sqrt(c^2 / (c^2 + nu)) of that in F3, and the signal in A is the same. Sampling (F4) and label noise (F5) add in
    squares, the former from the start's error. Left out: the effect of the clip on sampling."""
    d, k, sigma = sizes.dim, sizes.rank, sizes.noise
    spare = max(step.heads - k - 1, 1)
    known = 1 - start
    aligned = np.sqrt(known / (known + (k * start + sigma**2) / spare))
    cut = user_step(sizes.users, step.samples, np.sqrt(step.cost / mu2), step.factors, step.units)
    labels = 1 + (cut.first / aligned) ** 2 / (k * cut.second**2)
    private = jain2021.step_privacy_resolved(cut.ratio(d, k), d, k) ** 2 / k * labels
    drawn = sizes.users * step.samples
    sampling = jain2021.contraction(drawn, d, k, spare + k + 1) ** 2 * start
    floor = jain2021.step_floor(drawn, d, k, spare + k + 1, sigma) ** 2 / k
    return np.minimum(sizes.random, private + sampling + floor)


def altmin(sizes: Regime, mu: Values, start: Values, share: Values, step: Moments) -> Prediction:
    """Predict the risk of alternating minimisation: a step of Algorithm 2, clipped by user, then ridge heads."""
    outside = moments_outside(sizes, (1 - share) * np.square(mu), step, start)
    return with_heads(sizes, start, outside, step.heads)
