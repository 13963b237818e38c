"""Unit steps on the problem of Figure 2 (`figure2`), and the map of methods by number of users (claim O-MAP).

It has the risks of unit steps and of the published methods at equal exact budgets, and their ratios to the non-private
risk on data that depart from the model."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from privrep.users.simulated import OUTLIER as OUTLIER  # this and the next are named in the chapter
from privrep.users.simulated import RARE as RARE
from replication.evidence.cells import resampled
from replication.evidence.facts import Quantities
from replication.evidence.findings import Findings
from replication.evidence.intervals import BOOTSTRAP, bootstrap_measures, with_interval
from replication.evidence.measured import Measured, bare
from replication.evidence.numbers import defined
from replication.run.config import ROOT
from replication.run.csv_tables import read_rows
from replication.run.rivals import BY_TRIALS, REALS, SIZES
from replication.run.settings import MeasureSettings
from replication.studies.measures import extreme_ratio
from replication.studies.unit_map.figure2 import EPSILONS as EPSILONS  # named in the chapter
from replication.studies.unit_map.figure2 import STREAMS, on_figure2, parts

METHODS = {"unit": "unit steps", "centaur": "CENTAUR", "fedrep": "private FedRep", "altmin": "alternating minimisation"}
WORKS = 0.02
"""A method works where its median risk is at most this share of that of predicting zero."""

NOTHING = 0.1
"""A run has learned nothing if its risk exceeds this share of that of predicting zero."""
NEAR = 1.5
"""A risk is near the floor if it is at most this many times the floor."""
ASTRAY = 10
"""A run is astray if its risk exceeds this many times the median of its series and setting."""
RIVALS = ("pairs", "disjoint", "averaged", "falling", "models")
"""Endings of the names of the series of private FedRep, by ingredient."""
BARE = "pairs"
"""The series with the fewest ingredients: the labels of the other series name what they add to it."""
COMPARED = {"unit": "unit steps", "oracle": "one step at the truth"}
"""Ending of the name of a series compared with private FedRep -> its label."""
PROBLEMS = {"F": (0.1, 0.25), "Q": (0.1, 0.25), "R": (0.25,)}
"""Problem on which ingredients are compared -> its epsilons."""
SETTINGS = [(problem, epsilon) for problem, budgets in PROBLEMS.items() for epsilon in budgets]
DIM = 100
"""Dimension at which numbers of users are compared."""
STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MISSPECIFICATIONS, SWEEPS = STATED["misspecifications"], STATED["sweeps"]
"""Beginning of the names of series -> their misspecification of the model; sweep -> the beginning of the names of its
series, and the parameter varied beside epsilon."""
LARGEST = "largest risk over the best rival %s"
"""Name of the quantity of a sweep, `%s` being the sweep's name."""


def risks(cells: pd.DataFrame, sweep: str, indices: np.ndarray | None = None) -> pd.DataFrame:
    """Return the median risk over that of predicting zero, by axis and epsilon (rows) and method (columns)."""
    prefix, axis = SWEEPS[sweep]
    columns = ["series", "seed", "excess_risk", "rank", axis, "epsilon"]  # few, since they are copied for each resample
    rows = resampled(cells.loc[cells["series"].isin([prefix + name for name in METHODS]), columns], indices)
    names = rows["series"].str.removeprefix(prefix)
    return (rows["excess_risk"] / rows["rank"]).groupby([rows[axis], rows["epsilon"], names]).median().unstack()


def ratios(cells: pd.DataFrame, sweep: str, indices: np.ndarray) -> dict[str, float]:
    """Return the risk of unit steps over the least median of the published methods, by setting of a sweep."""
    table = risks(cells, sweep, indices)
    ratio = table["unit"] / table.drop(columns="unit").min(axis=1)
    return {f"{sweep} {setting}": float(value) for setting, value in ratio.items()}


def by_kind(cells: pd.DataFrame, study: MeasureSettings) -> list[Measured]:
    """Measure the numbers defined in the study's file; a run that broke down counts with infinite risk, and with
    infinitely many users needed."""
    risk = cells["excess_risk"].fillna(np.inf)
    usual = risk.groupby([cells["series"], cells["dim"], cells["epsilon"]]).transform("median")
    of_runs = {"risk": risk, "nothing": risk > NOTHING * cells["rank"], "astray": risk > ASTRAY * usual}
    measured = defined(study, cells.assign(**of_runs, needed=needed(cells), unreached=cells["smallest_users"].isna()))
    broke = {"measured": np.nan, "note": "half of the runs broke down"}
    return [replace(number, **broke) if np.isinf(number.measured) else number for number in measured]


def needed(cells: pd.DataFrame) -> pd.Series:
    """Return the users needed by each run, infinitely many if none of the numbers tried reached the target."""
    return cells["smallest_users"].fillna(np.inf)


def rival_points(measured: list[Measured]) -> pd.DataFrame:
    """Return risks over the floor: of private FedRep by ingredient, and of the methods compared with it."""
    known = {number.quantity: number for number in measured}
    rows = [
        (problem, name, epsilon, risk.measured, risk.ci_low, risk.ci_high, risk.seeds)
        for (problem, epsilon), name in product(SETTINGS, (*RIVALS, *COMPARED))
        if (risk := known.get(f"{name} over floor, problem {problem}, at {epsilon:g}"))
    ]
    return pd.DataFrame(rows, columns=["problem", "method", "epsilon", "ratio", "ci_low", "ci_high", "seeds"])


def by_trials(cells: pd.DataFrame, quantities: Quantities) -> dict[str, list]:
    """Return a table of the risk of the best of the first 1, 2, 4, ... trials of the search over that of the best of
    all, by method: medians over its settings in this study, and their number."""
    rows = pd.DataFrame(read_rows(ROOT / BY_TRIALS)).astype({"trials": int, "value": float})
    rows = rows[(rows["study"] == "unit_map") & (rows["trials"] > 0)]
    names = rows["series"].str.replace("rival-.*|.*-whitened", "fedrep", regex=True).str.removesuffix("-published")
    rows["method"] = names.str.rpartition("-")[2]
    table = rows.pivot(index=["method", "series", *SIZES, *REALS], columns="trials", values="value")
    groups = table.div(table[table.columns.max()], axis=0).groupby("method")
    medians = [[METHODS[str(name)], str(len(part)), *part.median()] for name, part in groups]
    return {"header": ["method", "settings", *map(str, table)], "rows": medians}


def median(values: np.ndarray, indices: np.ndarray) -> float:
    """Return the median over the resampled repetitions that are not NaN."""
    known = values[indices][~np.isnan(values[indices])]
    return float(np.median(known)) if len(known) else np.nan


def points(cells: pd.DataFrame, name: str, axis: str, column: str, draws: str) -> pd.DataFrame:
    """Return medians of a series with intervals against a column; `draws` names their random stream."""
    medians = []
    for x, rows in cells.groupby(axis):
        values = rows.sort_values("seed")[column].to_numpy(float)
        number = with_interval(column, partial(median, values), len(values), name=draws, draws=BOOTSTRAP)
        medians.append((name, x, number.measured, number.ci_low, number.ci_high, number.seeds))
    return pd.DataFrame(medians, columns=["method", axis, column, "ci_low", "ci_high", "seeds"])


def floors(cells: pd.DataFrame) -> pd.Series:
    """Return the expected risk of least squares in the true subspace, over that of predicting zero."""
    return cells["label_noise_sd"] ** 2 / (cells["samples"] - cells["rank"] - 1)


def map_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the risk of each method by users and epsilon, the floor, and the risk of predicting zero."""
    rows = cells[cells["series"].str.startswith("map-")]
    tables = [
        points(part[part["series"] == f"map-{name}"], name, "epsilon", "excess_risk", LARGEST % "on the map").assign(
            users=size
        )
        for size, part in rows.groupby("users")
        for name in METHODS
    ]
    zero = rows["rank"].iloc[0]
    return pd.concat(tables, ignore_index=True).assign(floor=floors(rows).iloc[0] * zero, zero=zero)


def sweep_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Return risks and the floor, over that of predicting zero, by method, epsilon and x (samples or label noise)."""
    cells, tables = cells.assign(share=cells["excess_risk"] / cells["rank"]), []
    sweeps = [(sweep, prefix, column) for sweep, (prefix, column) in SWEEPS.items() if prefix != "map-"]
    series = [prefix + name for _, prefix, _ in sweeps for name in METHODS]
    budgets = np.sort(cells.loc[cells["series"].isin(series), "epsilon"].unique())
    for epsilon, (sweep, prefix, column), name in product(budgets, sweeps, METHODS):
        here = cells[(cells["series"] == prefix + name) & (cells["epsilon"] == epsilon)]
        table = points(here, name, column, "share", LARGEST % sweep).rename(columns={column: "x"})
        least = floors(here.drop_duplicates(column).sort_values(column)).to_numpy()
        tables.append(table.assign(sweep=sweep, epsilon=epsilon, floor=least))
    return pd.concat(tables, ignore_index=True)


FACTS = {"parts": parts, "trials": by_trials}


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure risks on Figure 2's problem, the map of methods, the users needed, and risks under misspecification."""
    first = cells["series"].isin(STREAMS)
    on_first, tables = on_figure2(cells[first])
    measured = on_first + by_kind(cells, study)
    tables["beyond/rivals"] = rival_points(measured)
    cells = cells[~first & ~cells["series"].str.startswith("rival-")]
    for sweep, (prefix, _) in SWEEPS.items():
        seeds = int(cells.loc[cells["series"] == f"{prefix}unit", "seed"].nunique())
        for name, risk in risks(cells, sweep)[list(METHODS)].items():
            measured.append(bare(f"settings {sweep} in which {name} works", int((risk <= WORKS).sum()), len(risk)))
        compared = bootstrap_measures(partial(ratios, cells, sweep), seeds, LARGEST % sweep, BOOTSTRAP)
        measured.append(extreme_ratio("largest", LARGEST % sweep, compared, f"of {len(compared)} settings"))
    names = (*METHODS, *(f"{name}-published" for name in METHODS if name != "unit"))
    users = {name: cells[cells["series"] == f"users-{name}"] for name in names}
    reached = pd.concat(
        [points(rows.assign(needed=needed(rows)), name, "dim", "needed", "users") for name, rows in users.items()]
    )
    tables |= {
        "beyond/map": map_points(cells),
        "beyond/map_samples": sweep_points(cells),
        "beyond/users_methods": reached[np.isfinite(reached["needed"])],
    }
    return Findings(measured, tables)
