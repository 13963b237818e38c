"""shen2023 against jain2021 (claims B-C5.1 and B-CMP): both complete methods on the same users, at the same exact
(epsilon, delta).

A is Algorithms 3, 1 and 2 of jain2021 with one pass, B Algorithms 3, 5, 1 and 4 of shen2023;
both pay for their initialisation. Clips and budgets were chosen on separate seeds (`choice`).
"""

from __future__ import annotations

import itertools
import math
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from privrep.methods.steps.clip_units import USER_SCALES
from privrep.privacy.accounting import gdp_epsilon
from privrep.theory import jain2021
from privrep.theory.clipped_step import CutStep, sample_step, user_step
from privrep.users.simulated import Problem
from privrep.users.splits import count, split_samples
from replication.evidence.facts import NotMeasured, Quantities, total
from replication.evidence.findings import Findings
from replication.evidence.intervals import bootstrap_measures, exponent, log_slope
from replication.evidence.measured import Measured, bare, exact
from replication.evidence.numbers import defined
from replication.evidence.scaling import Fit, fit_all, fit_table
from replication.printed import accounting_shen2023
from replication.printed.of_cells import centaur_floors
from replication.run.settings import MeasureSettings
from replication.studies.accounting import analysis as accounting
from replication.studies.measures import extreme_ratio, ratio_exponent
from replication.studies.tradeoff.choice import CHOICES, choice

METHODS = {"A": "jain2021", "B": "shen2023"}
LOST = 0.2
"""A run with a larger final dist2 has not learned the subspace: shen2023 requires this distance of a start."""
TELLS = 0.25
"""Largest half-width of an exponent's interval that can distinguish 1.5 from 1."""
PRINTED_DIM = 20
"""Dimension at which the chapter reports clips as printed, at all scales."""
COUNTED_DIM = 80
"""Dimension at which numbers sent and multiplications are counted."""
WORKS = 0.05
"""A method works where its mean risk is at most this share of that of the zero model, k."""
WORKING = ("neither", "A", "B", "both")
"""Methods that work in a setting."""
FIRST_ALGORITHMS = ("altmin", "smallest_users")
"""Algorithms of jain2021."""


@dataclass(frozen=True)
class Setting:
    """One way to run the comparison: the series of both methods, one of them empty if only the other ran.

    paired : both run on the same users, so that their errors can be divided.
    """

    label: str
    first: str = ""
    second: str = ""
    paired: bool = True


STATED: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CLIPS, CONDITIONS = (
    tuple(Setting(label, **series) for label, series in STATED[table].items()) for table in ("clips", "conditions")
)
"""Clips of both methods, and the chosen clips under other conditions."""
FACTORS: dict[str, tuple[str, str]] = STATED["factors"] | {
    f"A over B, {case.label}": (case.first, case.second) for case in CONDITIONS if case.paired
}
"""Name of a factor -> series of its numerator and of its denominator."""
NOISY = [setting for setting in CONDITIONS if setting.label.startswith("label noise")]
"""Conditions with label noise; their factors are also measured without the floor."""
FIRST = tuple(setting.first for setting in CLIPS if setting.first and setting.paired)
SECOND = tuple(setting.second for setting in CLIPS if setting.second and setting.paired)
"""Series of the two methods on the same users, one for each clip: the factor between the methods is shown as a band
over all pairs."""


def first_step(row: pd.Series) -> tuple[CutStep, float]:
    """Return the step of Algorithm 2 in a row of jain2021, and its noise ratio x.

    For heads of several lengths, the step uses their mean square, x the shortest.
    """
    n, d, k, delta = (row[name] for name in ("users", "dim", "rank", "noise_multiplier"))
    mean = float((np.geomspace(row["head_condition"], 1, int(k)) ** 2).mean())
    if row["clip_unit"] == "user":
        sizes = (int(row[name]) for name in ("users", "samples", "dim", "rank"))
        problem = Problem(*sizes, head_condition=row["head_condition"], label_noise_sd=row["label_noise_sd"])
        q = count(split_samples(row["split"], int(row["samples"])).subspace)
        units = USER_SCALES[row["clip_scale"]](problem.known, q)
        step = user_step(n, q, delta, (row["clip_feature"], row["clip_label"]), units)
        return step, float(np.asarray(step.ratio(d, k)))
    step = sample_step(n, int(d), int(k), delta, row["eta"] / math.sqrt(mean), row["zeta"] / math.sqrt(mean))
    return step, mean * float(np.asarray(step.ratio(d, k)))


def first_laws(row: pd.Series) -> dict[str, float]:
    """Return x, F3 under the clip, and the users at which the risk reaches the target, by laws without label noise."""
    if not row["noise_multiplier"] > 0:
        return {"noise_ratio": 0.0}
    step, ratio = first_step(row)
    if row["head_condition"] > 1 or row["label_noise_sd"] > 0:
        return {"noise_ratio": ratio}
    d, k = row["dim"], row["rank"]
    final = count(split_samples(row["split"], int(row["samples"])).final)

    def excess(log_users: float) -> float:
        scale = row["users"] / math.exp(log_users)
        moved = CutStep(step.second * scale, step.first * scale)
        return jain2021.personal_risk(moved.frobenius(d, k) ** 2, k, final, 0) - row["target"]

    return {
        "noise_ratio": 0.0 if row["algorithm"] == "smallest_users" else ratio,
        "law_F": step.frobenius(d, k),
        "law_2": step.spectral(d, k),
        "users_law": math.exp(brentq(excess, 0, 30)) if row["target"] > 0 else math.nan,
    }


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the results table with noise_ratio (x of A), law_F, law_2 (F3, F9) and users_law for the target."""
    frobenius, spectral = centaur_floors(cells)
    risk = jain2021.personal_risk(frobenius**2, cells["rank"], cells["samples"], 0)
    plain = (cells["head_condition"] == 1) & (cells["label_noise_sd"] == 0)
    table = cells.assign(
        noise_ratio=0.0,
        law_F=np.where(plain, frobenius, np.nan),
        law_2=np.where(plain, spectral, np.nan),
        users_law=cells["users"] * np.sqrt(risk / cells["target"]),
    )
    names = ["noise_ratio", "law_F", "law_2", "users_law"]
    first = cells["algorithm"].isin(FIRST_ALGORITHMS)
    laws = [first_laws(row) for _, row in cells[first].iterrows()]
    table.loc[first, names] = pd.DataFrame(laws, columns=names).to_numpy(dtype=float)
    return table


def squares(cells: pd.DataFrame, series: str, floor: bool = False) -> pd.DataFrame:
    """Return mean squares of dist2 by dimension (rows) and repetition (columns), less the floor if asked."""
    rows = cells[cells["series"] == series]
    rows = rows.assign(square=rows["dist2"] ** 2)

    def table(part: pd.DataFrame) -> pd.DataFrame:
        # A failed fit makes its repetition NaN: the mean of the others would not represent it.
        return part.groupby(["dim", "seed"])["square"].agg(lambda runs: runs.mean(skipna=False)).unstack()

    noisy = table(rows[rows["noise_multiplier"] != 0])
    return noisy - table(rows[rows["noise_multiplier"] == 0]) if floor else noisy


def typical_ratio(above: pd.DataFrame, below: pd.DataFrame, indices: np.ndarray) -> np.ndarray:
    """Return by dimension the median over repetitions of one error over another on the same users.

    One run that does not learn would dominate a ratio of means; such runs are counted separately.
    NaN where the median repetition is below its floor.
    """
    square = np.median((above.to_numpy() / below.to_numpy())[:, indices], axis=1)
    return np.sqrt(np.where(square > 0, square, np.nan))


def paired(cells: pd.DataFrame, series: str, other: str, floor: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the mean squares of two series at their common dimensions and repetitions."""
    above, below = squares(cells, series, floor), squares(cells, other, floor)
    dims, seeds = above.index.intersection(below.index), above.columns.intersection(below.columns)
    return above.loc[dims, seeds], below.loc[dims, seeds]


def factors(cells: pd.DataFrame, series: str, other: str, name: str, floor: bool = False) -> list[Measured]:
    """Measure the ratio of the error of one series to that of another at each dimension."""
    above, below = paired(cells, series, other, floor)
    names = [f"{name} at d = {dim}" for dim in above.index]

    def statistic(indices: np.ndarray) -> dict[str, float]:
        return dict(zip(names, typical_ratio(above, below, indices).tolist(), strict=True))

    return bootstrap_measures(statistic, above.shape[1], name, note="")


def factor_exponent(cells: pd.DataFrame, series: str, other: str, name: str, floor: bool = False) -> Measured:
    """Measure the exponent of d in the factor between two series."""
    above, below = paired(cells, series, other, floor)
    dims, noisy = above.index, cells[cells["noise_multiplier"] != 0]
    laws = noisy.groupby(["dim", "series"])["law_2"].mean().unstack().reindex(dims)
    law = log_slope(dims, (laws[series] / laws[other]).to_numpy())
    return exponent(name, lambda indices: log_slope(dims, typical_ratio(above, below, indices)), above.shape[1], law)


def by_dim(points: list[Measured]) -> list[tuple]:
    """Return dimension, factor, both ends of its interval and repetitions."""
    return [(int(one.quantity.rsplit("= ", 1)[1]), one.measured, one.ci_low, one.ci_high, one.seeds) for one in points]


def pairs(cells: pd.DataFrame, limit: float) -> pd.DataFrame:
    """Return the factor for all pairs of clips of the two methods, with paired intervals, at each dimension where x is
    at most the limit of Algorithm 2's linear regime."""
    linear = cells[cells.groupby(["series", "dim"])["noise_ratio"].transform("max") <= limit]
    rows = [
        (*pair, *row)
        for pair in itertools.product(FIRST, SECOND)
        for row in by_dim(factors(linear, *pair, " over ".join(pair)))
    ]
    return pd.DataFrame(rows, columns=["jain2021", "shen2023", "dim", "factor", "ci_low", "ci_high", "seeds"])


def band_measures(table: pd.DataFrame) -> list[Measured]:
    """Measure the least and largest factor at each dimension, with intervals that are simultaneous over the pairs."""
    measured = []
    for dim, here in table.groupby("dim"):
        numbers = here[["factor", "ci_low", "ci_high", "seeds"]]
        pairs_here = [Measured("", *row) for row in numbers.itertuples(index=False)]
        for word, place in (("least", here["factor"].argmin()), ("largest", here["factor"].argmax())):
            note = f"{here['jain2021'].iloc[place]} over {here['shen2023'].iloc[place]}; of {len(here)} pairs"
            measured.append(extreme_ratio(word, f"{word} factor over clips at d = {dim}", pairs_here, note))
    return measured


def regions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return mean risks over k of both methods by d, n and epsilon, and the methods that work."""
    rows = cells[cells["series"].isin(["map-A", "map-B"])]
    rows = rows.assign(share=rows["excess_risk"] / rows["rank"], series=rows["series"].str.removeprefix("map-"))
    shares = rows.groupby(["dim", "users", "epsilon", "series"])["share"].agg(lambda runs: runs.mean(skipna=False))
    table = shares.unstack().reset_index()
    names = np.array(WORKING)
    return table.assign(works=names[(table["A"] <= WORKS).astype(int) + 2 * (table["B"] <= WORKS).astype(int)])


def work_of_moments(run: pd.Series, d: float | np.ndarray) -> dict:
    """Return numbers sent and multiplications of a user of A, with the split `text`: pairs of the second half for M,
    quarters for heads and step.

    A user sends the upper triangles of M and of the Gram matrix, and b. Multiplications, to leading order: m/4 outer
    products for M, m/4 of w with itself (half by symmetry), and projections for both fits of heads.
    """
    m, k = run["samples"], run["rank"]
    return {
        "numbers sent": d * (d + 1) / 2 + d * k * (d * k + 1) / 2 + d * k,
        "multiplications": m / 4 * d**2 + m / 4 * (d * k) ** 2 / 2 + (m / 4 + m / 2) * d * k,
    }


def work_of_rounds(run: pd.Series, d: float | np.ndarray) -> dict:
    """Return numbers sent and multiplications of a user of B: T_0 runs of L iterations (none if random), then T rounds.

    A user sends a (d, k) matrix per iteration of each run, and per round. Multiplications, to leading order: 2 q_0 d k
    per iteration of each run, 2 q d k + q d per round, and m d k for the final heads.
    """
    starts = 0 if run["init"] == "random" else run["starts"] * run["iterations"]
    rounds, q, k = run["rounds"], run["batch_samples"], run["rank"]
    return {
        "numbers sent": (starts + rounds) * d * k,
        "multiplications": starts * 2 * run["init_samples"] * d * k
        + rounds * (2 * q * d * k + q * d)
        + run["samples"] * d * k,
    }


def work(cells: pd.DataFrame, d: float | np.ndarray) -> dict[str, dict]:
    """Return numbers sent and multiplications of a user, by method as printed and for B from a random start."""
    runs: Any = cells.drop_duplicates("series").set_index("series")
    return {
        "A": work_of_moments(runs.loc["A-uncut"], d),
        "B": work_of_rounds(runs.loc["B-uncut"], d),
        "B from a random start": work_of_rounds(runs.loc["B-random"], d),
    }


def crossing(dims: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """Return the dimension from which the first count exceeds the second; infinite if it never does."""
    more = first > second
    return float(dims[more.argmax()]) if more.any() else float("inf")


def range_measures(table: pd.DataFrame) -> list[Measured]:
    """Measure by method the range of exponents with narrow intervals, over settings whose clip grows with d."""
    # One clip for all d follows another law: half of the exponent is missing by design.
    well = (table["setting"] != "one clip for all d") & (table["ci_high"] - table["ci_low"] <= 2 * TELLS)
    measured = []
    for word, method in itertools.product(("least", "largest"), METHODS.values()):
        known = table[well & (table["method"] == method)].sort_values("exponent", ascending=word == "least")
        rows: list[Any] = known[["exponent", "seeds", "setting"]].values.tolist()
        ends = rows or [(math.nan, 0, "no setting has an exponent")]
        measured.append(bare(f"{word} exponent of d over settings, {method}", *ends[0]))
    return measured


def gap_measures(cells: pd.DataFrame) -> list[Measured]:
    """Measure the exponent of d in the factor of jain2021 over shen2023, in each setting with both methods."""
    measured = []
    for setting in (*CLIPS, *CONDITIONS, Setting("whole users clipped", "A-user", "B")):
        if setting.first and setting.second and setting.paired:
            name = "exponent of the factor" if setting.first == "A" else f"exponent of the factor, {setting.label}"
            measured.append(factor_exponent(cells, setting.first, setting.second, name, floor=setting in NOISY))
    return measured


def exponents(fits: dict[str, Fit]) -> pd.DataFrame:
    """Return exponents of d of both methods by setting, with intervals and the law's slope on the same points."""
    rows = []
    for place, setting in enumerate(CLIPS + CONDITIONS):
        for method, series in zip(METHODS.values(), (setting.first, setting.second), strict=True):
            if series:
                fit = fits[f"{series} dist2"]
                about = fit.predicted_slope, fit.sweep.too_few, fit.sweep.repetitions
                rows.append((place, setting.label, method, fit.slope, *fit.interval, *about))
    numbers = ["exponent", "ci_low", "ci_high", "law", "left out", "seeds"]
    return pd.DataFrame(rows, columns=["row", "setting", "method", *numbers])


def spent() -> pd.DataFrame:
    """Return exact epsilons of the printed noise, for replacing a user, at the epsilons of shen2023's Figure 1."""
    stated, delta = accounting_shen2023.EPSILONS, accounting_shen2023.DELTA
    first = [accounting.achieved_exactly("A-L4.3", epsilon, accounting.SECTION6_DELTA) for epsilon in stated]
    rounds = [accounting_shen2023.exact_mu(accounting_shen2023.ROUNDS, epsilon, delta) for epsilon in stated]
    return pd.DataFrame({"stated": stated, "jain2021": first, "shen2023": [gdp_epsilon(mu, delta) for mu in rounds]})


def scaled_errors(cells: pd.DataFrame, fits: dict[str, Fit]) -> pd.DataFrame:
    """Return fits of dist2 in d, with the product epsilon n and the error times this product."""
    numbers = fit_table(fits, [f"{series} dist2" for series in ("A", "A-user", "B", "B-random", "B-fixed")])
    first = cells[cells["epsilon"].notna()].groupby("series")[["epsilon", "users"]].first().prod(axis=1)
    scale = numbers["fit"].str.removesuffix(" dist2").map(first)
    return numbers.assign(**{"times epsilon n": numbers["error"] * scale, "epsilon n": scale})


def counts_by_dim(cells: pd.DataFrame) -> pd.DataFrame:
    """Return numbers sent and multiplications of a user, by method, against the dimension."""
    dims = np.unique(np.geomspace(10, 1000, 60).round())
    names = {"A": "jain2021", "B": "shen2023", "B from a random start": "shen2023, random start"}
    does = work(cells, dims)
    counts = {f"{what}, {name}": does[who][what] for what in does["A"] for who, name in names.items()}
    return pd.DataFrame({"dim": dims} | counts)


def by_dimension(names: dict[str, str], cells: pd.DataFrame, quantities: Quantities) -> dict[str, object]:
    """Return quantities as a table: labels of dimensions, and rows of a label and a quantity or None for each."""
    table = pd.DataFrame({label: quantities.numbered(f"{name} at d =") for label, name in names.items()}).sort_index()
    if table.empty:
        raise NotMeasured(", ".join(names))
    rows = [
        {"label": label, "quantities": [getattr(number, "quantity", None) for number in row]}
        for label, row in table.dropna(axis=1, how="all").items()
    ]
    return {"dims": [f"d = {dim:g}" for dim in table.index], "rows": rows}


FACTS = {
    "factor by clips": partial(by_dimension, STATED["by clips"]),
    "factor by condition": partial(by_dimension, STATED["by condition"]),
    "settings tried": partial(total, names=[f"settings tried, {name}" for name in CHOICES]),
}


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure exponents in d, factors between the methods, users needed, `regions`, a user's work, and clips."""
    chosen, tried = choice(cells)
    cells = with_predictions(cells[~cells["series"].str.startswith("choice-")])
    fits, clips = fit_all(study, cells), pairs(cells, study.window.noise_ratio)
    slopes = exponents(fits)
    numbers = range_measures(slopes) + gap_measures(cells) + chosen + defined(study, cells) + band_measures(clips)
    compared = {name: factors(cells, *pair, name) for name, pair in FACTORS.items()}
    numbers += itertools.chain(*compared.values())
    for case in NOISY:
        numbers += factors(cells, case.first, case.second, f"A over B, {case.label}, floor removed", floor=True)
    wanted, fewer = (fits[name].sweep for name in ("A users", "B users"))
    numbers.append(ratio_exponent("exponent of the ratio of users", wanted, fewer))
    for name in ("B", "B-uncut", "users-B", "map-B"):
        part = cells[cells["series"] == name]
        numbers.append(bare(f"median dist2 of the start, {name}", part["start_dist2"].median(), part["seed"].nunique()))
    table = regions(cells)
    for kind in sorted(WORKING):
        numbers.append(exact(f"map: {kind}", (table["works"] == kind).sum(), f"of {len(table)} settings"))
    dims = np.geomspace(10, 1e6, 20_001)
    does, counted = work(cells, dims), work(cells, COUNTED_DIM)
    for what in ("numbers sent", "multiplications"):
        numbers.append(exact(f"{what}: d from which A needs more", crossing(dims, does["A"][what], does["B"][what])))
        numbers += [exact(f"{what}, {who}, d = {COUNTED_DIM}", counts[what]) for who, counts in counted.items()]
    band = clips.groupby("dim")["factor"].agg(["min", "max"]).reset_index()
    drawn = [(label, *row[:-1]) for label, name in STATED["drawn"].items() for row in by_dim(compared[name])]
    drawn = pd.DataFrame(drawn, columns=["setting", "dim", "factor", "ci_low", "ci_high"])
    settings = [slopes.drop(columns="seeds").assign(panel="exponent"), clips.assign(panel="pair of clips")]
    settings += [band.assign(panel="band"), drawn.assign(panel="factor")]
    promises = [fit_table(fits, ["A-uncut dist2", "B-uncut dist2"]), spent()]
    tables = {
        "comparison/promise": pd.concat(promises, ignore_index=True),
        "comparison/settings": pd.concat(settings, ignore_index=True),
        "comparison/d_exponent": scaled_errors(cells, fits),
        "comparison/users_needed": fit_table(fits, ["A users", "B users", "A kept", "B kept"]),
        "comparison/regions": table,
        "comparison/cost": counts_by_dim(cells),
        "comparison/clip_choice": tried,
    }
    return Findings(numbers, tables, fits)
