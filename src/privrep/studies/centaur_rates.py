"""shen2023, CENTAUR from a planted start (claim B-T5.1 and erratum E42).

The steady error is what privacy noise leaves: labels are noiseless, so sampling only multiplies an error and adds none. It is averaged
over the second half of the rounds.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from privrep import formulas
from privrep.intervals import bootstrap_interval
from privrep.measure import Measure
from privrep.problem import HEAVY_EVERY
from privrep.scaling import fit_all, fit_measures
from privrep.setups import centaur_floors

STUDY = "centaur_rates"
BALL = 0.2
"""eps_0 of shen2023: the proof needs every iterate within this distance."""
EARLY, LATE = 5, 20
"""Rounds between which the contraction is measured: past the first transient, above the rounding of float32."""


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """The results table with mu, floor_F and floor_2 (law F9)."""
    long = cells["head_factor"]
    frobenius, spectral = centaur_floors(cells)
    mu = cells["head_condition"] * long / np.sqrt(1 + (long**2 - 1) / HEAVY_EVERY)
    return cells.assign(mu=mu, floor_F=frobenius, floor_2=spectral)


def rate_points(cells: pd.DataFrame) -> pd.DataFrame:
    """dist2 over that of the start, by kappa, rounds and repetition, with law F8 and the bound of eq. (19)."""
    rows = cells[cells["series"] == "rate"]
    return pd.DataFrame(
        {
            "kappa": rows["head_condition"],
            "rounds": rows["rounds"].astype(int),
            "seed": rows["seed"],
            "ratio": rows["dist2"] / rows["start_sine"],
            "law": formulas.centaur_contraction(rows["head_condition"]),
            "bound": formulas.centaur_bound(rows["head_condition"]),
        }
    )


def contractions(points: pd.DataFrame) -> pd.DataFrame:
    """Factor per round between `EARLY` and `LATE`, by kappa (rows) and repetition (columns)."""
    table = points.pivot_table(index=["kappa", "seed"], columns="rounds", values="ratio")
    return ((table[LATE] / table[EARLY]) ** (1 / (LATE - EARLY))).unstack()


def cap_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Steady dist2 at a tenth of the largest noise allowed, by kappa, rank and form of the condition: mean, least and largest."""
    rows = cells[cells["series"].str.startswith("cap-")]
    grouped = rows.groupby([rows["series"].str.removeprefix("cap-").rename("form"), "head_condition", "rank"])
    points = grouped["steady_dist2"].agg(dist2="mean", lowest="min", highest="max").reset_index()
    return points.rename(columns={"head_condition": "kappa"})


def share_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Steady distF and epsilon against the probability to take part, for both divisors."""
    rows = cells[cells["series"].str.startswith("share-")]
    points = rows.groupby(["divide_by", "participation"]).agg(
        distF=("steady_distF", lambda values: float(np.sqrt((values**2).mean()))),
        spread=("steady_distF", "sem"),
        predicted=("floor_F", "first"),
        epsilon=("epsilon_exact", "first"),
    )
    return points.reset_index()


def paired_ratio(cells: pd.DataFrame, series: str, other: str, name: str) -> Measure:
    """Steady distF of one series over that of another on the same users."""
    errors = [
        cells[cells["series"] == label]
        .groupby("seed")["steady_distF"]
        .apply(lambda values: (values**2).mean())
        .to_numpy()
        for label in (series, other)
    ]

    def ratio(pick):
        return float(np.sqrt(errors[0][pick].mean() / errors[1][pick].mean()))

    seeds = len(errors[0])
    return Measure(name, ratio(np.arange(seeds)), *bootstrap_interval(ratio, seeds, name), seeds)


def measure(cells: pd.DataFrame) -> list[Measure]:
    """Exponents and constants, the contraction per round, the caps on the noise, participation and the use of samples."""
    cells = with_predictions(cells)
    found = fit_measures(fit_all(STUDY, cells))
    for kappa, factors in contractions(rate_points(cells)).iterrows():
        values = factors.to_numpy()
        low, high = bootstrap_interval(
            lambda pick, values=values: float(values[pick].mean()), len(values), f"rate {kappa}"
        )
        mean, law, bound = values.mean(), formulas.centaur_contraction(kappa), formulas.centaur_bound(kappa)
        found += [
            Measure(f"contraction at kappa = {kappa:g}", mean, low, high, len(values)),
            # Shares of the way to 1, so that a slow contraction counts as much as a fast one.
            Measure(
                f"rate over law at kappa = {kappa:g}",
                *((1 - end) / (1 - law) for end in (mean, high, low)),
                len(values),
            ),
            Measure(
                f"rate over bound at kappa = {kappa:g}",
                *((1 - end) / (1 - bound) for end in (mean, high, low)),
                len(values),
            ),
        ]
    for form, part in cap_points(cells).groupby("form"):
        worst = part.loc[part["dist2"].idxmax()]
        note = f"kappa = {worst['kappa']:g}, k = {worst['rank']:g}"
        seeds = int(cells.loc[cells["series"] == f"cap-{form}", "seed"].nunique())
        found.append(Measure(f"largest steady dist2, {form} cap", *[worst["dist2"]] * 3, seeds, note))
    for row in share_points(cells).itertuples():
        seeds = int(cells.loc[cells["series"] == f"share-{row.divide_by}", "seed"].nunique())
        found += [
            Measure(f"{name}, {row.divide_by}, p = {row.participation:g}", value, value, value, seeds)
            for name, value in (("distF over law", row.distF / row.predicted), ("epsilon", row.epsilon))
        ]
    few = cells[cells["series"] == "small"]
    failed = float((few["status"] == "failed").mean())
    found.append(Measure("failed runs, realised divisor, p n = 1", failed, failed, failed, int(few["seed"].nunique())))
    found.append(paired_ratio(cells, "fresh", "reuse", "distF of fresh over reused samples"))
    return found
