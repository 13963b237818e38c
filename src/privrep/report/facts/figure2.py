"""What the chapter of figure2 needs beside its quantities."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
import pandas as pd

from privrep.report.html_pieces import table
from privrep.report.run_tables import NotMeasured, Run
from privrep.report.spelling import listing, number
from privrep.studies.figure2.analysis import (
    CRITERIA,
    DECIDING,
    PRINTED_RULE,
    SMALLEST_EPSILON,
    Method,
    fallback_series,
    judge_readings,
    passes,
    read_method,
)

EXACT = f"{DECIDING}-exact"
GRADIENT, PER_USER = "random-s2-gradient", "random-s2-user"
STARTS = {"random": "random", "spectral": "Algorithm 3"}


def repetitions(run: Run) -> int:
    """Repetitions of the deciding reading."""
    cells = run.cells("figure2")
    return cells.loc[cells["series"] == DECIDING, "seed"].nunique()


def readings(run: Run) -> dict[str, object]:
    """How many readings of the paper there are, how many of them pass at their mean, which fail, and how many miss each criterion."""
    found = _scores(run)
    found = found[~found["ours"]]
    missed = {name: sum(not passes(name, value) for value in found[name]) for name in CRITERIA}
    failing = list(found.index[~found["passes"]])
    return {"whole": len(found), "passing": int(found["passes"].sum()), "failing": failing, "missed": missed}


def chosen_epochs(run: Run) -> dict[float, int]:
    """Epsilon -> number of epochs with the least mean MSE of the deciding reading."""
    method = _method(_cells(run), DECIDING)
    return dict(zip(method.epsilons.tolist(), map(_epochs, method.chosen()), strict=True))


def fixed_epochs(run: Run) -> dict[str, float]:
    """How many numbers of epochs were tried, the one that is best for all epsilons, and the largest factor in MSE that it costs."""
    method = _method(_cells(run), DECIDING)
    means = method.means(np.arange(method.seeds))
    cost = (means / means.min(axis=0)).max(axis=1)
    best = int(cost.argmin())
    return {"tried": len(cost), "epochs": _epochs(method.choices[best]), "cost": float(cost[best])}


def worst_epochs(run: Run) -> dict[str, float]:
    """Rule where no minimum exists -> largest mean MSE over the numbers of epochs, at the smallest epsilon."""
    cells = _cells(run)
    found = {}
    for rule, series in fallback_series(cells).items():
        method = _method(cells[cells["epsilon"] == SMALLEST_EPSILON], series)
        found[rule] = float(method.means(np.arange(method.seeds)).max())
    return found


def advised(run: Run) -> dict[str, list[float]]:
    """Rule where no minimum exists -> epsilons at which to take it.

    It is the best of those whose MSE is surely below that of the printed one, the printed one where all others are surely above it,
    and an empty name where neither is sure.
    """
    measures = run.measures("figure2")
    curves = {rule: measures.numbered(f"{rule} at") for rule in _rules(run)}
    found: dict[str, list[float]] = {}
    for epsilon in sorted(next(iter(curves.values()))):
        rows = {rule: measures.row(f"{rule} over {PRINTED_RULE} at {epsilon:g}") for rule in curves}
        low, high = ({rule: float(row[end]) for rule, row in rows.items()} for end in ("ci_low", "ci_high"))
        if np.isnan([*low.values(), *high.values()]).any():
            raise NotMeasured(f"interval at {epsilon:g}")
        better = [rule for rule in curves if high[rule] < 1]
        otherwise = PRINTED_RULE if min(low.values()) > 1 else ""
        rule = min(better, key=lambda name: curves[name][epsilon]) if better else otherwise
        found.setdefault(rule, []).append(epsilon)
    return found


def rising(run: Run) -> list[tuple[str, float, float]]:
    """Rule, epsilon and the next one, where the MSE of a rule of ours grows by more than its intervals."""
    measures = run.measures("figure2")
    found = []
    for rule in _rules(run):
        for one, following in pairwise(sorted(measures.numbered(f"{rule} at"))):
            before, after = (measures.row(f"{rule} at {epsilon:g}") for epsilon in (one, following))
            if float(after["ci_low"]) > float(before["ci_high"]):
                found.append((rule, one, following))
    return found


def exact_accounting(run: Run) -> dict[str, object]:
    """Epsilon -> exact epsilon of the printed noise; the least and the largest factor of noise that exact accounting saves; epsilon -> the factor
    in MSE that it gains."""
    cells, curves = _cells(run), _curves(run, DECIDING, EXACT)
    both = cells[cells["series"].isin((DECIDING, EXACT))]
    noise = both.groupby(["epsilon", "series"])["noise_multiplier"].min().unstack()
    less = noise[DECIDING] / noise[EXACT]
    spent = both[both["series"] == DECIDING].groupby("epsilon")["epsilon_exact"].max()
    gains = curves.loc[DECIDING] / curves.loc[EXACT]
    return {"spent": spent.to_dict(), "least": less.min(), "most": less.max(), "gains": gains.to_dict()}


def uneven_runs(run: Run) -> dict[str, object]:
    """Largest ratio of the worst run to the median one: for each reading with a random start with its epsilon and whether the means fall at every
    step, and over those that start from Algorithm 3."""
    cells = _cells(run)
    random = {series: _worst_run(_method(cells, series)) for series in (DECIDING, EXACT)}
    spectral = [_worst_run(_method(cells, series.replace("random", "spectral", 1)))["ratio"] for series in random]
    return {"random": random, "spectral": max(spectral)}


def other_steps(run: Run) -> dict[str, object]:
    """Gradient descent: its least and largest MSE, and epsilon -> MSE of the deciding reading over its. Clipping per user: the least and the
    largest such factor."""
    curves = _curves(run, DECIDING, GRADIENT, PER_USER)
    ours, gradient, per_user = (curves.loc[name] for name in (DECIDING, GRADIENT, PER_USER))
    gains = ours / per_user
    steps = {"least": gradient.min(), "largest": gradient.max(), "factors": (ours / gradient).to_dict()}
    return steps | {"user_least": gains.min(), "user_most": gains.max()}


def epochs_table(run: Run, caption: str) -> str:
    """MSE of the deciding reading by epochs and epsilon: the least of a column bold, runs without a minimum marked."""
    cells = _cells(run)
    rows = cells[(cells["series"] == DECIDING) & (cells["status"] == "ok")]
    mse = rows.pivot_table(values="mse", index="epochs", columns="epsilon")
    lost = rows.assign(lost=rows["min_eigenvalue"] <= 0).pivot_table(values="lost", index="epochs", columns="epsilon")
    body = []
    for steps in mse.index:
        line = [f"{steps:g}"]
        for epsilon in mse.columns:
            text = number(mse.loc[steps, epsilon]) + ("†" if lost.loc[steps, epsilon] > 0 else "")
            line.append(f"<b>{text}</b>" if mse.loc[steps, epsilon] == mse[epsilon].min() else text)
        body.append(line)
    return table(["Epochs", *(f"ε = {epsilon:g}" for epsilon in mse.columns)], body, caption)


def readings_table(run: Run, caption: str) -> str:
    """One row per reading: its settings, MSE by epsilon, and the criteria; what is ours comes last."""
    found = _scores(run).sort_values("ours", kind="stable")
    settings = run.cells("figure2").drop_duplicates("series").set_index("series")
    epsilons = [name for name in found.columns if name.startswith("mse_") and found[name].notna().all()]
    body = []
    for reading, row in zip(found.index, found.to_dict("records"), strict=True):
        name = f"<code>{reading}</code>"
        name = f"<b>{name}</b>" if row["passes"] and not row["ours"] else name
        note = "deciding" if reading == DECIDING else "ours" if row["ours"] else ""
        name += f" <small>{note}</small>" if note else ""
        values = {criterion: row[criterion] for criterion in CRITERIA}
        marks = ["✓" if passes(criterion, value) else f"{number(value, 2)} ✗" for criterion, value in values.items()]
        scores = [number(row[column]) for column in epsilons]
        settled = _settings(settings.loc[reading], settings.loc[DECIDING])
        body.append([name, *settled, f"{row['seeds']}", *scores, *marks])
    header = ["Reading", "Start", "Samples", "Thresholds", "Seeds"]
    header += [f"ε = {column.removeprefix('mse_')}" for column in epsilons]
    header += [f"({criterion})" for criterion in CRITERIA]
    return table(header, body, caption, "dense")


def _cells(run: Run) -> pd.DataFrame:
    cells = run.cells("figure2")
    if not cells["mse"].notna().any():
        raise NotMeasured("mse")
    return cells


def _method(cells: pd.DataFrame, series: str) -> Method:
    if series not in set(cells["series"]):
        raise NotMeasured(series)
    return read_method(cells, series)


def _epochs(choice: str) -> int:
    """Number of epochs in the label of a choice."""
    return int(choice.removeprefix("epochs ").split(",")[0])


def _rules(run: Run) -> list[str]:
    """The rules of ours."""
    rules = [rule for rule in fallback_series(run.cells("figure2")) if rule != PRINTED_RULE]
    if not rules:
        raise NotMeasured("fallback")
    return rules


@lru_cache(maxsize=1)
def _scores(run: Run) -> pd.DataFrame:
    """The table of the readings by name."""
    _cells(run)
    return judge_readings(run.cells("figure2")).sort_values("ours", kind="stable").set_index("reading")


def _curves(run: Run, *series: str) -> pd.DataFrame:
    """MSE of some readings, one row each, at the epsilons that all of them have."""
    scores = _scores(run)
    missing = set(series) - set(scores.index)
    if missing:
        raise NotMeasured(", ".join(missing))
    curves = scores.loc[list(series), [name for name in scores.columns if name.startswith("mse_")]].dropna(axis=1)
    return curves.astype(float).rename(columns=lambda name: float(name.removeprefix("mse_")))


def _worst_run(method: Method) -> dict[str, object]:
    """Largest ratio of the worst run to the median one at the best number of epochs, its epsilon, and whether the means fall at every step."""
    best = method.means(np.arange(method.seeds)).argmin(axis=0)
    runs = method.mse[best, np.arange(len(best))]
    ratios = runs.max(axis=1) / np.median(runs, axis=1)
    falls = bool((np.diff(runs.mean(axis=1)) < 0).all())
    return {"ratio": float(ratios.max()), "epsilon": float(method.epsilons[ratios.argmax()]), "falls": falls}


def _settings(setting: pd.Series, usual: pd.Series) -> list[str]:
    """Start, split, and thresholds with what else differs from the usual setting."""
    thresholds = [setting["clip_feature"], setting["clip_label"]]
    both = listing(dict.fromkeys(number(value) for value in thresholds if not pd.isna(value)), "and")
    notes = [] if setting["samples"] == usual["samples"] else [f"m = {setting['samples']:g}"]
    if setting["clip_unit"] == "user":
        notes.append("per user")
    if setting["algorithm"] == "gradient_descent":
        notes.append("gradient")
    if setting["calibration"] == "exact":
        notes.append("exact noise")
    if setting["algorithm"] == "altmin" and setting["fallback"] != usual["fallback"]:
        notes.append(setting["fallback"])
    if setting["truth_law"] != usual["truth_law"]:
        notes.append(setting["truth_law"])
    return [STARTS[setting["init"]], setting["split"], ", ".join([both, *notes])]
