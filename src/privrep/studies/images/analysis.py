"""shen2023, Section 6 and Appendix B on glyphs, a stand-in for EMNIST (claims B-T1g, B-F1g, B-T2g, B-T3g, B-F3g and
B-R3.1g).

Accuracies are in percent, differences in points. With one repetition an interval is over its clients, as if two methods
had clients of their own, which is too wide for methods that share them, and holds for the start and the noise of that
run; with several it is over repetitions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from dp_accounting import GaussianDpEvent, SelfComposedDpEvent
from dp_accounting.rdp import RdpAccountant
from scipy.special import ndtri

from privrep.evidence.facts import Quantities
from privrep.evidence.findings import Findings
from privrep.evidence.intervals import LEVEL, student
from privrep.evidence.measured import Measured, bare, exact, not_run
from privrep.privacy.accounting import gdp_epsilon, gdp_mu
from privrep.run.config import ROOT
from privrep.run.record import FROM_RECORD
from privrep.run.settings import MeasureSettings

METHODS = ("centaur", "fedavg", "pmtl", "ppsgd", "stand_alone")
OTHERS = ("fedavg", "pmtl", "ppsgd", "stand_alone")
TUNED = ("centaur", "fedavg", "ppsgd")
"""Methods that run in all settings. PMTL, which is DP-FedAvg with a penalty, does at scale record."""
CLIENTS = 1000
"""Clients in the row of Table 1 that claims are about."""
SIZES = (CLIENTS, 2000)
"""Clients in its rows."""
PRINTED = {
    1000: {"stand_alone": 93.47, "fedavg": 91.32, "pmtl": 92.32, "ppsgd": 93.44, "centaur": 94.17},
    2000: {"stand_alone": 90.67, "fedavg": 86.85, "pmtl": 88.81, "ppsgd": 88.96, "centaur": 92.79},
}
"""Table 1, EMNIST."""
TABLE = ("table", "table-alone")
"""Series of Table 1."""
CHANGES = {
    "long": "twice the rounds",
    "few": "fewer classes",
    "jitter": "moved images",
    "replaced": "noise for replacing",
}
"""Series in which one thing is changed, and what."""
KEPT = ROOT / "docs" / "real_digits.csv"
"""Cells of digits of MNIST from a run that had their files."""
OF_RECORD = ROOT / "docs" / "record" / "images.csv"
"""Cells of Table 1 that ran once."""
EIGHTHS = tuple(f"accuracy_{part}_8" for part in range(1, 8))


@dataclass(frozen=True)
class Scores:
    """A number of each repetition, and its standard error over clients; in percent."""

    values: np.ndarray
    errors: np.ndarray

    def __sub__(self, other: Scores) -> Scores:
        return Scores(self.values - other.values, np.hypot(self.errors, other.errors))

    def __neg__(self) -> Scores:
        return Scores(-self.values, self.errors)

    @property
    def mean(self) -> float:
        return float(self.values.mean()) if len(self.values) else math.nan

    def half(self, level: float = LEVEL) -> float:
        """Half the length of the interval."""
        seeds = len(self.values)
        if seeds == 1:
            return float(-ndtri((1 - level) / 2) * self.errors[0])
        return student(seeds, level) * float(self.values.std(ddof=1)) / math.sqrt(seeds) if seeds else math.nan

    def measured(self, name: str, level: float = LEVEL) -> Measured:
        """With its interval."""
        if math.isnan(self.mean):
            return not_run(name, "a run that it needs did not run at this scale")
        seeds, half = len(self.values), self.half(level)
        note = "interval over the clients of one run" if seeds == 1 else ""
        return Measured(name, self.mean, self.mean - half, self.mean + half, seeds, note)


def scores(cells: pd.DataFrame, series: str, method: str, **where: float) -> Scores:
    """Test accuracy of a method in a series, by repetition."""
    rows = cells[(cells["series"] == series) & (cells["method"] == method) & (cells["status"] == "ok")]
    for name, value in where.items():
        rows = rows[rows[name] == value]
    rows = rows.sort_values("seed")
    return Scores(
        100 * rows["accuracy"].to_numpy(float), 100 * (rows["accuracy_sd"] / np.sqrt(rows["tested"])).to_numpy(float)
    )


def lead(first: Scores, second: Scores) -> Scores:
    """Their difference; nothing where they do not have the same repetitions."""
    return first - second if len(first.values) == len(second.values) else Scores(np.empty(0), np.empty(0))


def least(name: str, found: list[Scores]) -> Measured:
    """The least of those that ran, with an interval that is simultaneous (Bonferroni):
    from the least lower end to the least upper one."""
    known = [one for one in found if not math.isnan(one.mean)]
    if not known:
        return Scores(np.empty(0), np.empty(0)).measured(name)
    all_of_them = [one.measured(name, 1 - (1 - LEVEL) / len(known)) for one in known]
    ends = {end: min(getattr(one, end) for one in all_of_them) for end in ("measured", "ci_low", "ci_high")}
    return replace(all_of_them[0], **ends)


def table(cells: pd.DataFrame, method: str, users: int) -> Scores:
    """A row of Table 1."""
    return scores(cells, "table-alone" if method == "stand_alone" else "table", method, users=users)


def table_measures(cells: pd.DataFrame) -> list[Measured]:
    """Accuracies and leads at the settings of Table 1."""
    found = []
    for users in SIZES:
        at = {method: table(cells, method, users) for method in METHODS}
        found += [one.measured(f"accuracy of {method}, n = {users}") for method, one in at.items()]
        found += [
            lead(at["centaur"], at[other]).measured(f"lead of centaur over {other}, n = {users}") for other in OTHERS
        ]
        name = f"best other method over stand_alone, n = {users}"
        rest = least(name, [lead(at["stand_alone"], at[other]) for other in OTHERS if other != "stand_alone"])
        found.append(replace(rest, measured=-rest.measured, ci_low=-rest.ci_high, ci_high=-rest.ci_low))
    return found


def alone(cells: pd.DataFrame, rank: int) -> Scores:
    """Clients alone in the sweeps."""
    return scores(cells, "alone", "stand_alone", rank=rank)


def crossing(epsilons: list[float], leads: list[float]) -> float:
    """The largest epsilon at which a lead turns positive, by interpolation on the logarithm;
    NaN where it does nowhere."""
    for i in reversed(range(len(leads) - 1)):
        low, high = leads[i], leads[i + 1]
        if low < 0 <= high:
            share = -low / (high - low)
            return float(epsilons[i] * (epsilons[i + 1] / epsilons[i]) ** share)
    return math.nan


def epsilon_measures(cells: pd.DataFrame) -> list[Measured]:
    """Leads at each epsilon, where CENTAUR meets clients alone, and how fast noise costs accuracy."""
    sweep = cells[cells["series"] == "sweep"]
    epsilons, rank = sorted(sweep["epsilon"].unique()), int(sweep["rank"].iloc[0])
    by_epsilon = {(m, e): scores(cells, "sweep", m, epsilon=e) for m in TUNED for e in epsilons}
    leads = [lead(by_epsilon["centaur", e], alone(cells, rank)) for e in epsilons]
    found = [
        one.measured(f"lead of centaur over stand_alone, epsilon = {e:g}")
        for e, one in zip(epsilons, leads, strict=True)
    ]
    for other in ("fedavg", "ppsgd"):
        leads_over = [lead(by_epsilon["centaur", e], by_epsilon[other, e]) for e in epsilons]
        found.append(least(f"least lead of centaur over {other}", leads_over))
    for method in TUNED:
        gained = lead(by_epsilon[method, epsilons[-1]], by_epsilon[method, epsilons[0]])
        found.append(gained.measured(f"gain of {method} from the smallest epsilon to the largest"))
    meets = crossing(epsilons, [one.mean for one in leads])
    found.append(bare("epsilon where centaur meets stand_alone", meets, len(leads[0].values)))
    quiet = scores(cells, "quiet", "centaur")
    losses = [lead(quiet, by_epsilon["centaur", e]).mean for e in epsilons[:2]]
    name = "loss of centaur at the smallest epsilon over the next"
    ratio = losses[0] / losses[1] if losses[1] else math.nan
    found.append(bare(name, ratio, len(quiet.values)))
    delta = sweep["delta"].iloc[0]
    law = (gdp_mu(epsilons[1], delta) / gdp_mu(epsilons[0], delta)) ** 2
    return [*found, exact(f"{name}, law", law, "square of the ratio of the noises")]


def changes(cells: pd.DataFrame, series: str, method: str) -> Scores:
    """Accuracy in a series less that in the sweep, at the epsilon of the series."""
    at = cells.loc[cells["series"] == series, "epsilon"].iloc[0]
    return lead(scores(cells, series, method), scores(cells, "sweep", method, epsilon=at))


def change_measures(cells: pd.DataFrame) -> list[Measured]:
    """Replace-one neighbours, rounds, classes, and moved images."""
    rows = cells[cells["series"] == "replaced"]
    few, many = (int(cells.loc[cells["series"] == name, "rank"].iloc[0]) for name in ("few", "sweep"))
    found = []
    for method in TUNED:
        found += [
            (-changes(cells, "replaced", method)).measured(f"loss of {method} by replace-one neighbours"),
            changes(cells, "long", method).measured(f"gain of {method} by twice the rounds"),
            changes(cells, "jitter", method).measured(f"gain of {method} by moved images"),
        ]
    found.append(
        lead(scores(cells, "replaced", "centaur"), alone(cells, many)).measured(
            "lead of centaur over stand_alone, replace-one neighbours"
        )
    )
    at = rows["epsilon"].iloc[0]
    swapped, plain = (scores(cells, "pmtl", "pmtl", neighbours=kind) for kind in ("replace-one", "add-remove"))
    found.append(lead(plain, swapped).measured("loss of pmtl by replace-one neighbours"))
    gained = changes(cells, "long", "centaur")
    for other in ("fedavg", "ppsgd"):
        more = lead(changes(cells, "long", other), gained)
        found.append(more.measured(f"gain by twice the rounds, {other} over centaur"))
        moved = lead(scores(cells, "jitter", "centaur"), scores(cells, "jitter", other))
        found.append(moved.measured(f"lead of centaur over {other}, moved images"))
    two = lead(scores(cells, "few", "centaur"), scores(cells, "few", "fedavg"))
    five = lead(scores(cells, "sweep", "centaur", epsilon=at), scores(cells, "sweep", "fedavg", epsilon=at))
    found.append(lead(two, five).measured("lead of centaur over fedavg, two classes less five"))
    two = lead(scores(cells, "few", "centaur"), alone(cells, few))
    five = lead(scores(cells, "sweep", "centaur", epsilon=at), alone(cells, many))
    found.append(lead(two, five).measured("lead of centaur over stand_alone, two classes less five"))
    return found


def tried(cells: pd.DataFrame, method: str, epsilon: float) -> pd.DataFrame:
    """Mean validation accuracy at each clip that was tried, in rising order of the clip."""
    rows = cells[cells["series"].isin(["sweep", "clips"]) & (cells["method"] == method) & (cells["status"] == "ok")]
    rows = rows[rows["epsilon"] == epsilon]
    return rows.groupby("clip")["validation"].mean()


def chosen(cells: pd.DataFrame, method: str, epsilon: float) -> float:
    """The clip with the best validation accuracy, the smallest of equals; NaN where none ran."""
    found = tried(cells, method, epsilon)
    return float(found.idxmax()) if len(found) else math.nan


def at_chosen(cells: pd.DataFrame, method: str, epsilon: float) -> Scores:
    """Test accuracy at that clip."""
    clip = chosen(cells, method, epsilon)
    found = [scores(cells, series, method, epsilon=epsilon, clip=clip) for series in ("sweep", "clips")]
    return next((one for one in found if len(one.values)), found[0])


def clip_measures(cells: pd.DataFrame) -> list[Measured]:
    """The best clip of each method, and the methods at theirs.
    A clip is chosen from few, so that its ratio has no interval."""
    rows = cells[cells["series"] == "clips"]
    epsilons, rank = sorted(rows["epsilon"].unique()), int(rows["rank"].iloc[0])
    seeds = int(rows["seed"].nunique())
    found = []
    for method in TUNED:
        best = {e: chosen(cells, method, e) for e in epsilons}
        found += [bare(f"best clip of {method}, epsilon = {e:g}", clip, seeds) for e, clip in best.items()]
        name = f"best clip at the largest epsilon over that at the smallest, {method}"
        found.append(bare(name, best[epsilons[-1]] / best[epsilons[0]], seeds))
    at = cells.loc[cells["series"] == "replaced", "epsilon"].iloc[0]
    best = {method: at_chosen(cells, method, at) for method in TUNED} | {"stand_alone": alone(cells, rank)}
    for other in ("fedavg", "ppsgd", "stand_alone"):
        found.append(lead(best["centaur"], best[other]).measured(f"lead of centaur over {other}, best clips"))
    return found


def noise_length(row: pd.Series) -> float:
    """Length of the noise on the mean of the updates, by its expectation."""
    return 2 * row["clip"] * row["noise_multiplier"] * math.sqrt(row["parameters"]) / row["users"]


def first_row(cells: pd.DataFrame) -> pd.DataFrame:
    """The runs of the first row of Table 1, with noise, the length of the noise."""
    rows = cells[cells["series"] == "table"]
    rows = rows[rows["users"] == rows["users"].min()]
    return rows.assign(noise=rows.apply(noise_length, axis=1))


def on_the_way(cells: pd.DataFrame) -> pd.DataFrame:
    """Accuracy in percent (columns: methods) after each eighth of the rounds but the last (rows), in the first row of
    Table 1, mean over repetitions."""
    rows = first_row(cells)
    return 100 * rows.groupby("method", sort=False)[list(EIGHTHS)].mean().T


def update_measures(cells: pd.DataFrame) -> list[Measured]:
    """Lengths and similarity of clients' updates."""
    rows = first_row(cells)
    seeds = int(rows["seed"].nunique())
    mean = rows.groupby("method").mean(numeric_only=True)
    found = []
    for method, row in mean.iterrows():
        found += [
            bare(f"share of updates cut, {method}", row["clipped_share"], seeds),
            bare(f"update over the clip, {method}", row["last_norm"] / row["clip"], seeds),
        ]
    for method in ("centaur", "fedavg"):
        for when in ("first", "last"):
            row = mean.loc[method]
            found += [
                bare(f"noise over mean update, {method}, {when} round", row["noise"] / row[f"{when}_mean"], seeds),
                bare(f"effective rank of updates, {method}, {when} round", row[f"{when}_effective_rank"], seeds),
            ]
    ratio = mean.loc["centaur", "last_norm"] / mean.loc["fedavg", "last_norm"]
    return [*found, bare("representation over full model, last round", ratio, seeds)]


def moments_multiplier(epsilon: float, delta: float, rounds: int) -> float:
    """Noise over the clip by Renyi accounting of the rounds, which the paper's scripts have from Opacus."""

    def spent(multiplier: float) -> float:
        accountant = RdpAccountant()
        accountant.compose(SelfComposedDpEvent(GaussianDpEvent(multiplier), rounds))
        return accountant.get_epsilon(delta) - epsilon

    low, high = 0.1, 1e4
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if spent(middle) > 0 else (low, middle)
    return high


def accounting_measures(cells: pd.DataFrame) -> list[Measured]:
    """What the runs of Table 1 spend if a client is replaced, and how much more noise the paper's accounting asks
    for."""
    row = cells[cells["series"] == "table"].iloc[0]
    rounds, epsilon, delta = int(row["rounds"]), row["epsilon"], row["delta"]
    ratio = moments_multiplier(epsilon, delta, rounds) * gdp_mu(epsilon, delta) / math.sqrt(rounds)
    return [
        exact("epsilon of the table for replacing a client", row["epsilon_exact"]),
        exact("noise of moments accounting over exact", ratio),
    ]


def spent_epsilon(row: pd.Series, share: float) -> float:
    """Epsilon, for adding or removing a client, after a share of the rounds."""
    return gdp_epsilon(gdp_mu(row["epsilon"], row["delta"]) * math.sqrt(share), row["delta"])


def least_lead_on_the_way(cells: pd.DataFrame) -> Measured:
    """Of CENTAUR over the best other method that trains together, after each eighth of the rounds."""
    way = on_the_way(cells)
    leads = way["centaur"] - way.drop(columns="centaur").max(axis=1)
    return bare("least lead of centaur on the way", leads.min(), int(first_row(cells)["seed"].nunique()))


def from_record(one: Measured, cells: pd.DataFrame) -> Measured:
    """A quantity of Table 1 that was measured says which run its rows were read from, where that is not this one."""
    named = [method for method in METHODS if method in one.quantity] or list(METHODS)
    rows = cells[cells["series"].isin(TABLE) & cells["method"].isin(named)]
    reasons = rows["reason"].dropna().astype(str)
    notes = reasons[reasons.str.startswith(FROM_RECORD)].unique()
    return one if math.isnan(one.measured) else replace(one, note="; ".join(filter(None, [one.note, *notes])))


def unrun(cells: pd.DataFrame, of_table: bool) -> str:
    """Why cells of Table 1, or those of the sweeps, were not run; nothing if they were."""
    reasons = cells.loc[(cells["status"] == "not run") & (cells["series"].isin(TABLE) == of_table), "reason"]
    return str(reasons.iloc[0]) if len(reasons) else ""


def point(found: Scores, **place: object) -> dict:
    """A row of the drawn numbers."""
    return place | {"accuracy": found.mean, "low": found.mean - found.half(), "high": found.mean + found.half()}


def method_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Measured and printed accuracies, and those on the way."""
    points = []
    for users in sorted(cells.loc[cells["series"] == "table", "users"].unique()):
        printed = PRINTED.get(users, {})
        points += [
            point(table(cells, method, users), panel="table", method=method, users=users, printed=printed.get(method))
            for method in METHODS
        ]
    way, row = on_the_way(cells), cells[cells["series"] == "table"].iloc[0]
    for part, name in enumerate(EIGHTHS, 1):
        spent = spent_epsilon(row, part / 8)
        points += [
            {"panel": "way", "method": method, "epsilon": spent, "accuracy": accuracy}
            for method, accuracy in way.loc[name].items()
        ]
    users = int(cells.loc[cells["series"] == "table", "users"].min())
    points += [
        {"panel": "way", "method": method, "epsilon": row["epsilon"], "accuracy": table(cells, method, users).mean}
        for method in way.columns
    ]
    return pd.DataFrame(points)


def epsilon_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of all methods of the sweep at each epsilon, for replaced clients, and without noise."""
    sweep = cells[cells["series"] == "sweep"]
    points = [
        point(scores(cells, "sweep", method, epsilon=epsilon), panel="added or removed", method=method, epsilon=epsilon)
        for method in sweep["method"].unique()
        for epsilon in sorted(sweep["epsilon"].unique())
    ]
    end = 2 * sweep["epsilon"].max()
    for place, method in enumerate(sweep["method"].unique()):
        at = cells.loc[cells["series"] == "replaced", "epsilon"].iloc[0]
        points.append(point(scores(cells, "replaced", method), panel="replaced", method=method, epsilon=at))
        points.append(
            point(scores(cells, "quiet", method), panel="no noise", method=method, epsilon=end * (1 + 0.08 * place))
        )
    level = point(alone(cells, int(sweep["rank"].iloc[0])), panel="alone", method="stand_alone")
    return pd.DataFrame([*points, level])


def clip_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Test accuracy at each clip, and which was chosen; and what each change brings."""
    rows = cells[cells["series"] == "clips"]
    points = []
    for epsilon in sorted(rows["epsilon"].unique()):
        for method in rows["method"].unique():
            best = chosen(cells, method, epsilon)
            both = cells[cells["series"].isin(["sweep", "clips"]) & (cells["method"] == method)]
            for (series, clip), _ in both[both["epsilon"] == epsilon].groupby(["series", "clip"]):
                found = scores(cells, series, method, epsilon=epsilon, clip=clip)
                points.append(
                    point(found, panel="clips", method=method, epsilon=epsilon, clip=clip, chosen=float(clip == best))
                )
    for series in CHANGES:
        for method in cells.loc[cells["series"] == series, "method"].unique():
            points.append(point(changes(cells, series, method), panel=series, method=method))
    return pd.DataFrame(points)


def update_points(cells: pd.DataFrame) -> pd.DataFrame:
    """Lengths over the clip, noise over the mean, and directions, in the first round and the last."""
    points = []
    for method, row in first_row(cells).groupby("method", sort=False).mean(numeric_only=True).iterrows():
        for when in ("first", "last"):
            points.append(
                {
                    "method": method,
                    "round": when,
                    "length": row[f"{when}_norm"] / row["clip"],
                    "noise_over_mean": row["noise"] / row[f"{when}_mean"],
                    "directions": row[f"{when}_effective_rank"],
                    "cut": row["clipped_share"],
                }
            )
    return pd.DataFrame(points)


def kept_digits(cells: pd.DataFrame, quantities: Quantities) -> dict[str, float]:
    """Accuracy on digits of MNIST in percent, from the run that is kept: clients alone, and CENTAUR with and without
    noise."""
    rows = 100 * pd.read_csv(KEPT).set_index(["series", "method"])["accuracy"]
    places = {
        "alone": ("mnist-alone", "stand_alone"),
        "noisy": ("mnist", "centaur"),
        "quiet": ("mnist-quiet", "centaur"),
    }
    return {name: rows[place] for name, place in places.items()}


def not_here(cells: pd.DataFrame, quantities: Quantities) -> str:
    """Why cells of the study were not run; nothing if all were."""
    reasons = cells.loc[cells["status"] == "not run", "reason"]
    return str(reasons.iloc[0]) if len(reasons) else ""


def of_record(cells: pd.DataFrame, quantities: Quantities) -> str:
    """Which methods of Table 1 were read from the run of record, which run that was and what it took; nothing if all
    ran here."""
    rows = cells[cells["reason"].fillna("").astype(str).str.startswith(FROM_RECORD)]
    if rows.empty:
        return ""
    record = pd.read_csv(OF_RECORD)
    hours = record.loc[record["key"].isin(rows["key"]), "cpu_seconds"].sum() / 3600
    return f"{', '.join(rows['method'].unique())}: {rows['reason'].iloc[0]}, {hours:.1f} CPU hours"


FACTS = {"digits": kept_digits, "not run": not_here, "of record": of_record}


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """All quantities and tables; what needs a run that is not there says so, or is empty."""
    found, tables = [], dict.fromkeys(study.figures, pd.DataFrame({"accuracy": []}))
    of_table, of_sweeps = (unrun(cells, of_table=one) for one in (True, False))
    if not of_table:
        measured = [*table_measures(cells), *update_measures(cells), least_lead_on_the_way(cells)]
        found += [from_record(one, cells) for one in [*measured, *accounting_measures(cells)]]
        tables |= {"shen2023/image_methods": method_points(cells), "shen2023/image_updates": update_points(cells)}
    if not of_sweeps:
        found += [*epsilon_measures(cells), *change_measures(cells), *clip_measures(cells)]
        tables |= {"shen2023/image_epsilon": epsilon_points(cells), "shen2023/image_clips": clip_points(cells)}
    reason = of_table or of_sweeps
    missing = [name for name in study.quantities if name not in {one.quantity for one in found}] if reason else []
    return Findings(found + [not_run(name, reason) for name in missing], tables)
