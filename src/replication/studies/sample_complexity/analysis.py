"""jain2021, the numbers of users and samples needed (claims A-R2 and A-4.1, errata E20, E23)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd

from privrep.theory import jain2021
from replication.evidence.findings import Findings
from replication.evidence.measured import Measured, share
from replication.evidence.scaling import Spec, Sweep, Window, fit, fit_all, fit_table
from replication.printed.of_cells import privacy_distance, step_sizes
from replication.run.settings import AnalysisSettings


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the results table with users_needed, privacy (F3) and noise_ratio (x, at the users a search found)."""
    sizes, d, k = step_sizes(cells), cells["dim"], cells["rank"]
    privacy = privacy_distance(cells, sizes)
    risk = jain2021.personal_risk(privacy**2, k, sizes.final, 0)
    target = cells["target"] * np.where(cells["target_unit"] == "rank", k, 1)
    batch = cells["smallest_users"].fillna(cells["users"]) / cells["batches"].fillna(1)
    return cells.assign(
        privacy=privacy,
        users_needed=cells["users"] * np.sqrt(risk / target),
        noise_ratio=jain2021.noise_ratio(batch, d, k, cells["noise_multiplier"], cells["eta"]),
    )


def sample_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the squared ratio of distF to law F3 by rank, samples and repetition, and the spare samples m/4 - k."""
    rows = cells[cells["series"] == "samples"]
    ratio = (rows["distF"] / rows["privacy"]) ** 2
    points = ratio.groupby([rows["rank"], rows["samples"], rows["seed"]]).mean().rename("square").reset_index()
    points["spare"] = points["samples"] // 4 - points["rank"]
    return points


def samples_needed(points: pd.DataFrame, near: float, window: Window) -> Sweep:
    """Return the least m at which distF is at most `near` times F3, per repetition, against the rank."""
    spec = Spec(name="samples k", series="samples", axis="rank", response="samples", prediction="law", power=1)
    needed = points[points["square"] <= near**2].groupby(["rank", "seed"])["samples"].min().unstack()
    reasons = ["" if row.notna().all() else "not reached" for _, row in needed.iterrows()]
    values = needed.index.to_numpy(dtype=float)
    # Heads are fitted on a quarter of the samples, of which they need as many as the rank.
    law = 4 * values
    return Sweep(spec, window, values, needed.to_numpy(dtype=float), np.zeros(len(values)), law, reasons)


def least_enough(points: pd.DataFrame, near: float) -> list[Measured]:
    """Measure by rank and overall the share of runs in which 4 k samples suffice, the fewest that can fit heads."""
    fewest = points[points["spare"] == 0]
    enough = fewest["square"] <= near**2
    parts = {"": enough} | {f" at rank {rank:g}": part for rank, part in enough.groupby(fewest["rank"])}
    name = "m = 4 k suffices{}, share of runs"
    return [share(name.format(at), int(part.sum()), len(part)) for at, part in parts.items()]


def analyse(cells: pd.DataFrame, study: AnalysisSettings) -> Findings:
    """Measure exponents, the least number of samples per user, and how often the fewest possible suffice."""
    cells, near = with_predictions(cells), study.thresholds["near"]
    points = sample_points(cells)
    needed, measured = samples_needed(points, near, study.window), least_enough(points, near)
    # In steps of 4, the smallest that a split permits, repetitions agree: the exponent has no interval.
    fits = fit_all(study, cells) | {"samples k": replace(fit(needed), standard_error=math.nan)}
    for rank, samples in zip(needed.values, needed.means(), strict=True):
        # The search has steps of one: no interval.
        spare, name = samples / 4 - rank, f"samples / 4 - rank at rank {rank:g}"
        measured.append(Measured(name, spare, math.nan, math.nan, needed.repetitions, "in steps of 1"))
    numbers = pd.concat([points, fit_table(fits, ["samples k"])], ignore_index=True)
    return Findings(measured, {"jain2021/samples_needed": numbers}, fits)
