"""The mixed model on tables of people's rows (claim O-TABLES), but for those whose package is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from privrep.methods.steps.mixed_model_plan import LOWER as LOWER  # named in the chapter, as the next
from privrep.methods.steps.mixed_model_plan import UPPER as UPPER
from privrep.methods.steps.stacking import ANSWERS, SHARE
from privrep.methods.steps.stacking import OWN as OWN_DATA
from replication.evidence.cells import resampled
from replication.evidence.facts import Quantities
from replication.evidence.findings import Findings
from replication.evidence.intervals import BOOTSTRAP, bootstrap_measures
from replication.evidence.measured import Measured, bare, not_run, share
from replication.evidence.numbers import defined
from replication.experiments.real_table import CEILING, OWN, PRIVATE, RIVAL, SINGLE
from replication.experiments.real_table import FEW as FEW  # named in the chapter
from replication.run.settings import MeasureSettings

FORMER = ("developed-2", "developed-3", "developed-large")  # series of tables that judged an earlier form
KINDS = {"developed": ("large", "developed", *FORMER), "judged": ("judged",)}  # of tables -> their series
FITS = {0.5: 0.96, 1: 1.0, 2: 1.0, 8: 1.0}  # epsilon -> share of the single fits which an error is not to exceed
EPSILONS = tuple(FITS)
WORST = {
    "most above own data": 1,
    "single fits above own data": 1,
    "four tables in five above the rival": 0,
    "most above the rival": 0,
}
"""What is measured at each epsilon -> the epsilon from which on one limit holds for all of them."""
NO_GAIN = 0.01  # error over the variance of labels: of a tie
CLEAR, GAIN, MANY = 0.03, 0.05, 1000  # a clear difference; a gain of which half is to be kept; with so many users


def with_baselines(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the errors of own data, the single model and the rival on the same split, that of the
    ceiling, and answers as words."""
    of = {method: cells[cells["method"] == method] for method in (OWN, SINGLE, CEILING, RIVAL)}
    split = ["table", "seed"]
    for name, method, keys in (("own", OWN, split), ("single", SINGLE, split), ("rival", RIVAL, [*split, "epsilon"])):
        cells = cells.join(of[method].set_index(keys)["error"].rename(name), on=keys)
    ceiling = of[CEILING].groupby("table")["error"].mean().rename("ceiling")
    return cells.join(ceiling, on="table").assign(answered=cells["answer"].map(dict(enumerate(ANSWERS))))


def fits(cells: pd.DataFrame, kind: str, delta: str = "") -> pd.DataFrame:
    """Return the private fits of a kind of tables that were run, with differences of errors."""
    series = [f"{name}{delta}" for name in KINDS[kind]]
    rows = cells[cells["series"].isin(series) & (cells["method"] == PRIVATE) & cells["error"].notna()]
    return rows.assign(above=rows["error"] - rows["own"], over=rows["error"] - rows["rival"])


def errors_of(cells: pd.DataFrame, kind: str, indices: np.ndarray | None = None) -> dict[str, float]:
    """Return numbers over the tables of a kind, of the resampled splits: what errors are more than own data's and the
    rival's, means over splits but for single fits, and which part of the gain is kept."""
    found, rows = {}, resampled(fits(cells, kind), indices)
    for epsilon, part in rows.groupby("epsilon"):
        at, means = f"epsilon {epsilon:g}", part.groupby("table")[["above", "over"]].mean()
        found[f"most above own data, {at}"] = means["above"].max()
        found[f"single fits above own data, {at}"] = part["above"].quantile(FITS[epsilon], "higher")
        found[f"four tables in five above the rival, {at}"] = means["over"].quantile(0.8, "higher")
        found[f"most above the rival, {at}"] = means["over"].max()
    for name, least in WORST.items():
        values = [found[f"{name}, epsilon {epsilon:g}"] for epsilon in rows["epsilon"].unique() if epsilon >= least]
        found[f"{name}, {'epsilon 1 and above' if least else 'any epsilon'}"] = max(values, default=np.nan)
    default = resampled(fits(cells, kind, "-default"), indices)
    for epsilon, part in default.groupby("epsilon"):
        above = part.groupby("table")["above"].mean().max()
        found[f"most above own data, default delta, epsilon {epsilon:g}"] = above
    means = rows[(rows["users"] >= MANY) & (rows["epsilon"] == 1)].groupby("table")[["own", "error", "ceiling"]].mean()
    means = means[means["own"] - means["ceiling"] > GAIN]
    kept = (means["own"] - means["error"]) / (means["own"] - means["ceiling"])
    return found | {"least part of the gain kept, epsilon 1": kept.min()}


def shares_of(cells: pd.DataFrame, kind: str) -> Iterator[tuple[str, pd.Series]]:
    """Yield names and fits, true or false, of shares of the fits to the tables of a kind."""
    rows, default = fits(cells, kind), fits(cells, kind, "-default")
    covers = (default["gain_low"] <= default["gain_held_out"]) & (default["gain_held_out"] <= default["gain_high"])
    given, gain = rows["answered"].isin((SHARE, OWN_DATA)), rows["own"] - rows["error"]
    right = (rows["gain_held_out"] > 0).where(rows["answered"] == SHARE, gain <= NO_GAIN)[given]
    many = (rows["users"] >= MANY) & (rows["epsilon"] >= 1)
    clear = many & (gain.groupby([rows["table"], rows["epsilon"]]).transform("mean") > CLEAR)
    yield "share of intervals that cover", covers
    yield "share of answers that are right", right
    yield "share of clear gains that are answered", given[clear]


def measured(cells: pd.DataFrame, names: tuple[str, ...]) -> list[Measured]:
    """Measure what is asked over tables that are named beforehand; what no table decides is not run.

    The repetitions are the splits. Of tables that were developed on, which have fewer and not the same, numbers have no
    interval."""
    numbers = []
    for kind in (one for one in KINDS if len(fits(cells, one))):
        if kind == "judged":
            splits = fits(cells, kind)["seed"].nunique()
            of_splits = bootstrap_measures(partial(errors_of, cells, kind), splits, "judged tables", BOOTSTRAP, "")
        else:
            of_splits = [bare(name, value, 0) for name, value in errors_of(cells, kind).items()]
        of_fits = [share(name, of.sum(), len(of)) for name, of in shares_of(cells, kind) if len(of)]
        numbers += [replace(one, quantity=f"{kind}: {one.quantity}") for one in (*of_splits, *of_fits)]
    numbers = [one for one in numbers if one.quantity in names and not np.isnan(one.measured)]
    why = [*reasons(cells, Quantities([])), "no table that was run decides it"][0]
    there = {one.quantity for one in numbers}
    return numbers + [not_run(name, why) for name in names if name.startswith((*KINDS,)) and name not in there]


def table_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the mean errors above own data of all tables by epsilon, of the estimator and of the rival; tables that
    judged an earlier form are a kind of their own."""
    rows = pd.concat([fits(cells, kind).assign(kind=kind) for kind in KINDS])
    rows["kind"] = rows["kind"].mask(rows["series"].isin(FORMER), "former")
    means = rows.groupby(["kind", "table", "epsilon"], sort=False)[["error", "rival", "own"]].mean()
    means = means.sub(means["own"], axis=0).drop(columns="own").reset_index()
    order = means.drop_duplicates(["kind", "table"])
    order = order.assign(place=order.groupby("kind").cumcount(ascending=False) + 1)
    return means.merge(order[["kind", "table", "place"]], on=["kind", "table"])


def tables(cells: pd.DataFrame, quantities: Quantities) -> list[dict]:
    """Return all tables that were run with their sizes and mean errors, by epsilon those of estimator and rival."""
    found, cells = [], with_baselines(cells)
    for kind in KINDS:
        default = fits(cells, kind, "-default").groupby(["table", "epsilon"])["error"].mean()
        for table, rows in fits(cells, kind).groupby("table", sort=False):
            row = rows[["users", "samples", "dim", "own", "single", "ceiling"]].mean().to_dict()
            row |= {"kind": kind, "former": bool(rows["series"].isin(FORMER).any()), "table": table}
            row |= {"default": default.get(table, pd.Series(dtype=float)).tolist()}
            by_epsilon = rows.groupby("epsilon")[["error", "rival"]].mean()
            found.append(row | {"errors": by_epsilon.to_numpy().tolist()})
    return found


def reasons(cells: pd.DataFrame, quantities: Quantities) -> list[str]:
    """Return why tables were not run."""
    return sorted(cells.loc[cells["status"] == "not run", "reason"].unique())


FACTS = {"tables": tables, "reasons": reasons}


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure errors against own data, rival and ceiling, intervals and answers, over tables of both kinds."""
    cells = with_baselines(cells)
    found = [*defined(study, cells), *measured(cells, study.quantities)]
    return Findings(found, {"beyond/real_tables": table_points(cells)})
