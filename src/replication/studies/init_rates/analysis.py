"""jain2021, Algorithm 3: the error of the initialisation against every parameter (claims A-L4.6, A-LB.1, A-LB.2).

The noise of Algorithm 3 and the sampling of the users cause independent errors of the subspace, whose squares add;
each term has its own sweeps.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from privrep.theory import jain2021, shared
from privrep.users.rng import stream
from replication.evidence.cells import resampled
from replication.evidence.facts import NotMeasured, Quantities
from replication.evidence.findings import Findings
from replication.evidence.intervals import bootstrap_measures, student
from replication.evidence.measured import Measured, exact, share
from replication.evidence.scaling import fit_all
from replication.printed.of_cells import init_log_factor
from replication.run.settings import AnalysisSettings

COLLAPSE_DRAWS = 100
"""Bootstrap draws for the extremes over settings."""
PAIRS, SIZE = 400, 6
"""Random pairs of matrices for Davis-Kahan, and their size."""
RANGES = {"below": (0.1, 0.7), "around": (0.7, 1.3), "beyond": (2.0, np.inf)}
"""Ranges of u, the noise over its threshold.
At smaller u the sampling term dominates; around 1 the finite dimension blurs the transition."""


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the results table with privacy_2, privacy_F, sampling_2, sampling_F (F1, F2) and u, noise over threshold.

    norms : distF over dist2, of runs with noise. sine : distF over sqrt(k), which has no spectral edge.
    distF_over_log : distF over the logarithms of the threshold, see `init_log_factor`.
    """
    n, m, d, k = (cells[name] for name in ("users", "samples", "dim", "rank"))
    noise, zeta, sigma = cells["noise_multiplier"], cells["zeta"], cells["label_noise_sd"]
    gauss, logs = (cells["head_law"] == "gauss").to_numpy(), init_log_factor(cells)
    settings = zip(n, d, k, noise, zeta, cells["head_condition"], strict=True)
    laws = (
        jain2021.init_privacy_frobenius(*setting, lams=np.geomspace(condition, 1, setting[2]) ** 2)
        for *setting, condition in settings
    )
    privacy = np.fromiter(laws, float)
    return cells.assign(
        u=jain2021.init_threshold(n, d, noise, zeta),
        privacy_2=jain2021.init_privacy_spectral(n, d, k, noise, zeta),
        privacy_F=privacy,
        sine=cells["distF"] / np.sqrt(k),
        norms=(cells["distF"] / cells["dist2"]).where(noise > 0),
        privacy_sine=privacy / np.sqrt(k),
        distF_over_log=cells["distF"] / logs,
        privacy_F_over_log=privacy / logs,
        sampling_2=jain2021.init_sampling_spectral(n, m, d, k, sigma, gauss),
        sampling_F=jain2021.init_sampling_frobenius(n, m, d, k, sigma, gauss),
    )


def collapse_points(cells: pd.DataFrame, indices: np.ndarray | None = None) -> pd.DataFrame:
    """Return by setting u, mean squares of dist2 and of distF / sqrt(k) less its value without noise, and F1."""
    rows = resampled(cells[cells["series"] == "collapse"], indices)
    noisy, silent = rows[rows["noise_multiplier"] > 0], rows[rows["noise_multiplier"] == 0]
    keys = ["dim", "rank", "noise_multiplier"]
    squares = noisy.assign(square=noisy["distF"] ** 2 / noisy["rank"], largest=noisy["dist2"] ** 2)
    means = squares.groupby(keys)[["u", "square", "largest", "privacy_F"]].mean().reset_index()
    floors = (silent["distF"] ** 2 / silent["rank"]).groupby([silent["dim"], silent["rank"]]).mean()
    means = means.join(floors.rename("floor"), on=["dim", "rank"])
    means["predicted"] = means["privacy_F"] ** 2 / means["rank"]
    # Sampling moves only the part of the subspace that the noise has left in place.
    return means.assign(without_floor=means["square"] - means["floor"] * (1 - means["predicted"]))


def collapse_extremes(cells: pd.DataFrame, indices: np.ndarray | None = None) -> dict[str, float]:
    """Return the largest and smallest ratio of distF to F1 over the settings in each range of u."""
    points, extremes = collapse_points(cells, indices), {}
    for where, (low, high) in RANGES.items():
        inside = points[points["u"].between(low, high)]
        ratios = np.sqrt(inside["without_floor"].clip(lower=0) / inside["predicted"])
        extremes[f"collapse largest ratio {where}"] = float(ratios.max())
        extremes[f"collapse smallest ratio {where}"] = float(ratios.min())
    return extremes


def norm_ratios(cells: pd.DataFrame) -> pd.DataFrame:
    """Return distF over dist2 of Algorithm 3 against the rank, with its standard error over repetitions."""
    rows = cells[(cells["series"] == "k") & (cells["noise_multiplier"] > 0)]
    ratio = (rows["distF"] / rows["dist2"]).groupby([rows["rank"], rows["seed"]]).mean().unstack()
    error = ratio.std(axis=1) / np.sqrt(ratio.shape[1])
    table = pd.DataFrame({"ratio": ratio.mean(axis=1), "standard_error": error}).reset_index()
    dim, ranks = rows["dim"].iloc[0], table["rank"]
    law = np.sqrt((dim - ranks) * ranks) / shared.edge(dim, ranks)
    return table.assign(predicted=law, limit=np.sqrt(ranks))


def davis_kahan() -> pd.DataFrame:
    """Return both sides of Lemma B.2, corrected and as printed (E15), for random pairs of symmetric matrices.

    Corrected: (eig_i(G) - eig_{j+1}(H)) ||(I - P_H^(j)) P_G^(i)|| <= ||G - H||.
    Printed: eig_{j+1}(G) in place of eig_{j+1}(H).
    """
    rng, rows = stream(0, "davis-kahan", {"size": SIZE}), []
    for _ in range(PAIRS):
        g = rng.standard_normal((SIZE, SIZE))
        g = g @ g.T / SIZE
        h = g + rng.standard_normal((SIZE, SIZE)) * rng.uniform(0.01, 0.5)
        rows.append(_sides(g, (h + h.T) / 2, i=int(rng.integers(1, SIZE)), j=int(rng.integers(1, SIZE))))
    rows.append(_sides(np.diag([1.0, 0.0]), np.diag([0.49, 0.51]), i=1, j=1) | {"pair": "diag(1, 0), diag(.49, .51)"})
    return pd.DataFrame(rows).fillna({"pair": "random"})


def _sides(g: np.ndarray, h: np.ndarray, i: int, j: int) -> dict:
    (values_g, vectors_g), (values_h, vectors_h) = np.linalg.eigh(g), np.linalg.eigh(h)  # eig_i is [-i]
    top_g, top_h = vectors_g[:, ::-1][:, :i], vectors_h[:, ::-1][:, :j]
    angle = np.linalg.norm(top_g - top_h @ (top_h.T @ top_g), 2)
    return {
        "corrected": (values_g[-i] - values_h[-j - 1]) * angle,
        "printed": (values_g[-i] - values_g[-j - 1]) * angle,
        "right": np.linalg.norm(g - h, 2),
    }


def proof_threshold(cells: pd.DataFrame, quantities: Quantities) -> float:
    """Return the squared threshold zeta of the proof, logarithms included, over that of the sweep in n."""
    swept, printed = (cells[cells["series"] == series] for series in ("n", "n-printed"))
    if swept.empty or printed.empty:
        raise NotMeasured("zeta of the series n and n-printed")
    whole = printed["zeta"].max() / printed["init_label_clip"].iloc[0]
    return float((whole / swept["zeta"].max()) ** 2)


FACTS = {"proof threshold": proof_threshold}


def analyse(cells: pd.DataFrame, study: AnalysisSettings) -> Findings:
    """Measure exponents and constants, the collapse across the threshold, the ratio of norms, and Lemma B.2."""
    cells = with_predictions(cells)
    seeds = cells.groupby("series")["seed"].nunique()
    measured = bootstrap_measures(partial(collapse_extremes, cells), int(seeds["collapse"]), "collapse", COLLAPSE_DRAWS)
    norms, pairs = norm_ratios(cells), davis_kahan()
    rows: Any = norms.itertuples()
    for row in rows:
        half = student(int(seeds["k"])) * row.standard_error
        name = f"distF over dist2 at rank {row.rank}"
        measured.append(Measured(name, row.ratio, row.ratio - half, row.ratio + half, int(seeds["k"])))
    random = pairs[pairs["pair"] == "random"]
    ratios = random["corrected"] / random["right"]
    measured += [
        exact("davis-kahan corrected", ratios.max(), f"largest of {len(ratios)} pairs"),
        share("davis-kahan corrected, share of pairs beyond", int((ratios > 1).sum()), len(ratios)),
        exact("davis-kahan printed", (pairs["printed"] / pairs["right"]).max()),
    ]
    tables = {
        "jain2021/init_collapse": collapse_points(cells),
        "jain2021/init_norms": norms,
        "jain2021/davis_kahan": pairs,
    }
    return Findings(measured, tables, fit_all(study, cells))
