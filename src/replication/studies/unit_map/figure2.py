"""Unit steps on the problem of jain2021's Figure 2 (claims O-F2, O-PROBLEMS and O-PRIOR):
risks over the non-private one.

The non-private risk is that of ridge heads in the true subspace, on the same users.
Numbers are medians over repetitions, since one run that learns nothing would dominate a mean.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from privrep.methods import full_prior
from privrep.methods.unit_steps import method as unit_steps
from privrep.methods.unit_steps import schedule as law
from privrep.methods.unit_steps import whitening
from replication.evidence.facts import Quantities
from replication.evidence.intervals import BOOTSTRAP, bootstrap_measures, with_interval
from replication.evidence.measured import Measured

UNIT = ("unit", "unit-more")
ORACLE = ("oracle", "oracle-more")
PUBLISHED = ("altmin", "centaur", "fedrep")
"""Published methods, tuned on public simulations."""
PROBLEMS = ("second", "third", "fourth")
WITHOUT = {f"without-{part}": part for part in ("start", "tracking", "gain", "moments")} | {"without-unit": "norm one"}
DATA = ("tail", "correlated", "unequal", "hostile", "heads-3", "heads-5")
"""Series with misspecified data, each with a non-private risk (floor) of its own."""
GUESSES = ("noise-high", "noise-low", "scale-high", "scale-low")
FLOORS = {name: f"floor-{name}" for name in DATA} | dict.fromkeys(GUESSES, "floor")
"""Misspecification -> series of its floor."""
RANKS = ("prior-rank-4", "prior-rank-8")
EPSILONS = (0.05, 0.1, 0.25, 1, 5)
"""Epsilons of unit steps, smallest first."""

STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CURVES, MISSPECIFICATIONS = STATED["curves"], STATED["misspecifications"]
"""Label of a curve of Figure 2 -> its series; label of a misspecification -> series."""


@dataclass(frozen=True)
class Risks:
    """Excess risks of all cells.

    tables : series, epsilon (0 without privacy) -> (choices of epochs or penalties, repetitions). rows : series -> row.
    """

    tables: Mapping[tuple[str, float], np.ndarray]
    rows: Mapping[str, pd.Series]

    @classmethod
    def read(cls, cells: pd.DataFrame) -> Risks:
        """Read the risks of the results table."""
        tables = {}
        groups: Any = cells.groupby(["series", cells["epsilon"].fillna(0)])
        for (series, epsilon), rows in groups:
            choice = rows["epochs"].fillna(0).astype(str) + rows["penalty"].fillna(0).astype(str)
            table = rows.assign(choice=choice).pivot(index="choice", columns="seed", values="excess_risk")
            tables[series, float(epsilon)] = table.to_numpy()
        return cls(tables, {str(series): rows.iloc[0] for series, rows in cells.groupby("series")})

    def repetitions(self, *series: str) -> int:
        """Return the number of repetitions common to all of the series."""
        return min(table.shape[1] for (name, _), table in self.tables.items() if name in series)

    def epsilons(self, series: str) -> list[float]:
        """Return the epsilons of a series, smallest first."""
        return sorted(epsilon for name, epsilon in self.tables if name == series)

    def median(self, indices: np.ndarray, series: str, epsilon: float | None = None) -> float:
        """Return the median of the best choice over resampled repetitions; NaN where there are no cells."""
        key = (series, self.epsilons(series)[0] if epsilon is None else float(epsilon))
        if key not in self.tables:
            return np.nan
        return float(np.median(self.tables[key][:, indices], axis=1).min())

    def formula(self, series: str) -> float:
        """Return sigma_F^2 k / (m - k - 1), the expected risk of heads by least squares in the true subspace."""
        row = self.rows[series]
        return row["label_noise_sd"] ** 2 * row["rank"] / (row["samples"] - row["rank"] - 1)

    def zero(self, series: str) -> float:
        """Return the risk of predicting zero for heads of several scales."""
        row = self.rows[series]
        return float((np.geomspace(row["head_condition"], 1, int(row["rank"])) ** 2).sum())


Statistic = Callable[[Risks, np.ndarray], dict[str, float]]
"""Risks and picked repetitions -> numbers by name."""


def more(risks: Risks, indices: np.ndarray) -> dict[str, float]:
    """Return ratios to the floor of unit steps and of one step at the truth, at larger budgets, and the deciding
    reading of Figure 2 over unit steps."""
    floor, ratios = risks.median(indices, "floor"), {}
    for name, series in (("unit steps", UNIT[1]), ("one step at the truth", ORACLE[1])):
        for eps in risks.epsilons(series):
            ratios[f"{name} over floor at {eps:g}"] = risks.median(indices, series, eps) / floor
    for eps in sorted({*risks.epsilons("deciding")} & {*risks.epsilons(UNIT[1])}):
        ratio = risks.median(indices, "deciding", eps) / risks.median(indices, UNIT[1], eps)
        ratios[f"deciding reading over unit steps at {eps:g}"] = ratio
    return ratios


def published(risks: Risks, indices: np.ndarray) -> dict[str, float]:
    """Return the risk of the best rival at each epsilon, over the floor and over that of unit steps."""
    floor, ratios = risks.median(indices, "floor"), {}
    for eps in risks.epsilons(PUBLISHED[0]):
        best = min(risks.median(indices, name, eps) for name in PUBLISHED)
        above = risks.tables[UNIT[1], eps][0, indices] - risks.tables["floor", 0.0][0, indices]
        ratios[f"best rival over floor at {eps:g}"] = best / floor
        ratios[f"best rival over unit steps at {eps:g}"] = best / risks.median(indices, UNIT[1], eps)
        above_floor = (best - floor) / float(np.median(above))
        ratios[f"best rival over unit steps, risk above the floor, at {eps:g}"] = above_floor
    return ratios


def full_rank(risks: Risks, indices: np.ndarray) -> dict[str, float]:
    """Return risks over that of predicting zero, for heads of full rank."""
    zero, own = risks.zero("prior"), risks.median(indices, "prior-own")
    ratios = {"risk of own data over zero's": own / zero}
    for eps in risks.epsilons("prior"):
        medians = {name: risks.median(indices, name, eps) for name in ("prior", *RANKS)}
        ratios |= {f"risk of {name} over zero's at {eps:g}": value / zero for name, value in medians.items()}
        ratios[f"own data over full prior at {eps:g}"] = own / medians["prior"]
        ratios[f"best subspace over full prior at {eps:g}"] = min(medians[name] for name in RANKS) / medians["prior"]
    return ratios


STATISTICS: dict[Statistic, tuple[str, ...]] = {
    published: (*PUBLISHED, UNIT[1], "floor"),
    more: (UNIT[1], ORACLE[1], "deciding", "floor"),
    full_rank: ("prior", *RANKS, "prior-own"),
}
"""Statistic -> series whose common repetitions it uses."""
DEFINED = {
    "few": (UNIT[0], ORACLE[0]),
    "other_problem": PROBLEMS,
    "ingredients": tuple(WITHOUT),
    "departures": (*FLOORS, *FLOORS.values()),
}
"""Random stream of numbers that the study's file defines -> their series."""
STREAMS = {
    name: stream
    for stream, series in (DEFINED | {statistic.__name__: series for statistic, series in STATISTICS.items()}).items()
    for name in series
}
"""Series -> random stream of the quantities that it decides; a series in several has that of the last one."""


def point(
    risks: Risks, label: str, x: float, series: str, epsilon: float | None = None, floor: str = "", unit: float = 1.0
) -> dict:
    """Return a drawn point: the risk of a series over that of its floor, on the repetitions common to both, or over
    `unit`."""

    def statistic(indices: np.ndarray) -> float:
        return risks.median(indices, series, epsilon) / (risks.median(indices, floor) if floor else unit)

    y = with_interval(label, statistic, risks.repetitions(series, floor), name=STREAMS[series], draws=BOOTSTRAP)
    return {"curve": label, "x": x, "y": y.measured, "ci_low": y.ci_low, "ci_high": y.ci_high, "seeds": y.seeds}


def curve(risks: Risks, label: str, series: tuple[str, ...], unit: float = 1.0) -> pd.DataFrame:
    """Return medians of series, divided by `unit`, against epsilon."""
    rows = [point(risks, label, eps, name, eps, unit=unit) for name in series for eps in risks.epsilons(name)]
    return pd.DataFrame(rows).sort_values("x")


def figure2_points(risks: Risks) -> pd.DataFrame:
    """Return the curves of Figure 2 of jain2021 with unit steps, the floor in the last row, and delta."""
    tables = [curve(risks, label, names) for label, names in CURVES.items()]
    floor = pd.DataFrame([point(risks, "non-private", 0.0, "floor")])
    return pd.concat([*tables, floor], ignore_index=True).assign(delta=risks.rows["unit"]["delta"])


def ablation_points(risks: Risks) -> pd.DataFrame:
    """Return risks of unit steps with one part removed, over the expected non-private risk."""
    shown = {"fourth": "all ingredients"} | {name: f"without {part}" for name, part in WITHOUT.items()}
    return pd.DataFrame([point(risks, label, 1, name, unit=risks.formula(name)) for name, label in shown.items()])


def prior_points(risks: Risks) -> pd.DataFrame:
    """Return risks for heads of full rank against epsilon: a prior, two subspaces, and last each user alone."""
    zero = risks.zero("prior")
    labels = {"prior": "full prior"} | {name: f"subspace of {name.rsplit('-', 1)[1]} dimensions" for name in RANKS}
    tables = [curve(risks, label, (name,), zero) for name, label in labels.items()]
    own = point(risks, "each user alone", 0.0, "prior-own", unit=zero)
    return pd.concat([*tables, pd.DataFrame([own])], ignore_index=True)


def parts(cells: pd.DataFrame, quantities: Quantities) -> dict:
    """Return the constants of unit steps by their names in lower case."""
    modules = (law, unit_steps, whitening, full_prior)
    constants = {name: value for module in modules for name, value in vars(module).items() if name.isupper()}
    return {name.lower(): value for name, value in constants.items() if isinstance(value, int | float | tuple)}


def on_figure2(cells: pd.DataFrame) -> tuple[list[Measured], dict[str, pd.DataFrame]]:
    """Measure all risks over the floor, and the ratios between methods; return also the numbers of the figures."""
    risks, measured = Risks.read(cells), []
    for statistic, series in STATISTICS.items():
        repetitions = risks.repetitions(*series)
        measured += bootstrap_measures(partial(statistic, risks), repetitions, statistic.__name__, BOOTSTRAP)
    tables = {
        "beyond/figure2": figure2_points(risks),
        "beyond/ablation": ablation_points(risks),
        "beyond/departures": pd.DataFrame(
            [point(risks, label, 0, name, floor=FLOORS[name]) for label, name in MISSPECIFICATIONS.items()]
        ),
        "beyond/full_prior": prior_points(risks),
    }
    return measured, tables
