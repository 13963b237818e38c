"""The mixed model on real tables of many people (claim O-TABLES); a table whose package is missing is not run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from privrep.methods.mixed_model.plan import LOWER as LOWER  # named in the chapter, as is the next
from privrep.methods.mixed_model.plan import UPPER as UPPER
from privrep.methods.mixed_model.stacking import ANSWERS, SHARE
from privrep.methods.mixed_model.stacking import OWN as OWN_DATA
from replication.evidence.cells import resampled
from replication.evidence.facts import Quantities
from replication.evidence.findings import Findings
from replication.evidence.intervals import BOOTSTRAP, bootstrap_measures
from replication.evidence.measured import Measured, bare, not_run
from replication.evidence.numbers import defined
from replication.experiments.real_table import CEILING, OWN, PRIVATE, RIVAL, SHRUNK, SINGLE
from replication.experiments.real_table import FEW as FEW  # named in the chapter
from replication.run.settings import MeasureSettings

FORMER = ("developed-2", "developed-3", "developed-large")  # series of tables that judged an earlier form of the method
KINDS = {"developed": ("large", "developed", *FORMER), "judged": ("judged",)}  # kind of tables -> its series
FITS = {0.5: 0.96, 1: 1.0, 2: 1.0, 8: 1.0}  # epsilon -> quantile of single fits that is judged
EPSILONS = tuple(FITS)
WORST = dict.fromkeys(("most above own data", "single fits above own data"), 1)
WORST |= dict.fromkeys(("four tables in five above the rival", "most above the rival"), 0)
"""Quantity measured at each epsilon -> least epsilon of those over which its maximum is judged."""
NO_GAIN = 0.01  # largest difference in error, over the variance of labels, that is a tie
CLEAR, GAIN, MANY, SOME = 0.03, 0.05, 1000, 300  # a clear and a large gain; many users, more than a few
ENOUGH, TOO_FEW, HARM, BEHIND = 150, 75, 0.02, 0.005  # two values of n mu; misses: above own data, better baseline


def with_baselines(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the table with errors of own data, shrunk mean, single model and rival on the same split, the mean error
    of the ceiling, and columns of differences and answers of private fits."""
    for name, method in {"own": OWN, "shrunk": SHRUNK, "single": SINGLE, "rival": RIVAL}.items():
        keys = ["table", "seed", "epsilon"][: 3 if method == RIVAL else 2]
        errors = cells[cells["method"] == method].set_index(keys)["error"]
        cells = cells.join(errors.rename(name), on=keys)
    ceiling = cells[cells["method"] == CEILING].groupby("table")["error"].mean().rename("ceiling")
    kinds = {name: kind for kind in KINDS for name in KINDS[kind]}
    error, answered = cells["error"], cells["answer"].map(dict(enumerate(ANSWERS)))
    private = (cells["method"] == PRIVATE) & error.notna()
    cells = cells.join(ceiling, on="table").assign(
        kind=cells["series"].str.removesuffix("-default").map(kinds).where(private),
        default=cells["series"].str.endswith("-default"),
        n_mu=cells["users"] * cells["mu"],
        above=error - cells["own"],
        behind=error - cells[["own", "shrunk"]].min(axis=1),
        over=error - cells["rival"],
        answered=answered,
        given=answered.isin((SHARE, OWN_DATA)),
        right=(cells["gain_held_out"] > 0).where(answered == SHARE, cells["own"] - error <= NO_GAIN),
    )
    gain = -cells.groupby(["default", "method", "table", "epsilon"])["above"].transform("mean")
    clear = (gain > CLEAR) & (cells["users"] >= MANY) & (cells["epsilon"] >= 1)
    return cells.assign(clear=clear, large=(gain > GAIN) & (cells["users"] > SOME))


def behind_both(rows: pd.DataFrame) -> pd.Series:
    """Return by epsilon and table mean error less the better baseline's, at the worse delta, where n mu >= ENOUGH."""
    means = rows[rows["n_mu"] >= ENOUGH].groupby(["epsilon", "table", "default"])["behind"].mean()
    return means.groupby(["epsilon", "table"]).max()


def errors_of(every: pd.DataFrame, indices: np.ndarray | None = None) -> dict[str, float]:
    """Return numbers over the tables of a kind, on resampled splits: differences of errors from those of baselines, as
    means over splits or for single fits, and the least share of the gain that is kept."""
    errors, every = {}, resampled(every, indices)
    rows = every[~every["default"]]
    for epsilon, part in rows.groupby("epsilon"):
        at, means = f"epsilon {epsilon:g}", part.groupby("table")[["above", "over"]].mean()
        errors[f"most above own data, {at}"] = means["above"].max()
        errors[f"single fits above own data, {at}"] = part["above"].quantile(FITS[epsilon], "higher")
        errors[f"four tables in five above the rival, {at}"] = means["over"].quantile(0.8, "higher")
        errors[f"most above the rival, {at}"] = means["over"].max()
    for name, least in WORST.items():
        values = [errors[f"{name}, epsilon {epsilon:g}"] for epsilon in rows["epsilon"].unique() if epsilon >= least]
        errors[f"{name}, {'epsilon 1 and above' if least else 'any epsilon'}"] = max(values, default=np.nan)
    for epsilon, part in every[every["default"]].groupby("epsilon"):
        errors[f"most above own data, default delta, epsilon {epsilon:g}"] = part.groupby("table")["above"].mean().max()
    for epsilon, behind in behind_both(every).groupby("epsilon"):
        errors[f"most above the better of own data and shrunk mean, epsilon {epsilon:g}"] = behind.max()
    errors[f"worst fit above own data, n mu >= {ENOUGH}"] = every["above"][every["n_mu"] >= ENOUGH].max()
    means = rows[(rows["users"] >= MANY) & (rows["epsilon"] == 1)].groupby("table")[["own", "error", "ceiling"]].mean()
    means = means[means["own"] - means["ceiling"] > GAIN]
    kept = (means["own"] - means["error"]) / (means["own"] - means["ceiling"])
    return errors | {"least part of the gain kept, epsilon 1": kept.min()}


def measured(cells: pd.DataFrame, names: Collection[str]) -> list[Measured]:
    """Measure the quantities `names` over tables that are named beforehand; a quantity no table decides is not run.

    Repetitions are splits. Numbers on development tables have no interval, since these tables have fewer splits, which
    differ between them."""
    numbers = {}
    for kind, rows in cells.groupby("kind"):
        if kind == "judged":
            splits = rows["seed"].nunique()
            gaps = bootstrap_measures(partial(errors_of, rows), splits, "judged tables", BOOTSTRAP, "")
        else:
            gaps = [bare(name, value, 0) for name, value in errors_of(rows).items()]
        named = (replace(gap, quantity=f"{kind}: {gap.quantity}") for gap in gaps if not np.isnan(gap.measured))
        numbers |= {number.quantity: number for number in named}
    why = [*reasons(cells, Quantities([])), "no table that was run decides it"][0]
    return [numbers.get(name) or not_run(name, why) for name in names]


def table_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return mean errors less own data by table and epsilon; tables that judged an earlier form are a separate kind."""
    rows = cells[cells["kind"].notna() & ~cells["default"]]
    rows = rows.assign(kind=rows["kind"].mask(rows["series"].isin(FORMER), "former"))
    means = rows.groupby(["kind", "table", "epsilon"], sort=False)[["error", "rival", "shrunk", "own"]].mean()
    means = means.sub(means["own"], axis=0).drop(columns="own").reset_index()
    order = means.drop_duplicates(["kind", "table"])
    order = order.assign(place=order.groupby("kind").cumcount(ascending=False) + 1)
    return means.merge(order[["kind", "table", "place"]], on=["kind", "table"])


def tables(cells: pd.DataFrame, quantities: Quantities) -> list[dict]:
    """Return all tables that were run: sizes and mean errors, by epsilon those of mixed model and rival, the excess
    at epsilon 1 over the better of own data and shrunk mean: 0 if it is at most `BEHIND`, or if n mu is small."""
    listed = []
    for (kind, table), every in with_baselines(cells).groupby(["kind", "table"], sort=False):
        rows, behind = every[~every["default"]], behind_both(every).get((1, table), 0)
        row = rows[["users", "samples", "dim", "own", "shrunk", "single", "ceiling"]].mean().to_dict()
        row |= {"kind": kind, "former": bool(rows["series"].isin(FORMER).any()), "table": table}
        row |= {"misses": behind * (behind > BEHIND)}
        row |= {"default": every[every["default"]].groupby("epsilon")["error"].mean().tolist()}
        listed.append(row | {"errors": rows.groupby("epsilon")[["error", "rival"]].mean().to_numpy().tolist()})
    return listed


def reasons(cells: pd.DataFrame, quantities: Quantities) -> list[str]:
    """Return the reasons for which tables were not run."""
    return sorted(cells.loc[cells["status"] == "not run", "reason"].unique())


FACTS = {"tables": tables, "reasons": reasons}


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure errors against own data, rival and ceiling, intervals and answers, over tables of both kinds."""
    cells = with_baselines(cells)
    known = {number.quantity: number for number in defined(study, cells)}
    rest = measured(cells, [name for name in study.quantities if name not in known])
    return Findings([*known.values(), *rest], {"beyond/real_tables": table_points(cells)})
