"""shen2023, CENTAUR from a planted start (claims B-T5.1 and B-T5.1 noise, erratum E42).

The steady error comes from privacy noise alone: labels have no noise, so sampling multiplies errors and adds none.
The steady error is averaged over the second half of the rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from privrep.theory import shen2023
from privrep.theory.shared import Values
from privrep.users.simulated import HEAVY_EVERY
from replication.evidence.facts import Quantities
from replication.evidence.findings import Findings
from replication.evidence.measured import Measured, bare
from replication.evidence.numbers import defined
from replication.evidence.scaling import fit_all
from replication.printed.of_cells import centaur_floors
from replication.run.settings import MeasureSettings
from replication.studies.measures import mean_over

BALL = 0.2  # eps_0 of shen2023: the proof needs every iterate within this distance
EARLY, LATE = 5, 20  # rounds between which the contraction is measured, above the rounding of float32


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the table with mu, law F9, and errors over sqrt(k) (sine) and sqrt(ln n) (over_log), for exponents."""
    long, root, log = cells["head_factor"], np.sqrt(cells["rank"]), np.sqrt(np.log(cells["users"]))
    frobenius, spectral = centaur_floors(cells)
    return cells.assign(
        mu=cells["head_condition"] * long / np.sqrt(1 + (long**2 - 1) / HEAVY_EVERY),
        floor_F=frobenius,
        floor_2=spectral,
        sine=cells["steady_distF"] / root,
        floor_sine=frobenius / root,
        over_log=cells["steady_dist2"] / log,
        floor_over_log=spectral / log,
    )


def rate_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return dist2 over that of the start, by kappa, rounds and repetition, with law F8 and the bound (19)."""
    rows = cells[cells["series"] == "rate"].rename(columns={"head_condition": "kappa"})
    return rows.assign(
        rounds=rows["rounds"].astype(int),
        ratio=rows["dist2"] / rows["start_sine"],
        law=shen2023.centaur_contraction(rows["kappa"]),
        bound=shen2023.centaur_bound(rows["kappa"]),
    )


def contractions(points: pd.DataFrame) -> pd.DataFrame:
    """Return the factor per round between `EARLY` and `LATE`, by kappa (rows) and repetition (columns)."""
    table = points.pivot_table(index=["kappa", "seed"], columns="rounds", values="ratio")
    return ((table[LATE] / table[EARLY]) ** (1 / (LATE - EARLY))).unstack()


def cap_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return mean, least and largest steady dist2 at a tenth of the noise cap, by the cap's form, kappa, rank."""
    rows = cells[cells["series"].str.startswith("cap-")].rename(columns={"head_condition": "kappa"})
    grouped = rows.groupby([rows["series"].str.removeprefix("cap-").rename("form"), "kappa", "rank"])
    return grouped["steady_dist2"].agg(dist2="mean", lowest="min", highest="max").reset_index()


def start_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return steady and largest dist2 of each run over that of its start, at a quarter of the caps of E42."""
    rows = cells[cells["series"].str.startswith("start-")]
    return rows.assign(
        form=rows["series"].str.removeprefix("start-"),
        steady=rows["steady_dist2"] / rows["start_sine"],
        largest=rows["largest_dist2"] / rows["start_sine"],
        law=rows["floor_2"] / rows["start_sine"],
    )


def share_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return steady distF and epsilon against the probability to take part, for both divisors of the sum."""
    rows = cells[cells["series"].str.startswith("share-")]
    return rows.groupby(["divide_by", "participation"], as_index=False).agg(
        distF=("steady_distF", lambda values: float(np.sqrt((values**2).mean()))),
        spread=("steady_distF", "sem"),
        predicted=("floor_F", "first"),
        epsilon=("epsilon_exact", "first"),
    )


def progress(name: str, factor: Measured, expected: Values) -> Measured:
    """Measure the progress of a round, 1 less its contraction factor, over the expected progress."""
    left = 1 - float(np.asarray(expected))
    share, low, high = ((1 - end) / left for end in (factor.measured, factor.ci_high, factor.ci_low))
    return Measured(name, share, low, high, factor.seeds)


def participation(cells: pd.DataFrame, quantities: Quantities) -> dict[str, float]:
    """Return the least probability to take part, its epsilon, and the epsilon of full participation over that."""
    whole = quantities["epsilon, expected, p = 1"].measured
    share, least = next(iter(quantities.numbered("epsilon, expected, p =").items()))
    return {"share": share, "epsilon": least.measured, "factor": whole / least.measured}


FACTS = {"participation": participation}


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure exponents, constants, contractions, caps on the noise, participation and the use of samples."""
    cells = with_predictions(cells)
    rates, caps, starts = rate_points(cells), cap_points(cells), start_points(cells)
    measures = []
    by_kappa: Any = contractions(rates).iterrows()
    for kappa, factors in by_kappa:
        mean = mean_over(f"contraction at kappa = {kappa:g}", factors.to_numpy(), name=f"rate {kappa}")
        measures += [
            mean,
            progress(f"rate over law at kappa = {kappa:g}", mean, shen2023.centaur_contraction(kappa)),
            progress(f"rate over bound at kappa = {kappa:g}", mean, shen2023.centaur_bound(kappa)),
        ]
    for form, part in caps.groupby("form"):
        worst = part.iloc[int(part["dist2"].argmax())]
        note = f"kappa = {worst['kappa']:g}, k = {worst['rank']:g}; the largest mean over settings"
        runs = int((cells["series"] == f"cap-{form}").sum())
        measures.append(bare(f"largest steady dist2, {form} cap", worst["dist2"], runs, note))
    curves = rates.groupby(["kappa", "rounds", "law", "bound"])["ratio"].agg(ratio="mean", lowest="min", highest="max")
    ranges = starts.groupby(["form", "rank"], as_index=False).agg(
        steady=("steady", "mean"), lowest=("largest", "min"), highest=("largest", "max"), law=("law", "first")
    )
    shown = ["kappa", "rounds", "ratio", "lowest", "highest", "law", "bound"]
    tables = {
        "shen2023/centaur_rate": curves.reset_index()[shown],
        "shen2023/noise_cap": pd.concat([caps, ranges], ignore_index=True),
        "shen2023/participation": share_points(cells),
    }
    return Findings(measures + defined(study, cells), tables, fit_all(study, cells))
