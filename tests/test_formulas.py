"""The formula sheet of the claims catalogue, F1 to F6, at small sizes on `sphere` heads (lam_i ~ 1).

Each measured value is a root mean square over noise draws or data sets, with floors removed in quadrature. `check` states the
tolerance and rejects the formula times or over sqrt(2), which is what a wrong noise scale would give.
"""

import math

import numpy as np
import pytest
from conftest import door

from privrep.algorithms.parts.moment_step import MomentStep
from privrep.algorithms.spectral_init import SpectralInit
from privrep.data.heads import FittedHeads, true_heads
from privrep.data.problem import Problem, Users
from privrep.data.risk import personalised_risk
from privrep.data.subspace import dist_frobenius, orthonormalise, random_subspace
from privrep.privacy.regression_moments import SampleClip

NO_CLIP = SampleClip(math.inf, math.inf)


def rms(values) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def above_floor(values, floor: float) -> float:
    """Root mean square with the noiseless value removed in quadrature."""
    return math.sqrt(rms(values) ** 2 - floor**2)


def check(measured: float, predicted: float, tolerance: float) -> None:
    """Agreement within the relative tolerance; sqrt(2) off is rejected."""
    assert measured == pytest.approx(predicted, rel=tolerance)
    for factor in (2**-0.5, 2**0.5):
        assert measured != pytest.approx(predicted * factor, rel=tolerance)


def sphere(n: int, m: int, d: int, k: int, **other) -> Users:
    return Users(Problem(n, m, d, k, head_law="sphere", **other))


def initial_distance(users: Users, zeta: float, multiplier: float, seed: int = 0) -> float:
    method = SpectralInit(users.known.rank, slice(0, users.known.samples), zeta)
    basis = method.subspace(users, door(users, multiplier, np.random.default_rng(seed)))
    return dist_frobenius(basis, users.truth.basis)


@pytest.mark.parametrize(
    ("n", "m", "d", "k", "multiplier"),
    [
        (4000, 8, 20, 2, 0.5),
        (4000, 16, 20, 2, 0.35),
        (8000, 8, 30, 2, 0.3),
        (4000, 8, 16, 1, 0.5),
        (16000, 8, 16, 4, 0.5),
    ],
)
def test_f1_privacy_term_of_the_initialisation(n, m, d, k, multiplier):
    """distF^2 = sum_i min(1, s3^2 (d-k)/(c_d^2 lam_i)^2), s3 = 2 Delta zeta^2/n, whatever m is; within 10 %."""
    users, zeta = sphere(n, m, d, k), 3 * math.sqrt(k)
    measured = above_floor(
        [initial_distance(users, zeta, multiplier, seed) for seed in range(60)], initial_distance(users, zeta, 0.0)
    )
    s3 = 2 * multiplier * zeta**2 / n
    c = math.sqrt(2) * math.gamma((d + 1) / 2) / (d * math.gamma(d / 2))
    check(measured, math.sqrt(k * min(1, s3**2 * (d - k) / c**4)), 0.10)


def test_f1_detectability_threshold():
    """Below n = 2 Delta zeta^2 d^{3/2}/lam_k by a factor 4 the output is a random subspace, above it by 4 it is not."""
    n, d, k = 2000, 20, 2
    users, zeta = sphere(n, 8, d, k), 3 * math.sqrt(k)
    critical = n / (2 * zeta**2 * d**1.5)
    blind, seeing = (
        rms([initial_distance(users, zeta, critical * factor, seed) for seed in range(30)]) for factor in (4, 0.25)
    )
    assert blind == pytest.approx(math.sqrt(k * (d - k) / d), rel=0.05)
    assert seeing < 0.35 * blind


@pytest.mark.parametrize(("k", "noise"), [(1, 0.0), (2, 0.0), (4, 0.0), (2, 1.0)])
def test_f2_sampling_term_of_the_initialisation(k, noise):
    """distF ~ b sqrt(2 (d-k) k) (k lam + sF^2)/(lam sqrt(nm)), b = .9 sqrt(1 + 2/k); within 15 % (b is a fit)."""
    n, m, d = 2000, 8, 20
    distances = [
        initial_distance(sphere(n, m, d, k, label_noise_sd=noise, seed=seed), math.inf, 0.0) for seed in range(40)
    ]
    predicted = 0.9 * math.sqrt(1 + 2 / k) * math.sqrt(2 * (d - k) * k) * (k + noise**2) / math.sqrt(n * m)
    check(rms(distances), predicted, 0.15)


def subspace_steps(users: Users, clip: SampleClip, multiplier: float, draws: int):
    """Subspace steps from the true heads: distances and smallest eigenvalues."""
    steps = [
        MomentStep(slice(0, users.known.samples), clip)(
            users, true_heads, door(users, multiplier, np.random.default_rng(seed))
        )
        for seed in range(draws)
    ]
    distances = [dist_frobenius(orthonormalise(step.minimiser), users.truth.basis) for step in steps]
    return distances, [step.min_eigenvalue for step in steps]


def multiplier_at(x: float, n: int, d: int, k: int, eta: float) -> float:
    """Delta at which x = 4 sqrt(dk) eta^2 Delta/(n lam_k) takes the given value."""
    return x * n / (4 * math.sqrt(d * k) * eta**2)


@pytest.mark.parametrize(
    ("q", "k", "x", "slack", "zeta"),
    [
        (2, 2, 0.2, 2.0, 4.2),
        (6, 2, 0.2, 2.0, 4.2),
        (2, 2, 0.1, 2.0, 40.0),
        (2, 4, 0.15, 2.0, 6.0),
        (2, 1, 0.2, 2.0, 3.0),
    ],
)
def test_f3_privacy_term_of_a_subspace_step(q, k, x, slack, zeta):
    """distF = (2 Delta eta/n) sqrt(k eta^2 + zeta^2) sqrt((d-k) sum lam_i^-2), independent of q; within 8 %."""
    n, d = 4000, 20
    eta = slack * math.sqrt(d * k)
    users, multiplier, clip = sphere(n, q, d, k), multiplier_at(x, n, d, k, eta), SampleClip(eta, zeta)
    floor = subspace_steps(users, clip, 0.0, 1)[0][0]
    measured = above_floor(subspace_steps(users, clip, multiplier, 100)[0], floor)
    predicted = 2 * multiplier * eta / n * math.sqrt(k * eta**2 + zeta**2) * math.sqrt((d - k) * k)
    check(measured, predicted, 0.08)


@pytest.mark.parametrize("x", [0.3, 0.6, 0.8])
def test_f3_whole_range(x):
    """The resummed formula in x, zeta-noise neglected; within 8 %, where the first order is off at x = .8."""
    n, d, k = 4000, 20, 2
    eta = 2 * math.sqrt(d * k)
    users, multiplier = sphere(n, 2, d, k), multiplier_at(x, n, d, k, eta)
    distances, _ = subspace_steps(users, SampleClip(eta, 1.0), multiplier, 60)
    floor = subspace_steps(users, SampleClip(eta, 1.0), 0.0, 1)[0][0]
    tau = x / 2
    m = (1 - math.sqrt(1 - 4 * tau**2)) / (2 * tau**2)
    t2 = tau**2 * m**2 / (1 - tau**2 * m**2)
    check(above_floor(distances, floor), math.sqrt(k * (d - k) / d * t2 / (1 + t2)), 0.08)
    first_order = x * math.sqrt(k) / 2 * math.sqrt((d - k) / d)
    assert (above_floor(distances, floor) != pytest.approx(first_order, rel=0.08)) == (x > 0.5)


def test_f3_where_the_minimum_ceases_to_exist():
    """The noisy A is positive definite at x = .7 and no longer at x = 1.4 (E21)."""
    n, d, k = 4000, 20, 2
    eta = 2 * math.sqrt(d * k)
    users = sphere(n, 2, d, k)
    for x, share in ((0.7, 1.0), (1.4, 0.0)):
        eigenvalues = subspace_steps(users, SampleClip(eta, 4.2), multiplier_at(x, n, d, k, eta), 15)[1]
        assert np.mean([value > 0 for value in eigenvalues]) == share


def alternation(users: Users, basis: np.ndarray, q_v: int) -> np.ndarray:
    """One exact round: heads on the first q_v samples, subspace on the rest."""
    m = users.known.samples
    step = MomentStep(slice(q_v, m), NO_CLIP)(users, FittedHeads(basis, slice(0, q_v)), door(users))
    return orthonormalise(step.minimiser)


@pytest.mark.parametrize(("n", "k", "q", "q_v"), [(400, 2, 8, 8), (800, 2, 8, 16), (400, 3, 16, 16), (1600, 2, 2, 8)])
def test_f4_contraction_of_alternation(n, k, q, q_v):
    """distF_{t+1}/distF_t ~ sqrt((d-k) k^2/(N (q_v-k-1))), N = n q; within 10 %."""
    d, ratios = 20, []
    for seed in range(20):
        users = sphere(n, q + q_v, d, k, seed=seed)
        nearby = 0.15 * random_subspace(d, k, np.random.default_rng(seed))
        basis = orthonormalise(users.truth.basis + nearby)
        after = alternation(users, basis, q_v)
        ratios.append(dist_frobenius(after, users.truth.basis) / dist_frobenius(basis, users.truth.basis))
    check(rms(ratios), math.sqrt((d - k) * k * k / (n * q * (q_v - k - 1))), 0.10)


@pytest.mark.parametrize(("k", "q", "q_v"), [(2, 8, 8), (2, 4, 16), (2, 16, 6), (4, 16, 12)])
def test_f5_floor_of_alternation(k, q, q_v):
    """distF ~ NSR sqrt((d-k) k/N) sqrt(1 + k/(q_v-k-1)); within 10 %."""
    n, d, noise, distances = 400, 20, 0.3, []
    for seed in range(20):
        users = sphere(n, q + q_v, d, k, label_noise_sd=noise, seed=seed)
        basis = users.truth.basis
        for _ in range(3):
            basis = alternation(users, basis, q_v)
        distances.append(dist_frobenius(basis, users.truth.basis))
    check(rms(distances), noise * math.sqrt((d - k) * k / (n * q)) * math.sqrt(1 + k / (q_v - k - 1)), 0.10)


@pytest.mark.parametrize(("h", "noise"), [(6, 0.0), (6, 1.0), (12, 1.0)])
def test_f6_final_personalisation(h, noise):
    """Excess risk r (1 + k/(h-k-1)) + sF^2 k/(h-k-1), r = distF^2 for lam = 1; within 5 %. Without the inflation it fails."""
    n, d, k = 4000, 10, 2
    users = sphere(n, h, d, k, label_noise_sd=noise)
    basis = orthonormalise(users.truth.basis + 0.4 * random_subspace(d, k, np.random.default_rng(1)))
    r = dist_frobenius(basis, users.truth.basis) ** 2
    inflation = k / (h - k - 1)
    measured = personalised_risk(users, basis, slice(0, h))
    assert measured == pytest.approx(r * (1 + inflation) + noise**2 * inflation, rel=0.05)
    assert measured != pytest.approx(r + noise**2 * k / h, rel=0.05)
    assert measured != pytest.approx(r * (1 + k / h) + noise**2 * k / h, rel=0.05)
