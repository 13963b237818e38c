"""shen2023, Section 6 and Appendix B on images (claims B-T1, B-T3, B-F1, B-F3, B-R3.1i).

Long runs are read from docs/record/images.csv; `src/images/runs.toml` lists them, and the rules are in the study's
settings file. The cells of this study are runs on scikit-learn's digits, which show that the code works here.
Accuracies are in percent, leads in percentage points.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

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
"""Fewest seeds that decide a row; with fewer, an interval over clients is shown."""
FAR_BEHIND = 4.0
"""A rival this many points behind the best one at the first seed runs at no other seed (rule 12)."""
CLEAR, MANY_SEEDS = 3.0, 5
"""A lead on CIFAR below this many points needs at least this many seeds (rule 11)."""
MOVED = 4
"""Pixels by which images are shifted if CENTAUR's heads are fitted on shifted images in every round."""
READINGS = {"unmoved": (0, "accuracy"), "last": (0, "accuracy_moved_last"), "rounds": (MOVED, "accuracy")}
"""Reading of "in this phase" (rule 10) -> pixels of the shift in every round, and column of the score."""
PRINTED_RUNS = 3
"""Number of runs behind each spread in the paper."""
TUNING_SEED = 100
"""Seed of the runs that choose settings and judge nothing."""
OF_READING = {"unmoved": "no images are moved", "rounds": "CENTAUR's heads on moved images in every round"}
STILL_OPEN = "CENTAUR lacks the moved images that the paper gives to its heads alone, and a run with them decides"
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
EIGHTHS = tuple(range(1, 9))


@dataclass(frozen=True)
class Setting:
    """A row of a table with five methods: column -> value in its lines, method -> clip in place of that value, and
    method -> printed mean and spread in percent."""

    where: dict[str, float | str]
    clips: dict[str, float] = field(default_factory=dict)
    printed: dict[str, tuple[float, float]] = field(default_factory=dict)


STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TABLE_1, TABLE_3, ON_MNIST, _BY_EPSILON = (
    {row: Setting(**stated) for row, stated in STATED[table].items()}
    for table in ("table_1", "table_3", "mnist", "figure_1")
)
FIGURE_1 = {float(epsilon): setting for epsilon, setting in _BY_EPSILON.items()}
MNIST, LONG_5 = ON_MNIST["MNIST"], TABLE_3["CIFAR10, n = 1000, S = 5, T = 400"]


def long_runs() -> pd.DataFrame:
    """Return the table of long runs."""
    return pd.read_csv(ROOT / "docs" / "record" / "images.csv")


def lines(runs: pd.DataFrame, setting: Setting, method: str, shift: int = 0) -> pd.DataFrame:
    """Return the runs of a method that judge a row, by seed. Clients alone have no noise, no rounds and no clip; only
    CENTAUR's heads see images shifted by `shift` pixels."""
    where = setting.where | ({"clip": setting.clips[method]} if method in setting.clips else {})
    where |= {"shift": shift if method == "centaur" else 0}
    if method == "stand_alone":
        where = {name: where[name] for name in ("images", "clients", "rank")}
    alike = [runs[name] == value for name, value in (where | {"method": method}).items()]
    return runs[np.logical_and.reduce([runs["seed"] != TUNING_SEED, *alike])].sort_values("seed").set_index("seed")


def of_clients(line: pd.Series) -> np.ndarray:
    """Return the accuracies of a run's watched clients, those recorded one by one, in percent."""
    return np.array(line["by_client"].split(), float) / 10


@dataclass(frozen=True)
class Lead:
    """Leads of one method over another in points, by seed, and the first lead's standard error over paired clients."""

    values: np.ndarray
    error: float = math.nan

    @property
    def mean(self) -> float:
        return float(self.values.mean()) if len(self.values) else math.nan

    def ends(self, level: float = LEVEL) -> tuple[float, float]:
        """Return Student's interval over seeds, or the normal one over clients if there are too few seeds."""
        seeds, half = len(self.values), math.nan
        if seeds >= FEWEST_SEEDS:
            half = -stdtrit(seeds - 1, (1 - level) / 2) * self.values.std(ddof=1) / math.sqrt(seeds)
        elif seeds:
            half = -ndtri((1 - level) / 2) * self.error
        return float(self.mean - half), float(self.mean + half)

    def measured(self, name: str, level: float = LEVEL) -> Measured:
        """Return the mean lead with its interval, or without one if too few seeds ran to decide anything."""
        seeds, (low, high) = len(self.values), self.ends(level)
        if seeds < FEWEST_SEEDS:
            note = "too few seeds to decide"
            note += "" if math.isnan(low) else f"; over the clients of the first one [{low:.2f}, {high:.2f}]"
            return bare(name, self.mean, seeds, note)
        return Measured(name, self.mean, low, high, seeds)


def difference(first: pd.DataFrame, second: pd.DataFrame, score: str = "accuracy") -> Lead:
    """Return the first method's score less the second's accuracy by seed; if one tested fewer clients, on these only.
    A score other than the accuracy is not known by client, and so has no standard error over clients."""
    first = first.dropna(subset=[score])
    values, errors = [], []
    for seed in first.index.intersection(second.index):
        ours, theirs = first.loc[seed], second.loc[seed]
        paired = of_clients(ours) - of_clients(theirs)
        alike = ours["tested"] == theirs["tested"]
        values.append(100 * (ours["accuracy"] - theirs["accuracy"]) if alike else paired.mean())
        values[-1] += 100 * (ours[score] - ours["accuracy"])
        errors.append(paired.std(ddof=1) / math.sqrt(min(ours["tested"], theirs["tested"])))
    return Lead(np.array(values), errors[0] if errors and score == "accuracy" else math.nan)


def least(name: str, leads: list[Lead]) -> Measured:
    """Return the least of several leads with a simultaneous interval (Bonferroni); NaN if one of them is missing, and
    no interval if one has none."""
    level = 1 - (1 - LEVEL) / len(leads)
    numbers = [lead.measured(name, level) for lead in leads]
    for number in numbers:
        if math.isnan(number.measured):
            return number
    ends = {end: min(getattr(number, end) for number in numbers) for end in ("ci_low", "ci_high", "seeds")}
    first = replace(min(numbers, key=lambda number: number.measured), **ends)
    short = [number.note for number in numbers if math.isnan(number.ci_low)]
    return bare(name, first.measured, first.seeds, first.note or short[0]) if short else first


def leads(
    runs: pd.DataFrame, setting: Setting, reading: str = "unmoved", others: Iterable[str] = OTHERS
) -> dict[str, Lead]:
    """Return CENTAUR's lead over each of the others."""
    shift, score = READINGS[reading]
    ours = lines(runs, setting, "centaur", shift)
    return {other: difference(ours, lines(runs, setting, other), score) for other in others}


def rivals(runs: pd.DataFrame, setting: Setting) -> list[str]:
    """Return the other methods, except those that were far behind at the first seed, and therefore ran at no other."""
    of = {other: lines(runs, setting, other)["accuracy"] for other in OTHERS}
    best = max((100 * scores.iloc[0] for scores in of.values() if len(scores)), default=math.nan)
    return [o for o, scores in of.items() if len(scores) != 1 or 100 * scores.iloc[0] > best - FAR_BEHIND]


def row_leads(runs: pd.DataFrame, setting: Setting, reading: str) -> list[Lead]:
    """Return the leads of CENTAUR whose least judges a row (rule 12)."""
    return [*leads(runs, setting, reading, rivals(runs, setting)).values()]


def by_seeds(lead: Measured, clear: float) -> Measured:
    """Return a least lead, without an interval if it is too small for its number of seeds to decide (rule 11)."""
    if lead.seeds >= MANY_SEEDS or abs(lead.measured) >= clear or math.isnan(lead.ci_low):
        return lead
    note = f"too few seeds for a lead below {clear:g} points; over seeds [{lead.ci_low:.2f}, {lead.ci_high:.2f}]"
    return bare(lead.quantity, lead.measured, lead.seeds, note)


def judged(name: str, ahead: Callable[[str], list[Lead]], clear: float = CLEAR) -> Measured:
    """Return CENTAUR's least lead in the reading that decides. Runs on unmoved images may confirm the printed order; if
    they do not, runs on moved images decide, and only these may refute it (rule 9)."""
    leads = {reading: by_seeds(least(name, ahead(reading)), clear) for reading in OF_READING}
    unmoved, moved = (
        replace(lead, note="; ".join(filter(None, [OF_READING[reading], lead.note]))) for reading, lead in leads.items()
    )
    if not unmoved.ci_low >= 0 and (not math.isnan(moved.ci_low) or not unmoved.seeds):
        return moved
    return bare(name, unmoved.measured, unmoved.seeds, STILL_OPEN) if unmoved.ci_high < 0 else unmoved


def clear_lead(setting: Setting) -> float:
    """Return the points below which a lead over fewer than `MANY_SEEDS` seeds decides nothing; 0 on EMNIST."""
    return 0.0 if setting.where["images"] == "emnist" else CLEAR


def row_measures(runs: pd.DataFrame) -> list[Measured]:
    """Measure CENTAUR's least lead in each row."""
    return [
        judged(f"{row}: least lead of centaur", partial(row_leads, runs, setting), clear_lead(setting))
        for row, setting in (TABLE_1 | TABLE_3).items()
    ]


def best_clips(runs: pd.DataFrame) -> Setting:
    """Return the MNIST row with each method's best clip on validation images of the tuning seed, NaN if none ran."""
    tried = runs[(runs["seed"] == TUNING_SEED) & (runs["method"] != "stand_alone")]
    tried = tried[tried["batch"] == MNIST.where["batch"]]
    best = {method: part["clip"].iloc[int(part["validation"].argmax())] for method, part in tried.groupby("method")}
    return replace(MNIST, clips={method: best.get(method, math.nan) for method in TOGETHER})


def set_up_measures(runs: pd.DataFrame) -> list[Measured]:
    """Measure the accuracy of clients alone on CIFAR-10 less that of Table 1, plus or minus two standard errors: ours
    over clients, theirs over three runs."""
    measured = []
    for row, setting in TABLE_1.items():
        if setting.where["images"] != "cifar10":
            continue
        name, mine = f"{row}: clients alone less the print", lines(runs, setting, "stand_alone")
        mean, spread = setting.printed["stand_alone"]
        ours = 100 * (mine["accuracy_sd"] / np.sqrt(mine["tested"])).mean() / np.sqrt(len(mine))
        away, two = 100 * mine["accuracy"].mean() - mean, 2 * math.hypot(ours, spread / math.sqrt(PRINTED_RUNS))
        measured.append(Measured(name, away, away - two, away + two, len(mine), "two standard errors"))
    return measured


def figure_1_measures(runs: pd.DataFrame) -> list[Measured]:
    """Measure CENTAUR's least leads over all epsilons, and its lead over clients that train alone at epsilon = 0.5."""

    def over(other: str, *epsilons: float) -> Callable[[str], list[Lead]]:
        return lambda reading: [leads(runs, FIGURE_1[e], reading, (other,))[other] for e in epsilons]

    named = [(f"least lead over {o}, all epsilons", over(o, *EPSILONS)) for o in TOGETHER[1:]]
    named.append(("lead of centaur over stand_alone, epsilon = 0.5", over("stand_alone", 0.5)))
    return [judged(f"CIFAR10, Figure 1: {name}", ahead) for name, ahead in named]


def along(line: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies after each eighth of the rounds, in percent, by seed."""
    return 100 * line[[f"accuracy_{part}_8" for part in EIGHTHS]].astype(float)


def way_measure(runs: pd.DataFrame) -> Measured:
    """Measure CENTAUR's least lead over the other methods that train jointly, after each eighth of the rounds."""

    def ahead(reading: str) -> list[Lead]:
        way = {method: along(lines(runs, LONG_5, method, READINGS[reading][0])) for method in TOGETHER}
        each = [(way["centaur"] - way[other]).dropna().to_numpy().T for other in TOGETHER[1:]]
        return [Lead(values) for other in each for values in other]

    return judged("CIFAR10, n = 1000, S = 5, T = 400: least lead on the way", ahead)


def update_measure(runs: pd.DataFrame) -> Measured:
    """Measure the length of CENTAUR's updates over DP-FedAvg's; 1 less this ratio is judged like a lead."""

    def shorter(reading: str) -> list[Lead]:
        row, shift = TABLE_1["CIFAR10, n = 1000, S = 5"], READINGS[reading][0]
        ours, theirs = (lines(runs, row, method, shift)["length_8_8"].astype(float) for method in ("centaur", "fedavg"))
        return [Lead((1 - ours / theirs).dropna().to_numpy())]

    gap = judged("CIFAR10, n = 1000, S = 5: update of centaur over that of fedavg, last eighth", shorter, 0.0)
    return replace(gap, measured=1 - gap.measured, ci_low=1 - gap.ci_high, ci_high=1 - gap.ci_low)


def digit_measures(cells: pd.DataFrame) -> list[Measured]:
    """Measure CENTAUR's leads on scikit-learn's digits, from the cells of this run."""
    ran = cells[cells["status"] == "ok"].sort_values("seed")
    of = {key: 100 * part["accuracy"].to_numpy(float) for key, part in ran.groupby(["series", "method"])}
    measured, nothing = [], cells.loc[cells["status"] != "ok", "reason"].astype(str).tolist()
    for ending, series in (("", "digits"), (", no noise", "digits-quiet")):
        for other in OTHERS:
            name = f"digits: lead of centaur over {other}{ending}"
            place = ("digits-alone" if other == "stand_alone" else series, other)
            if place in of and (series, "centaur") in of:
                measured.append(bare(name, float((of[series, "centaur"] - of[place]).mean()), len(of[place])))
            else:
                measured.append(not_run(name, [*nothing, "it does not run at this scale"][0]))
    return measured


def accuracy_points(runs: pd.DataFrame, settings: Mapping[Any, Setting]) -> pd.DataFrame:
    """Return measured and printed accuracies by row and method, of rows in which a method that trains jointly ran."""
    points = []
    for row, setting in settings.items():
        of = {method: rows for method in METHODS if len(rows := lines(runs, setting, method))}
        for method, rows in of.items() if of.keys() & set(TOGETHER) else ():
            mean, spread = setting.printed.get(method, (math.nan, math.nan))
            accuracy = 100 * rows["accuracy"].mean()
            over_clients = 100 * (rows["accuracy_sd"] / np.sqrt(rows["tested"])).mean()
            over_seeds = 100 * rows["accuracy"].std(ddof=1) if len(rows) > 1 else math.nan
            half = 2 * (over_clients if len(rows) < FEWEST_SEEDS else over_seeds / math.sqrt(len(rows)))
            half_printed = 2 * spread / math.sqrt(PRINTED_RUNS)
            once, cut = 100 * rows["accuracy_once"].mean(), rows["clipped_share"].mean()
            second = 100 * rows["accuracy_moved_last"].mean(), rows["accuracy_moved_last"].count()
            ran = (accuracy, accuracy - half, accuracy + half, len(rows), over_seeds, over_clients, once, cut, *second)
            points.append((row, method, *ran, mean, spread, mean - half_printed, mean + half_printed))
    measured = ["accuracy", "low", "high", "seeds", "over_seeds", "over_clients", "once", "cut"]
    measured += ["moved_last", "moved_last_seeds"]
    printed = ["printed", "printed_spread", "printed_low", "printed_high"]
    return pd.DataFrame(points, columns=["row", "method", *measured, *printed] if points else ["accuracy"])


def way_points(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the points of Figure 3: accuracies by epsilon spent so far; and updates over the clip, by rounds done."""
    points = []
    for row, setting in (TABLE_1 | TABLE_3).items():
        for method in TOGETHER:
            rows = lines(runs, setting, method)
            for part, accuracy in zip(EIGHTHS, along(rows).mean(), strict=True) if len(rows) else ():
                spent = gdp_epsilon(gdp_mu(1.0, 1e-5) * math.sqrt(part / 8), 1e-5)
                length, cut = (rows[f"{name}_{part}_8"].mean() for name in ("length", "cut"))
                points.append((row, method, part / 8, spent, accuracy, length, cut))
    names = ["row", "method", "share", "epsilon", "accuracy", "length", "cut"]
    return pd.DataFrame(points, columns=names if points else ["accuracy"])


# Facts of the chapter beside its quantities


def orders(cells: pd.DataFrame, quantities: Quantities) -> list[dict]:
    """Return by row and reading CENTAUR's least lead over the methods that ran, the rival, its spread over seeds, its
    standard error over clients, and the decision by the rules: for CENTAUR (1), against it (-1) or none (0)."""
    runs, rows = long_runs(), []
    for row, setting in (TABLE_1 | TABLE_3).items():
        before = len(rows)
        for reading in READINGS:
            of_all = leads(runs, setting, reading)
            ahead = {other: lead for other, lead in of_all.items() if len(lead.values)}
            if not ahead:
                continue
            rival = min(ahead, key=lambda other: ahead[other].mean)
            values, printed = ahead[rival].values, setting.printed["centaur"][0] - setting.printed[rival][0]
            by_rules = by_seeds(least(row, [of_all[other] for other in rivals(runs, setting)]), clear_lead(setting))
            decided = (by_rules.ci_low >= 0) - (by_rules.ci_high < 0) if reading in OF_READING else 0
            about = {"row": row, "reading": reading, "seeds": len(values), "rival": rival, "others": len(ahead)}
            numbers = {"lead": values.mean(), "over_seeds": values.std(ddof=1) if len(values) > 1 else math.nan}
            rows.append(about | numbers | {"over_clients": ahead[rival].error, "printed": printed, "decided": decided})
        if len(rows) == before:
            rows.append({"row": row, "reading": "unmoved", "seeds": 0})
    return rows


def machines(cells: pd.DataFrame, quantities: Quantities) -> list[dict]:
    """Return number and hours of the runs by data set of images and device."""
    return [
        {"images": images, "device": device, "runs": len(part), "hours": part["seconds"].sum() / 3600}
        for (images, device), part in long_runs().groupby(["images", "device"])
    ]


def replaced(cells: pd.DataFrame, quantities: Quantities) -> dict[str, float]:
    """Return the epsilon for replacing a client if that for adding or removing one is 1, and the reverse."""
    mu = gdp_mu(1.0, 1e-5)
    return {"replacing": gdp_epsilon(2 * mu, 1e-5), "adding": gdp_epsilon(mu / 2, 1e-5)}


FACTS = {
    "tables 1 and 3": lambda cells, quantities: accuracy_points(long_runs(), TABLE_1 | TABLE_3),
    "mnist": lambda cells, quantities: accuracy_points(
        long_runs(), ON_MNIST | {"MNIST, best clips": best_clips(long_runs())}
    ),
    "orders": orders,
    "machines": machines,
    "replaced": replaced,
}


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure all quantities; return the numbers of the figures, too."""
    runs = long_runs()
    measured = [*row_measures(runs), *figure_1_measures(runs), way_measure(runs), update_measure(runs)]
    measured += set_up_measures(runs)
    missing = "its runs stand in src/images/runs.toml and are not made yet, see docs/images.md"
    measured = [lead if lead.seeds else not_run(lead.quantity, missing) for lead in measured] + digit_measures(cells)
    tables = {
        "shen2023/image_methods": accuracy_points(runs, TABLE_1 | TABLE_3),
        "shen2023/image_epsilon": accuracy_points(runs, FIGURE_1).rename(columns={"row": "epsilon"}),
        "shen2023/image_way": way_points(runs),
    }
    return Findings(measured, tables)
