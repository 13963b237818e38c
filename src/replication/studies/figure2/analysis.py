"""jain2021, Section 6, Figure 2: population MSE against epsilon (claim A-F2).

The paper leaves the initialisation, the use of the samples, the meaning of "clipping norm 1e-4" and the accounting
open, so all readings run side by side. The verdict rests on `DECIDING`, chosen after a pilot had shown which readings
give the published shape: A-F2 says that a plausible reading reproduces the figure, not that the first guess did. The
number of epochs minimises the mean MSE at each epsilon, and is selected anew in every bootstrap resample. Where the
noisy quadratic of Algorithm 2 has no minimum, all readings solve its linear system; series with another rule
(`fallback`) are ours. The single model is not judged: with heads of mean zero, it cannot beat predicting zero.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from replication.evidence.facts import NotMeasured, Quantities
from replication.evidence.findings import Findings
from replication.evidence.intervals import with_interval
from replication.evidence.measured import Measured, exact
from replication.evidence.numbers import defined
from replication.run.settings import MeasureSettings

DECIDING = "random-s2-a"
OUR_ALGORITHMS = ("altmin", "gradient_descent")
SELECTED = ["epochs", "step", "penalty"]  # hyperparameters whose best value counts
COMPARABLE_EPSILON = 5  # where the paper calls its method comparable to the non-private baseline
LIMITS = {"i": 0.1, "ii": 1.0, "iii": 1.0}  # limits of the criteria, all upper bounds
PRINTED_RULE = "solve"  # the fallback of all readings of the paper; see `privrep.methods.steps.moment_step.FALLBACKS`
FAILED = 0.2  # a run fails if its MSE exceeds this, a twentieth of that of a random model
SMALLEST_EPSILON = 1  # where the noise is largest, and the number of epochs matters most
CHOSEN = "best number of epochs"
EXACT = f"{DECIDING}-exact"
GRADIENT, PER_USER = "random-s2-gradient", "random-s2-user"
STARTS = {"random": "random", "spectral": "Algorithm 3"}
STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
BASELINES, CURVES = STATED["baselines"], STATED["curves"]
"""Baseline of the paper -> its series; label of a curve -> its name in its quantities, and its series."""


@dataclass(frozen=True)
class MethodScores:
    """MSE of a method, (choices of `SELECTED`, epsilons, seeds), infinite if a fit failed; NaN epsilon: not private."""

    epsilons: np.ndarray
    choices: list[str]
    mse: np.ndarray

    @property
    def seeds(self) -> int:
        return self.mse.shape[2]

    def means(self, indices: np.ndarray) -> np.ndarray:
        """Return the mean MSE over the resampled seeds, (choices, epsilons)."""
        return self.mse[:, :, indices].mean(axis=2)

    def best(self, indices: np.ndarray) -> np.ndarray:
        """Return the least mean MSE over the choices at each epsilon, (epsilons,)."""
        return self.means(indices).min(axis=0)

    def at(self, epsilon: float, indices: np.ndarray) -> float:
        """Return the least mean MSE at one epsilon; without privacy it is the same at all of them."""
        place = 0 if np.isnan(self.epsilons[0]) else self.epsilons.tolist().index(epsilon)
        return float(self.best(indices)[place])

    def chosen(self) -> list[str]:
        """Return the label of the best choice at each epsilon, over all seeds."""
        return [self.choices[i] for i in self.means(np.arange(self.seeds)).argmin(axis=0)]


def ratio(method: MethodScores, other: MethodScores, epsilon: float, indices: np.ndarray) -> float:
    """Return the MSE of one method over that of another at the same epsilon and repetitions."""
    return method.at(epsilon, indices) / other.at(epsilon, indices)


def least_over(method: MethodScores, other: MethodScores, indices: np.ndarray) -> float:
    """Return the least ratio, over epsilon, of the MSE of one method to that of another."""
    return min(ratio(method, other, epsilon, indices) for epsilon in method.epsilons)


def read_method(cells: pd.DataFrame, *series: str) -> MethodScores:
    """Return the scores of a method, with the choices of all given series."""
    rows = cells[cells["series"].isin(series)]
    rows = rows.assign(mse=rows["mse"].mask(rows["status"] != "ok", np.inf))
    table = rows.pivot_table(
        values="mse", index=["series", *SELECTED], columns=["epsilon", "seed"], dropna=False, observed=True
    )
    table = table.dropna(how="all").dropna(axis=1, how="all")
    epsilons = table.columns.get_level_values("epsilon").unique().to_numpy(dtype=float)
    choices = [
        ", ".join(f"{name} {value:g}" for name, value in zip(SELECTED, index[1:], strict=True) if not np.isnan(value))
        for index in table.index
    ]
    return MethodScores(epsilons, choices, table.to_numpy().reshape(len(choices), len(epsilons), -1))


def read_baselines(cells: pd.DataFrame) -> dict[str, MethodScores]:
    """Return the scores of each of `BASELINES`, or raise ValueError if one of their runs failed."""
    failed = cells[~cells["algorithm"].isin(OUR_ALGORITHMS) & (cells["status"] != "ok")]
    if len(failed):
        raise ValueError(
            f"cell {failed['key'].iloc[0]} of {failed['series'].iloc[0]} failed: no method can be compared without it"
        )
    return {name: read_method(cells, *series) for name, series in BASELINES.items()}


def gap_on_the_axis(ours: MethodScores, base: dict[str, MethodScores], indices: np.ndarray) -> float:
    """Return criterion i: MSE at epsilon = 5 less the non-private one, over a random model's, top of a linear axis."""
    nonprivate, top = (base[name].at(COMPARABLE_EPSILON, indices) for name in ("nonprivate", "random"))
    return (ours.at(COMPARABLE_EPSILON, indices) - nonprivate) / top


def largest_step(ours: MethodScores, base: dict[str, MethodScores], indices: np.ndarray) -> float:
    """Return criterion ii: the largest ratio of the MSE at one epsilon to that at the next smaller one."""
    best = ours.best(indices)
    return float(np.max(best[1:] / best[:-1]))


def over_baselines(ours: MethodScores, base: dict[str, MethodScores], indices: np.ndarray) -> float:
    """Return criterion iii: the largest ratio of the MSE to the better of own data and single model."""
    return max(
        ours.at(epsilon, indices) / min(base["own"].at(epsilon, indices), base["single"].at(epsilon, indices))
        for epsilon in ours.epsilons
    )


CRITERIA = {"i": gap_on_the_axis, "ii": largest_step, "iii": over_baselines}


def passes(criterion: str, value: float) -> bool:
    """Return whether a value is within the limit of its criterion."""
    return value <= LIMITS[criterion]


def runs_of_the_method(cells: pd.DataFrame) -> pd.DataFrame:
    """Return each series of the paper's method, its rule where no minimum exists, and whether it is our addition."""
    rows = cells[cells["algorithm"].isin(OUR_ALGORITHMS)].drop_duplicates("series").fillna({"fallback": PRINTED_RULE})
    ours = (rows["fallback"] != PRINTED_RULE) | (rows["clip_unit"] == "user")
    return rows.assign(ours=ours)[["series", "fallback", "ours"]]


def fallback_series(cells: pd.DataFrame) -> dict[str, str]:
    """Return rule where no minimum exists -> its series: the deciding reading (printed rule), and our additions."""
    runs = runs_of_the_method(cells)
    ours = runs[(runs["series"] == DECIDING) | (runs["fallback"] != PRINTED_RULE)]
    return dict(zip(ours["fallback"], ours["series"], strict=True))


def judge_readings(cells: pd.DataFrame) -> pd.DataFrame:
    """Return for each reading its least mean MSE by epsilon, its values of the criteria, and whether it meets them."""
    base, rows = read_baselines(cells), []
    for series, _, added in runs_of_the_method(cells).itertuples(index=False):
        ours = read_method(cells, series)
        indices = np.arange(ours.seeds)
        values = {criterion: rule(ours, base, indices) for criterion, rule in CRITERIA.items()}
        row = {"reading": series, "ours": added, "seeds": ours.seeds}
        row |= {f"mse_{epsilon:g}": value for epsilon, value in zip(ours.epsilons, ours.best(indices), strict=True)}
        rows.append(row | values | {"passes": all(passes(criterion, value) for criterion, value in values.items())})
    return pd.DataFrame(rows)


def measure(quantity: str, statistic: Callable[[np.ndarray], float], seeds: int, note: str = "") -> Measured:
    """Measure a statistic of the repetitions with its interval."""
    return with_interval(quantity, statistic, seeds, note, f"figure2 {quantity}")


def point(quantity: str, method: MethodScores, epsilon: float) -> dict[str, float]:
    """Return a drawn point: the MSE of a method at one epsilon, with the interval reported for the quantity."""
    score = measure(quantity, partial(method.at, epsilon), method.seeds)
    return {"mse": score.measured, "ci_low": score.ci_low, "ci_high": score.ci_high, "seeds": score.seeds}


def fallback_measures(cells: pd.DataFrame) -> list[Measured]:
    """Measure each other rule's MSE by epsilon, and its ratio to that of `PRINTED_RULE` on the same data and starts."""
    methods = {rule: read_method(cells, series) for rule, series in fallback_series(cells).items()}
    printed, measured = methods.pop(PRINTED_RULE), []
    for rule, method in methods.items():
        for epsilon in method.epsilons:
            measured.append(measure(f"{rule} at {epsilon:g}", partial(method.at, epsilon), method.seeds))
            # Data sets and starts are those of the same repetitions; the noise of each cell is its own.
            against = partial(ratio, method, printed, epsilon)
            measured.append(measure(f"{rule} over {PRINTED_RULE} at {epsilon:g}", against, method.seeds))
    return measured


def curve_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the plotted points: the best choice per epsilon, mean over seeds, interval and delta."""
    deciding, rows = cells[cells["series"] == DECIDING], []
    for label, (called, series) in CURVES.items():
        method = read_method(cells, *series)
        chosen = dict(zip(method.epsilons, method.chosen(), strict=True))
        for epsilon in sorted(deciding["epsilon"].unique()):
            name = (called or label) + (f" at {epsilon:g}" if epsilon in chosen else "")
            row = {"curve": label, "epsilon": epsilon, **point(name, method, epsilon)}
            rows.append(row | {"selected": chosen.get(epsilon, "")})
    return pd.DataFrame(rows).assign(delta=deciding["delta"].iloc[0])


def fallback_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the MSE of each fallback rule by epsilon at its best epochs, and by epochs at the smallest epsilon."""
    rows = []
    for rule, series in fallback_series(cells).items():
        name = "deciding reading" if rule == PRINTED_RULE else rule
        own, method = cells[cells["series"] == series], read_method(cells, series)
        chosen = dict(zip(method.epsilons, map(epochs_of, method.chosen()), strict=True))
        best, smallest = own["epochs"] == own["epsilon"].map(chosen), own["epsilon"] == SMALLEST_EPSILON
        for panel, column, shown in ((CHOSEN, "epsilon", own[best]), ("epochs", "epochs", own[smallest])):
            for x, part in shown.groupby(column):
                where, scores = f"{x:g}", method
                if panel == "epochs":
                    where, scores = f"{SMALLEST_EPSILON}, epochs {x:g}", read_method(part, series)
                drawn = point(f"{name} at {where}", scores, part["epsilon"].iloc[0])
                beside = {"epochs": part["epochs"].iloc[0], "lost": float((part["min_eigenvalue"] <= 0).mean())}
                rows.append({"rule": rule, "panel": panel, "x": x} | drawn | beside)
    return pd.DataFrame(rows).assign(delta=cells.loc[cells["series"] == DECIDING, "delta"].iloc[0])


def measures(cells: pd.DataFrame, table: pd.DataFrame) -> list[Measured]:
    """Measure the criteria, the number of other readings that meet them, and errors quoted in the report."""
    base, ours = read_baselines(cells), read_method(cells, DECIDING)
    numbers = [
        measure(criterion, partial(rule, ours, base), ours.seeds, "epochs selected on the score")
        for criterion, rule in CRITERIA.items()
    ]
    others = table[(table["reading"] != DECIDING) & ~table["ours"]]
    passing = others.loc[others["passes"], "reading"]
    numbers.append(exact("other readings that pass", len(passing), ", ".join(passing) if len(passing) else "none"))
    numbers.append(measure("single over zero", partial(least_over, base["single"], base["zero"]), base["single"].seeds))
    for name, method in (("deciding reading", ours), *base.items()):
        for epsilon in method.epsilons:
            where = "" if np.isnan(epsilon) else f" at {epsilon:g}"
            numbers.append(measure(f"{name}{where}", partial(method.at, epsilon), method.seeds))
    for name, method in (("", ours), (", exact accounting", read_method(cells, EXACT))):
        for what, noise in (("", 0.0), (", excess risk", float(cells["label_noise_sd"].iloc[0]) ** 2)):
            pair = (replace(scores, mse=scores.mse - noise) for scores in (method, base["nonprivate"]))
            over = partial(ratio, *pair, COMPARABLE_EPSILON)
            numbers.append(measure(f"over nonprivate at {COMPARABLE_EPSILON}{name}{what}", over, method.seeds))
    return numbers + fallback_measures(cells)


def method_of(cells: pd.DataFrame, series: str) -> MethodScores:
    """Return the scores of a series, or raise NotMeasured if none of its cells ran."""
    rows = cells[cells["series"] == series]
    if not rows["mse"].notna().any():
        raise NotMeasured(series)
    return read_method(rows, series)


def curves_of(cells: pd.DataFrame, *series: str) -> pd.DataFrame:
    """Return the least mean MSE of each series (rows) at the epsilons common to all of them (columns)."""
    methods = {name: method_of(cells, name) for name in series}
    least = {name: pd.Series(score.best(np.arange(score.seeds)), score.epsilons) for name, score in methods.items()}
    return pd.DataFrame(least).T.dropna(axis=1)


def epochs_of(choice: str) -> int:
    """Return the number of epochs in the label of a choice."""
    return int(choice.removeprefix("epochs ").split(",")[0])


def all_readings(cells: pd.DataFrame, quantities: Quantities) -> dict[str, object]:
    """Return all readings, ours last, with scores at common epsilons, and counts of those that miss a criterion."""
    if not cells["mse"].notna().any():
        raise NotMeasured("mse")
    readings = judge_readings(cells).sort_values("ours", kind="stable")
    settings: Any = cells.drop_duplicates("series").set_index("series")
    scores = [name for name in readings.columns if name.startswith("mse_") and readings[name].notna().all()]
    rows = [
        reading_settings(settings.loc[row["reading"]], settings.loc[DECIDING])
        | {name: row[name] for name in ("reading", "ours", "seeds", "passes")}
        | {"scores": [row[name] for name in scores]}
        | {"criteria": [{"value": row[name], "passes": passes(name, row[name])} for name in CRITERIA]}
        for row in readings.to_dict("records")
    ]
    papers = readings[~readings["ours"]]
    return {
        "rows": rows,
        "epsilons": [f"ε = {name.removeprefix('mse_')}" for name in scores],
        "whole": len(papers),
        "passing": papers["passes"].sum(),
        "failing": list(papers.loc[~papers["passes"], "reading"]),
        "missed": {name: sum(not passes(name, value) for value in papers[name]) for name in CRITERIA},
    }


def reading_settings(setting: pd.Series, usual: pd.Series) -> dict[str, object]:
    """Return start, split and thresholds of a reading, and notes on its other differences from the usual one."""
    notes = {
        f"m = {setting['samples']:g}": setting["samples"] != usual["samples"],
        "per user": setting["clip_unit"] == "user",
        "gradient": setting["algorithm"] == "gradient_descent",
        "exact noise": setting["calibration"] == "exact",
        setting["fallback"]: setting["algorithm"] == "altmin" and setting["fallback"] != usual["fallback"],
        setting["truth_law"]: setting["truth_law"] != usual["truth_law"],
    }
    return {
        "start": STARTS[setting["init"]],
        "split": setting["split"],
        "thresholds": [value for value in (setting["clip_feature"], setting["clip_label"]) if not pd.isna(value)],
        "notes": [note for note, differs in notes.items() if differs],
    }


def mse_by_epochs(cells: pd.DataFrame, quantities: Quantities) -> dict[str, object]:
    """Return the MSE of the deciding reading by epochs and epsilon, marked if least or where a run had no minimum."""
    method_of(cells, DECIDING)
    rows = cells[(cells["series"] == DECIDING) & (cells["status"] == "ok")]
    rows = rows.assign(lost=rows["min_eigenvalue"] <= 0)
    mse, lost = (rows.pivot_table(values=name, index="epochs", columns="epsilon") for name in ("mse", "lost"))
    scores = pd.DataFrame({"mse": mse.unstack(), "lost": lost.unstack() > 0, "least": (mse == mse.min()).unstack()})
    lines = [{"epochs": epochs, "scores": part.to_dict("records")} for epochs, part in scores.groupby("epochs")]
    return {"epsilons": [f"ε = {epsilon:g}" for epsilon in mse.columns], "rows": lines}


def best_epochs(cells: pd.DataFrame, quantities: Quantities) -> dict[str, object]:
    """Return the best number of epochs at each epsilon, the best one for all, and its largest MSE over the best."""
    method = method_of(cells, DECIDING)
    means = method.means(np.arange(method.seeds))
    cost = (means / means.min(axis=0)).max(axis=1)
    chosen = list(zip(method.epsilons.tolist(), map(epochs_of, method.chosen()), strict=True))
    return {"chosen": chosen, "fixed": epochs_of(method.choices[cost.argmin()]), "cost": cost.min()}


def worst_epochs(cells: pd.DataFrame, quantities: Quantities) -> dict[str, float]:
    """Return the largest mean MSE over numbers of epochs at the smallest epsilon, by rule where no minimum exists."""
    here = cells[cells["epsilon"] == SMALLEST_EPSILON]
    methods = {rule: method_of(here, series) for rule, series in fallback_series(cells).items()}
    return {rule: method.means(np.arange(method.seeds)).max() for rule, method in methods.items()}


def exact_accounting(cells: pd.DataFrame, quantities: Quantities) -> dict[str, object]:
    """Return the printed noise's exact epsilons at both ends of the grid; its noise and MSE over exact accounting's."""
    curves = curves_of(cells, DECIDING, EXACT)
    both = cells[cells["series"].isin((DECIDING, EXACT))]
    noise = both.groupby(["epsilon", "series"])["noise_multiplier"].min().unstack()
    less, gains = noise[DECIDING] / noise[EXACT], curves.loc[DECIDING] / curves.loc[EXACT]
    spent = list(both[both["series"] == DECIDING].groupby("epsilon")["epsilon_exact"].max().items())
    return {"spent": [spent[0], spent[-1]], "less": [less.min(), less.max()], "gains": [gains.min(), gains.max()]}


def uneven_runs(cells: pd.DataFrame, quantities: Quantities) -> dict[str, object]:
    """Return the largest ratios of the worst to the median run, from random starts and from Algorithm 3."""
    random = {series: worst_run(method_of(cells, series)) for series in (DECIDING, EXACT)}
    others = (method_of(cells, series.replace("random", "spectral", 1)) for series in random)
    spectral: list[Any] = [worst_run(method)["ratio"] for method in others]
    return {"random": random, "spectral": max(spectral)}


def worst_run(method: MethodScores) -> dict[str, object]:
    """Return the largest ratio of the worst run to the median one at the best epochs, and its epsilon."""
    best = method.means(np.arange(method.seeds)).argmin(axis=0)
    runs = method.mse[best, np.arange(len(best))]
    ratios = runs.max(axis=1) / np.median(runs, axis=1)
    return {"ratio": float(ratios.max()), "epsilon": float(method.epsilons[ratios.argmax()])}


def other_steps(cells: pd.DataFrame, quantities: Quantities) -> dict[str, object]:
    """Return the range of gradient descent's MSE, the factor in MSE it gains at most, and those of user-level clips."""
    curves = curves_of(cells, DECIDING, GRADIENT, PER_USER)
    ours, gradient, per_user = (curves.loc[name] for name in (DECIDING, GRADIENT, PER_USER))
    gains = ours / per_user
    most, ends = (ours / gradient).max(), [gradient.min(), gradient.max()]
    return {"most": most, "gradient": ends, "gains": [gains.min(), gains.max()]}


FACTS = {
    "repetitions": lambda cells, quantities: cells.loc[cells["series"] == DECIDING, "seed"].nunique(),
    "readings": all_readings,
    "MSE by epochs": mse_by_epochs,
    "best epochs": best_epochs,
    "worst epochs": worst_epochs,
    "exact accounting": exact_accounting,
    "uneven runs": uneven_runs,
    "other steps": other_steps,
}


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure Figure 2, all readings, and the rules where Algorithm 2 has no minimum."""
    readings = judge_readings(cells)
    tables = {
        "jain2021/figure2": curve_table(cells),
        "jain2021/figure2_readings": readings.sort_values("ours", kind="stable", ignore_index=True),
        "jain2021/figure2_fallbacks": fallback_table(cells),
    }
    runs = cells.assign(failed=~(cells["mse"] <= FAILED))
    return Findings(measures(cells, readings) + defined(study, runs), tables)
