"""shen2023 against jain2021 (claims B-C5.1 and B-CMP): both complete methods on the same users, at the same exact (epsilon, delta).

A is Algorithms 3, 1 and 2 of jain2021 with one pass, B Algorithms 3, 5, 1 and 4 of shen2023; both charge their initialisation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from privrep import formulas
from privrep.intervals import bootstrap_intervals
from privrep.measure import Measure, exact
from privrep.scaling import Fit, fit_all, fit_measures
from privrep.setups import centaur_floors

STUDY = "tradeoff"
METHODS = {"A": "jain2021", "B": "shen2023"}
WORKS = 0.05
"""A method works where its mean risk is at most this share of that of the zero model, k."""
ASKED = (50, 200, 1000)
"""Dimensions at which the report says how many users fewer B needs."""
FEWEST = 5
"""Repetitions below which no interval is given."""


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """The results table with noise_ratio (x of A), law_F and law_2 (F3 over its whole range, F9) and users_law, the n at which the
    laws reach the target."""
    n, d, k, delta = (cells[name] for name in ("users", "dim", "rank", "noise_multiplier"))
    first = cells["algorithm"].isin(["altmin", "smallest_users"]).to_numpy()
    eta, zeta = cells["eta"], cells["zeta"]
    ratio = formulas.noise_ratio(n, d, k, delta, eta)
    labels = np.sqrt(1 + zeta**2 / (k * eta**2))  # F3's share of the noise on b
    later, later_2 = centaur_floors(cells)
    # The risk after the final fit, on half of the samples or on all of them.
    linear = np.where(first, formulas.step_privacy(n, d, k, delta, eta, zeta), later)
    final = np.where(first, cells["samples"] / 2, cells["samples"])
    risk = formulas.personal_risk(linear**2, k, final, 0)
    return cells.assign(
        noise_ratio=np.where(first & cells["smallest_users"].isna(), ratio, 0.0),
        law_F=np.where(first, formulas.step_privacy_resolved(ratio, d, k) * labels, later),
        law_2=later_2,
        users_law=n * np.sqrt(risk / cells["target"]),
    )


def squares(cells: pd.DataFrame, series: str, response: str) -> pd.DataFrame:
    """Mean square of an error by dimension (rows) and repetition (columns), noise redraws averaged."""
    rows = cells[cells["series"] == series]
    # A fit that failed leaves no number for its repetition, not the mean of the others.
    return (rows[response] ** 2).groupby([rows["dim"], rows["seed"]]).agg(lambda one: one.mean(skipna=False)).unstack()


def root_ratio(above: pd.DataFrame, below: pd.DataFrame, pick: np.ndarray) -> np.ndarray:
    """Root mean square of one error over that of another by dimension, on the chosen repetitions."""
    return np.sqrt(above.to_numpy()[:, pick].mean(axis=1) / below.to_numpy()[:, pick].mean(axis=1))


def paired(cells: pd.DataFrame, series: str, other: str, response: str = "dist2") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two series on the dimensions and repetitions that both have."""
    above, below = squares(cells, series, response), squares(cells, other, response)
    dims, seeds = above.index.intersection(below.index), above.columns.intersection(below.columns)
    return above.loc[dims, seeds], below.loc[dims, seeds]


def factors(cells: pd.DataFrame, series: str, other: str, name: str, response: str = "dist2") -> list[Measure]:
    """How many times the error of one series is that of another at each dimension, with paired intervals."""
    above, below = paired(cells, series, other, response)

    def statistic(pick):
        return {
            f"{name} at d = {dim}": float(r) for dim, r in zip(above.index, root_ratio(above, below, pick), strict=True)
        }

    return intervals(statistic, above.shape[1], name)


def intervals(statistic, repetitions: int, name: str) -> list[Measure]:
    """Several statistics of the repetitions with their bootstrap intervals; without any below `FEWEST` repetitions."""
    values = statistic(np.arange(repetitions))
    ends = bootstrap_intervals(statistic, repetitions, name) if repetitions >= FEWEST else {}
    return [Measure(key, value, *ends.get(key, (value, value)), repetitions) for key, value in values.items()]


def continued(cells: pd.DataFrame) -> list[Measure]:
    """Exponent of the factor in d, and the factor where it is asked for. Both errors fall like 1/n, so it is the ratio of users needed."""
    above, below = paired(cells, "A", "B")
    logs = np.log(above.index.to_numpy(dtype=float))

    def statistic(pick):
        slope, height = np.polyfit(logs, np.log(root_ratio(above, below, pick)), 1)
        at = {f"users ratio at d = {dim}": float(np.exp(height + slope * np.log(dim))) for dim in ASKED}
        return {"exponent of the factor": float(slope)} | at

    low, high = above.index.min(), above.index.max()
    notes = {f"users ratio at d = {dim}": "continued" for dim in ASKED if not low <= dim <= high}
    found = intervals(statistic, above.shape[1], "continued factor")
    return [Measure(m.quantity, m.measured, m.ci_low, m.ci_high, m.seeds, notes.get(m.quantity, "")) for m in found]


def law_ratio(cells: pd.DataFrame, dim: int) -> float:
    """distF of A over that of B at any d by the laws F3 and F9, first order: for n so large that both are small. The thresholds grow with d as
    in the series: eta and zeta_g like sqrt(d), zeta not at all."""
    a, b = (cells[cells["series"] == series].iloc[0] for series in METHODS)
    eta, clip = (row[name] * (dim / row["dim"]) ** 0.5 for row, name in ((a, "eta"), (b, "zeta")))
    first = formulas.step_privacy(a["users"], dim, a["rank"], a["noise_multiplier"], eta, a["zeta"])
    noise = formulas.centaur_noise(b["users"], b["noise_multiplier"], clip, b["step"])
    return float(first / formulas.centaur_frobenius(noise, dim, np.ones(int(b["rank"])), b["step"]))


def direct_exponent(wanted: np.ndarray, needed: np.ndarray, dims: np.ndarray) -> list[Measure]:
    """Exponent of d in the ratio of the users that both methods were found to need; (p, s) each."""

    def statistic(pick):
        ratio = wanted[:, pick].mean(axis=1) / needed[:, pick].mean(axis=1)
        return {"exponent of the ratio of users": float(np.polyfit(np.log(dims), np.log(ratio), 1)[0])}

    return intervals(statistic, wanted.shape[1], "ratio of users")


def regions(cells: pd.DataFrame) -> pd.DataFrame:
    """Mean risk over k of both methods by d, n and epsilon, and which of them works."""
    rows = cells[cells["series"].isin(["map-A", "map-B"])]
    share = (rows["excess_risk"] / rows["rank"]).groupby([rows["dim"], rows["users"], rows["epsilon"], rows["series"]])
    table = (
        share.agg(lambda one: one.mean(skipna=False))
        .unstack()
        .rename(columns={"map-A": "A", "map-B": "B"})
        .reset_index()
    )
    names = np.array(["neither", "A", "B", "both"])
    return table.assign(works=names[(table["A"] <= WORKS).astype(int) + 2 * (table["B"] <= WORKS).astype(int)])


@dataclass(frozen=True)
class Plan:
    """What a user does in B: T_0 runs of L iterations on `init_samples` each, then T rounds on twice `batch_samples`; m samples in all."""

    starts: int
    iterations: int
    rounds: int
    init_samples: int
    batch_samples: int
    samples: int

    def numbers_sent(self, d, k):
        """One (d, k) matrix for each run and iteration, and for each round."""
        return (self.starts * self.iterations + self.rounds) * d * k

    def multiplications(self, d, k):
        """Leading count: F and P and F^T P in each run and iteration (2 q_0 d k), two projections and a gradient in each round
        (2 q d k + q d), and the final heads (m d k)."""
        start = self.starts * self.iterations * 2 * self.init_samples * d * k
        return start + self.rounds * (2 * self.batch_samples * d * k + self.batch_samples * d) + self.samples * d * k


def plan(cells: pd.DataFrame, series: str) -> Plan:
    """The plan of a series of B; no start where it is random."""
    row = cells[cells["series"] == series].iloc[0]
    sizes = Plan(*(int(row[name]) for name in Plan.__dataclass_fields__))
    return replace(sizes, starts=0) if row["init"] == "random" else sizes


@dataclass(frozen=True)
class MomentPlan:
    """What a user does in A, with the split `text` of m samples: pairs of the second half for M, quarters for heads and step."""

    samples: int

    def numbers_sent(self, d, k):
        """The upper triangles of M and of the Gram, and b."""
        return d * (d + 1) / 2 + d * k * (d * k + 1) / 2 + d * k

    def multiplications(self, d, k):
        """Leading count: m/4 outer products for M, m/4 of w with itself, half of each by symmetry of the latter, projections for heads and the
        final fit."""
        m = self.samples
        return m / 4 * d**2 + m / 4 * (d * k) ** 2 / 2 + (m / 4 + m / 2) * d * k


def plans(cells: pd.DataFrame) -> dict[str, Plan | MomentPlan]:
    """A, B, and B from a random start."""
    samples = int(cells.loc[cells["series"] == "A", "samples"].iloc[0])
    return {"A": MomentPlan(samples), "B": plan(cells, "B"), "B from a random start": plan(cells, "B-random")}


def crossing(first, second, low: float = 10, high: float = 1e6) -> float:
    """The dimension from which the first count exceeds the second, k = 2; infinite if it never does."""
    dims = np.geomspace(low, high, 20_001)
    more = first(dims, 2) > second(dims, 2)
    return float(dims[more.argmax()]) if more.any() else float("inf")


def measure(cells: pd.DataFrame) -> list[Measure]:
    """Exponents in d, the factor between the methods, users needed, clips as printed, the map, and what a user sends and computes."""
    cells = with_predictions(cells)
    fits: dict[str, Fit] = fit_all(STUDY, cells)
    found = fit_measures(fits)
    found += factors(cells, "A", "B", "A over B") + continued(cells)
    found += factors(cells, "B-random", "B", "random start over B")
    found += factors(cells, "A-printed", "A", "A, printed over own clip") + factors(
        cells, "B-printed", "B", "B, printed over own clip"
    )
    found += factors(cells, "A-printed", "B-printed", "A over B, both printed") + factors(
        cells, "A", "B-printed", "A over B, printed"
    )
    found += factors(cells, "A-noisy", "B-noisy", "A over B, noisy labels")
    wanted, needed = (fits[name].sweep for name in ("A users", "B users"))
    for dim, a, b in zip(wanted.values, wanted.errors, needed.errors, strict=True):
        name = f"users of A over B at d = {dim:g}"
        found += intervals(
            lambda pick, a=a, b=b, name=name: {name: float(a[pick].mean() / b[pick].mean())}, len(a), name
        )
    own = cells[cells["series"].isin(["B", "users-B", "map-B"])]
    for series, part in own.groupby("series"):
        seeds = int(part["seed"].nunique())
        passed, start = part["selection_passed"].mean(), part["start_dist2"].median()
        found += [
            Measure(f"selection passed, {series}", passed, passed, passed, seeds, f"{len(part)} runs"),
            Measure(f"median dist2 of the start, {series}", start, start, start, seeds),
        ]
    table = regions(cells)
    for kind in ("A", "B", "both", "neither"):
        found.append(exact(f"map: {kind}", (table["works"] == kind).sum(), f"of {len(table)} settings"))
    does = plans(cells)
    for name in ("numbers_sent", "multiplications"):
        counts, label = {who: getattr(one, name) for who, one in does.items()}, name.replace("_", " ")
        found.append(exact(f"{label}: d from which A needs more", crossing(counts["A"], counts["B"])))
        found += [exact(f"{label}, {who}, d = 80", count(80, 2)) for who, count in counts.items()]
    found += [exact(f"users ratio by law at d = {dim}", law_ratio(cells, dim)) for dim in ASKED]
    found += direct_exponent(wanted.errors, needed.errors, wanted.values)
    return found
