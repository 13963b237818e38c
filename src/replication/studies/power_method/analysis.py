"""shen2023, Algorithm 5, the private power method (B-LF.1 and B-LG.1): errors, clip, random starts, noise of a run.

Runs of a cell share their data but not their noise; repetitions are draws of data.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from privrep.theory import shared, shen2023
from privrep.theory.shen2023 import CANDIDATE, TARGET
from replication.evidence.cells import resampled
from replication.evidence.counts import proportion, with_ends
from replication.evidence.findings import Findings
from replication.evidence.intervals import OUTSIDE, series_measures
from replication.evidence.measured import Measured, bare, exact
from replication.evidence.numbers import defined
from replication.evidence.scaling import fit_all
from replication.run.settings import MeasureSettings


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the results table with predictions by the law F11 under the clip, and with combined columns."""
    n, d, k, zeta = (cells[name].to_numpy() for name in ("users", "dim", "rank", "zeta"))
    sizes = cells[["dim", "rank", "init_samples", "zeta"]].to_numpy()
    products = [shen2023.clipped_product(int(d), int(k), int(q), zeta) for d, k, q, zeta in sizes]
    along, across, spread = np.array([(product.along, product.across, product.spread) for product in products]).T
    private = shen2023.power_noise(n, cells["noise_multiplier"].to_numpy(), zeta, along, across)
    sampled = shen2023.power_sampling_noise(n, along, across, spread, fresh=True)
    privacy, frobenius = shen2023.power_spectral(private, d, k), shen2023.power_frobenius(private, d, k)
    log = np.log(n)
    # The logarithms of the clip, and the factor of mu by k if the noise falls as 1/k and L is of order k + 1.
    logs = log * (np.sqrt(log) + np.sqrt(k))
    length = np.sqrt(cells["iterations"] / (k + 1)) * k
    laws = {
        "privacy_2": privacy,
        "privacy_F": frobenius,
        "sampling_2": shen2023.power_spectral(sampled, d, k),
        "times_rank": cells["runs_distF"] * np.sqrt(k),  # the root mean square sine, distF / sqrt(k), times k
        "privacy_times_rank": frobenius * np.sqrt(k),
        "over_logs": cells["runs_dist2"] / logs,
        "privacy_over_logs": privacy / logs,
        "run_mu": length * cells["runs_distF"],
        "run_mu_law": length * frobenius,
        # The largest ||Y_i|| over the bound of Lemma G.1 without its k^1.5.
        "norm_ratio": cells["product_norm_max"] / (log * (np.sqrt(log) + np.sqrt(d)) * (np.sqrt(log) + np.sqrt(k))),
    }
    return pd.concat([cells, pd.DataFrame(laws, index=cells.index)], axis=1).copy()


def clip_points(cells: pd.DataFrame, indices: np.ndarray | None = None) -> pd.DataFrame:
    """Return by zeta_0 the noise whose part in dist2 is `TARGET`, its law, clipped shares and sampling errors."""
    rows = cells[cells["series"] == "clip"]
    noisy, silent = rows[rows["noise_multiplier"] > 0], rows[rows["noise_multiplier"] == 0]
    both = resampled(noisy.merge(silent, on=["init_clip", "seed"], suffixes=("", "_silent")), indices)
    both = both.assign(square=both["runs_dist2"] ** 2, under=both["runs_dist2_silent"] ** 2)
    keys = ["noise_multiplier", "zeta", "privacy_2", "square", "under", "clipped_share"]
    means = both.groupby("init_clip")[keys].mean().reset_index()
    return means.assign(
        permitted=means["noise_multiplier"] * TARGET / np.sqrt(means["square"] - means["under"]),
        predicted=means["noise_multiplier"] * TARGET / means["privacy_2"],
        floor=np.sqrt(means["under"]),
    )


def clip_ratios(cells: pd.DataFrame, indices: np.ndarray) -> dict[str, float]:
    """Return the share of products that the practical clip shortens, and the noise that the least clip permits."""
    points = clip_points(cells, indices)
    practical = points[points["init_clip"] == 1].iloc[0]
    return {
        "clipped at the practical bound": practical["clipped_share"],
        "noise permitted at the least over the practical bound": points["permitted"].iloc[0] / practical["permitted"],
    }


def shares(cells: pd.DataFrame, series: str, axis: str, indices: np.ndarray | None = None) -> pd.DataFrame:
    """Return shares of runs within the accuracy; `level`, noise over the law's; `draws`, the number of data sets."""
    points, rows = [], cells[cells["series"] == series]
    for value, part in resampled(rows, indices).groupby(axis):
        runs, good = int(part["starts"].sum()), round(float((part["runs_within"] * part["starts"]).sum()))
        level = part["privacy_2"].iloc[0] / part["accuracy"].iloc[0]
        points.append({axis: value, "level": level, "share": good / runs, "good": good, "runs": runs})
    return pd.DataFrame(points).assign(draws=rows["seed"].nunique())


def iterations_needed(cells: pd.DataFrame, indices: np.ndarray) -> dict[str, float]:
    """Return the fewest iterations after which 99 % of the runs have succeeded; NaN where none suffice."""
    points = shares(cells, "steps", "iterations", indices)
    return {"iterations for 0.99": float(points.loc[points["share"] >= 0.99, "iterations"].min())}


def noise_of_half(cells: pd.DataFrame, indices: np.ndarray) -> dict[str, float]:
    """Return the noise, over that of the law, at which half of the runs succeed: interpolated, NaN outside the grid."""
    points = shares(cells, "noise", "noise_multiplier", indices)
    level = np.interp(-0.5, -points["share"], points["level"], left=np.nan, right=np.nan)
    return {"noise at which half succeed": float(level)}


def bound_measures(cells: pd.DataFrame) -> list[Measured]:
    """Measure the prescribed clip, and the users at which the sampling error is half of the printed accuracy."""
    dim, rank, samples = 20, 2, 32
    product = shen2023.clipped_product(dim, rank, samples, np.inf)
    at_one = shen2023.power_sampling_noise(1, product.along, product.across, product.spread, fresh=False)
    users = float((2 * shared.edge(dim, rank) * at_one / CANDIDATE) ** 2)
    prescribed = cells[cells["series"] == "prescribed"]
    practical = np.sqrt(prescribed["dim"]) * prescribed["rank"] ** 1.5
    return [
        exact("prescribed over practical bound", (prescribed["zeta"] / practical).max()),
        exact("users for 0.01", users, f"d = {dim}, k = {rank}, m = {samples}, by law"),
    ]


FACTS = {"least clip": lambda cells, quantities: float(cells.loc[cells["series"] == "clip", "init_clip"].min())}
"""The least clip of the sweep, over the practical one."""


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure exponents and constants, the clip, and success of random starts."""
    cells = with_predictions(cells)
    measured = series_measures(cells, "clip", clip_ratios)
    measured += series_measures(cells, "steps", iterations_needed, OUTSIDE)
    measured += series_measures(cells, "noise", noise_of_half, OUTSIDE)
    clips = clip_points(cells)
    over = clips["permitted"] / clips["predicted"]
    clip_seeds = int(cells.loc[cells["series"] == "clip", "seed"].nunique())
    axes = {"printed": "noise_multiplier", "noise": "noise_multiplier", "steps": "iterations"}
    # Intervals treat runs on the same data as independent.
    printed, noise, steps = (with_ends(shares(cells, *place), "good", "runs") for place in axes.items())
    measured += [
        bare("noise permitted over law, largest", over.max(), clip_seeds),
        bare("noise permitted over law, smallest", over.min(), clip_seeds),
    ]
    note = "{runs:g} runs on {draws:g} data sets, noise {level:.2g} of the law's"
    # At the printed target, and at dist2 <= 0.2 for the least noise and the longest run.
    for name, row in (("at 0.01", printed.iloc[0]), ("at 0.2", noise.iloc[0]), ("by iterations", steps.iloc[-1])):
        measured.append(proportion(f"success {name}", row, "share", note.format(**row)))
    measured += bound_measures(cells) + defined(study, cells)
    tables = {
        "shen2023/power_clip": clips.assign(prescribed=cells.loc[cells["series"] == "prescribed", "zeta"].mean()),
        "shen2023/power_success": pd.concat([steps.assign(panel="iterations"), noise.assign(panel="noise")]),
    }
    return Findings(measured, tables, fit_all(study, cells))
