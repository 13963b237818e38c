"""Errata on Algorithm 3 and the proof of Lemma 4.6 (jain2021)."""

from __future__ import annotations

import numpy as np

from privrep.methods.spectral_init import SamplePairs
from privrep.privacy.mechanisms import clipped_sums
from privrep.privacy.noise import symmetric_noise
from privrep.privacy.paired_samples import DisjointPairs
from privrep.theory.jain2021 import signal_scale
from privrep.users.blocks import UserData, true_heads
from privrep.users.given_users import GivenUsers
from privrep.users.simulated import Users
from privrep.users.subspace import dist2, dist_frobenius
from replication.errata.finding import Finding, decides, demonstrates
from replication.errata.tools import head_moments, sphere
from replication.evidence.intervals import log_slope
from replication.experiments.auditing.canaries import Canary
from replication.experiments.auditing.worst_users import single_user


def spectral_matrix(users: UserData, label_clip: float = np.inf) -> np.ndarray:
    """Return M of Algorithm 3 without noise, the mean of W over the pairs of all samples."""
    known = users.known
    pairs = known.users * (known.samples // 2)
    return clipped_sums(users, SamplePairs(slice(0, known.samples), DisjointPairs), label_clip)[0] / pairs


def leading(matrix: np.ndarray, rank: int) -> np.ndarray:
    """Return the eigenvectors of the largest eigenvalues; (d, rank)."""
    return np.linalg.eigh(matrix)[1][:, -rank:]


@demonstrates("E5")
def mean_norm_is_twice_the_printed(rng: np.random.Generator) -> Finding:
    dims = [5, 20, 80]
    norms = [np.linalg.norm(rng.standard_normal((20_000, d)), axis=1).mean() / d for d in dims]
    # The printed expression has sqrt(2) in the denominator, the mean has it in the numerator.
    correct = [float(mean / np.asarray(signal_scale(d))) for mean, d in zip(norms, dims, strict=True)]
    printed = [2 * ratio for ratio in correct]
    return Finding(all(decides(ratio, printed=0.5, correct=1, within=0.01) for ratio in correct), printed, correct)


def top_projectors(eigenvectors: np.ndarray, count: int) -> np.ndarray:
    """Return projectors onto the eigenvectors of the `count` largest eigenvalues; (..., p, p)."""
    top = eigenvectors[..., -count:]
    return top @ top.swapaxes(-1, -2)


def sine_theorem(g: np.ndarray, h: np.ndarray, i: int, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the left side of Lemma B.2 with eig^(j+1)(G) and with eig^(j+1)(H), and its right side; (..., p, p)."""
    (g_values, g_vectors), (h_values, h_vectors) = np.linalg.eigh(g), np.linalg.eigh(h)
    outside = np.eye(g.shape[-1]) - top_projectors(h_vectors, j)
    angle = np.linalg.norm(outside @ top_projectors(g_vectors, i), ord=2, axis=(-2, -1))
    printed, corrected = (g_values[..., -i] - values[..., -j - 1] for values in (g_values, h_values))
    return printed * angle, corrected * angle, np.linalg.norm(g - h, ord=2, axis=(-2, -1))


@demonstrates("E15")
def sine_theorem_needs_the_gap_between_both_matrices(rng: np.random.Generator) -> Finding:
    p = 4
    roots = rng.standard_normal((2, 2000, p, p))
    g, h = roots @ roots.swapaxes(-1, -2)
    sides = [sine_theorem(g, h, i, j) for i in range(1, p) for j in range(i, p)]
    printed, corrected = (np.mean([side[k] > side[2] * (1 + 1e-9) for side in sides]) for k in (0, 1))
    left, _, right = sine_theorem(np.diag([1.0, 0.0]), np.diag([0.49, 0.51]), 1, 1)
    return Finding(left > right and printed > 0 and corrected == 0, left, right, 100 * printed, 100 * corrected)


@demonstrates("E16")
def frobenius_distance_exceeds_the_spectral_bound(rng: np.random.Generator) -> Finding:
    ranks, ratios = [1, 2, 4, 8], []
    for k in ranks:
        users = Users(sphere(users=20_000, samples=4, dim=60, rank=k))
        clean, truth = spectral_matrix(users, 3 * k**0.5), users.truth.basis
        # The operator norm of the noise is about a fifth of the smallest signal eigenvalue.
        noise = 0.2 / users.problem.dim / (2 * users.problem.dim**0.5)
        noisy = [leading(clean + symmetric_noise(len(clean), noise, rng), k) for _ in range(5)]
        ratios.append(np.mean([dist_frobenius(each, truth) / dist2(each, truth) for each in noisy]))
    power = log_slope(ranks, ratios)
    return Finding(decides(power, printed=0, correct=0.5, within=0.2), ratios, power, np.sqrt(ranks))


@demonstrates("E17")
def subspace_error_is_quadratic_in_the_clip(rng: np.random.Generator) -> Finding:
    multiplier, clips, ranks = 0.002, [8.0, 16.0, 32.0], [1, 2, 4, 8]

    def moved(k: int, label_clip: float) -> tuple[float, float]:
        """Return dist2 and distF between the private and the non-private subspace, means over noise draws."""
        users = Users(sphere(users=20_000, samples=4, dim=60, rank=k))
        clean, noise = spectral_matrix(users, label_clip), 2 * multiplier * label_clip**2 / users.problem.users
        pairs = [(leading(clean + symmetric_noise(len(clean), noise, rng), k), leading(clean, k)) for _ in range(10)]
        return tuple(np.mean([[dist2(*pair), dist_frobenius(*pair)] for pair in pairs], axis=0))

    by_clip = log_slope(clips, [moved(2, clip)[1] for clip in clips])
    spectral, frobenius = (log_slope(ranks, values) for values in zip(*(moved(k, 16.0) for k in ranks), strict=True))
    confirmed = decides(by_clip, printed=0, correct=2, within=0.2) and frobenius - spectral > 0.25
    return Finding(confirmed, by_clip, frobenius, spectral)


@demonstrates("E18")
def pair_matrix_is_indefinite_and_may_exceed_the_clip() -> Finding:
    smallest = []
    for seed in range(20):
        users = Users(sphere(users=1000, samples=4, dim=20, rank=2, seed=seed))
        values = np.linalg.eigvalsh(spectral_matrix(users))
        smallest.append(values[0] / values[-1])
    # x_1 = e1, x_2 = (e1 + e2) / sqrt 2, both labels 1.
    pair = single_user(Canary(np.array([[1.0, 0.0], [2**-0.5, 2**-0.5]]), np.ones(2)))
    norm = np.linalg.norm(spectral_matrix(pair, 1.0), ord=2)
    return Finding(max(smallest) < 0 and norm > 1, min(smallest), max(smallest), len(smallest), norm)


@demonstrates("E19")
def printed_pairs_read_past_the_last_sample() -> Finding:
    m = 10
    printed = {index for i in range(1, m // 2 + 1) for index in (2 * i, 2 * i + 1)}
    outside, unused = sorted(printed - set(range(1, m + 1))), sorted(set(range(1, m + 1)) - printed)
    return Finding(outside == [m + 1] and unused == [1], outside, unused)


@demonstrates("E39")
def root_has_the_degree_of_the_squared_eigenvalue() -> Finding:
    factors, losses = [1, 4, 16], []
    problem = sphere(users=2000, samples=4, dim=20, rank=2)
    known, (block,) = problem.known, Users(problem).blocks()
    for factor in map(np.float32, factors):
        rescaled = GivenUsers(known, block.features, factor * block.labels, factor * true_heads(block))
        lam, values = np.linalg.eigvalsh(head_moments(rescaled)), np.linalg.eigvalsh(spectral_matrix(rescaled))
        losses.append(abs(values[-known.rank] - signal_scale(known.dim) ** 2 * lam[0]))
    power = log_slope(factors, losses)
    # lam_k is of second degree in the labels, so the root of lam_k is of first and that of lam_k^2 of second degree.
    return Finding(decides(power, printed=1, correct=2, within=0.01), power)


@demonstrates("E66")
def eigenvalues_are_those_of_the_matrix() -> Finding:
    users = Users(sphere(users=20_000, samples=8, dim=10, rank=2))
    matrix, signal = spectral_matrix(users), np.linalg.eigvalsh(head_moments(users))[0] * signal_scale(10) ** 2
    kinds = matrix, top_projectors(np.linalg.eigh(matrix)[1], 2)
    ratios = [np.linalg.eigvalsh(each)[[-2, -3]].round(9) / signal for each in kinds]
    inside = [0.5 <= kth <= 2 and next_one <= 0.5 for kth, next_one in ratios]
    return Finding(inside[0] and not inside[1], *ratios)
