"""jain2021, Algorithms 1 and 2 from a planted start (claims A-L4.4 and A-LB.3 to A-LB.7).

The error of a subspace step has a privacy term, a floor by label noise, and what is left of the start; each has its own
sweeps. x, the noise ratio of `privrep.formulas`, says where the step is linear in its noise.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from privrep import formulas
from privrep.intervals import bootstrap_interval
from privrep.measure import Measure
from privrep.scaling import fit_all, fit_measures
from privrep.setups import floor_distance, privacy_distance, step_sizes

STUDY = "local_convergence"
FALLBACKS = ("solve", "ridge", "eigclip")
NEAR = 1.5
"""Ratio of errors up to which one start is as good as another."""
CLOSED_FORM_BELOW, LOST_ABOVE = 0.9, 1.15
"""Range of x in which the closed form is compared, and x from which A_priv should not be positive definite."""


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """The results table with noise_ratio (x) and what F3 to F5 and the lemmas' leading orders expect."""
    sizes = step_sizes(cells)
    d, k, sine = cells["dim"], cells["rank"], cells["start_sine"].fillna(0)
    samples = sizes.batch * sizes.used
    privacy, floor = privacy_distance(cells, sizes), floor_distance(cells, sizes)
    left = formulas.contraction(samples, d, k, sizes.heads) * sine * np.sqrt(k)
    along = np.sqrt(d / (d - k))  # the lemmas count the k directions along U*, too
    lengthened = 1 + cells["label_noise_sd"] ** 2 / (sizes.heads - k - 1)  # second moment of the fitted heads
    return cells.assign(
        noise_ratio=formulas.noise_ratio(sizes.batch, d, k, cells["noise_multiplier"], cells["eta"]),
        privacy=privacy,
        private=privacy * along,
        floor=floor,
        residual=np.hypot(left, floor / lengthened) * along,
        head_error=formulas.head_error(sine, k, sizes.heads, cells["label_noise_sd"]),
        gram_2=formulas.gram_deviation(samples, d, k),
        gram_F=d * k / np.sqrt(samples),
    )


def start_points(cells: pd.DataFrame) -> pd.DataFrame:
    """distF after one round over distF before it, against the sine of the start: root mean square and 95 % interval."""
    rows = cells[cells["series"] == "start"]
    before = rows["start_sine"] * np.sqrt(rows["rank"])
    table = rows.assign(ratio=rows["distF"] / before)
    points = []
    for (noise, sine), part in table.groupby(["noise_multiplier", "start_sine"]):
        ratio = part["ratio"].to_numpy()

        def mean(pick, ratio=ratio):
            return float(np.sqrt((ratio[pick] ** 2).mean()))

        low, high = bootstrap_interval(mean, len(ratio), f"start {noise} {sine}")
        points.append(
            {"noise_multiplier": noise, "start_sine": sine, "ratio": mean(np.arange(len(ratio))), "ci_low": low}
            | {"ci_high": high, "noise_ratio": part["noise_ratio"].iloc[0]}
        )
    return pd.DataFrame(points)


def basin(points: pd.DataFrame, noise: bool) -> float:
    """The largest start sine up to which every start of the grid is as good as one at the truth, or at least halved, by one round.

    As good: distF is at most `NEAR` times what the nearest start of the grid leaves, where the noise decides.
    """
    rows = points[(points["noise_multiplier"] > 0) == noise].sort_values("start_sine")
    sines, left = rows["start_sine"].to_numpy(), (rows["ratio"] * rows["start_sine"]).to_numpy()
    good = left <= np.maximum(NEAR * left[0], sines / 2)
    return float(sines[: np.argmin(good)][-1]) if not good.all() else float(sines[-1])


def breakdown_points(cells: pd.DataFrame) -> pd.DataFrame:
    """distF and the share of positive definite A_priv against x, for each way to solve the system."""
    rows = cells[cells["series"].str.startswith("break-")]
    rows = rows.assign(square=rows["distF"] ** 2 / rows["rank"], definite=rows["min_eigenvalue"] > 0)
    keys = ["fallback", "dim", "noise_multiplier"]
    points = rows.groupby(keys).agg(
        noise_ratio=("noise_ratio", "first"),
        rank=("rank", "first"),
        square=("square", "mean"),
        spread=("square", "sem"),
        definite=("definite", "mean"),
        runs=("definite", "size"),
    )
    points = points.reset_index()
    points["predicted"] = (
        formulas.step_privacy_resolved(points["noise_ratio"], points["dim"], points["rank"]) ** 2 / points["rank"]
    )
    return points


def round_ratios(cells: pd.DataFrame) -> pd.DataFrame:
    """distF over that of the start after 1, 2, 3 rounds, without noise, with the prediction of F4."""
    rows = cells[cells["series"] == "rounds"]
    grouped = rows.groupby("batches")
    first = rows.iloc[0]
    start = first["start_sine"] * np.sqrt(first["rank"])
    quarter = first["samples"] // 4
    # A start at sine s shortens the fitted heads by its cosine, so the first round sees the tangent.
    steep = 1 / np.sqrt(1 - first["start_sine"] ** 2)
    rate = formulas.contraction(first["users"] / first["batches"] * quarter, first["dim"], first["rank"], quarter)
    distance = np.sqrt(grouped["distF"].apply(lambda values: (values**2).mean()))
    rounds = distance.index.to_numpy(dtype=int)
    return pd.DataFrame(
        {"rounds": rounds, "ratio": distance.to_numpy() / start, "predicted": steep * rate**rounds, "rate": rate}
    )


def measure(cells: pd.DataFrame) -> list[Measure]:
    """All exponents and constants, the basin of attraction, the breakdown of the step and the lemmas' inequalities."""
    cells = with_predictions(cells)
    found = fit_measures(fit_all(STUDY, cells))

    def plain(quantity: str, value: float, rows: pd.DataFrame, note: str = "") -> Measure:
        return Measure(quantity, float(value), float(value), float(value), int(rows["seed"].nunique()), note)

    start, broken = cells[cells["series"] == "start"], cells[cells["series"].str.startswith("break-")]
    points = start_points(cells)
    for name, noise in (("basin without noise", False), ("basin with noise", True)):
        found.append(plain(name, basin(points, noise), start, "of the starts tried"))
    rounds = round_ratios(cells)
    chain = cells[cells["series"] == "rounds"]
    found += [
        plain(f"distance after {row.rounds} rounds over predicted", row.ratio / row.predicted, chain)
        for row in rounds.itertuples()
    ]
    found.append(plain("contraction of the last round", rounds["ratio"].iloc[-1] / rounds["ratio"].iloc[-2], chain))
    states = breakdown_points(cells)
    solved = states[states["fallback"] == "solve"]
    inside = solved[solved["noise_ratio"].between(0.1, CLOSED_FORM_BELOW)]
    off = np.sqrt(inside["square"] / inside["predicted"])
    found += [
        plain("closed form largest ratio", off.max(), broken),
        plain("closed form smallest ratio", off.min(), broken),
    ]
    runs = broken[broken["fallback"] == "solve"]
    for name, part in (
        ("definite below 0.9", runs[runs["noise_ratio"] <= CLOSED_FORM_BELOW]),
        ("definite beyond", runs[runs["noise_ratio"] >= LOST_ABOVE]),
    ):
        kept = int((part["min_eigenvalue"] > 0).sum())
        ends = stats.binomtest(kept, len(part)).proportion_ci()
        seeds = int(part["seed"].nunique())
        found.append(Measure(name, kept / len(part), ends.low, ends.high, seeds, f"{len(part)} runs"))
    beyond = states[states["noise_ratio"] >= LOST_ABOVE]
    found += [
        plain(f"beyond, {name}", np.sqrt(part["square"].mean()), broken)
        for name, part in beyond.groupby("fallback", sort=False)
    ]
    lemmas = cells[cells["series"].str.startswith("l-") & (cells["label_noise_sd"] == 0)]
    along = lemmas["along_F"] / (lemmas["start_sine"] * np.sqrt(lemmas["rank"]))
    found.append(plain("B.6 M over distF", along.max(), lemmas, f"largest of {len(lemmas)} runs"))
    return found
