"""Checks of the theorems on plain unit steps (docs/unit_steps_theorem.md; claims O-PLAIN and O-BOUND).

Closed forms are compared with simulated users, and both sides of each inequality on random and extreme instances. Runs
follow the theorems' schedules. The error of the shipped method is divided by the lower bound. An instance is a
subspace, given by the singular values x of C = B^T U and e = sqrt(1 - x^2) of S.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain

import numpy as np
import pandas as pd
from scipy.integrate import quad
from scipy.stats import norm

from privrep.theory.unit_steps import Plain
from privrep.users.rng import stream
from replication.evidence.findings import Findings
from replication.evidence.measured import Measured, exact
from replication.evidence.numbers import defined
from replication.evidence.scaling import fit_all
from replication.run.settings import MeasureSettings
from replication.studies.measures import mean_over

STUDY = "unit_theorem"
SIZES = ("samples", "dim", "rank", "label_noise_sd")
LEAST = 0.55  # the lower bound of Theorem 4, over r
DRAWS = 200  # random instances of an inequality
HEADS = 200  # heads over which K of an instance is averaged, each with all cyclic shifts of its coordinates
USERS, PARTS = 4000, 25  # simulated users of a closed form, and repetitions


def draws(name: str) -> np.random.Generator:
    """Return the random stream of one check."""
    return stream(0, STUDY, {"check": name})


def sizes(rng: np.random.Generator) -> Plain:
    """Draw sizes and noise."""
    rank = int(rng.integers(1, 5))
    samples, dim = rank + int(rng.integers(1, 12)), 2 * rank + int(rng.integers(0, 40))
    return Plain(samples, dim, rank, float(np.exp(rng.uniform(-4, 1))))


def sphere(rng: np.random.Generator, rank: int) -> np.ndarray:
    """Draw heads of length sqrt(k), (HEADS k, k), whose coordinates have second moments of 1."""
    heads = rng.normal(size=(HEADS, rank))
    heads *= math.sqrt(rank) / np.linalg.norm(heads, axis=1)[:, None]
    return np.concatenate([np.roll(heads, turn, axis=1) for turn in range(rank)])


def weights(theory: Plain, sines: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Return the diagonal of K (k,) where S and C are diagonal: the mean of gamma omega v_j^2 / (|a| |b|)."""
    a = np.linalg.norm(heads * np.sqrt(1 - sines**2), axis=1)
    b = np.linalg.norm(heads * sines, axis=1)
    gamma = theory.gamma(b / np.sqrt(b**2 + theory.noise**2))
    omega = theory.omega(a / math.sqrt(theory.rank + theory.noise**2))
    return (heads**2 * (gamma * omega / (a * b))[:, None]).mean(axis=0)


def simulated_cosines(rng: np.random.Generator, theory: Plain, sine: float) -> tuple[float, float]:
    """Return mean cosines of users' gradients with b, and of their heads with a, over the closed forms."""
    k, m, p = theory.rank, theory.samples, theory.outside
    head, error = np.full(k, math.sqrt(1 - sine**2)), np.full(k, sine)
    inside, outside = rng.normal(size=(USERS, m, k)), rng.normal(size=(USERS, m, p))
    labels = inside @ head + outside[:, :, :k] @ error + theory.noise * rng.normal(size=(USERS, m))
    fitted = np.linalg.solve(inside.mT @ inside, inside.mT @ labels[:, :, None])
    gradients = (outside.mT @ (labels[:, :, None] - inside @ fitted))[:, :, 0]
    sigma, length = math.hypot(sine * math.sqrt(k), theory.noise), math.sqrt(k)
    gamma, omega = (
        theory.gamma(sine * length / sigma),
        theory.omega(head[0] * length / math.hypot(length, theory.noise)),
    )
    pairs = (gradients[:, :k] @ error, gradients), (fitted[:, :, 0] @ head, fitted[:, :, 0])
    cosines = [(inner / np.linalg.norm(of, axis=1)).mean() for inner, of in pairs]
    return cosines[0] / (length * sine * gamma), cosines[1] / (length * head[0] * omega)


def closed_forms() -> Iterator[Measured]:
    """Measure the closed forms of gamma and omega against simulated users."""
    rng = draws("closed forms")
    cases = [(Plain(6, 14, 2, 0.3), 0.4), (Plain(4, 9, 3, 1.0), 0.5), (Plain(12, 8, 2, 0.5), 0.3)]
    for of, name in enumerate(("gamma", "omega")):
        ratios = np.array([np.mean([simulated_cosines(rng, *case)[of] for case in cases]) for _ in range(PARTS)])
        yield mean_over(f"{name} of simulated users over its closed form", ratios)


def bounds_of_cosines() -> Iterator[Measured]:
    """Measure gamma and omega over their bounds, steps 2 and 3; each bound is attained at an end of the range of A."""
    rng, ends = draws("bounds"), np.concatenate([np.geomspace(1e-6, 0.5, 9), 1 - np.geomspace(1e-9, 0.5, 9)])
    rows = []
    for theory in (sizes(rng) for _ in range(DRAWS)):
        gamma, omega = theory.gamma(ends) / ends, theory.omega(ends) / ends
        low, high = theory.gamma_bounds
        least, most = theory.omega_bounds
        rows.append([gamma.min() / low, gamma.max() / high, omega.min() / least, omega.max() / most])
    gamma_low, gamma_high, omega_low, omega_high = np.array(rows).T
    yield exact("least gamma over Gamma A", gamma_low.min())
    yield exact("largest gamma over Gamma' A", gamma_high.max())
    yield exact("least omega over omega_0 A", omega_low.min())
    yield exact("largest omega over rho_0 A", omega_high.max())


def instances(rng: np.random.Generator, most: float) -> Iterator[tuple[Plain, np.ndarray]]:
    """Yield sizes and sines up to `most`: random ones, then one that attains (4), and one with the largest turn."""
    for _ in range(DRAWS):
        theory = sizes(rng)
        yield theory, np.sort(rng.uniform(0.01, most, theory.rank))
    yield Plain(3, 30, 1, 1e-7), np.array([1e-3])
    yield Plain(60, 6000, 1, 1e-7), np.array([0.5])


def from_a_start() -> Iterator[Measured]:
    """Measure (4), (5), the contraction and the condition of Theorem 1 over their bounds."""
    rng, rows = draws("from a start"), []
    for theory, sines in instances(rng, 0.5):
        k, cosines = weights(theory, sines, sphere(rng, theory.rank)), np.sqrt(1 - sines**2)
        distance, step = float(np.linalg.norm(sines)), theory.step(float(np.linalg.norm(sines)))
        eta, fall = 3 / (4 * theory.steepness), 9 / (16 * theory.steepness)
        moved = step * np.linalg.norm(sines * k * cosines) / (eta * math.sqrt(theory.steepness) * distance)
        left = (1 - (np.linalg.norm(sines * (1 - step * k * cosines**2)) / distance) ** 2) / fall
        users, noise = theory.users_needed(distance, 1 / 0.3, 3.0), math.sqrt(theory.outside * theory.rank)
        allowed = (2 * (noise + 3) / (users * 0.3) + 4 / math.sqrt(users)) * step / (fall / 4 * distance)
        pull = k.min() / theory.pull(distance)
        rows.append([pull, moved, left, allowed])
    pull, moved, left, allowed = np.array(rows).T
    yield exact("least eigenvalue of K over (4)", pull.min())
    yield exact("largest c ||S K C^T|| over eta L_0 dist", moved.max())
    yield exact("least fall of the squared distance by the mean step over tau", left.min())
    yield exact("noise that (1) allows over tau / 4", allowed.max())


def one_column() -> Iterator[Measured]:
    """Measure the head's sign and the growth of the cosine under the worst noise of Theorem 2 over their bounds."""
    rng, rows = draws("one column"), []
    for _ in range(DRAWS):
        theory = Plain(int(rng.integers(2, 30)), int(rng.integers(30, 300)), 1, float(np.exp(rng.uniform(-4, 1))))
        (low, high), x = theory.gamma_bounds, float(np.exp(rng.uniform(-7, np.log(math.sqrt(3) / 2))))
        e, h, c = math.sqrt(1 - x**2), 1 / (1 + 4 * theory.noise**2), 1 / (4 * high)
        sigma = math.hypot(e, theory.noise)
        omega = float(theory.omega(x / math.hypot(1, theory.noise)))
        mean, reach = float(theory.gamma(e / sigma)) * omega, min(1.0, x * math.sqrt(theory.samples))
        against, aside = mean - low * h * reach / 4, 3 / 8 * low * h
        y = c * against
        grown = (x + e * y) / math.sqrt(1 + y**2 + (c * aside) ** 2) / x
        sign = omega / (0.509 * min(1.0, x * math.sqrt(theory.samples) / sigma))
        rows.append([sign, (grown - 1) / (0.0095 * h * low / high)])
    sign, growth = np.array(rows).min(axis=0)
    yield exact("least omega for one column over its bound", sign)
    yield exact("least growth of the cosine for one column over its bound", growth)


def any_columns() -> Iterator[Measured]:
    """Measure the bounds of Theorem 3 (R): turns, and growth of the least cosine under the worst noise."""
    rng, rows = draws("any columns"), []
    noisy = Plain(4, 40, 2, 1e3), np.array([0.1, 0.1])  # attains lambda
    for theory, sines in chain(instances(rng, 0.9999), [noisy]):
        k, x = weights(theory, sines, sphere(rng, theory.rank)), np.sqrt(1 - sines**2)
        c, high, h = theory.random_step, theory.gamma_bounds[1], theory.random_step * theory.mean_pull
        turn = (k * sines * x).max() * math.sqrt(theory.rank) / high
        # Noise along S shrinks the least cosine, and noise of length p is added to its column.
        bound = theory.mean_pull * min(x.min(), math.sqrt(3) / 2)
        against, aside = np.zeros((2, theory.rank, theory.rank))
        against[-1, -1], aside[-1, -1] = -bound / 64, theory.mean_pull / 8
        released = np.vstack([np.diag(sines * k * x) + against, aside])
        inner = np.diag(x) + c * sines[:, None] * released[: theory.rank]
        new = np.linalg.svd(inner @ inverse_root(np.eye(theory.rank) + c**2 * released.T @ released), compute_uv=False)
        grows = (1 - (x.min() / new[-1]) ** 2) / (0.12 * h) if x.min() < math.sqrt(3) / 2 else math.inf
        rows.append([1 / turn, k.min() / theory.mean_pull, grows])
    turn, pull, growth = np.array(rows).min(axis=0)
    yield exact("largest turn of an angle over its bound", 1 / turn)
    yield exact("least eigenvalue of K over lambda", pull)
    yield exact("least growth of the least cosine over its bound", growth)


def inverse_root(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse square root of a positive definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors / np.sqrt(values) @ vectors.T


def general_heads() -> Measured:
    """Measure the least eigenvalue of G in Theorem 3 (c), over h t^2, for random K that do not commute with S^T S."""
    rng, least = draws("general heads"), math.inf
    for _ in range(10 * DRAWS):
        k, tangent2, ratio = int(rng.integers(2, 6)), float(np.exp(rng.uniform(math.log(1 / 3), 8))), rng.uniform()
        h = ratio**2 / 2  # lambda = ratio, Lambda = 1, c = ratio / 2
        shares = np.append(rng.uniform(size=k - 1), 1.0) * tangent2 / (1 + tangent2)
        turn = np.linalg.qr(rng.normal(size=(k, k)))[0]
        moment, heads = np.diag(shares), turn * rng.choice([ratio, 1, rng.uniform(ratio, 1)], k) @ turn.T
        bound, step = 1 + tangent2 * (1 - 0.59 * h), ratio / 2 * heads
        inner = np.eye(k) + step @ moment
        matrix = bound * inner @ inner.T - np.linalg.inv(np.eye(k) - moment) - step @ moment @ step
        least = min(least, float(np.linalg.eigvalsh(matrix)[0]) / (h * tangent2))
    return exact("least eigenvalue of G over h t^2", least)


def bound_from_parts() -> Iterator[Measured]:
    """Measure the lower bound of Theorem 4 against its parts, and the largest stretch of the polar map."""
    theory, users, mu, rng = Plain(6, 14, 2, 0.3), 1000, 0.05, draws("lower bound")
    change = rng.normal(size=(theory.outside, theory.rank))
    change /= np.linalg.norm(change)
    # At Theta = 0 the polar map is an isometry to first order.
    heads = np.tile(sphere(rng, theory.rank), (100, 1))
    seen = rng.normal(size=(len(heads), theory.samples, theory.outside)) @ (heads @ change.T)[:, :, None]
    scores = (rng.normal(size=seen.shape) * seen).sum(axis=(1, 2)) / theory.noise
    divergence = quad(lambda x: norm.pdf(x - mu) ** 2 / norm.pdf(x), -12, 12)[0] - 1
    entries, deviation = theory.outside * theory.rank, np.sqrt((scores**2).reshape(PARTS, -1).mean(axis=1))
    for name, at, bound in (
        ("r_0", mu, entries / (users * math.sqrt(divergence) * deviation)),
        ("r_1", 5.0, np.sqrt(entries / users) / deviation),
    ):
        yield mean_over(f"{name} from simulated scores over its closed form", bound / theory.lower_bound(users, at))
    stretched = 0.0
    for size in np.geomspace(1e-3, 1, DRAWS):
        first = size * rng.normal(size=change.shape)
        second = first + 1e-4 * rng.normal(size=change.shape)
        moved = float(np.linalg.norm(polar(first) - polar(second)))
        stretched = max(stretched, moved / float(np.linalg.norm(first - second)))
    yield exact("largest stretch of the polar map", stretched)


def polar(tangents: np.ndarray) -> np.ndarray:
    """Return the polar factor of B + B_perp Theta."""
    left, _, right = np.linalg.svd(np.vstack([np.eye(tangents.shape[1]), tangents]), full_matrices=False)
    return left @ right


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the results table with r of Theorem 4, for the budget of all releases together."""
    bounds = [
        Plain(*(row[name] for name in SIZES)).lower_bound(row["users"], row["mu"]) for row in cells.to_dict("records")
    ]
    return cells.assign(bound=bounds)


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure closed forms, inequalities, runs, and errors over the lower bound."""
    checks = (closed_forms, bounds_of_cosines, from_a_start, one_column, any_columns, bound_from_parts)
    measured = [number for check in checks for number in check()] + [general_heads()]
    cells = with_predictions(cells)
    return Findings(measured + defined(study, cells), fits=fit_all(study, cells))
