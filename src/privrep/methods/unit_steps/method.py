"""Unit steps, this project's method: contributions of norm one, and steps whose length follows from a public estimate
of the error.

    h, s        public hyperparameters of a head's root mean square coordinate and of the label noise
    f, W        size and covariance of the features (`privrep.methods.unit_steps.whitening`);  x <- W x,  h <- f h
    h           <- from the mean over users of log(|y|^2 / m (k h^2 + s^2)), each clipped to +-4.6, + noise, and s
    labels      <- y / h
    theta_i     <- X_i^T (X_i X_i^T k/d + s^2 I)^-1 y_i
    B           <- top k eigenvectors of sum_i theta_i theta_i^T / |theta_i|^2 + noise;      H <- I;   e^2 as expected
    for t = 1..T:
        C_i     <- k e^2 X_i X_i^T + s^2 I                             residual covariance under heads in B
        w_i     <- (H^-1 + Z_i^T C_i^-1 Z_i)^-1 Z_i^T C_i^-1 y_i  with Z_i = X_i B;  divided by H^1/2
        g_i     <- (I - B B^T) X_i^T C_i^-1 (y_i - Z_i H^1/2 w_i)
        z       <- mean of log(|least squares residual of i|^2 / (m - k)) over expectation,
                clipped to +-9.2 in round 1, then +-2, + noise
        R       <- ( sum_i (g_i/|g_i|) (w_i/|w_i|)^T + noise ) / n        = kappa(e^2, s^2) times the error, and noise
        law of (e^2, s^2) <- its posterior given z and |(I - B B^T) R|^2
        c       <- best linear estimate of the error from R under a law whose log e^2 is half a sd larger
        H       <- second moments of the heads, from all rounds' ( sum_i w_i w_i^T/|w_i|^2 + noise ), I if B is far off
        B       <- QR( B + c R H^-1/2 );     law of (e^2, s^2) <- its prediction after this step
    each user: posterior mean under the prior B H B^T + k e^2 I, on all samples, with a label moved to at most 4
        standard deviations from its prediction by the user's other labels (`privrep.methods.steps.posterior`)

Every user adds a term of norm at most one to each sum of the descent whatever its data, so no scale of the data enters
the privacy. All samples are used in all steps: if features are symmetric about the subspace, U* is a fixed point. Each
release depends on earlier releases alone. An outlying label spoils its user's term of each sum, and moves the user's
last model by a bounded amount. Weights by the covariance cost no extra time: in the principal axes of a user's samples,
which are computed once, C_i is diagonal.

Weaknesses: if nearly all heads have one direction, the other directions are left to chance, as with every method here.
If features are so sparse that most samples are 0, a user's model has one or two coordinates; the start may then miss a
direction of the subspace, no round finds it, since heads have no component there, and users may do no better than with
own data, at a far too low `expected_distF`: own data are the safer choice. A rank that is one too low is ruinous for
every method; one too high costs each user one more coordinate of its head.

>>> from privrep.simulate import fit
>>> row, _ = fit("unit_steps", users=2000, samples=16, dim=8, rank=2, epsilon=8.0)
>>> row["releases"], row["dist2"] < 0.1
(65, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.special import gammaincinv

from privrep.methods.running.method import FullRank, Iterate
from privrep.methods.unit_steps import schedule as shares
from privrep.methods.unit_steps.round import PrincipalRows, Round, log_powers, ridge_models, unit
from privrep.methods.unit_steps.schedule import Sizes, descent_share, schedule
from privrep.methods.unit_steps.tracking import FilterState
from privrep.methods.unit_steps.whitening import Whitening, learned_whitening, shrunk
from privrep.options import Declared, check_count, check_positive, ensure, option
from privrep.privacy.contributions import Scalars, Semidefinite, SymmetricOuter
from privrep.privacy.mechanisms import GAUSSIAN_COST, NamedSum, Release
from privrep.users.blocks import Block, UserData
from privrep.users.known import Known
from privrep.users.subspace import orthonormalise

SCALE_WIDTH, START_WIDTH, RESIDUAL_WIDTH = 4.6, 9.2, 2.0
"""Clips of logs: scale; residual after the start, which may have failed; later ones: factors 10, 100, e in length."""
QUANTILES = (np.arange(1000) + 0.5) / 1000  # of squared lengths of heads, for means over their law
LEAST_NOISE = 1e-3  # the label noise is taken to be at least this share of the heads' scale
DEPARTED = 1.25  # measured distF over its value under the model, for features and heads that depart from the model
FLOOR = 1.5  # eigenvalues of H are raised to this many standard deviations of its noise


@dataclass(frozen=True)
class HyperparameterOptions(Declared):
    """Options of a method with public hyperparameters."""

    scale_guess: float = option("public guess of the scale of the heads, over the true one", check_positive, 1.0)
    noise_guess: float = option("public guess of the label noise, over the true one", check_positive, 1.0)


def learned_scale(users: UserData, release: Release, rank: int, head_scale: float, noise: float) -> float:
    """Release h from the mean log power of the labels. Differences from the public guesses of h and of the label noise
    that the privacy noise could explain are dropped."""
    guess, n = rank * head_scale**2 + noise**2, users.known.users
    mean = release.sum("unit_scale", users, partial(log_scales, math.log(guess)), clip=SCALE_WIDTH) / n
    logs = min(max(float(mean.value), -SCALE_WIDTH), SCALE_WIDTH)
    # Labels of a user whose head has the square xi k h^2 have r xi + 1 - r times the mean power, r the share of signal,
    # and released is their mean logarithm. Heads are assumed midway between those of one length and Gaussian ones.
    signal = max(1 - noise**2 / (guess * math.exp(logs)), 0.0)
    logs -= np.log1p(signal * (gammaincinv(rank / 2, QUANTILES) * 2 / rank - 1)).mean() / 2
    doubt = 2 * mean.sd
    power = guess * math.exp(logs - doubt**2 / logs if abs(logs) > doubt else 0.0)
    return math.sqrt(max(power - noise**2, 0.1 * power) / rank)


def log_scales(expected: float, block: Block) -> Scalars:
    """Contribution of users: log(|y|^2 / m) less its expectation; a user without samples or labels adds 0."""
    power = np.einsum("mb,mb->b", block.labels, block.labels, dtype=np.float64)
    return log_powers(power, block.counts, expected=expected)


def half_products(features: np.ndarray, labels: np.ndarray, penalty: float) -> SymmetricOuter:
    """Return (a b^T + b a^T) / 2 of each user, of norm at most 1, from ridge models of even and of odd samples."""
    halves = (slice(0, None, 2), slice(1, None, 2))
    return SymmetricOuter(*(unit(ridge_models(features[half], labels[half], penalty)) for half in halves))


def unit_models(whitening: Whitening, penalty: float, block: Block) -> Semidefinite:
    """Contribution of users to the start: theta_i theta_i^T / |theta_i|^2, (d, d), of ridge models."""
    rows = PrincipalRows.of(whitening, block)
    return Semidefinite(unit(rows.combined(rows.labels / (rows.squares + penalty))))


class HeadMoments:
    """Second moments H of the heads, trace k: a mean over all releases of Tyler's estimates, mapped back to R^d."""

    def __init__(self, users: int, rank: int):
        self.users, self.rank, self._sum, self._precision = users, rank, 0.0, 0.0

    def add(self, frame: np.ndarray, moments: np.ndarray, mu2: float) -> None:
        """Add a released sum of moments, (k, k), in the coordinates of `frame`, with the mu^2 of its release."""
        self._sum += mu2 * frame @ moments @ frame.T * (self.rank / self.users)
        self._precision += mu2

    def within(self, basis: np.ndarray, missing: float) -> tuple[np.ndarray, np.ndarray]:
        """Return H^1/2 and H^-1/2 in a basis, shrunk towards I, with eigenvalues below the noise raised.

        Heads have a small component in a direction that the basis misses, whatever its moments: the expected distF^2,
        `missing`, is the weight of I: H^-1/2 alone would amplify the noise of such a column and keep it lost."""
        noise_sd = Semidefinite.sensitivity(1.0) / math.sqrt(self._precision) * self.rank / self.users
        values, vectors, _ = shrunk(basis.T @ self._sum @ basis / self._precision, noise_sd)
        values, missing = np.maximum(values, max(FLOOR * noise_sd, 1e-6)), min(missing, 1.0)
        values = missing + (1 - missing) * values
        roots = np.sqrt(values * (self.rank / values.sum()))
        return (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T


def expected_distance(known: FilterState, whitening: Whitening, basis: np.ndarray) -> float:
    """Return the expected distF in the given coordinates, including errors from few users and from a wrong model."""
    sizes, (turned, upper) = known.sizes, np.linalg.qr(whitening.frame(basis))
    few = 1 / (sizes.entries * sizes.users * sizes.gain(known.error2, known.noise2) ** 2)
    outside = whitening.frame(np.eye(len(basis)) - basis @ basis.T)
    spread = np.linalg.norm(outside - turned @ (turned.T @ outside)) * np.linalg.norm(np.linalg.inv(upper))
    return min(DEPARTED * math.sqrt(known.error2 + few) * float(spread), math.sqrt(sizes.rank))


@dataclass(frozen=True)
class UnitSteps:
    """Unit steps."""

    rank: int
    head_scale: float  # guess of h, in units of the labels
    noise: float  # guess of s, in units of the labels

    cost = GAUSSIAN_COST
    """All releases together, since their shares of mu^2 add up to one."""
    theorem = None

    sizes = Sizes
    schedule = staticmethod(schedule)
    tracker = FilterState
    head_moments = HeadMoments
    """Parts that an ablation can replace, like the methods below."""

    def fit(self, users: UserData, release: Release) -> Iterator[Iterate]:
        sizes = self.sizes(users.known.users, users.known.samples, users.known.dim, self.rank)
        n, k = users.known.users, sizes.rank
        mu = 1 / release.noise_multiplier if release.noise_multiplier else math.inf
        level, whitening, whitenings = learned_whitening(users, release)
        scale = learned_scale(users, release.share(shares.SCALE), k, level * self.head_scale, self.noise)
        noise2 = max(self.noise / scale, LEAST_NOISE) ** 2
        left = float(descent_share(whitenings))
        plan = self.schedule(sizes, math.sqrt(left) * mu, noise2)
        start, *rounds = release.share(left).split(plan.start, *plan.rounds)
        basis = self.start(users, whitening, noise2, start.start())
        yield Iterate(orthonormalise(whitening.frame(basis)))

        known = self.tracker.guessed(sizes, plan.path[0], noise2)
        heads, root, inverse = self.head_moments(n, k), np.eye(k), np.eye(k)
        for number, handle in enumerate(rounds):
            share = handle.part / release.part
            width = RESIDUAL_WIDTH if number else START_WIDTH
            logs, second, step = handle.sums(
                users,
                self.round(known, Round(whitening, basis, root, k * known.error2, known.noise2, scale)),
                NamedSum("unit_residual", width, shares.SCALARS),
                NamedSum("unit_heads", 1.0, shares.METRICS),
                NamedSum("unit_step", 1.0, shares.STEPS),
            )
            logs, variance = logs / n, (step.sd / n) ** 2
            step = (step.value - basis @ (basis.T @ step.value)) / n
            known = known.measured(float(logs.value), logs.sd, (step**2).sum() / sizes.entries, variance)
            heads.add(basis @ root, second.value, second.charge if mu < math.inf else share)
            length = known.step_length(variance)
            basis = orthonormalise(basis + length * step @ inverse)
            known = known.stepped(length, variance)
            root, inverse = heads.within(basis, float(sizes.dist2(known.error2)))
            log = {
                "rounds": len(plan.rounds),
                "start_share": plan.start,
                "learned_scale": scale,
                "expected_distF": expected_distance(known, whitening, basis),
                "learned_noise": scale * math.sqrt(known.noise2),
            }
            last = self.round(known, Round(whitening, basis, root, k * known.error2, known.noise2, scale))
            yield Iterate(orthonormalise(whitening.frame(basis)), FullRank(last.models), log)

    def start(self, users: UserData, whitening: Whitening, noise2: float, release: Release) -> np.ndarray:
        """Release the first subspace, (d, k): leading eigenvectors of the moments of users' models."""
        d, k = users.known.dim, self.rank
        noisy = release.sum("unit_start", users, partial(unit_models, whitening, noise2 * d / k), clip=1.0)
        return np.ascontiguousarray(np.linalg.eigh(noisy.value)[1][:, ::-1][:, :k])

    def round(self, known: FilterState, plain: Round) -> Round:
        return plain


@dataclass(frozen=True)
class UnitStepsOptions(HyperparameterOptions):
    """Options of unit steps."""

    assumed_rank: int | None = option("dimension of the subspace that is sought, where it is not k", check_count, None)
    numbers: ClassVar = {
        "rounds": "rounds of the server",
        "start_share": "share of the privacy cost that the start takes",
        "learned_scale": "released root mean square coordinate of a head",
        "learned_noise": "label noise as the server knows it at the end",
        "expected_distF": "distF as the server knows it at the end",
    }

    def build(self, known: Known) -> UnitSteps:
        rank = known.rank if self.assumed_rank is None else self.assumed_rank
        ensure(rank <= known.dim, "assumed_rank", rank, f"it must not exceed dim, which is {known.dim}")
        scale = self.scale_guess * math.sqrt(known.head_variance * known.rank / rank)
        return UnitSteps(rank, scale, self.noise_guess * known.label_noise_sd)
