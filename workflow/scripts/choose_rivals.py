"""Choose the settings of the published methods on public simulations, and write src/replication/studies/rivals.csv, and
rivals_by_trials.csv with the results of fewer trials. No judged data are used.

    python workflow/scripts/choose_rivals.py [--study unit_map fedrep] [--series rare-centaur ...] [--anew]

For each setting (n, m, d, k, label noise, epsilon) of a tuned series of the default scale:
1. `TRIALS` sets of options are drawn, the same number for each method: `UNIFORM` of them uniformly in `RANGES`, the
   others around the best of these and of the table's present choice, which is trial 0 (for a new series the choice of
   another series of the method, unless the new one is as published). `INGREDIENTS` that a series states are not drawn,
   and a series that is as published has the start of its paper.
2. They run on public data sets, `SEEDS`, which no judged cell has: all on one, the best on two, and the best of these
   on all, see `RUNGS`. The options of least median risk are chosen. A run that breaks down counts as infinite risk.
3. The same rule among the first 1, 2, 4, ... drawn options shows whether more trials would change anything.
An interrupted search resumes with the settings that rivals_by_trials.csv lacks; `--anew` chooses all again.
A search for a number of users minimises this number instead of the risk.
"""

import os
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import yaml
from joblib import Parallel, delayed
from tqdm import tqdm

from privrep.privacy.accounting import Budget
from privrep.simulate import run_cell
from privrep.users.simulated import Users
from replication.run.cli_errors import one_line_errors
from replication.run.config import ROOT, read_config, read_study, study_names
from replication.run.csv_tables import read_rows, write_rows
from replication.run.grids import StudyCell, expand
from replication.run.ingredients import foreign, method_of
from replication.run.rivals import BY_TRIALS, BY_TRIALS_COLUMNS, COLUMNS, REALS, SIZES, TABLE, chosen_options

SEEDS = range(2000, 2005)
TRIALS, UNIFORM, DRAWN_WITH = 64, 32, 53
"""Drawn options of each setting, how many of them uniformly, and the seed of their generators."""
AROUND, ANEW = 0.1, 0.25
"""For options drawn around others: their standard deviation over the length of the range, both in logarithms, and the
share of listed values that are drawn anew."""
RUNGS = ((1, 16), (2, 4))
"""Pairs: a number of data sets, and how many options, those of the least maximal risk on these, run on more."""
NOTHING = 0.1
"""A run counts as failed if its risk exceeds this share of the risk of predicting zero."""


STARTS = [{"init_pairs": "all"}, {"init_pairs": "models"}]
SPECTRAL = [{"init": "spectral", **start} for start in STARTS]
DESCENT = {
    "clip": (0.005, 0.5),
    "fall": (0.02, 1.0),
    "rounds": (8, 64),
    "step": (0.25, 2.0),
    "average_last": [0.0, 0.25],
}
START = {"init_share": (0.05, 0.6), "init_label_clip": (0.1, 1.5)}
MOMENTS = {"clip_feature": (0.03, 3.0), "clip_label": (0.03, 3.0), "epochs": (1, 6), "fallback": ["solve", "eigclip"]}
RANGES = {
    "private_fedrep": {**DESCENT, **START, "start": STARTS},
    "centaur": {**DESCENT, **START, "init_clip": (0.05, 1.0), "start": [{"init": "power_method"}, *SPECTRAL]},
    "altmin": {**MOMENTS, **START, "start": STARTS},
}
"""Method -> option -> the ends of its range, drawn in logarithms, or a list of its values. Clips are in units of the
data; `fall` is the last clip over the first, and a `start` stands for several options."""
PUBLISHED = {
    "private_fedrep": [{"init_pairs": "all"}],
    "centaur": [{"init": "power_method"}, {"init": "random"}],
    "altmin": [{"init_pairs": "disjoint"}],
}
"""Method -> the starts that are drawn for a series that is as published."""
NEEDED = ("clip", "rounds", "clip_feature", "clip_label")
"""Options without a default."""
INGREDIENTS = ("init_pairs", "average_last", "last_clip", "fallback")
"""Options that stay as a series states them, so that the effect of each can be measured."""


def at_place(values: tuple | list, place: float) -> object:
    """Return the value at a place in [0, 1) of a range; real numbers have three digits."""
    if isinstance(values, list):
        return values[int(place * len(values))]
    low, high = values
    if isinstance(low, int):
        return int(low * ((high + 1) / low) ** place)
    return float(f"{low * (high / low) ** place:.3g}")


def place_of(values: tuple | list, value: object) -> float:
    """Invert `at_place`; 0.5, the middle of the range, for a value that is missing in it."""
    if isinstance(values, list):
        return (values.index(value) + 0.5) / len(values) if value in values else 0.5
    low, high = values
    if not value:
        return 0.5
    return math.log(value / low) / math.log((high + isinstance(high, int)) / low)


def options_at(ranges: dict, places: np.ndarray) -> dict:
    """Return the options at places in their ranges."""
    pairs = zip(ranges.items(), places, strict=True)
    options: dict[str, Any] = {name: at_place(values, place) for (name, values), place in pairs}
    options |= options.pop("start")
    if "fall" in options:
        options["last_clip"] = float(f"{options['clip'] * options.pop('fall'):.3g}")
    return options


def uniform(ranges: dict, rng: np.random.Generator) -> list[dict]:
    """Draw options uniformly."""
    return [options_at(ranges, places) for places in rng.random((UNIFORM, len(ranges)))]


def around(ranges: dict, options: dict, rng: np.random.Generator) -> list[dict]:
    """Draw options around given ones, by `AROUND` and `ANEW`."""
    start = next((entry for entry in ranges["start"] if entry.items() <= options.items()), None)
    fall = options["last_clip"] / options["clip"] if options.get("last_clip") else None
    given = options | {"start": start, "fall": fall}
    center = np.array([place_of(values, given.get(name)) for name, values in ranges.items()])
    places = center + AROUND * rng.standard_normal((TRIALS - UNIFORM, len(center)))
    listed, anew = [isinstance(values, list) for values in ranges.values()], rng.random(places.shape)
    places = np.where(listed, np.where(anew < ANEW, anew / ANEW, center), places)
    return [options_at(ranges, row) for row in np.clip(places, 0.0, 1 - 1e-9)]


def ranges_of(cell: StudyCell) -> dict:
    """Return the ranges of a series' options."""
    method = method_of(cell.algorithm)
    return RANGES[method] | ({"start": PUBLISHED[method]} if published(cell) else {})


def published(cell: StudyCell) -> bool:
    """Return whether all options of a series are in the paper of its method."""
    return not foreign(cell.algorithm, vars(cell.options))


def choice(cell: StudyCell, present: dict, stated: dict) -> tuple[tuple[str, str], dict, list[dict]]:
    """Return the key of the search, the chosen options for a cell's method and setting with their results, and the
    results of fewer trials: columns of the two tables."""
    ranges, rng = ranges_of(cell), np.random.default_rng([DRAWN_WITH, int(cell.key, 16)])
    tried = [options | stated for options in (present, *uniform(ranges, rng))]
    search = cell.algorithm.startswith("smallest_users")

    @cache
    def users(place: int) -> Users:
        return Users(replace(cell.problem, seed=SEEDS[place]), master_seed=0)

    @cache
    def run(number: int, place: int) -> tuple[float, bool]:
        options = replace(cell.options, **tried[number])
        row, _, _ = run_cell(replace(cell, options=options, problem=users(place).problem), users(place))
        if row["status"] != "ok":
            return math.inf, True
        risk = row["excess_risk"]
        return row["smallest_users"] if search else risk, risk > NOTHING * cell.problem.rank

    def runs(number: int, sets: int = len(SEEDS)) -> np.ndarray:
        return np.array([run(number, place) for place in range(sets)])

    def median(number: int) -> float:
        return float(np.median(runs(number)[:, 0]))

    def best(numbers: Iterable[int]) -> int:
        for sets, most in RUNGS:
            numbers = sorted(numbers, key=lambda number: runs(number, sets)[:, 0].max())[:most]
        return min(numbers, key=median)

    tried += [options | stated for options in around(ranges, tried[best(range(len(tried)))], rng)]
    counts = [2**power for power in range(TRIALS.bit_length()) if 2**power < TRIALS] + [TRIALS]
    bests = {0: 0} | {count: best(range(1, count + 1)) for count in counts}
    chosen = min(bests[TRIALS], 0, key=median)
    row = {
        "options": yaml.safe_dump(tried[chosen], default_flow_style=True, sort_keys=False, width=math.inf).strip(),
        "value": median(chosen),
        "runs": len(SEEDS),
        "failed": int(runs(chosen)[:, 1].sum()),
    }
    return (cell.key, str(stated)), row, [{"trials": of, "value": median(number)} for of, number in bests.items()]


def settings(study: str) -> Iterator[tuple[StudyCell, dict, dict]]:
    """Yield one cell for each setting of the tuned series of a study, its present choice (of a new series the nearest
    choice of another series of the method), and the stated `INGREDIENTS` of the series."""
    resolved = read_study(read_config(), study)
    series = {}
    for name, entry in resolved.series.items():
        if entry.tuned:  # options without a default get a value, which is replaced later
            first = {
                name: at_place(ends, 0) for name, ends in RANGES[method_of(entry.algorithm)].items() if name in NEEDED
            }
            series[name] = entry.model_copy(update={"tuned": False, "options": entry.options | first})
    known = {row["series"] for row in resolved.choices}
    for cell in expand(resolved.model_copy(update={"series": series})):
        if cell.problem.seed == 0:
            stated = {name: value for name, value in series[cell.series].options.items() if name in INGREDIENTS}
            alike = [name for name in sorted(known & series.keys()) if series[name].algorithm == cell.algorithm]
            alike = [] if published(cell) else alike
            like = cell.series if cell.series in known else alike[0] if alike else None
            now = chosen_options(resolved.choices, like, setting(cell)) if like else {}
            yield cell, now, stated


def setting(cell: StudyCell) -> dict:
    """Return the columns of the table that name the setting of a cell."""
    sizes = {name: getattr(cell.problem, name) for name in (*SIZES, "label_noise_sd")}
    assert isinstance(cell.budget, Budget)
    return {"study": cell.study, "series": cell.series, **sizes, "epsilon": float(cell.budget.epsilon)}


def named(row: dict) -> tuple[str | float, ...]:
    """Return the values of a table's row that name its setting."""
    return (row["study"], row["series"], *(float(row[name]) for name in (*SIZES, *REALS)))


@one_line_errors
def main() -> None:
    """Choose options, and rewrite the tables after each setting; rows of other settings stay."""
    studies = (read_study(read_config(), name) for name in study_names())
    tuned = [study.study for study in studies if any(series.tuned for series in study.series.values())]
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--study", nargs="+", default=tuned, help="by default all that have tuned series")
    parser.add_argument("--series", nargs="+", help="by default all that are tuned")
    parser.add_argument("--anew", action="store_true", help="also what an interrupted search has chosen already")
    args = parser.parse_args()
    tables = {ROOT / TABLE: COLUMNS, ROOT / BY_TRIALS: BY_TRIALS_COLUMNS}
    rows = {path: read_rows(path) for path in tables}
    searched = {named(row) for row in rows[ROOT / BY_TRIALS] if row["trials"] == str(TRIALS) and not args.anew}

    def asked(study: str, series: str) -> bool:
        return study in args.study and (args.series is None or series in args.series)

    alike, work, there = defaultdict(list), {}, set()
    for study in args.study:
        for cell, present, stated in settings(study):
            there.add(named(setting(cell)))
            if asked(study, cell.series) and named(setting(cell)) not in searched:
                same = cell.key, str(stated)
                alike[same].append(setting(cell))  # several sweeps may have a setting
                work.setdefault(same, (cell, present, stated))
    for path in tables:  # rows of settings that are gone are removed
        rows[path] = [row for row in rows[path] if named(row) in there or not asked(row["study"], row["series"])]
    choices = (delayed(choice)(*arguments) for arguments in work.values())
    results: Any = Parallel(n_jobs=-1, return_as="generator_unordered")(choices)
    for same, picked, by_trials in tqdm(results, "choosing", len(work)):
        for (path, columns), new in zip(tables.items(), ([picked], by_trials), strict=True):
            rows[path] = [row for row in rows[path] if named(row) not in map(named, alike[same])]
            rows[path] += [of | row for of in alike[same] for row in new]
            write_rows(path, sorted(rows[path], key=lambda row: (named(row), int(row.get("trials", 0)))), columns)


if __name__ == "__main__":
    main()
