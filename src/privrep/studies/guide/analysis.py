"""Which method for given users (claim O-GUIDE): what the laws of whole methods expect on a public grid,
held against runs at a fixed design."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd

from privrep.algorithms.parts.clip_units import gradient_threshold, label_threshold, moment_threshold, user_units
from privrep.data.problem import Problem
from privrep.data.splits import count, split_samples
from privrep.evidence.facts import Quantities
from privrep.evidence.findings import Findings
from privrep.evidence.intervals import BOOTSTRAP, bootstrap_intervals, bootstrap_measures
from privrep.evidence.measured import Measured, bare, exact, share
from privrep.laws import whole_methods
from privrep.laws.shared import Values
from privrep.laws.whole_methods import Moments, PowerStart, Prediction, Rounds, SpectralStart
from privrep.privacy.accounting import gdp_mu
from privrep.privacy.regression_moments import USER_MOMENTS_COST
from privrep.run.rival_options import PASSES, ROUNDS
from privrep.run.settings import AnalysisSettings

PRIVATE = {"unit": "unit steps", "centaur": "CENTAUR", "fedrep": "private FedRep", "altmin": "alternating minimisation"}
PUBLISHED = [name for name in PRIVATE if name != "unit"]
RUN = PRIVATE | {"own": "own data"}
METHODS = RUN | {"zero": "predicting zero"}
"""Series and what they are called; the last one is not run."""
AXES = {
    "users": (1500, 3000, 5000, 10_000, 20_000, 50_000, 100_000),
    "samples": (6, 10, 20, 40),
    "dim": (10, 20, 30, 50, 100),
    "rank": (1, 2, 3, 5),
    "epsilon": (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
}
"""The grid of the guide."""
KEYS = list(AXES)
SIZES = KEYS[:4]
EXAMPLE = {"users": 20_000, "samples": 10, "dim": 30, "rank": 3, "epsilon": 1.0}
"""A measured point that is shown by itself."""
LABEL_NOISE, DELTA = 0.01, 1e-6
SYMBOLS = {"users": "n", "samples": "m", "dim": "d", "rank": "k", "epsilon": "ε"}
LABELS = {
    "users": "users, n",
    "samples": "samples of a user, m",
    "dim": "dimension, d",
    "rank": "rank of what they share, k",
    "epsilon": "privacy, ε",
}
FINE = 1000
"""Predicted risks are written as this many times their decimal logarithm, a whole number:
two parts in a thousand of the risk."""


def by_rounds(options: list[dict]) -> list[dict]:
    """Options with the same number of rounds as one, whose other values are columns (options, 1)."""
    table = pd.DataFrame(options)
    return [
        {"rounds": int(rounds)} | {name: rows[[name]].to_numpy() for name in rows if name != "rounds"}
        for rounds, rows in table.groupby("rounds")
    ]


OPTIONS = {
    "unit": [{}],
    "centaur": [{"init_samples": 4, "init_clip": 0.5} | some for some in by_rounds(ROUNDS)],
    "fedrep": by_rounds(ROUNDS),
    "altmin": [one for one in PASSES if one["epochs"] == 1],
    "own": [{"penalty": 0.001}],
    "zero": [{}],
}
"""What a law is told of a method: all options that may be chosen (`privrep.run.rival_options`), of which it takes those
that it expects to be the best. That of alternating minimisation knows one pass."""
BEST_RANK, BEST_SAMPLES, BEST_DIMS = 3, (10, 40), (10, 30, 100)
"""At which the method to use is drawn."""
ITERATIONS, FEDREP_LABEL_CLIP, SPLIT = 14, 0.5, "halves-then-all"
"""Of CENTAUR's start, of private FedRep's start, and of alternating minimisation: defaults."""
CHOICES = {"all": list(METHODS), "all but unit steps": [name for name in METHODS if name != "unit"]}
"""Methods among which one is named. The second choice is the harder one:
its best method changes from setting to setting."""
NOTHING = 0.1
"""A run has found nothing where its risk is beyond this share of that of predicting zero."""
CLOSE = 1.1
"""Methods whose risks differ by less than this factor are as good as each other."""


def law(name: str, sizes: whole_methods.Regime, mu: np.ndarray, chosen: Mapping[str, Values]) -> Prediction:
    """The law of a method with these options at its thresholds in absolute terms."""
    samples = sizes.samples
    # Thresholds in units of the data do not depend on the number of users.
    problem = Problem(1, samples, sizes.dim, sizes.rank, sizes.noise, "sphere")
    if name == "zero":
        return whole_methods.predicting_zero()
    if name == "own":
        return whole_methods.own_data(sizes, chosen["penalty"])
    if name == "unit":
        return whole_methods.unit_steps(sizes, mu)
    if name == "centaur":
        zeta = moment_threshold("practical", chosen["init_clip"], problem.known)
        start = PowerStart(ITERATIONS, chosen["init_samples"], zeta, chosen["init_share"])
        clip = gradient_threshold("practical", chosen["clip"], problem.known)
        return whole_methods.centaur(sizes, mu, start, Rounds(chosen["rounds"], samples // 2, chosen["step"], clip))
    if name == "fedrep":
        zeta = label_threshold("data", FEDREP_LABEL_CLIP, problem.known)
        clip = gradient_threshold("practical", chosen["clip"], problem.known)
        rounds = Rounds(chosen["rounds"], 0, chosen["step"], clip)
        start = SpectralStart(samples, zeta, chosen["init_share"])
        return whole_methods.private_fedrep(sizes, mu, start, rounds)
    split = split_samples(SPLIT, samples)
    start = SpectralStart(
        samples, label_threshold("data", chosen["init_label_clip"], problem.known), chosen["init_share"]
    )
    step = Moments(
        heads=count(split.heads),
        samples=count(split.subspace),
        factors=(chosen["clip_feature"], chosen["clip_label"]),
        units=user_units("data", problem.known, count(split.subspace)),
        cost=USER_MOMENTS_COST.mu_squared,
    )
    return whole_methods.altmin(sizes, mu, start, step)


def at_its_best(name: str, sizes: whole_methods.Regime, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least risk that the law of a method expects of its `OPTIONS`, and whether the law is known there,
    for each mu."""
    found = [law(name, sizes, mu, options) for options in OPTIONS[name]]
    risk, known = (
        np.vstack([np.broadcast_to(part, np.broadcast_shapes(np.shape(part), mu.shape)) for part in parts])
        for parts in ([one.risk for one in found], [one.known for one in found])
    )
    best = risk.argmin(axis=0)
    return risk[best, np.arange(len(mu))], known[best, np.arange(len(mu))]


def predictions(settings: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Risk over that of predicting zero, and whether the law is known there, by setting (rows) and method (columns).
    That of a method that cannot be run with so few samples is infinite."""
    risks = pd.DataFrame(np.inf, settings.index, list(METHODS))
    known = pd.DataFrame(False, settings.index, list(METHODS))
    mu = settings["epsilon"].map({epsilon: gdp_mu(epsilon, DELTA) for epsilon in settings["epsilon"].unique()})
    for (samples, dim, rank), rows in settings.groupby(["samples", "dim", "rank"]):
        sizes = whole_methods.Regime(rows["users"].to_numpy(float), samples, dim, rank, LABEL_NOISE)
        for name in METHODS:
            found = at_its_best(name, sizes, mu[rows.index].to_numpy())
            risks.loc[rows.index, name], known.loc[rows.index, name] = found
    return risks, known


def grid() -> pd.DataFrame:
    """All settings of the guide, the last axis running fastest."""
    return pd.DataFrame(list(itertools.product(*AXES.values())), columns=KEYS)


@cache
def guide() -> tuple[pd.DataFrame, pd.DataFrame]:
    """`predictions` on the grid."""
    return predictions(grid())


def places(settings: pd.DataFrame) -> np.ndarray:
    """The place of each setting on the axes."""
    return np.column_stack([settings[name].map(AXES[name].index) for name in KEYS])


def near(settings: pd.DataFrame, measured: pd.DataFrame) -> np.ndarray:
    """Whether there is a measured setting that is at most one step away on each axis."""
    apart = np.abs(places(settings)[:, None] - places(measured)[None]).max(axis=2)
    return (apart <= 1).any(axis=1)


def settings_of(cells: pd.DataFrame) -> pd.DataFrame:
    """The measured settings."""
    return cells.loc[cells["series"] == "unit", KEYS].drop_duplicates().sort_values(KEYS, ignore_index=True)


def repetitions(cells: pd.DataFrame) -> np.ndarray:
    """Risk over that of predicting zero by repetition, measured setting (as in `settings_of`) and method.
    A run that failed counts as worse than all others."""
    rows = cells[cells["series"].isin(RUN)]
    rows = rows.assign(share=(rows["excess_risk"] / rows["rank"]).fillna(np.inf))
    where = settings_of(cells)
    found = np.ones((cells["seed"].nunique(), len(where), len(METHODS)))
    for place, name in enumerate(RUN):
        keys = KEYS if name in PRIVATE else SIZES  # own data know no epsilon
        table = rows[rows["series"] == name].pivot_table("share", keys, "seed", aggfunc="first")
        found[:, :, place] = where[keys].join(table, on=keys)[sorted(table)].to_numpy().T
    return found


def medians(values: np.ndarray, indices: np.ndarray | None = None) -> pd.DataFrame:
    """Median risk over the resampled repetitions, by measured setting (rows) and method (columns)."""
    return pd.DataFrame(np.median(values if indices is None else values[indices], axis=0), columns=list(METHODS))


def risks(cells: pd.DataFrame) -> pd.DataFrame:
    """Median risk over that of predicting zero, by measured setting (rows, as in `settings_of`) and method
    (columns)."""
    return medians(repetitions(cells))


def intervals(cells: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Ends of the 95 % intervals of `risks`."""
    values = repetitions(cells)
    shape = values.shape[1:]

    def statistic(indices: np.ndarray) -> dict[tuple[int, ...], float]:
        found = np.median(values[indices], axis=0)
        return {place: float(found[place]) for place in np.ndindex(shape)}

    ends = bootstrap_intervals(statistic, len(values), "risks of the guide", BOOTSTRAP)
    both = np.array([ends[place] for place in np.ndindex(shape)]).reshape(*shape, 2)
    return tuple(pd.DataFrame(both[:, :, end], columns=list(METHODS)) for end in (0, 1))


def chosen(values: pd.DataFrame, names: pd.Series) -> np.ndarray:
    """The value of the named method in each row."""
    return values.to_numpy()[np.arange(len(values)), values.columns.get_indexer(names)]


def others(values: pd.DataFrame, names: pd.Series) -> np.ndarray:
    """The least value of all methods but the named one in each row."""
    named = np.asarray(values.columns)[None, :] == names.to_numpy()[:, None]
    return values.mask(named).min(axis=1).to_numpy()


def over_others(found: pd.DataFrame, expected: pd.DataFrame) -> dict[str, float]:
    """The largest risk of the method that the laws name over the least of the others, over the settings."""
    ratios = {}
    for words, names in CHOICES.items():
        named = expected[names].idxmin(axis=1)
        ratio = chosen(found[names], named) / others(found[names], named)
        ratios[f"largest risk of the method named over the least of the others, of {words}"] = float(ratio.max())
    return ratios


def choices(found: pd.DataFrame, expected: pd.DataFrame, known: pd.DataFrame) -> list[Measured]:
    """In how many settings the method that the laws name is within `CLOSE` of the least measured risk,
    and how many of the others its law knows."""
    measured = []
    for words, names in CHOICES.items():
        named = expected[names].idxmin(axis=1)
        hits = (chosen(found[names], named) <= CLOSE * found[names].min(axis=1)).to_numpy()
        quantity = f"share of settings in which the method named is as good as the best of {words}"
        wrong = f"wrong choices of {words}"
        sure = chosen(known[names], named).astype(bool)
        measured += [
            share(quantity, hits.sum(), len(hits), "over settings"),
            bare(wrong, int((~hits).sum()), len(hits)),
            bare(f"{wrong} where the law of the method named is known", int((~hits & sure).sum()), len(hits)),
        ]
    return measured


def factors(found: pd.DataFrame, expected: pd.DataFrame, known: pd.DataFrame) -> dict[str, float]:
    """Of each method that is run: median and largest factor between predicted and measured risk, in either direction,
    where the law is known."""
    apart = np.exp(np.abs(np.log(found[list(RUN)] / expected[list(RUN)]))).where(known[list(RUN)])
    typical = {f"typical factor between law and risk, {name}": float(apart[name].median()) for name in RUN}
    typical["typical factor between law and risk, all methods"] = float(apart.stack().median())
    return typical | {f"largest factor between law and risk, {name}": float(apart[name].max()) for name in RUN}


def failures(values: np.ndarray) -> list[Measured]:
    """How often a private method finds nothing, in the settings in which most of its runs find something."""
    found = []
    for place, name in enumerate(PRIVATE):
        nothing = values[:, :, place] > NOTHING
        most = nothing[:, np.median(nothing, axis=0) == 0]
        if most.size:
            quantity = f"runs of {name} that find nothing where most find something"
            found.append(share(quantity, most.sum(), most.size, "over runs"))
    return found


def without_ends(one: Measured) -> Measured:
    """An extreme over settings, which has no interval."""
    return bare(one.quantity, one.measured, one.seeds, one.note)


def law_points(
    where: pd.DataFrame,
    found: pd.DataFrame,
    ends: tuple[pd.DataFrame, pd.DataFrame],
    laws: tuple[pd.DataFrame, pd.DataFrame],
) -> pd.DataFrame:
    """Risk of each method by measured setting: predicted, measured with ci_low and ci_high, and known,
    whether the law is known there."""
    columns = {"predicted": laws[0], "measured": found, "ci_low": ends[0], "ci_high": ends[1], "known": laws[1]}
    parts = [where.assign(method=name, **{column: table[name] for column, table in columns.items()}) for name in RUN]
    return pd.concat(parts, ignore_index=True)


def best_points(where: pd.DataFrame) -> pd.DataFrame:
    """The method that the laws name on a part of the grid, its predicted risk, and whether its law is known and a
    setting was measured nearby."""
    settings, (expected, known) = grid(), guide()
    best = expected.idxmin(axis=1)
    table = settings.assign(
        method=best, predicted=expected.min(axis=1), known=chosen(known, best) & near(settings, where)
    )
    shown = table["samples"].isin(BEST_SAMPLES) & table["dim"].isin(BEST_DIMS) & (table["rank"] == BEST_RANK)
    return table[shown].reset_index(drop=True)


def example(
    where: pd.DataFrame,
    found: pd.DataFrame,
    ends: tuple[pd.DataFrame, pd.DataFrame],
    expected: pd.DataFrame,
    seeds: int,
) -> list[Measured]:
    """What is predicted and measured at `EXAMPLE`."""
    here = (where == pd.Series(EXAMPLE)).all(axis=1)
    if not here.any():
        return []
    law, values, low, high = (table.loc[here.idxmax()] for table in (expected, found, *ends))
    return [
        *(exact(f"predicted risk of {name} in the example", law[name]) for name in METHODS),
        *(Measured(f"risk of {name} in the example", values[name], low[name], high[name], seeds) for name in RUN),
    ]


def shown(cells: pd.DataFrame, quantities: Quantities) -> list[dict[str, object]]:
    """Setting by setting: its sizes, the method to use by law, whether it is the example, and of each method the
    predicted risk, whether its law is known there, and where it is run the measured risk with the ends of its interval
    and whether that is as good as the best."""
    where, found, ends = settings_of(cells), risks(cells), intervals(cells)
    expected, known = predictions(where)
    close = found.le(CLOSE * found.min(axis=1), axis=0)
    rows = []
    for place, setting in where.iterrows():
        methods = [
            {
                "name": called,
                "predicted": expected.loc[place, name],
                "known": known.loc[place, name],
                "measured": [one.loc[place, name] for one in (found, *ends)] if name in RUN else None,
                "close": close.loc[place, name],
            }
            for name, called in METHODS.items()
        ]
        is_example = bool((setting == pd.Series(EXAMPLE)).all())
        best = METHODS[expected.loc[place].idxmin()]
        rows.append({"sizes": [setting[key] for key in KEYS], "best": best, "example": is_example, "methods": methods})
    return rows


def tool(cells: pd.DataFrame, quantities: Quantities) -> dict[str, object]:
    """What the tool of the page shows.

    axes : name, symbol and values, the last one running fastest. methods : key and name. predicted : method -> `FINE`
    times the decimal logarithm of its risk at all points of the grid, null where it has none; of own data without the
    last axis. known : a digit for each, 1 where the law's assumptions hold. measured : place on the axes, and
    method -> risk with the ends of its interval.
    """
    found = (risks(cells), *intervals(cells))
    measured = [
        {
            "at": [int(one) for one in at],
            "risk": {name: [_short(part.loc[row, name]) for part in found] for name in RUN},
        }
        for row, at in enumerate(places(settings_of(cells)))
    ]
    return on_the_grid() | {"measured": measured}


@cache
def on_the_grid() -> dict[str, object]:
    """All of it but what is measured."""
    expected, known = guide()
    budgets = len(AXES["epsilon"])
    steps = {name: budgets if name not in PRIVATE else 1 for name in RUN}
    return {
        "axes": [{"name": key, "symbol": SYMBOLS[key], "values": AXES[key]} for key in KEYS],
        "methods": [{"key": name, "name": called} for name, called in METHODS.items()],
        "fine": FINE,
        "close": CLOSE,
        "predicted": {name: _logarithms(expected[name].to_numpy()[::step]) for name, step in steps.items()},
        "known": {
            name: "".join(str(int(flag)) for flag in known[name].to_numpy()[::step]) for name, step in steps.items()
        },
    }


def _logarithms(values: np.ndarray) -> list[int | None]:
    return [round(FINE * float(np.log10(value))) if np.isfinite(value) else None for value in values]


def _short(value: float) -> float | None:
    return float(f"{value:.3g}") if np.isfinite(value) else None


def sliders(cells: pd.DataFrame, quantities: Quantities) -> list[dict[str, object]]:
    """Axis by axis: its name, its label, the place of its last value, and that of the example."""
    return [
        {"name": key, "label": LABELS[key], "last": len(AXES[key]) - 1, "start": AXES[key].index(EXAMPLE[key])}
        for key in KEYS
    ]


FACTS = {"settings": shown, "tool": tool, "sliders": sliders}


def analyse(cells: pd.DataFrame, study: AnalysisSettings) -> Findings:
    """How good the named methods are, how near the laws, and what the guide says on its grid."""
    where, values = settings_of(cells), repetitions(cells)
    expected, known = predictions(where)
    found = medians(values)
    ends = intervals(cells)
    best, everywhere = found.idxmin(axis=1), guide()[0]
    named, level = everywhere.idxmin(axis=1), everywhere[PUBLISHED].min(axis=1) <= CLOSE * everywhere["unit"]

    def over_settings(indices: np.ndarray) -> dict[str, float]:
        drawn = medians(values, indices)
        return over_others(drawn, expected) | factors(drawn, expected, known)

    ratios = bootstrap_measures(over_settings, len(values), "over settings of the guide", BOOTSTRAP)
    measured = [
        *choices(found, expected, known),
        *failures(values),
        *(without_ends(one) if one.quantity.startswith("largest") else one for one in ratios),
        *(bare(f"settings in which the law of {name} is known", int(known[name].sum()), len(where)) for name in RUN),
        *(bare(f"settings in which {name} is best", int((best == name).sum()), len(where)) for name in METHODS),
        *(exact(f"share of the grid on which {name} is named", (named == name).mean()) for name in METHODS),
        exact("share of the grid on which a published method is as good as unit steps", level.mean()),
        exact("share of the grid near a measured setting", near(grid(), where).mean()),
        *example(where, found, ends, expected, len(values)),
    ]
    tables = {
        "beyond/guide_laws": law_points(where, found, ends, (expected, known)),
        "beyond/guide_best": best_points(where),
    }
    return Findings(measured, tables)
