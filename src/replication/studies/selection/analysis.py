"""shen2023, the selection of Algorithm 3 among runs of the private power method (claims B-LF.3, B-LF.3-proof and
B-CF.1-shared), and the cost of a selected start against that of the main rounds.

Synthetic candidates meet the premise of Lemma F.3 by construction.
Real runs of a cell share their data but not their noise; repetitions are draws of data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import bdtr

from privrep.methods.steps.candidate_selection import select
from privrep.theory.shen2023 import CANDIDATE, TARGET
from privrep.users.subspace import dist2
from replication.evidence.cells import resampled
from replication.evidence.counts import failed_shares, proportion
from replication.evidence.findings import Findings
from replication.evidence.intervals import OUTSIDE, series_measures
from replication.evidence.measured import Measured, exact, share
from replication.experiments.made_up_candidates import trials_needed
from replication.run.settings import AnalysisSettings

PROBABILITIES, FAILURES = (0.99, 0.7, 0.55), (0.1, 0.05, 0.01)
"""Probabilities that a candidate is good, and permitted failure probabilities, in the binomial law."""
DIM, RANK = 12, 2
"""Dimension and rank of the example of the worst candidate that passes."""


def selection_points(cells: pd.DataFrame, indices: np.ndarray | None = None) -> pd.DataFrame:
    """Return root mean squares of dist2 of the selected and other candidates by noise, and the share that passed."""
    rows = resampled(cells[cells["series"] == "select"], indices)
    names = {"start_dist2": "selected", "dist2": "first", "runs_dist2_median": "median", "runs_dist2_max": "worst"}
    names |= {"average_dist2": "average"}
    squares = (rows[list(names)] ** 2).rename(columns=names).assign(passed=rows["selection_passed"])
    means = squares.groupby(rows["noise_multiplier"]).mean()
    means[list(names.values())] = means[list(names.values())] ** 0.5
    return means.reset_index()


def selection_ratios(cells: pd.DataFrame, indices: np.ndarray) -> dict[str, float]:
    """Return errors over the median candidate's, geometric means over noise levels in the linear range."""
    points = selection_points(cells, indices)
    used = points[(points["noise_multiplier"] > 0) & (points["median"] <= 2 * TARGET)]
    ratios: Any = used[["selected", "worst", "average"]].div(used["median"], axis=0)
    logs = np.log(ratios).mean()
    return {f"{name} over median": float(np.exp(value)) for name, value in logs.items()}


def costs(cells: pd.DataFrame, indices: np.ndarray | None = None) -> dict[str, float]:
    """Return the cost mu^2 of starts, of a run and of the main rounds, each ending at dist2 = `TARGET`; and ratios.

    The error without its floor is interpolated between noise levels as a power of the noise; outside, the cost is NaN.
    """
    spent = {}
    for name, series, column in (
        ("start", "select", "start_dist2"),
        ("averaged start", "select", "average_dist2"),
        ("single run", "select", "dist2"),
        ("main rounds", "main", "steady_dist2"),
    ):
        rows = cells[cells["series"] == series]
        rows = resampled(rows, None if indices is None else indices % rows["seed"].nunique())
        squares = (rows[column] ** 2).groupby(rows["noise_multiplier"]).mean()
        excess = squares.drop(0.0) - squares[0.0]
        with np.errstate(invalid="ignore", divide="ignore"):  # a floor beyond the target, or beyond an error with noise
            wanted, logs = np.log(TARGET**2 - squares[0.0]), np.log(excess)
        multiplier = np.exp(np.interp(wanted, logs, np.log(excess.index), left=np.nan, right=np.nan))
        first = rows.iloc[0]
        releases = first["rounds"] if series == "main" else first["iterations"]
        times = first["starts"] if series == "select" and name != "single run" else 1
        spent[f"cost of the {name}"] = times * releases / multiplier**2
    main = spent["cost of the main rounds"]
    return spent | {f"{name} over main rounds": value / main for name, value in list(spent.items())[:-1]}


def distance_that_passes(cells: pd.DataFrame, indices: np.ndarray) -> dict[str, float]:
    """Return the mean dist2 of the candidate selected among noiseless runs on the same samples, for the fewest users;
    NaN unless it passes in all repetitions."""
    grouped = resampled(cells[cells["series"] == "shared"], indices).groupby("users")
    selected, passed = grouped["start_dist2"].mean().iloc[0], grouped["selection_passed"].min().iloc[0]
    return {"dist2 that passes on shared samples": float(selected if passed else np.nan)}


def printed_gap(accuracy: float, target: float) -> float:
    """Return the left side of eq. (69) less the right, negative where the proof holds."""
    return np.sqrt(1 - target**2) + 1 - np.sqrt(1 - accuracy**2) + accuracy - (1 - 2 * accuracy**2)


def largest_accuracy(target: float) -> float:
    """Return the largest eps_i for which eq. (69) holds."""
    return brentq(printed_gap, 1e-6, target, args=(target,))


def worst_that_passes(accuracy: float) -> float:
    """Return dist2 of a candidate that just passes beside good ones in its plane, sin(3 arcsin eps_i)."""
    angle = np.arcsin(accuracy)
    truth = np.eye(DIM, RANK)
    tilted = [np.cos(t) * truth + np.sin(t) * np.eye(DIM, RANK, -RANK) for t in (angle, 3 * angle * (1 - 1e-9))]
    candidates = np.array([tilted[1], tilted[0], tilted[0]])
    chosen = select(candidates, accuracy)
    return dist2(candidates[chosen.index], truth)


def expected_failure(probability: float, failure: float) -> float:
    """Return the probability that fewer than half of T_0 candidates are good, or exactly half, the first one bad."""
    count = trials_needed(probability, failure)
    few, half = (bdtr(most, count, probability) for most in (np.ceil(count / 2) - 1, count // 2))
    tie = (half - few) / 2 if count % 2 == 0 else 0.0
    return float(few + tie)


def failure_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the share of failed selections among synthetic candidates, and that of the binomial law."""
    rows = cells[cells["series"] == "candidates"]
    rows = rows.assign(failed=rows["failed_share"] * rows["selections"], tried=rows["selections"])
    points = failed_shares(rows, ["good_share", "failure", "candidates", "bad"])
    law = [expected_failure(p, asked) for p, asked in zip(points["good_share"], points["failure"], strict=True)]
    return points.assign(predicted=law)


def proof_measures() -> list[Measured]:
    """Measure Lemma F.3 by arithmetic: eq. (69), the worst candidate that passes, eq. (99) and the binomial law."""
    p = PROBABILITIES[0]
    measured = [
        exact("largest accuracy of (69)", largest_accuracy(TARGET)),
        exact("largest accuracy by angles", np.sin(np.arcsin(TARGET) / 3)),
        exact("dist2 of the worst that passes", worst_that_passes(CANDIDATE)),
        # At t = T_0 / 2 eq. (99) guarantees p T_0 - t, where the proof needs T_0 / 2.
        exact("successes left by (99) over half", 2 * p - 1, f"p = {p:g}: {p - 0.5:g} T_0 successes"),
    ]
    return measured + [
        exact(
            f"failure over asked, p = {probability:g}",
            max(expected_failure(probability, asked) / asked for asked in FAILURES),
            "largest over delta' = 0.1, 0.05, 0.01; binomial law",
        )
        for probability in PROBABILITIES
    ]


def synthetic_measures(points: pd.DataFrame) -> list[Measured]:
    """Measure the share of failed selections among synthetic candidates, from `failure_points`."""
    name = "failure, p = {good_share:g}, asked {failure:g}, {bad}"
    note = "T_0 = {candidates:g}, {tried:g} selections"
    return [proportion(name.format(**row), row, "failed", note.format(**row)) for _, row in points.iterrows()]


def passing_measure(cells: pd.DataFrame) -> Measured:
    """Measure the share of selections among real runs with noise in which a candidate passes the printed test."""
    rows = cells[(cells["series"] == "select") & (cells["noise_multiplier"] > 0)]
    draws, passed = rows["seed"].nunique(), rows["selection_passed"].sum()
    note = f"{len(rows)} selections on {draws} data sets"
    return replace(share("real starts that pass", passed, len(rows), note), seeds=draws)


def analyse(cells: pd.DataFrame, study: AnalysisSettings) -> Findings:
    """Measure gain and cost of selection, its error on shared samples, and Lemma F.3 on synthetic candidates."""
    spent = series_measures(cells, "select", costs, OUTSIDE)
    measured = series_measures(cells, "select", selection_ratios) + spent
    measured += series_measures(cells, "shared", distance_that_passes, "does not pass in all repetitions")
    spent = {cost.quantity.removeprefix("cost of the "): cost.measured for cost in spent if "over" not in cost.quantity}
    made = failure_points(cells)
    both = [made.assign(panel="made up"), selection_points(cells).assign(panel="real")]
    tables = {
        "shen2023/selection": pd.concat(both, ignore_index=True),
        "shen2023/start_cost": pd.DataFrame(spent.items(), columns=["of", "mu squared"]),
    }
    return Findings([*measured, *proof_measures(), *synthetic_measures(made), passing_measure(cells)], tables)
