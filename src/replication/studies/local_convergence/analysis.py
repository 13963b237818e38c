"""jain2021, Algorithms 1 and 2 from a planted start (claims A-L4.4 and A-LB.3 to A-LB.7).

The error of a subspace step has a privacy term, a floor by label noise, and a remainder of the start's error; each has
its own sweeps. The step is linear in its noise while x, the noise ratio of `privrep.theory`, is small.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from privrep.theory import jain2021
from privrep.users.simulated import HEAVY_EVERY
from replication.evidence.cells import resampled
from replication.evidence.findings import Findings
from replication.evidence.intervals import bootstrap_measures, with_interval
from replication.evidence.measured import Measured, bare, share
from replication.evidence.numbers import defined
from replication.evidence.scaling import fit_all
from replication.printed.of_cells import floor_distance, privacy_distance, step_log_factor, step_sizes
from replication.run.settings import MeasureSettings

ASKED = 1 / 32  # distance of the start required by Lemma 4.4, with heads of condition number 1
CLOSED_FORM_BELOW, LOST_ABOVE = 0.9, 1.15  # largest x for the closed form, least x at which noise dominates A_priv
ROUND_DRAWS = 400  # bootstrap draws for the rounds and the closed form


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the table with noise_ratio (x) and predictions by F3 to F5 and by the leading orders of the lemmas."""
    sizes, logs = step_sizes(cells), step_log_factor(cells)
    d, k, sine = cells["dim"], cells["rank"], cells["start_sine"].fillna(0)
    samples = sizes.batch * sizes.used
    privacy, floor = privacy_distance(cells, sizes), floor_distance(cells, sizes)
    left = jain2021.contraction(samples, d, k, sizes.heads) * sine * np.sqrt(k)
    along = np.sqrt(d / (d - k))  # the lemmas also count the k directions along U*
    lengthened = 1 + cells["label_noise_sd"] ** 2 / (sizes.heads - k - 1)  # second moment of the fitted heads
    return cells.assign(
        mu=incoherence(cells),
        noise_ratio=jain2021.noise_ratio(sizes.batch, d, k, cells["noise_multiplier"], cells["eta"]),
        privacy=privacy,
        distF_over_log=cells["distF"] / logs,
        privacy_over_log=privacy / logs,
        private=privacy * along,
        floor=floor,
        residual=np.hypot(left, floor / lengthened) * along,
        head_error=jain2021.head_error(sine, k, sizes.heads, cells["label_noise_sd"]),
        gram_2=jain2021.gram_deviation(samples, d, k),
        gram_F=d * k / np.sqrt(samples),
    )


def incoherence(cells: pd.DataFrame) -> pd.Series:
    """Return mu, the length of the longest head over the root mean square length, for heads of one scale."""
    long = cells["head_factor"]
    return long / np.sqrt(1 + (long**2 - 1) / HEAVY_EVERY)


def start_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return distF after one round over that before, by start: root mean square and 95 % interval."""
    rows, points = cells[cells["series"] == "start"], []
    for (noise, sine), part in rows.groupby(["noise_multiplier", "start_sine"]):
        ratio = (part["distF"] / (sine * np.sqrt(part["rank"]))).to_numpy()
        name = f"start {noise} {sine}"
        number = with_interval(name, lambda indices, r=ratio: np.sqrt((r[indices] ** 2).mean()), len(ratio))
        points.append((noise, sine, number.measured, number.ci_low, number.ci_high, part["noise_ratio"].iloc[0]))
    names = ["noise_multiplier", "start_sine", "ratio", "ci_low", "ci_high", "noise_ratio"]
    return pd.DataFrame(points, columns=names)


def near_starts(cells: pd.DataFrame, noise: bool, near_error: float) -> Measured:
    """Measure the share of runs started within the distance of Lemma 4.4 whose first round succeeds as in `basin`."""
    rows = cells[(cells["series"] == "start") & ((cells["noise_multiplier"] > 0) == noise)]
    nearest = rows.loc[rows["start_sine"] == rows["start_sine"].min(), "distF"]
    near = rows[rows["start_sine"] <= ASKED]
    reference = near_error * np.sqrt((nearest**2).mean())
    good = near["distF"] <= np.maximum(reference, near["start_sine"] * np.sqrt(near["rank"]) / 2)
    name = f"start within 1/32 is enough {'with' if noise else 'without'} noise, share of runs"
    sines = ", ".join(f"{sine:g}" for sine in near["start_sine"].unique())
    return share(name, int(good.sum()), len(good), f"sines {sines}")


def basin(points: pd.DataFrame, noise: bool, near_error: float) -> float:
    """Return the largest start sine up to which a round halves the distance, or ends as near as from the least sine."""
    rows = points[(points["noise_multiplier"] > 0) == noise].sort_values("start_sine")
    sines, left = rows["start_sine"].to_numpy(), (rows["ratio"] * rows["start_sine"]).to_numpy()
    good = left <= np.maximum(near_error * left[0], sines / 2)
    return float(sines[np.logical_and.accumulate(good)][-1])


def breakdown_points(cells: pd.DataFrame, indices: np.ndarray | None = None) -> pd.DataFrame:
    """Return distF and the share of positive definite A_priv against x, for each way to solve the system."""
    rows = resampled(cells[cells["series"].str.startswith("break-")], indices)
    rows = rows.assign(square=rows["distF"] ** 2 / rows["rank"], definite=rows["min_eigenvalue"] > 0)
    grouped = rows.groupby(["fallback", "dim", "noise_multiplier"])
    points = grouped.agg(
        noise_ratio=("noise_ratio", "first"),
        rank=("rank", "first"),
        square=("square", "mean"),
        spread=("square", "sem"),
        definite=("definite", "mean"),
        runs=("definite", "size"),
    ).reset_index()
    predicted = jain2021.step_privacy_resolved(points["noise_ratio"], points["dim"], points["rank"])
    return points.assign(predicted=predicted**2 / points["rank"])


def breakdown_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return `breakdown_points`, then the closed form up to x = 1 for each d, as a fallback named law."""
    points = breakdown_points(cells)
    rank, x = points["rank"].iloc[0], np.linspace(points["noise_ratio"].min(), 1, 100)
    laws = [
        pd.DataFrame({"fallback": "law", "dim": dim, "noise_ratio": x, "rank": rank, "runs": 0, "predicted": square})
        for dim in points["dim"].unique()
        for square in [jain2021.step_privacy_resolved(x, dim, rank) ** 2 / rank]
    ]
    return pd.concat([points, *laws])


def breakdown_numbers(cells: pd.DataFrame, indices: np.ndarray | None = None) -> dict[str, float]:
    """Return extremes of distF over the closed form below x = 1, and errors per direction at larger x, by rule."""
    states = breakdown_points(cells, indices)
    solved = states[states["fallback"] == "solve"]
    inside = solved[solved["noise_ratio"].between(0.1, CLOSED_FORM_BELOW)]
    off = np.sqrt(inside["square"] / inside["predicted"])
    beyond = states[states["noise_ratio"] >= LOST_ABOVE]
    groups = beyond.groupby("fallback", sort=False)["square"]
    left = {f"beyond, {name}": float(np.sqrt(squares.mean())) for name, squares in groups}
    return {"closed form largest ratio": float(off.max()), "closed form smallest ratio": float(off.min())} | left


def round_numbers(cells: pd.DataFrame, indices: np.ndarray | None = None) -> dict[str, float]:
    """Return measured over predicted distance after each round, and the contraction of the last round."""
    rounds = round_ratios(cells, indices)
    rows: Any = rounds.itertuples()
    name = "distance after {} rounds over predicted"
    over = {name.format(row.rounds): row.ratio / row.predicted for row in rows}
    return over | {"contraction of the last round": rounds["ratio"].iloc[-1] / rounds["ratio"].iloc[-2]}


def round_ratios(cells: pd.DataFrame, indices: np.ndarray | None = None) -> pd.DataFrame:
    """Return distF over that of the start after 1, 2, 3 rounds, without noise, with the prediction of F4."""
    rows = resampled(cells[cells["series"] == "rounds"], indices)
    first = rows.iloc[0]
    start, quarter = first["start_sine"] * np.sqrt(first["rank"]), first["samples"] // 4
    # A start at sine s shortens the fitted heads by its cosine, so the first round sees the tangent.
    steep = 1 / np.sqrt(1 - first["start_sine"] ** 2)
    rate = jain2021.contraction(first["users"] / first["batches"] * quarter, first["dim"], first["rank"], quarter)
    ratio = np.sqrt(rows.groupby("batches")["distF"].apply(lambda values: (values**2).mean())) / start
    rounds = ratio.index.to_numpy(dtype=int)
    return pd.DataFrame({"rounds": rounds, "ratio": ratio.array, "predicted": steep * rate**rounds, "rate": rate})


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure exponents, the basin of attraction, the breakdown of the step and the lemmas' inequalities."""
    cells = with_predictions(cells)
    measured = defined(study, cells)
    points, near_error = start_points(cells), study.thresholds["near"]
    seeds = cells.groupby("series")["seed"].nunique()
    for name, noise in (("basin without noise", False), ("basin with noise", True)):
        # The largest start of a grid has no interval.
        measured.append(bare(name, basin(points, noise, near_error), int(seeds["start"]), "of the starts tried"))
        measured.append(near_starts(cells, noise, near_error))
    for series, numbers in (("rounds", round_numbers), ("break-solve", breakdown_numbers)):
        measured += bootstrap_measures(partial(numbers, cells), int(seeds[series]), series, ROUND_DRAWS)
    runs = cells[cells["series"].str.startswith("l-") & (cells["label_noise_sd"] == 0)]
    along = runs["along_F"] / (runs["start_sine"] * np.sqrt(runs["rank"]))
    measured.append(bare("B.6 M over distF", along.max(), int(runs["seed"].nunique()), f"largest of {len(runs)} runs"))
    before = pd.DataFrame({"rounds": [0], "ratio": [1.0], "predicted": [1.0]})
    tables = {
        "jain2021/local_start": pd.concat([points, before, round_ratios(cells)]),
        "jain2021/local_breakdown": breakdown_table(cells),
    }
    return Findings(measured, tables, fit_all(study, cells))
