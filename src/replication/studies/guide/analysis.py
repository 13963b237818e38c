"""Choice of a method for given users (claim O-GUIDE): advice on a public grid, compared with runs in fixed settings.

Predicted risks and recommended methods are those of `privrep.theory.choice`, at one delta. All runs have one label
noise, for which methods are judged; the sliders of the page also have predictions for others.
"""

from __future__ import annotations

import itertools
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from privrep.privacy.accounting import gdp_mu
from privrep.theory import choice as methods
from privrep.theory.choice import CLOSE, NAMES, method_to_use
from privrep.theory.rival_options import ROUNDS as ROUNDS  # named in the chapter
from privrep.theory.whole_methods import Regime
from replication.evidence.facts import Quantities
from replication.evidence.findings import Findings
from replication.evidence.intervals import BOOTSTRAP, bootstrap_intervals, bootstrap_measures
from replication.evidence.measured import Measured, bare, exact, share
from replication.run.settings import AnalysisSettings

PRIVATE = ("unit", "centaur", "fedrep", "altmin")
PUBLISHED = [name for name in PRIVATE if name != "unit"]
RUN = (*PRIVATE, "own")
METHODS = {name: NAMES[name] for name in (*RUN, "zero")}
"""Series -> name of its method; predicting zero is not run."""
STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
AXES = {name: axis["values"] for name, axis in STATED.items()}
"""Axes of the grid of the guide."""
LABELS = {name: (axis["label"], axis["symbol"]) for name, axis in STATED.items()}
"""Axis -> its label and its symbol."""
KEYS = list(AXES)
SIZES = KEYS[:4]
EXAMPLE = {"users": 20_000, "samples": 10, "dim": 30, "rank": 3, "epsilon": 1.0}
"""The measured setting that serves as an example in the chapter."""
LABEL_NOISE, DELTA = 0.01, 1e-6
"""Label noise, over the scale of a coordinate of a head, and delta of the whole grid."""
NOISES = (LABEL_NOISE, 0.1, 0.5, 2.0)
"""Label noises of the sliders: those of the runs of unit_map, of which the runs of this study have the first."""
LABELS |= {"label-noise": ("label noise over a head's scale", "σ")}  # noqa: RUF001
SLIDERS = {key: AXES[key] for key in SIZES} | {"label-noise": NOISES, "epsilon": AXES["epsilon"]}
"""Sliders of the page."""
FINE = 1000
"""The page holds predicted risks as rounded decimal logarithms times this, precise to two parts in a thousand."""
BEST_RANK, BEST_SAMPLES, BEST_DIMS = 3, (10, 40), (10, 30, 100)
"""Rank, samples and dimensions in the figure of recommended methods."""
CHOICES = {"all": list(METHODS), "all but unit steps": [name for name in METHODS if name != "unit"]}
"""Sets of methods from which one is recommended. The second is harder: its best method varies over the settings."""
NOTHING = 0.1
"""A run learns nothing if its risk exceeds this share of that of predicting zero."""


def predictions(settings: pd.DataFrame, noise: float = LABEL_NOISE) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return predicted risks, and whether the assumptions of the law hold, by setting (rows) and method (columns)."""
    risks = pd.DataFrame(np.inf, settings.index, list(METHODS))
    known = pd.DataFrame(False, settings.index, list(METHODS))
    mu = settings["epsilon"].map({epsilon: gdp_mu(epsilon, DELTA) for epsilon in settings["epsilon"].unique()})
    groups: Any = settings.groupby(["samples", "dim", "rank"])
    for (samples, dim, rank), rows in groups:
        sizes = Regime(rows["users"].to_numpy(float), samples, dim, rank, noise)
        for name in METHODS:
            law = methods.expected(name, sizes, mu[rows.index].to_numpy())
            risks.loc[rows.index, name], known.loc[rows.index, name] = law.risk, law.known
    return risks, known


def grid() -> pd.DataFrame:
    """Return all settings of the guide, the last axis running fastest."""
    return pd.DataFrame(itertools.product(*AXES.values()), columns=KEYS)


@cache
def guide(noise: float = LABEL_NOISE) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the predictions on the grid."""
    return predictions(grid(), noise)


def places(settings: pd.DataFrame) -> np.ndarray:
    """Return the index of each setting on each axis, (settings, axes)."""
    return np.column_stack([settings[name].map(AXES[name].index) for name in KEYS])


def near(settings: pd.DataFrame, measured: pd.DataFrame) -> np.ndarray:
    """Return for each setting whether some measured setting is at most one step away on every axis."""
    apart = np.abs(places(settings)[:, None] - places(measured)[None]).max(axis=2)
    return (apart <= 1).any(axis=1)


def settings_of(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the measured settings, sorted."""
    return cells.loc[cells["series"] == "unit", KEYS].drop_duplicates().sort_values(KEYS, ignore_index=True)


def repetitions(cells: pd.DataFrame) -> np.ndarray:
    """Return measured risks by repetition, setting (as in `settings_of`) and method, infinite if the run failed."""
    rows = cells[cells["series"].isin(RUN)]
    rows = rows.assign(share=(rows["excess_risk"] / rows["rank"]).fillna(np.inf))
    where = settings_of(cells)
    values = np.ones((cells["seed"].nunique(), len(where), len(METHODS)))
    for place, name in enumerate(RUN):
        keys = KEYS if name in PRIVATE else SIZES  # users alone have no epsilon
        table = rows[rows["series"] == name].pivot_table("share", keys, "seed", aggfunc="first")
        values[:, :, place] = where[keys].join(table, on=keys)[sorted(table.columns)].to_numpy().T
    return values


def medians(values: np.ndarray) -> pd.DataFrame:
    """Return median risks over the repetitions, by measured setting (rows) and method (columns)."""
    return pd.DataFrame(np.median(values, axis=0), columns=list(METHODS))


def risks(cells: pd.DataFrame) -> list[pd.DataFrame]:
    """Return `medians` and both ends of their 95 % intervals."""
    values = repetitions(cells)

    def statistic(indices: np.ndarray) -> dict[tuple[int, ...], float]:
        return dict(np.ndenumerate(np.median(values[indices], axis=0)))

    ends = bootstrap_intervals(statistic, len(values), "risks of the guide", BOOTSTRAP)
    both = np.array([*ends.values()]).reshape(*values.shape[1:], 2)
    return [medians(values), *(pd.DataFrame(both[:, :, end], columns=list(METHODS)) for end in (0, 1))]


def law_points(cells: pd.DataFrame, expected: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each method and measured setting: predicted and measured risk, and whether the law holds."""
    measured = dict(zip(("measured", "ci_low", "ci_high"), risks(cells), strict=True))
    tables = {"predicted": expected} | measured | {"known": known}
    where = settings_of(cells)
    parts = [where.assign(method=name, **{key: table[name] for key, table in tables.items()}) for name in METHODS]
    return pd.concat(parts, ignore_index=True)


def chosen(values: pd.DataFrame, names: pd.Series) -> np.ndarray:
    """Return from each row of `values` the entry in the column that `names` has for this row."""
    return values.to_numpy()[np.arange(len(values)), values.columns.get_indexer(pd.Index(names))]


def over_others(observed: pd.DataFrame, expected: pd.DataFrame) -> dict[str, float]:
    """Return the largest ratio over settings of the risk of the recommended method to the least of the others."""
    ratios = {}
    for words, names in CHOICES.items():
        named = method_to_use(expected[names])
        is_named = np.asarray(names)[None, :] == named.to_numpy()[:, None]
        ratio = chosen(observed[names], named) / observed[names].mask(is_named).min(axis=1).to_numpy()
        ratios[f"largest risk of the method named over the least of the others, of {words}"] = float(ratio.max())
    return ratios


def choices(observed: pd.DataFrame, expected: pd.DataFrame, known: pd.DataFrame) -> list[Measured]:
    """Measure how often the recommended method is within the factor `CLOSE` of the best; count wrong choices."""
    measured = []
    for words, names in CHOICES.items():
        named = method_to_use(expected[names])
        hits = (chosen(observed[names], named) <= CLOSE * observed[names].min(axis=1)).to_numpy()
        quantity = f"share of settings in which the method named is as good as the best of {words}"
        wrong = f"wrong choices of {words}"
        sure = chosen(known[names], named).astype(bool)
        measured += [
            share(quantity, hits.sum(), len(hits), "over settings"),
            bare(wrong, int((~hits).sum()), len(hits)),
            bare(f"{wrong} where the law of the method named is known", int((~hits & sure).sum()), len(hits)),
        ]
    return measured


def factors(observed: pd.DataFrame, expected: pd.DataFrame, known: pd.DataFrame) -> dict[str, float]:
    """Return median and largest factor between predicted and measured risk, either way, where the law holds."""
    ratios: Any = np.log(observed[list(RUN)] / expected[list(RUN)])
    apart = np.exp(ratios.abs()).where(known[list(RUN)])
    typical = {f"typical factor between law and risk, {name}": float(apart[name].median()) for name in RUN}
    typical["typical factor between law and risk, all methods"] = float(apart.stack().median())
    return typical | {f"largest factor between law and risk, {name}": float(apart[name].max()) for name in RUN}


def failures(values: np.ndarray) -> list[Measured]:
    """Measure how often a private method learns nothing, in settings where most of its runs learn something."""
    measured = []
    for place, name in enumerate(PRIVATE):
        nothing = values[:, :, place] > NOTHING
        most = nothing[:, np.median(nothing, axis=0) == 0]
        if most.size:
            quantity = f"runs of {name} that find nothing where most find something"
            measured.append(share(quantity, int(most.sum()), most.size, "over runs"))
    return measured


def best_points(where: pd.DataFrame) -> pd.DataFrame:
    """Return recommended methods on the drawn part of the grid, and whether their law holds near a measurement."""
    settings, (expected, known) = grid(), guide()
    best = method_to_use(expected)
    sure = chosen(known, best) & near(settings, where)
    table = settings.assign(method=best, predicted=expected.min(axis=1), known=sure)
    shown = table["samples"].isin(BEST_SAMPLES) & table["dim"].isin(BEST_DIMS) & (table["rank"] == BEST_RANK)
    return table[shown].reset_index(drop=True)


def is_example(rows: pd.DataFrame) -> pd.Series:
    """Mark the rows whose setting is `EXAMPLE`."""
    return (rows[KEYS] == pd.Series(EXAMPLE)).all(axis=1)


def shown(cells: pd.DataFrame, quantities: Quantities) -> list[dict[str, object]]:
    """Return for each measured setting sizes, recommended method, and predicted and measured risks of all methods."""
    expected, known = predictions(settings_of(cells))
    points = law_points(cells, expected, known)
    close = points["measured"] <= CLOSE * points.groupby(KEYS)["measured"].transform("min")
    triples = pd.Series(points[["measured", "ci_low", "ci_high"]].to_numpy().tolist())
    measured = triples.where(points["method"].isin(RUN), None)
    points = points.assign(name=points["method"].map(METHODS), close=close, measured=measured)
    columns, settings = ["name", "predicted", "known", "measured", "close"], []
    for (sizes, part), best in zip(points.groupby(KEYS), method_to_use(expected), strict=True):
        about = {"sizes": sizes, "best": METHODS[best], "example": is_example(part).all()}
        settings.append(about | {"methods": part[columns].to_dict("records")})
    return settings


def tool(cells: pd.DataFrame, quantities: Quantities) -> dict[str, object]:
    """Return the data of the sliders of the page: `on_the_grid`, and `measured` with the indices of each setting on the
    axes and method -> risk with the ends of its interval."""
    tables: list[Any] = risks(cells)
    measured = [
        {
            "at": [*at[:-1].tolist(), 0, int(at[-1])],
            "risk": {name: [_short(part.loc[row, name]) for part in tables] for name in RUN},
        }
        for row, at in enumerate(places(settings_of(cells)))
    ]
    return on_the_grid() | {"measured": measured}


@cache
def on_the_grid() -> dict[str, object]:
    """Return the predictions that the sliders of the page show.

    predicted : method -> `FINE` times the decimal logarithm of its risk at all points, null where it cannot be run; for
        own data without the axis of epsilon.
    known : method -> a digit for each point, 1 where the assumptions of the law hold.
    """
    tables = [guide(), *map(guide, NOISES[1:])]

    def points(part: int, name: str) -> np.ndarray:
        values = np.stack([table[part][name].to_numpy().reshape(-1, len(AXES["epsilon"])) for table in tables], axis=1)
        return (values if name in PRIVATE else values[..., 0]).ravel()

    return {
        "axes": [{"name": key, "symbol": LABELS[key][1], "values": values} for key, values in SLIDERS.items()],
        "methods": [{"key": name, "name": called} for name, called in METHODS.items()],
        "noise": LABEL_NOISE,
        "delta": DELTA,
        "fine": FINE,
        "close": CLOSE,
        "predicted": {
            name: [round(FINE * float(np.log10(law))) if np.isfinite(law) else None for law in points(0, name)]
            for name in RUN
        },
        "known": {name: "".join(points(1, name).astype(int).astype(str)) for name in RUN},
    }


def _short(value: float) -> float | None:
    return float(f"{value:.3g}") if np.isfinite(value) else None


def sliders(cells: pd.DataFrame, quantities: Quantities) -> list[dict]:
    """Return name and label of each axis, the index of its last value, and the index of the example."""
    start = EXAMPLE | {"label-noise": LABEL_NOISE}
    return [
        {"name": key, "label": ", ".join(LABELS[key]), "last": len(values) - 1, "start": values.index(start[key])}
        for key, values in SLIDERS.items()
    ]


FACTS = {"settings": shown, "tool": tool, "sliders": sliders}


def analyse(cells: pd.DataFrame, study: AnalysisSettings) -> Findings:
    """Measure recommended methods against the best, laws against risks, and shares of the grid by method."""
    where, values = settings_of(cells), repetitions(cells)
    expected, known = predictions(where)
    observed, points = medians(values), law_points(cells, expected, known)
    in_example: list[Any] = [*points[is_example(points)].itertuples()]
    best, everywhere = observed.idxmin(axis=1), guide()[0]
    named, level = method_to_use(everywhere), everywhere[PUBLISHED].min(axis=1) <= CLOSE * everywhere["unit"]

    def over_settings(indices: np.ndarray) -> dict[str, float]:
        drawn = medians(values[indices])
        return over_others(drawn, expected) | factors(drawn, expected, known)

    ratios = bootstrap_measures(over_settings, len(values), "over settings of the guide", BOOTSTRAP)
    measured = [
        *choices(observed, expected, known),
        *failures(values),
        # An extreme over settings has no interval.
        *(replace(one, ci_low=np.nan, ci_high=np.nan) if one.quantity.startswith("largest") else one for one in ratios),
        *(bare(f"settings in which the law of {name} is known", int(known[name].sum()), len(where)) for name in RUN),
        *(bare(f"settings in which {name} is best", int((best == name).sum()), len(where)) for name in METHODS),
        *(exact(f"share of the grid on which {name} is named", (named == name).mean()) for name in METHODS),
        exact("share of the grid on which a published method is as good as unit steps", level.mean()),
        exact("share of the grid near a measured setting", near(grid(), where).mean()),
        *(exact(f"predicted risk of {row.method} in the example", row.predicted) for row in in_example),
    ]
    for row in in_example[: len(RUN)]:  # predicting zero, the last, is not run
        name = f"risk of {row.method} in the example"
        measured.append(Measured(name, row.measured, row.ci_low, row.ci_high, len(values)))
    laws = points[points["method"].isin(RUN)]
    return Findings(measured, {"beyond/guide_laws": laws, "beyond/guide_best": best_points(where)})
