"""Errata on the rounds of CENTAUR: Theorem 5.1, its proof, and Assumption 5.3's batches (shen2023)."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import brentq

from privrep.methods.centaur import RepresentationGradients, representation_gradients
from privrep.methods.steps.clip_units import gradient_threshold
from privrep.methods.steps.server import Server
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release
from privrep.users.blocks import Block, true_heads
from privrep.users.passes import rows, total
from privrep.users.rng import stream
from privrep.users.simulated import Problem, Users
from privrep.users.splits import SampleDraws
from privrep.users.subspace import dist2, orthonormalise, planted_subspace
from replication.errata.finding import Finding, decides, demonstrates
from replication.errata.tools import head_moments, sphere
from replication.evidence.intervals import log_slope

START = 0.2  # eps_0, the distance of the start that the theorem asks for
WIDE = 1e6  # a clip that cuts no gradient


def distances(
    problem: Problem, rounds: int, *, sine: float = 0.1, noise: float = 0.0, batch: int = 12, direction: float = -1.0
) -> np.ndarray:
    """Return dist2 after each unclipped round of CENTAUR, started at distance `sine`, with noise of sd `noise` on B."""
    users = Users(problem)
    streams = {name: stream(0, "erratum", {"erratum": 0, "part": name}) for name in ("init", "noise", "samples")}
    draws = SampleDraws("reuse", problem.samples, streams["samples"])
    step = 0.25 / problem.head_condition**2
    multiplier = noise * problem.users / (step * 2 * WIDE)
    release = Release.from_one(multiplier, streams["noise"], problem.users, Ledger())
    basis, distances = planted_subspace(users.truth.basis, sine, streams["init"]), []
    for _ in range(rounds):
        contribution = RepresentationGradients(basis, *draws.take(batch, batch))
        gradient = Server(rounds, WIDE).mean("erratum", users, contribution, release)
        basis = orthonormalise(basis + direction * step * gradient)
        distances.append(dist2(basis, users.truth.basis))
    return np.array(distances)


def steady(problem: Problem, rounds: int, **options) -> float:
    """Return the root mean square of dist2 over the second half of the rounds."""
    return float(np.sqrt(np.mean(distances(problem, rounds, **options)[rounds // 2 :] ** 2)))


@demonstrates("E11")
def printed_sign_leads_away() -> Finding:
    problem = sphere(users=300, samples=24, dim=20, rank=2)
    after = [4, 9, 19, 39]
    plus, minus = (distances(problem, 40, direction=sign)[after] for sign in (1.0, -1.0))
    return Finding(plus[-1] > 0.9 and minus[-1] < 0.01, plus, minus)


@demonstrates("E12")
def least_eigenvalue_is_one_minus_the_squared_start(rng: np.random.Generator) -> Finding:
    users = Users(sphere(users=2000, samples=1, dim=20, rank=2))
    truth = users.truth.basis
    overlap = truth.T @ planted_subspace(truth, START, rng)
    moments = head_moments(users)
    # V^T V for heads without error, V = V* B*^T B, over s_k^2.
    ratio = np.linalg.eigvalsh(overlap.T @ moments @ overlap)[0] / np.linalg.eigvalsh(moments)[0]
    confirmed = decides(ratio, printed=math.sqrt(1 - START**2), correct=1 - START**2, within=0.005)
    return Finding(confirmed, START, ratio, math.sqrt(1 - START**2), 1 - START**2)


@demonstrates("E40")
def rounds_grow_as_the_noise_falls() -> Finding:
    noises, problem = [1e-3, 1e-4, 1e-5], sphere(users=300, samples=64, dim=20, rank=2)
    printed = [math.log(noise * problem.dim) for noise in noises]
    paths = [distances(problem, 50, sine=START, noise=noise, batch=32) for noise in noises]
    needed = [int((path <= 2 * np.median(path[-15:])).argmax()) + 1 for path in paths]
    # For a distance e times smaller the noise must be e times smaller; a round multiplies the distance by 3/4.
    growth = float(np.polyfit(-np.log(noises), needed, 1)[0])
    confirmed = decides(growth, printed=-1, correct=1 / math.log(4 / 3), within=1.2) and max(printed) < 0
    return Finding(confirmed, needed, noises, growth, printed)


def printed_cap(n: float, d: float, k: float) -> float:
    """Return the cap of Theorem 5.1 on sigma_g, divided by c_sigma, for mu = kappa = 1: n / (d sqrt(k ln n))."""
    return n / (d * math.sqrt(k * math.log(n)))


def corrected_cap(n: float, d: float, k: float) -> float:
    """Return the same cap with the factor k of (21) that (18) loses: n / (d k^1.5 sqrt(ln n))."""
    return n / (d * k**1.5 * math.sqrt(math.log(n)))


def at_cap(cap, rank: int) -> float:
    """Return the `steady` distance for sigma_g = cap / 100, with the prescribed zeta_g for c_zeta = 1."""
    # d >= k^3 ln n up to k = 4, as the theorem assumes; n >= m.
    n, d, batch = 200, 344, 2 * rank + 8
    problem = sphere(n, 2 * batch, d, rank)
    sigma = 0.01 * cap(n, d, rank)
    noise = 0.25 * sigma * gradient_threshold("prescribed", 1.0, problem.known) / n
    return steady(problem, 32, sine=0.01, noise=noise, batch=batch)


@demonstrates("E42")
def distance_at_the_printed_cap_grows_with_the_rank() -> Finding:
    ranks = [1, 2, 4]
    printed, corrected = ([at_cap(cap, rank) for rank in ranks] for cap in (printed_cap, corrected_cap))
    growth, kept = log_slope(ranks, printed), log_slope(ranks, corrected)
    # Another universal constant c_sigma changes the distances by a factor, not their exponent.
    confirmed = decides(growth, printed=0, correct=1, within=0.3) and decides(kept, printed=1, correct=0, within=0.3)
    return Finding(confirmed, ranks, printed, growth, corrected, kept)


def gradient_parts(problem: Problem, sine: float) -> tuple[np.ndarray, np.ndarray]:
    """Return G, a round's mean gradient without clip or noise, and Q V, its expectation over second samples, (d, k)."""
    users, half = Users(problem), problem.samples // 2
    truth = users.truth.basis
    basis = planted_subspace(truth, sine, stream(0, "erratum", {"erratum": 43}))

    def both(block: Block) -> tuple[np.ndarray, np.ndarray]:
        left, heads = representation_gradients(block, np.arange(half), np.arange(half, 2 * half), basis)
        return left.T @ heads, (heads @ basis.T - true_heads(block) @ truth.T).T @ heads

    gradient, product = total(users, both)
    return gradient / problem.users, product / problem.users


@demonstrates("E43")
def gradient_bound_lacks_the_mean_and_the_longest_head() -> Finding:
    n, d, k, batch, sine = 1000, 20, 1, 32, 0.1
    bound = 4 * (math.sqrt(d) + math.sqrt(k * math.log(n))) / math.sqrt(batch * n) * k * sine
    deviations, whole, mus = [], [], []
    for factor in (1.0, 50.0):
        problem = Problem(n, 2 * batch, d, k, head_law="heavy", head_factor=factor)
        gradient, mean = gradient_parts(problem, sine)
        # k = 1: s_1 = s_k = 1 but for rounding.
        deviations.append(float(np.linalg.norm(gradient - mean, 2)) / bound)
        whole.append(float(np.linalg.norm(gradient, 2)) / bound)
        mus.append(problem.longest_head**2)
    return Finding(deviations[0] < 1 < deviations[1] and whole[0] > 1, deviations, mus, whole)


def printed_normal_matrix(users: Users, basis: np.ndarray) -> np.ndarray:
    """Return H of (35), (nk, nk): (1/n) sum_i (1/q) sum_j vec(A_ij^T B) vec(A_ij^T B)^T with A_ij = x_ij e_i^T."""
    (projected,) = rows(users, lambda block: ((block.features @ basis).transpose(1, 0, 2),))
    return block_diag(*(own.T @ own / users.problem.samples for own in projected)) / users.problem.users


@demonstrates("E65")
def square_needs_the_factor_of_the_users(rng: np.random.Generator) -> Finding:
    n, d, k = 5, 6, 2
    direction = orthonormalise(rng.standard_normal((d, k))) @ [0.6, 0.8]
    square = float(((rng.standard_normal((200_000, d)) @ direction) ** 2).mean())
    return Finding(decides(square, printed=n, correct=1, within=0.05), square, n * square, n)


@demonstrates("E45")
def printed_normal_matrix_shrinks_with_the_users() -> Finding:
    sizes, least = [5, 10, 20, 40], []
    for n in sizes:
        users = Users(sphere(users=n, samples=400, dim=8, rank=2))
        basis = planted_subspace(users.truth.basis, START, stream(0, "erratum", {"erratum": 45}))
        least.append(float(np.linalg.eigvalsh(printed_normal_matrix(users, basis))[0]))
    power = log_slope(sizes, least)
    return Finding(decides(power, printed=0, correct=-1, within=0.15), least, sizes, power, np.array(sizes) * least)


def least_batch(n: float, d: float, k: float, kappa: float) -> float:
    """Return the smallest mbar at which delta_1 to delta_3 satisfy Remark C.1's inequality."""

    def excess(log_batch: float) -> float:
        batch = math.exp(log_batch)
        first = math.sqrt(k * math.log(n) / batch)
        if first >= 1:
            return 1.0
        second = first * math.sqrt(k) / (1 - first)
        third = 4 * (math.sqrt(d) + math.sqrt(k * math.log(n))) / (math.sqrt(batch * n) * kappa) * k
        return max(second, second**2, third) - (1 - START**2) / (36 * kappa**2)

    return math.exp(brentq(excess, 0, 60))


@demonstrates("E46")
def batch_grows_with_the_fourth_power_of_the_condition() -> Finding:
    n, d, k, kappas = 1000, 20, 2, [1, 2, 4, 8]
    batches = [least_batch(n, d, k, kappa) for kappa in kappas]
    power = log_slope(kappas, batches)
    few = 2 * k + 8
    reached = distances(sphere(500, 2 * few, d, k), 25, sine=START, batch=few)[-1]
    confirmed = decides(power, printed=2, correct=4, within=0.15) and reached < 0.01
    return Finding(confirmed, n, d, k, batches, kappas, power, few, START, reached)


def largest_labels(sets: int, users: int, samples: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the largest |y| of each client in each data set, for heads of norm 1; (sets, users)."""
    return np.abs(rng.standard_normal((sets, users, samples), dtype=np.float32)).max(axis=2)


@demonstrates("E47")
def some_label_exceeds_the_clip_in_many_data_sets(rng: np.random.Generator) -> Finding:
    k, n, batch, sets = 1, 1000, 8, 200
    # For heads of norm 1 the probability of |y| > zeta_y is at most 2 exp(-zeta_y^2 / 2) <= n^-k.
    threshold = math.sqrt(2 * (k * math.log(n) + math.log(2)))
    above = largest_labels(sets, n, batch, rng) > threshold
    clients, some = float(above.mean()), float(above.any(axis=1).mean())
    allowed = batch * n**-k
    return Finding(clients <= allowed < some / 10, 100 * clients, 100 * some, 100 * allowed)


@demonstrates("E57")
def noise_of_rounds_adds_in_squares(rng: np.random.Generator) -> Finding:
    conditions, noise = [1.0, 1.5, 2.0], 1e-3
    ratios = []
    for condition in conditions:
        problem = Problem(150, 24, 20, 2, head_law="aniso" if condition > 1 else "sphere", head_condition=condition)
        ratios.append(steady(problem, round(40 * condition**2), sine=0.01, noise=noise) / noise)
    power = log_slope(conditions, ratios)
    problem = sphere(2000, 32, 20, 2)
    users = Users(problem)
    basis = planted_subspace(users.truth.basis, START, rng)
    left, heads = rows(users, lambda block: representation_gradients(block, np.arange(16), np.arange(16, 32), basis))
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(heads, axis=1)
    spare = gradient_threshold("prescribed", 1.0, problem.known) / np.quantile(norms, [0.5, 1.0])
    confirmed = decides(power, printed=2, correct=1, within=0.4) and spare[1] > 10
    return Finding(confirmed, ratios, conditions, power, spare[1], spare[0])


def gaussian_square_exponential(scale: float) -> float:
    """Return E exp(x^2 / s^2) of a standard normal, (1 - 2/s^2)^-1/2; infinite for s <= sqrt(2)."""
    return (1 - 2 / scale**2) ** -0.5 if scale > math.sqrt(2) else math.inf


@demonstrates("E63")
def unit_variance_has_a_larger_subgaussian_norm(rng: np.random.Generator) -> Finding:
    # By Jensen E exp(x^2 / s^2) >= exp(1 / s^2) at variance 1, with equality for a random sign.
    least = brentq(lambda s: math.exp(1 / s**2) - 2, 0.5, 5)
    gaussian = brentq(lambda s: min(gaussian_square_exponential(s), 1e6) - 2, 0.5, 5)
    counts, q = [1000, 10_000, 100_000], 400
    # |B^T S_i B - 1| of each user for k = 1, where B^T x is one standard normal.
    deviations = [np.abs((rng.standard_normal((n, q)) ** 2).mean(axis=1) - 1).max() for n in counts]
    ratios = [deviation / math.sqrt(math.log(n) / q) for n, deviation in zip(counts, deviations, strict=True)]
    confirmed = min(least, gaussian) > 1.1 and 1 < min(ratios) <= max(ratios) < 8 / 3
    return Finding(confirmed, least, gaussian, counts, ratios)


@demonstrates("E67")
def noise_has_the_entries_of_the_features(rng: np.random.Generator) -> Finding:
    n, d, k = 9, 6, 2
    outside = np.linalg.qr(rng.standard_normal((d, d)))[0][:, k:]
    shape = (outside.T @ rng.standard_normal((d, k))).shape
    return Finding(shape == (d - k, k) != (n - k, k), shape[0], shape[1], n, d, k)


@demonstrates("E68")
def printed_product_does_not_exist(rng: np.random.Generator) -> Finding:
    d, k = 6, 2
    basis, truth = (orthonormalise(rng.standard_normal((d, k))) for _ in range(2))
    heads = rng.standard_normal((d, k))
    right = basis @ (basis.T @ (truth @ heads.T)) - truth @ heads.T
    apart = float(np.abs((basis @ basis.T - np.eye(d)) @ truth @ heads.T - right).max())
    return Finding(apart < 1e-12 and k != d, d, k, d, k)
