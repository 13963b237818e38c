"""The mixed model on tables of people's rows (claim O-TABLES), but for those whose package is not installed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from privrep.methods.steps.stacking import ANSWERS
from replication.evidence.facts import Quantities
from replication.evidence.findings import Findings
from replication.evidence.intervals import with_interval
from replication.evidence.measured import Measured, not_run
from replication.evidence.numbers import defined
from replication.experiments.real_table import FEW as FEW  # named in the chapter
from replication.experiments.real_table import MIXED, OWN, SINGLE
from replication.run.settings import MeasureSettings

TABLES = ("bfi", "lahman", "chem97", "star", "flights", "insteval", "movielens", "verbagg")


def missing(cells: pd.DataFrame, table: str) -> str:
    """Return why a table was not run, or nothing for one that was."""
    reasons = cells.loc[(cells["table"] == table) & (cells["status"] == "not run"), "reason"]
    return reasons.iloc[0] if len(reasons) else ""


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the table with own data's and the single model's errors on the same split, and answers as words."""
    alone = cells[cells["series"].isin([f"{table}-alone" for table in TABLES])]
    alone = alone.pivot(index=["table", "seed"], columns="method", values="error")
    cells = cells.join(alone[[OWN, SINGLE]].set_axis(["own", "single"], axis=1), on=["table", "seed"])
    return cells.assign(answered=cells["answer"].map(dict(enumerate(ANSWERS))))


def epsilons(cells: pd.DataFrame) -> list[float]:
    """Return the epsilons that were run."""
    return sorted(cells.loc[cells["series"].isin(TABLES), "epsilon"].unique())


def most_above(cells: pd.DataFrame) -> Measured:
    """Measure the largest mean error above own data, over tables that were run and epsilon."""
    rows = cells[cells["series"].isin(tables_run(cells, {}))].sort_values("seed")
    if rows.empty:
        return not_run("most above own data", missing(cells, TABLES[0]))
    above = [part.to_numpy() for _, part in (rows["error"] - rows["own"]).groupby([rows["series"], rows["epsilon"]])]

    def largest(indices: np.ndarray) -> float:
        return max(values[indices].mean() for values in above)

    return with_interval("most above own data", largest, len(above[0]), "over tables")


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
    cells = with_predictions(cells)
    found = [*defined(study, cells), most_above(cells)]
    return Findings(found, {"beyond/real_tables": table_points(cells, found)})
