"""shen2023, Section 6 and Appendix B on images (claims B-T1, B-T3, B-F1, B-F3, B-R3.1i and their stand-ins on MNIST).

The long runs are read from docs/record/images.csv, where `src/images/runs.toml` says which there should be; the rules
stand in the study's file. The cells of a run are those on scikit-learn's digits, which show that all of it works here.
Accuracies are in percent, leads in points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from privrep.privacy.accounting import gdp_epsilon, gdp_mu
from replication.evidence.facts import Quantities
from replication.evidence.findings import Findings
from replication.evidence.intervals import LEVEL
from replication.evidence.measured import Measured, bare, not_run
from replication.run.config import ROOT
from replication.run.settings import MeasureSettings

LABELS = {"centaur": "CENTAUR", "ppsgd": "PPSGD", "pmtl": "PMTL", "fedavg": "DP-FedAvg", "stand_alone": "clients alone"}
METHODS = tuple(LABELS)
TOGETHER = METHODS[:-1]
OTHERS = METHODS[1:]
FEWEST_SEEDS = 3
"""Seeds that decide a row; fewer are shown, with an interval over clients."""
FAR_BEHIND = 4.0
"""Points by which a rival is behind the best one at the first seed that runs at no other (rule 12)."""
MOVED = {"shift": 4}
"""Rows in which CENTAUR's heads are fitted on moved images in every round."""
PRINTED_RUNS = 3
"""Runs over which the paper gives a spread."""
TUNING_SEED = 100
"""Seed of the runs that choose and do not judge."""
CLIPS = (0.01, 0.02, 0.04, 0.06, 0.25, 0.5, 1.0)
"""Clips that were tried on MNIST."""
STILL_OPEN = "CENTAUR lacks the moved images that the paper gives to its heads alone, and a run with them decides"
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
EIGHTHS = tuple(range(1, 9))


@dataclass(frozen=True)
class Setting:
    """A row of five methods: the values of its lines by column, clips of methods in their place, and by method mean and
    spread that the paper has, in percent."""

    where: dict[str, float | str]
    clips: dict[str, float] = field(default_factory=dict)
    printed: dict[str, tuple[float, float]] = field(default_factory=dict)

    def with_(self, **changed: float) -> Setting:
        """Another row, which is not printed."""
        return Setting(self.where | changed)


def _printed(*numbers: float) -> dict[str, tuple[float, float]]:
    """Means and spreads in the order of the paper's columns."""
    order = ("stand_alone", "fedavg", "pmtl", "ppsgd", "centaur")
    return dict(zip(order, zip(numbers[::2], numbers[1::2], strict=True), strict=True))


def _cifar(clients: int, rank: int, rounds: int, *numbers: float) -> Setting:
    """A row on CIFAR-10, whose 50,000 training images are dealt out."""
    where = {"images": "cifar10", "clients": clients, "samples": 50_000 // clients, "rank": rank, "rounds": rounds}
    return Setting(where | {"epsilon": 1.0, "clip": 0.01, "shift": 0}, printed=_printed(*numbers))


def _emnist(clients: int, *numbers: float) -> Setting:
    return Setting({"images": "emnist", "clients": clients, "rank": 5}, printed=_printed(*numbers))


SIZES = {"images": "mnist", "clients": 998, "samples": 60, "rank": 5}
MNIST = Setting(SIZES | {"epsilon": 1.0, "batch": 18, "rounds": 40, "clip": 0.25, "shift": 0})
CIFAR100 = Setting(
    {"images": "cifar100", "clients": 1000, "rank": 5, "shift": 0},
    printed=_printed(39.20, 1.12, 22.17, 2.12, 24.17, 1.43, 32.97, 1.48, 44.54, 1.05),
)
TABLE_1 = {
    "CIFAR10, n = 500, S = 5": _cifar(500, 5, 200, 50.03, 1.59, 46.17, 0.12, 49.35, 0.44, 48.69, 1.44, 53.23, 0.92),
    "CIFAR10, n = 1000, S = 2": _cifar(1000, 2, 200, 74.06, 0.45, 57.02, 1.36, 67.79, 1.77, 71.52, 2.30, 76.23, 0.48),
    "CIFAR10, n = 1000, S = 5": _cifar(1000, 5, 200, 44.60, 1.30, 37.15, 1.22, 35.99, 1.79, 44.61, 2.68, 49.92, 0.71),
    "CIFAR100, n = 1000, S = 5": CIFAR100,
    "EMNIST, n = 1000, S = 5": _emnist(1000, 93.47, 0.14, 91.32, 0.22, 92.32, 0.22, 93.44, 0.20, 94.17, 0.19),
    "EMNIST, n = 2000, S = 5": _emnist(2000, 90.67, 0.46, 86.85, 1.11, 88.81, 2.08, 88.96, 1.93, 92.79, 0.25),
}
LONG_2 = _cifar(1000, 2, 400, 74.06, 0.45, 63.97, 0.98, 67.71, 0.78, 74.63, 0.76, 77.80, 0.52)
LONG_5 = _cifar(1000, 5, 400, 44.60, 1.30, 41.12, 0.40, 45.75, 0.81, 48.29, 1.79, 51.05, 0.35)
TABLE_3 = {"CIFAR10, n = 1000, S = 2, T = 400": LONG_2, "CIFAR10, n = 1000, S = 5, T = 400": LONG_5}
ON_MNIST = {
    "MNIST": MNIST,
    "MNIST, batch 54": MNIST.with_(batch=54),
    "MNIST, S = 2": MNIST.with_(rank=2, clients=997),
    "MNIST, T = 80": MNIST.with_(rounds=80),
    "MNIST, moved images": MNIST.with_(shift=4),
}
SIDE_BY_SIDE = {row: setting for row, setting in ON_MNIST.items() if row != "MNIST, moved images"}
"""Rows on MNIST that are shown with all methods; in the other one CENTAUR alone differs."""
BEST_CLIPS = "MNIST, best clips"
"""The row in which each method has its own clip."""
TABLE_2 = {
    "centaur": (0.01, 0.01, 0.01, 0.04, 0.04),
    "fedavg": (0.01, 0.01, 0.04, 0.06, 0.06),
    "ppsgd": (0.01, 0.01, 0.01, 0.04, 0.04),
    "pmtl": (0.01, 0.04, 0.04, 0.04, 0.06),
}
"""Clips that the paper prints for Figure 1, by epsilon."""


ROW_500 = TABLE_1["CIFAR10, n = 500, S = 5"]
FIGURE_1 = {f"MNIST, epsilon = {e:g}": MNIST.with_(epsilon=e) for e in EPSILONS} | {
    f"CIFAR10, Figure 1, epsilon = {e:g}": replace(
        ROW_500.with_(epsilon=e), clips=dict(zip(TABLE_2, clips, strict=True))
    )
    for e, *clips in zip(EPSILONS, *TABLE_2.values(), strict=True)
}
"""Points of Figure 1: on CIFAR-10 with the clips of Table 2, on MNIST with the one clip of Table 1."""


def long_runs() -> pd.DataFrame:
    """The lines of the table."""
    return pd.read_csv(ROOT / "docs" / "record" / "images.csv")


def lines(runs: pd.DataFrame, setting: Setting, method: str) -> pd.DataFrame:
    """The judging runs of a method in a row, by seed. Clients alone have no noise, no rounds and no clip; images are
    moved for CENTAUR's heads alone."""
    where = setting.where | ({"clip": setting.clips[method]} if method in setting.clips else {})
    if method == "stand_alone":
        where = {name: where[name] for name in ("images", "clients", "rank")}
    elif method != "centaur":
        where |= {"shift": 0} if "shift" in where else {}
    rows = runs[(runs["method"] == method) & (runs["seed"] != TUNING_SEED)]
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows.sort_values("seed").set_index("seed")


def of_clients(line: pd.Series) -> np.ndarray:
    """Accuracies of the first clients, in percent."""
    return np.array(line["by_client"].split(), float) / 10


@dataclass(frozen=True)
class Lead:
    """A difference in points of each seed, and its standard error over the clients of the first seed, paired."""

    values: np.ndarray
    error: float = math.nan

    @property
    def mean(self) -> float:
        return float(self.values.mean()) if len(self.values) else math.nan

    def ends(self, level: float = LEVEL) -> tuple[float, float]:
        """Student's interval over seeds, or that over clients where there are too few."""
        seeds, half = len(self.values), math.nan
        if seeds >= FEWEST_SEEDS:
            half = -stdtrit(seeds - 1, (1 - level) / 2) * self.values.std(ddof=1) / math.sqrt(seeds)
        elif seeds:
            half = -ndtri((1 - level) / 2) * self.error
        return float(self.mean - half), float(self.mean + half)

    def measured(self, name: str, level: float = LEVEL) -> Measured:
        """With its interval; a number without one where too few seeds ran, which decides nothing."""
        seeds, (low, high) = len(self.values), self.ends(level)
        if seeds < FEWEST_SEEDS:
            note = f"too few seeds to decide; over the clients of the first one [{low:.2f}, {high:.2f}]"
            return bare(name, self.mean, seeds, note)
        return Measured(name, self.mean, low, high, seeds)


def difference(first: pd.DataFrame, second: pd.DataFrame) -> Lead:
    """The first method's accuracy less the second's, seed by seed; where one tested fewer clients, on those alone."""
    seeds = first.index.intersection(second.index)
    if not len(seeds):
        return Lead(np.empty(0))
    values, errors = [], []
    for seed in seeds:
        one, two = first.loc[seed], second.loc[seed]
        paired = of_clients(one) - of_clients(two)
        alike = one["tested"] == two["tested"]
        values.append(100 * (one["accuracy"] - two["accuracy"]) if alike else paired.mean())
        errors.append(paired.std(ddof=1) / math.sqrt(min(one["tested"], two["tested"])))
    return Lead(np.array(values), errors[0])


def least(name: str, leads: list[Lead]) -> Measured:
    """The least of several, with the interval that is simultaneous over them (Bonferroni); NaN where one is missing,
    and no interval where one has none."""
    level = 1 - (1 - LEVEL) / len(leads)
    found = [one.measured(name, level) for one in leads]
    for one in found:
        if math.isnan(one.measured):
            return one
    ends = {end: min(getattr(one, end) for one in found) for end in ("ci_low", "ci_high", "seeds")}
    first = replace(min(found, key=lambda one: one.measured), **ends)
    short = [one.note for one in found if math.isnan(one.ci_low)]
    return bare(name, first.measured, first.seeds, short[0]) if short else first


def leads(runs: pd.DataFrame, setting: Setting) -> dict[str, Lead]:
    """CENTAUR's over each other method."""
    ours = lines(runs, setting, "centaur")
    return {other: difference(ours, lines(runs, setting, other)) for other in OTHERS}


def rivals(runs: pd.DataFrame, setting: Setting) -> list[str]:
    """The other methods, without those that stopped at the first seed since they were far behind there."""
    of = {other: lines(runs, setting, other)["accuracy"] for other in OTHERS}
    best = max((100 * one.iloc[0] for one in of.values() if len(one)), default=math.nan)
    return [o for o, one in of.items() if len(one) != 1 or 100 * one.iloc[0] > best - FAR_BEHIND]


def not_denied(one: Measured) -> Measured:
    """A lead in a row without moved images, which may confirm the printed order and not deny it (rule 9)."""
    return bare(one.quantity, one.measured, one.seeds, STILL_OPEN) if one.ci_high < 0 else one


def row_measures(runs: pd.DataFrame) -> list[Measured]:
    """CENTAUR's least lead in each row, and those over each method in the rows on MNIST that differ in what the paper
    leaves open."""
    found = []
    for row, setting in (TABLE_1 | TABLE_3 | ON_MNIST | {BEST_CLIPS: best_clips(runs)}).items():
        ahead, name = leads(runs, setting), f"{row}: least lead of centaur"
        found.append(least(name, [ahead[other] for other in rivals(runs, setting)]))
        if row.startswith("CIFAR") and found[-1].ci_high < 0:
            ours = lines(runs, setting.with_(**MOVED), "centaur")
            moved = least(name, [difference(ours, lines(runs, setting, o)) for o in rivals(runs, setting)])
            found[-1] = moved if moved.seeds >= FEWEST_SEEDS else not_denied(found[-1])
        if row in ("MNIST", "MNIST, batch 54", BEST_CLIPS):
            found += [one.measured(f"{row}: lead of centaur over {other}") for other, one in ahead.items()]
    return found


def tried_clips(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of the tuning seed."""
    return runs[(runs["seed"] == TUNING_SEED) & (runs["method"] != "stand_alone")]


def best_clips(runs: pd.DataFrame) -> Setting:
    """Each method at the clip with the best accuracy on validation images of the tuning seed; NaN where none ran."""
    tried = tried_clips(runs)
    tried = tried[tried["batch"] == MNIST.where["batch"]]
    best = {method: part["clip"].iloc[int(part["validation"].argmax())] for method, part in tried.groupby("method")}
    return replace(MNIST, clips={method: best.get(method, math.nan) for method in TOGETHER})


def set_up_measures(runs: pd.DataFrame) -> list[Measured]:
    """Clients alone on CIFAR-10 less what Table 1 prints, with two standard errors: ours over clients, and theirs over
    three runs."""
    found = []
    for row, setting in TABLE_1.items():
        if setting.where["images"] != "cifar10":
            continue
        name, mine = f"{row}: clients alone less the print", lines(runs, setting, "stand_alone")
        mean, spread = setting.printed["stand_alone"]
        ours = 100 * (mine["accuracy_sd"] / np.sqrt(mine["tested"])).mean() / np.sqrt(len(mine))
        away, two = 100 * mine["accuracy"].mean() - mean, 2 * math.hypot(ours, spread / math.sqrt(PRINTED_RUNS))
        found.append(Measured(name, away, away - two, away + two, len(mine), "two standard errors"))
    return found


def crossing(epsilons: Iterable[float], ahead: Iterable[float]) -> float:
    """The largest epsilon at which a lead turns positive, by interpolation on the logarithm; NaN for none."""
    for (e, low), (f, high) in reversed(list(itertools.pairwise(zip(epsilons, ahead, strict=True)))):
        if low < 0 <= high:
            return float(e * (f / e) ** (-low / (high - low)))
    return math.nan


def figure_1_measures(runs: pd.DataFrame) -> list[Measured]:
    """The least leads over all epsilons, and where CENTAUR meets clients alone."""
    found = []
    for name in ("MNIST", "CIFAR10, Figure 1"):
        ahead = {e: leads(runs, FIGURE_1[f"{name}, epsilon = {e:g}"]) for e in EPSILONS}
        for other in TOGETHER[1:]:
            found.append(least(f"{name}: least lead over {other}, all epsilons", [ahead[e][other] for e in EPSILONS]))
        for e, other in itertools.product(EPSILONS, OTHERS):
            found.append(ahead[e][other].measured(f"{name}: lead of centaur over {other}, epsilon = {e:g}"))
        alone = [ahead[e]["stand_alone"] for e in EPSILONS]
        seeds = len(alone[0].values) if all(len(one.values) for one in alone) else 0
        meets = crossing(EPSILONS, [one.mean for one in alone])
        found.append(bare(f"{name}: epsilon where centaur meets stand_alone", meets, seeds))
    return found


def along(line: pd.DataFrame) -> np.ndarray:
    """Accuracies after the eighths of the rounds, in percent, (seeds, 8)."""
    return 100 * line[[f"accuracy_{part}_8" for part in EIGHTHS]].to_numpy(float)


def way_measures(runs: pd.DataFrame) -> list[Measured]:
    """CENTAUR's least lead over the best other method that trains together, after the eighths of the rounds."""
    found = []
    for row, setting in (("MNIST", MNIST), ("CIFAR10, n = 1000, S = 5, T = 400", LONG_5)):
        of = {method: lines(runs, setting, method) for method in TOGETHER}
        seeds = sorted(set.intersection(*(set(one.index) for one in of.values())))
        way = {method: along(one.loc[seeds]) for method, one in of.items()}
        best = np.max([way[method].mean(axis=0) for method in TOGETHER[1:]], axis=0) if seeds else np.zeros(8)
        found.append(least(f"{row}: least lead on the way", [Lead(values) for values in (way["centaur"] - best).T]))
    return found


def update_measures(runs: pd.DataFrame) -> list[Measured]:
    """The length of CENTAUR's updates over DP-FedAvg's."""
    found = []
    for row, setting in (("MNIST", MNIST), ("CIFAR10, n = 1000, S = 5", TABLE_1["CIFAR10, n = 1000, S = 5"])):
        of = {method: lines(runs, setting, method) for method in ("centaur", "fedavg")}
        seeds = of["centaur"].index.intersection(of["fedavg"].index)
        last = [one.loc[seeds, "length_8_8"].to_numpy(float) for one in of.values()]
        found.append(Lead(last[0] / last[1]).measured(f"{row}: update of centaur over that of fedavg, last eighth"))
    return found


def gain_measures(runs: pd.DataFrame) -> list[Measured]:
    """What twice the rounds at the same epsilon bring on MNIST, and moved images to CENTAUR."""

    def gain(row: str, method: str) -> Lead:
        return difference(lines(runs, ON_MNIST[row], method), lines(runs, MNIST, method))

    gains = {method: gain("MNIST, T = 80", method) for method in TOGETHER}
    found = [one.measured(f"MNIST: gain of {method} by twice the rounds") for method, one in gains.items()]
    for method in TOGETHER[1:]:
        same = min(len(gains[method].values), len(gains["centaur"].values))
        more = Lead(gains[method].values[:same] - gains["centaur"].values[:same])
        found.append(more.measured(f"MNIST: gain of {method} by twice the rounds, less that of centaur"))
    return [*found, gain("MNIST, moved images", "centaur").measured("MNIST: gain of centaur by moved images")]


def digit_measures(cells: pd.DataFrame) -> list[Measured]:
    """CENTAUR's leads on scikit-learn's digits, from the cells of this run."""
    ran = cells[cells["status"] == "ok"].sort_values("seed")
    of = {key: 100 * part["accuracy"].to_numpy(float) for key, part in ran.groupby(["series", "method"])}
    found, nothing = [], cells.loc[cells["status"] != "ok", "reason"].astype(str).tolist()
    for ending, series in (("", "digits"), (", no noise", "digits-quiet")):
        for other in OTHERS:
            name = f"digits: lead of centaur over {other}{ending}"
            place = ("digits-alone" if other == "stand_alone" else series, other)
            if place in of and (series, "centaur") in of:
                found.append(bare(name, float((of[series, "centaur"] - of[place]).mean()), len(of[place])))
            else:
                found.append(not_run(name, [*nothing, "it does not run at this scale"][0]))
    return found


def accuracy_points(runs: pd.DataFrame, settings: dict[str, Setting]) -> pd.DataFrame:
    """Measured and printed accuracies, by row and method, of rows of which a method that trains together ran."""
    points = []
    for row, setting in settings.items():
        of = {method: one for method in METHODS if len(one := lines(runs, setting, method))}
        for method, one in of.items() if of.keys() & set(TOGETHER) else ():
            mean, spread = setting.printed.get(method, (math.nan, math.nan))
            accuracy = 100 * one["accuracy"].mean()
            over_clients = 100 * (one["accuracy_sd"] / np.sqrt(one["tested"])).mean()
            over_seeds = 100 * one["accuracy"].std(ddof=1) if len(one) > 1 else math.nan
            half = 2 * (over_clients if len(one) < FEWEST_SEEDS else over_seeds / math.sqrt(len(one)))
            half_printed = 2 * spread / math.sqrt(PRINTED_RUNS)
            once, cut = 100 * one["accuracy_once"].mean(), one["clipped_share"].mean()
            ran = (accuracy, accuracy - half, accuracy + half, len(one), over_seeds, over_clients, once, cut)
            points.append((row, method, *ran, mean, spread, mean - half_printed, mean + half_printed))
    measured = ["accuracy", "low", "high", "seeds", "over_seeds", "over_clients", "once", "cut"]
    printed = ["printed", "printed_spread", "printed_low", "printed_high"]
    return pd.DataFrame(points, columns=["row", "method", *measured, *printed] if points else ["accuracy"])


def way_points(runs: pd.DataFrame) -> pd.DataFrame:
    """Figure 3: accuracies against the epsilon spent so far; and updates over the clip, by the share of rounds done."""
    points = []
    for row, setting in {"MNIST": MNIST, "MNIST, T = 80": ON_MNIST["MNIST, T = 80"], **TABLE_1, **TABLE_3}.items():
        for method in TOGETHER:
            one = lines(runs, setting, method)
            for part, accuracy in zip(EIGHTHS, along(one).mean(axis=0), strict=True) if len(one) else ():
                spent = gdp_epsilon(gdp_mu(1.0, 1e-5) * math.sqrt(part / 8), 1e-5)
                length, cut = (one[f"{name}_{part}_8"].mean() for name in ("length", "cut"))
                points.append((row, method, part / 8, spent, accuracy, length, cut))
    names = ["row", "method", "share", "epsilon", "accuracy", "length", "cut"]
    return pd.DataFrame(points, columns=names if points else ["accuracy"])


# What the chapter tells beside its quantities


def progress(cells: pd.DataFrame, quantities: Quantities) -> pd.DataFrame:
    """Row by row, which methods ran with how many seeds."""
    runs = long_runs()
    found = []
    for row, setting in {**TABLE_1, **TABLE_3, **ON_MNIST, BEST_CLIPS: best_clips(runs), **FIGURE_1}.items():
        seeds = {method: len(lines(runs, setting, method)) for method in METHODS}
        found.append({"row": row, **seeds, "printed": bool(setting.printed)})
    return pd.DataFrame(found)


def machines(cells: pd.DataFrame, quantities: Quantities) -> list[dict]:
    """What the runs were made on, and how long they took."""
    return [
        {"images": images, "device": device, "runs": len(part), "hours": part["seconds"].sum() / 3600}
        for (images, device), part in long_runs().groupby(["images", "device"])
    ]


def validated(cells: pd.DataFrame, quantities: Quantities) -> list[dict]:
    """Batch by batch and method by method, validation accuracy in percent at each clip that was tried."""
    return [
        {"batch": batch, "method": method, "by_clip": dict(zip(part["clip"], 100 * part["validation"], strict=True))}
        for (batch, method), part in tried_clips(long_runs()).groupby(["batch", "method"])
    ]


def replaced(cells: pd.DataFrame, quantities: Quantities) -> dict[str, float]:
    """What epsilon 1 for adding or removing a client is for replacing one, and the other way round."""
    mu = gdp_mu(1.0, 1e-5)
    return {"replacing": gdp_epsilon(2 * mu, 1e-5), "adding": gdp_epsilon(mu / 2, 1e-5)}


FACTS = {
    "tables 1 and 3": lambda cells, quantities: accuracy_points(long_runs(), TABLE_1 | TABLE_3),
    "mnist": lambda cells, quantities: accuracy_points(long_runs(), SIDE_BY_SIDE),
    "progress": progress,
    "machines": machines,
    "clips": validated,
    "replaced": replaced,
}


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """All quantities, and the numbers of the figures."""
    runs = long_runs()
    by_epsilon = accuracy_points(runs, FIGURE_1)
    if not by_epsilon.empty:
        names = by_epsilon.pop("row").str.split(", epsilon = ", expand=True)
        by_epsilon = by_epsilon.assign(panel=names[0], epsilon=names[1].astype(float))
    found = figure_1_measures(runs) + way_measures(runs)
    found = [not_denied(one) if one.quantity.startswith("CIFAR") else one for one in found]
    found += row_measures(runs) + set_up_measures(runs) + update_measures(runs) + gain_measures(runs)
    missing = "its runs stand in src/images/runs.toml and are not made yet, see docs/images.md"
    found = [one if one.seeds else not_run(one.quantity, missing) for one in found] + digit_measures(cells)
    tables = {
        "shen2023/image_methods": accuracy_points(runs, TABLE_1 | TABLE_3 | SIDE_BY_SIDE),
        "shen2023/image_epsilon": by_epsilon,
        "shen2023/image_way": way_points(runs),
    }
    return Findings(found, tables)
