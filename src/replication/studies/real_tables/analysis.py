"""The mixed model on tables of people's rows (claim O-TABLES).

A table whose package is not installed is not run, and says which one it is.
"""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pandas as pd

from privrep.methods.steps.sharing import ANSWERS
from replication.evidence.facts import Quantities
from replication.evidence.findings import Findings
from replication.evidence.intervals import bootstrap_measures
from replication.evidence.measured import Measured, not_run, share
from replication.experiments.real_table import FEW as FEW  # named in the chapter
from replication.experiments.real_table import MIXED, OWN, SINGLE
from replication.run.settings import MeasureSettings
from replication.studies.measures import mean_over

TABLES = ("bfi", "lahman", "chem97", "star", "flights", "insteval", "movielens", "verbagg")
NEWCOMERS = ("bfi", "lahman", "movielens", "verbagg")
"""Tables on which people who took no part and the advice on how much to share are tried."""
PERMUTED = ("bfi", "chem97")


def missing(cells: pd.DataFrame, table: str) -> str:
    """Return why a table was not run, or nothing for one that was."""
    reasons = cells.loc[(cells["table"] == table) & (cells["status"] == "not run"), "reason"]
    return reasons.iloc[0] if len(reasons) else ""


def by_split(cells: pd.DataFrame, series: str, column: str = "error", **where) -> np.ndarray:
    """Return a column of a series in the order of its splits."""
    rows = cells[cells["series"] == series]
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows.sort_values("seed")[column].to_numpy(float)


def epsilons(cells: pd.DataFrame) -> list[float]:
    """Return the epsilons that were run."""
    return sorted(cells.loc[cells["series"].isin(TABLES), "epsilon"].unique())


def table_measures(cells: pd.DataFrame, table: str) -> list[Measured]:
    """Measure the errors of one table, and how they compare without privacy."""
    own, single = (by_split(cells, f"{table}-alone", method=one) for one in (OWN, SINGLE))
    alone = {OWN: own, SINGLE: single, MIXED: by_split(cells, f"{table}-mixed")}
    found = [mean_over(f"{table}: {method}", values) for method, values in alone.items()]
    for epsilon in epsilons(cells):
        errors = by_split(cells, table, epsilon=epsilon)
        ending = f"epsilon {epsilon:g}"
        found += [
            mean_over(f"{table}: error, {ending}", errors),
            mean_over(f"{table}: above own data, {ending}", errors - own),
            mean_over(f"{table}: over the single model, {ending}", errors / single),
        ]
    return found


def most_above(cells: pd.DataFrame, indices: np.ndarray) -> dict[str, float]:
    """Return the largest mean error above own data, over tables that were run and epsilon."""
    above = [
        (by_split(cells, table, epsilon=epsilon) - by_split(cells, f"{table}-alone", method=OWN))[indices].mean()
        for table in TABLES
        if not missing(cells, table)
        for epsilon in epsilons(cells)
    ]
    return {"most above own data": float(max(above))}


def newcomer_measures(cells: pd.DataFrame, table: str) -> list[Measured]:
    """Measure errors of people who took no part."""
    few, mean = (by_split(cells, f"{table}-new", f"error_newcomers{ending}") for ending in ("", "_mean"))
    name = f"{table}: newcomers"
    return [mean_over(name, few), mean_over(f"{name} above the shared mean", few - mean)]


def answer_share(cells: pd.DataFrame, series: str, answer: str, name: str) -> Measured:
    """Measure the share of an answer over draws of the noise."""
    answers = cells.loc[cells["series"] == series, "answer"].astype(int)
    return share(name, (answers == ANSWERS.index(answer)).sum(), len(answers))


def table_points(cells: pd.DataFrame, measured: list[Measured]) -> pd.DataFrame:
    """Return errors by table and epsilon with their intervals, and what needs no privacy."""
    found = {one.quantity: one for one in measured}
    points = []
    for table in TABLES:
        for epsilon in epsilons(cells) if not missing(cells, table) else ():
            one = found[f"{table}: error, epsilon {epsilon:g}"]
            lines = {method: found[f"{table}: {method}"].measured for method in (OWN, SINGLE, MIXED)}
            shown = {"table": table, "epsilon": epsilon, "error": one.measured, "low": one.ci_low, "high": one.ci_high}
            points.append(shown | lines)
    return pd.DataFrame(points or {"table": []})


def tables_run(cells: pd.DataFrame, quantities: Quantities) -> list[str]:
    """Return the tables whose packages were there."""
    return [table for table in TABLES if not missing(cells, table)]


def reasons(cells: pd.DataFrame, quantities: Quantities) -> list[str]:
    """Return why tables were not run."""
    return sorted({missing(cells, table) for table in TABLES} - {""})


FACTS = {"tables run": tables_run, "reasons": reasons}


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure the errors of all tables, newcomers, and answers on how much to share."""
    there = tables_run(cells, {})
    found = [one for table in there for one in table_measures(cells, table)]
    points = table_points(cells, found)
    newcomers = [table for table in NEWCOMERS if table in there]
    found += [one for table in newcomers for one in newcomer_measures(cells, table)]
    for table, answer in itertools.product(newcomers, ANSWERS):
        found.append(answer_share(cells, f"{table}-advice", answer, f"{table}: share of answers {answer}"))
    for table in PERMUTED:
        if table in there:
            name = f"{table}: share of answers heads, labels permuted"
            found.append(answer_share(cells, f"{table}-permuted", "heads", name))
    for table in TABLES:
        if table not in there:
            listed = [name for name in study.quantities if name.startswith(f"{table}: ")]
            found += [not_run(name, missing(cells, table)) for name in listed]
    if there:
        splits = int(cells.loc[cells["series"].isin(TABLES), "seed"].nunique())
        found += bootstrap_measures(partial(most_above, cells), splits, "most above own data", note="over tables")
    else:
        found.append(not_run("most above own data", missing(cells, TABLES[0])))
    return Findings(found, {"beyond/real_tables": points})
