"""shen2023, Theorem G.1: the noisy power method (Algorithm 6) under the largest perturbation that the theorem permits
(claim B-TG.1).

The method runs on a given matrix and needs no users.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from replication.evidence.counts import failed_shares, proportion
from replication.evidence.findings import Findings
from replication.evidence.intervals import student
from replication.evidence.measured import Measured
from replication.evidence.scaling import fit_all, fit_table
from replication.run.settings import AnalysisSettings


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the results table with inverse_gap = 1 / gap, log_term = ln(k d / eps), and iterations_law.

    The law is the number of iterations from the same starts without perturbation, (ln tan - ln eps) / -ln(1 - gap).
    """
    return cells.assign(
        inverse_gap=1 / cells["gap"],
        log_term=np.log(cells["rank"] * cells["dim"] / cells["accuracy"]),
        iterations_law=(cells["start_log_tangent"] - np.log(cells["accuracy"])) / -np.log1p(-cells["gap"]),
    )


def log_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return iterations against ln(k d / eps) by d at one gap: mean, 95 % interval, and the law.

    The logarithm spans a factor 1.6 over these d, too little for an exponent."""
    grouped = cells[cells["series"] == "noisy-d"].groupby("dim")
    needed = grouped["iterations_needed"]
    points = grouped[["log_term", "iterations_law"]].mean().assign(iterations=needed.mean(), repetitions=needed.count())
    half = [student(int(count)) for count in points["repetitions"]] * needed.std() / np.sqrt(points["repetitions"])
    return points.assign(half=half).rename(columns={"iterations_law": "predicted"}).reset_index()


def log_ratio(points: pd.DataFrame) -> Measured:
    """Measure the growth of iterations over that of ln(k d / eps), from the smallest to the largest d."""
    first, last = points.iloc[0], points.iloc[-1]
    value = last["iterations"] / first["iterations"] / (last["log_term"] / first["log_term"])
    half = value * np.hypot(last["half"] / last["iterations"], first["half"] / first["iterations"])
    note = f"d = {last['dim']:g} over d = {first['dim']:g}"
    return Measured("iterations over ln(k d / eps)", value, value - half, value + half, int(last["repetitions"]), note)


def tau_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the share of runs not within eps after (4 / gap) ln(k d tau / eps) iterations, against tau."""
    rows = cells[cells["series"] == "noisy-tau"]
    return failed_shares(rows.assign(failed=(1 - rows["runs_within"]) * rows["starts"], tried=rows["starts"]), ["tau"])


def tau_measure(points: pd.DataFrame) -> Measured:
    """Measure the share of failures times tau, where it is largest: at most 1 by the theorem."""
    times = points.assign(**{name: points[name] * points["tau"] for name in ("failed", "ci_low", "ci_high")})
    worst = times.iloc[int(times["failed"].argmax())]
    return proportion("failures times tau", worst, "failed", f"{worst['tried']:g} runs for each tau")


def analyse(cells: pd.DataFrame, study: AnalysisSettings) -> Findings:
    """Measure the exponent of the gap, the growth with ln(k d / eps), and failures against tau."""
    cells = with_predictions(cells)
    fits, logs, taus = fit_all(study, cells), log_points(cells), tau_points(cells)
    shown = {"shen2023/noisy_power_method": pd.concat([fit_table(fits, ["steps gap"]), logs, taus])}
    return Findings([log_ratio(logs), tau_measure(taus)], shown, fits)
