"""Which method, and from how many users on (claim O-MAP): unit steps and the published methods at equal exact budgets."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from privrep.evidence.cells import picked
from privrep.evidence.intervals import BOOTSTRAP, bootstrap_measures, series_measures
from privrep.evidence.measured import Measured, bare
from privrep.run.settings import Analysis
from privrep.studies.extremes import extreme_ratio

METHODS = {"unit": "unit steps", "centaur": "CENTAUR", "fedrep": "private FedRep", "altmin": "alternating minimisation"}
WORKS = 0.02
"""A method works where its median risk is at most this share of that of predicting zero."""

DIM = 100
"""At which users are compared."""
SWEEPS = {"on the map": ("", "users"), "by samples": ("m-", "samples"), "by label noise": ("sigma-", "label_noise_sd")}
"""What is varied beside epsilon: beginning of its series' names, and the axis."""


def risks(cells: pd.DataFrame, sweep: str, pick: np.ndarray | None = None) -> pd.DataFrame:
    """Median risk over that of predicting zero, by the axis of a sweep and epsilon (rows) and method (columns)."""
    prefix, axis = SWEEPS[sweep]
    rows = picked(cells[cells["series"].isin([prefix + name for name in METHODS])], pick)
    names = rows["series"].str.removeprefix(prefix)
    return (rows["excess_risk"] / rows["rank"]).groupby([rows[axis], rows["epsilon"], names]).median().unstack()


def ratios(cells: pd.DataFrame, sweep: str, pick: np.ndarray) -> dict[str, float]:
    """Risk of unit steps over the least median of the published methods, by setting of a sweep."""
    table = risks(cells, sweep, pick)
    ratio = table["unit"] / table.drop(columns="unit").min(axis=1)
    return {f"{sweep} {setting}": float(value) for setting, value in ratio.items()}


def largest_ratio(cells: pd.DataFrame, sweep: str) -> Measured:
    """The largest of `ratios`."""
    name, seeds = f"largest risk over the best published {sweep}", int(cells["seed"].nunique())
    found = bootstrap_measures(partial(ratios, cells, sweep), seeds, name, BOOTSTRAP)
    return extreme_ratio("largest", name, found, f"of {len(found)} settings")


def users(cells: pd.DataFrame, pick: np.ndarray) -> dict[str, float]:
    """Median users needed by each method, and over those of unit steps, by dimension; a search that failed counts as no number."""
    rows = picked(cells[cells["series"].str.startswith("users-")], pick)
    names = rows["series"].str.removeprefix("users-")
    table = rows["smallest_users"].groupby([rows["dim"], names]).median().unstack()
    found = {}
    for name in METHODS:
        for dim, needed in table[name].items():
            if (cells["series"].eq(f"users-{name}") & cells["dim"].eq(dim)).any():
                found[f"users of {name} at d = {dim}"] = float(needed)
                if name != "unit":
                    found[f"users of {name} over unit steps at d = {dim}"] = float(needed / table["unit"][dim])
    return found


def measure(cells: pd.DataFrame, study: Analysis) -> list[Measured]:
    """The map and the users needed."""
    tables = {sweep: risks(cells, sweep) for sweep in SWEEPS}
    works = [
        bare(f"settings {sweep} in which {name} works", int((table[name] <= WORKS).sum()), len(table))
        for sweep, table in tables.items()
        for name in METHODS
    ]
    return [*(largest_ratio(cells, sweep) for sweep in SWEEPS), *works, *series_measures(cells, "users-unit", users)]
