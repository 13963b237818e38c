"""shen2023, Lemmas C.1 to C.5 and D.1 to D.7, one round of CENTAUR (claims B-A5.1, B-LC.1 to B-LC.5, B-LD.1 to B-LD.7).

Every inequality becomes the ratio of its left to its right side in each run. The lemmas of Appendix C may fail with a
small probability, so that the share of runs above 1 is judged. Those of Appendix D take delta_1 and delta_2 as given:
these are measured in the same run, and runs with delta_1 >= 1 are left out, since right sides divide by 1 - delta_1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import erfc, gammainc, gammaincc, gammaincinv

from privrep.theory import shared, shen2023
from privrep.users.rng import stream
from privrep.users.simulated import HEAVY_EVERY
from privrep.users.subspace import planted_subspace, random_subspace
from replication.evidence.findings import Findings
from replication.evidence.measured import Measured, exact
from replication.evidence.numbers import defined
from replication.evidence.scaling import fit_all
from replication.run.settings import MeasureSettings
from replication.studies.centaur_rates.analysis import progress
from replication.studies.measures import mean_over

STUDY = "client_lemmas"
BALL = 0.2  # eps_0 of shen2023: the largest distance of a start. E0 = 1 - eps_0^2, as in Lemma D.7 (E12).
CHANCE_USERS, CHANCE_SAMPLES = (300, 1000, 4000, 16_000, 64_000), (64, 400)  # n and mbar of the chances, k = 1
NORMAL_NORM2 = 8 / 3  # squared subgaussian norm of a standard normal variable


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the results table with incoherence (mu) and predictions of gradient, deviation, noise and steady error."""
    n, d, k, q, sine = (cells[name] for name in ("users", "dim", "rank", "batch_samples", "start_sine"))
    factor, share = cells["head_factor"], 1 / HEAVY_EVERY
    square = 1 + share * (factor**2 - 1)
    # Long heads raise the deviation; over `edge`, the sum in delta_3, the deviation has the factor k of Lemma C.4.
    spread = np.sqrt(1 + share * (factor**4 - 1)) / square
    noise = shen2023.centaur_noise(
        n, cells["noise_multiplier"], cells["zeta"], cells["step"], cells["head_condition"] ** 2
    )
    deviation, edge = shen2023.gradient_deviation(n, d, k, q, sine) * spread, np.sqrt(d) + np.sqrt(k * np.log(n))
    cells = cells.assign(
        incoherence=factor / np.sqrt(square),
        gradient=shen2023.gradient_norm(sine, d, k, q),
        deviation=deviation,
        deviation_per_edge=cells["deviation_2"] / edge,
        per_edge=deviation / edge,
        per_entry=noise,
        noise=noise * shared.edge(d, k),
        steady=shen2023.centaur_spectral(noise, d, k, cells["step"]),
        lemma=(cells["algorithm"] == STUDY) & (sine > 0),
    )
    step = step_points(cells)
    return cells.join(ratios(cells)).assign(over_allowed=step["factor"] / step["bound"])


def printed_clip(cells: pd.DataFrame) -> pd.Series:
    """Return mu^2 k s_k^2 sqrt(d k ln n) of Lemma C.1, with mu^2 k s_k^2 = max ||w_i*||^2."""
    return cells["true_head_max"] ** 2 * np.sqrt(cells["dim"] * cells["rank"] * np.log(cells["users"]))


def ratios(cells: pd.DataFrame) -> pd.DataFrame:
    """Return left over right side of the lemmas, by run and inequality; NaN where the right side is not defined.

    The corrected C.2 and C.3 have constants for Gaussian samples and all users at once: with probability 1 - O(1/n)
    a q x k matrix of every user has singular values within sqrt(q) (1 +- a), a = (sqrt(k) + 2 sqrt(ln n)) / sqrt(q).
    """
    runs = cells[cells["lemma"]]
    n, d, k, q, dist = (runs[name] for name in ("users", "dim", "rank", "batch_samples", "start_sine"))
    log, root = np.log(n), np.sqrt(k)
    first, second = runs["isometry_2"], runs["cross_2"] / dist
    delta = np.sqrt(k * log / q)
    edge = (root + 2 * np.sqrt(log)) / np.sqrt(q)
    width = 4 * (np.sqrt(d) + np.sqrt(k * log)) / np.sqrt(q * n)
    high, low = runs["signal_max"], runs["signal_min"]
    third = width * low / high * high**2 * k * dist
    left = (1 - first).where(first < 1)
    error = second * high * root * dist / left
    ball, step = 1 - BALL**2, runs["step"] / runs["head_condition"] ** 2
    slack = np.maximum(second * root / left, (second * root / left) ** 2)
    slack = np.maximum(slack, runs["deviation_2"] / (high**2 * dist))
    return pd.DataFrame(
        {
            "C.1": runs["gradient_max"] / printed_clip(runs),
            "C.2": first / delta,
            "C.2 corrected": first / (2 * edge + edge**2),
            "C.3": second / delta,
            "C.3 corrected": second / ((1 + edge) * (edge + root / np.sqrt(q))),
            "C.4": runs["gradient_2"] / third,
            "D.2 printed": left / (runs["gram_least"] / n),
            "D.4 F": runs["head_errors_F"] / error,
            "D.4 V": runs["heads_F"] / (root * high + error),
            "D.5": runs["descent_2"] / (1 - step * (ball * low**2 - 2 * high * error)),
            "D.6": runs["deviation_2"] / third,
            "D.6 corrected": runs["deviation_2"] / (width * runs["true_head_max"] ** 2 * dist),
            "D.7": runs["inverse_2"] * np.sqrt(1 - step * low**2 * ball / 2),
            "condition": slack / (low**2 * ball / (36 * high**2)),
        }
    )


def step_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return dist2 of each run after one round and its bound (19) with C_N = 1, both over that of the start."""
    runs = cells[cells["series"] == "kappa"]
    dist, kappa = runs["start_sine"], runs["head_condition"]
    allowed = dist * shen2023.centaur_bound(kappa, BALL) + 3 * runs["per_entry"] * np.sqrt(runs["dim"])
    points = runs.assign(kappa=kappa, factor=runs["dist2"] / dist, bound=allowed / dist)
    return points[["kappa", "start_sine", "noise_multiplier", "seed", "factor", "bound"]]


def path_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the largest dist2 of each run over 30 rounds and law F9, the larger of first round and steady state."""
    runs = cells[cells["series"] == "path"]
    start = runs["start_sine"]
    steady, kept = runs["steady"] / start, shen2023.centaur_contraction(1, runs["step"]) ** 2
    law = np.maximum(np.sqrt(kept + (1 - kept) * steady**2), steady)
    points = runs.assign(steady=steady, largest=runs["largest_dist2"] / start, law=law)
    return points[["seed", "steady", "largest", "law"]]


def step_ranges(points: pd.DataFrame) -> pd.DataFrame:
    """Return mean and range of the noiseless `step_points` by start and kappa, and both laws against kappa."""
    silent, kappa = points[points["noise_multiplier"] == 0], points["kappa"]
    factors = silent.groupby(["start_sine", "kappa"])["factor"].agg(["mean", "min", "max"]).reset_index()
    grid = np.linspace(kappa.min(), kappa.max(), 60)
    law, bound = shen2023.centaur_contraction(grid), shen2023.centaur_bound(grid, BALL)
    return pd.concat([factors, pd.DataFrame({"kappa": grid, "law_F8": law, "bound_19": bound})])


def kronecker(n: int = 6, q: int = 4, d: int = 5, k: int = 2) -> dict[str, float]:
    """Return gaps between sides of Lemmas D.1 to D.3, n k x n k float64 matrices, I_n for the printed I_d (E45)."""
    rng = stream(0, STUDY, {"users": n, "samples": q, "dim": d, "rank": k})
    truth = random_subspace(d, k, rng)
    basis = planted_subspace(truth, BALL, rng) @ random_subspace(k, k, rng)  # turned, so that B^T B* is not symmetric
    features, target = rng.standard_normal((n, q, d)), rng.standard_normal((n, k)) / math.sqrt(n)

    def vec(matrix):
        return matrix.reshape(-1, order="F")

    inner, outer, fitted, crosses = np.zeros((n * k, n * k)), np.zeros((n * k, n * k)), np.zeros((n, k)), []
    for i, rows in enumerate(features):
        for row in rows:
            picked = np.outer(np.eye(n)[i], row)  # A_ij^T
            inner += np.outer(vec(picked @ basis), vec(picked @ basis)) / (n * q)
            outer += np.outer(vec(picked @ basis), vec(picked @ truth)) / (n * q)
        fitted[i] = np.linalg.lstsq(rows @ basis, rows @ truth @ target[i], rcond=None)[0]
        crosses.append(basis.T @ rows.T @ rows @ (basis @ basis.T @ truth - truth) / q)
    turn = np.kron(basis.T @ truth, np.eye(n))
    gap = inner @ turn - outer
    shift = np.linalg.solve(inner, gap @ vec(target))
    return {
        "D.1 gap": float(np.abs(vec(fitted) - (turn @ vec(target) - shift)).max() / np.abs(fitted).max()),
        "D.3 with n": float(n * np.linalg.norm(gap, 2) / np.linalg.norm(crosses, 2, axis=(1, 2)).max()),
    }


def chance_inside(lemma: str, users: int, samples: int, factor: float, draws: int = 2000) -> float:
    """Return the chance that no user's deviation exceeds `factor` sqrt(ln n / mbar), normal samples, k = 1."""
    limit = factor * math.sqrt(math.log(users) / samples)
    if lemma == "C.2":  # chi^2_mbar / mbar - 1
        below = gammainc(samples / 2, samples / 2 * (1 - limit)) if limit < 1 else 0.0
        out = gammaincc(samples / 2, samples / 2 * (1 + limit)) + below
    else:  # a mean product of two normals, normal given the squares of one
        squares = 2 * gammaincinv(samples / 2, (np.arange(draws) + 0.5) / draws)
        out = erfc(limit * samples / np.sqrt(2 * squares)).mean()
    return math.exp(users * math.log1p(-out))


def chances() -> list[Measured]:
    """Measure chances of Lemmas C.2 and C.3 with normal samples, as printed and times their squared norm (8/3)."""
    measures = []
    for lemma in ("C.2", "C.3"):
        inside, wide = (
            [chance_inside(lemma, n, q, factor) for n in CHANCE_USERS for q in CHANCE_SAMPLES]
            for factor in (1, NORMAL_NORM2)
        )
        note = f"n = {min(CHANCE_USERS)} to {max(CHANCE_USERS)}, mbar = {CHANCE_SAMPLES[0]} and {CHANCE_SAMPLES[1]}"
        measures += [
            exact(f"{lemma} at k = 1, largest chance inside the printed value", max(inside), note),
            exact(f"{lemma} at k = 1, least chance inside 8/3 of it", min(wide), note),
        ]
    return measures


FACTS = {"F8 over eq. (19)": lambda cells, quantities: 4 / (1 - BALL**2)}
"""Progress of a round by law F8, 1/(4 kappa^2), over that by eq. (19), for large kappa."""


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure exponents, the ratios of each inequality, the contraction of a round, and lemmas of algebra."""
    cells = with_predictions(cells)
    runs, points, measures = cells[cells["lemma"]], step_points(cells), defined(study, cells)
    by_kappa: Any = points[points["noise_multiplier"] == 0].groupby("kappa")
    for kappa, part in by_kappa:
        factors = part.groupby("seed")["factor"].mean().to_numpy()
        mean = mean_over(f"C.5 factor at kappa = {kappa:g}", factors, name=f"step {kappa}")
        law = shen2023.centaur_contraction(kappa)
        measures += [mean, progress(f"C.5 progress over law at kappa = {kappa:g}", mean, law)]
    measures += [exact(name, value) for name, value in kronecker().items()]
    # The norm is inf {s: E exp(x^2 / s^2) <= 2}; at variance 1 a random sign has the least one.
    least = 1 / math.sqrt(math.log(2))
    measures.append(exact("least subgaussian norm at variance 1", least, "E exp(x^2 / s^2) >= exp(1 / s^2)"))
    measures += [exact("subgaussian norm of a normal variable", math.sqrt(NORMAL_NORM2)), *chances()]
    norms = runs[["series", "head_law", "seed", "gradient_max", "gradient_median"]]
    tables = {
        "shen2023/gradient_norms": norms.assign(printed=printed_clip(runs), law=runs["gradient"]),
        "shen2023/one_step": pd.concat([points, step_ranges(points), path_points(cells)], ignore_index=True),
    }
    return Findings(measures, tables, fit_all(study, cells))
