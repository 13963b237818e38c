"""The exponential mechanism of jain2021 (Section 5): its privacy, that of Markov chains that replace it, and its risk.

Privacy losses are exact for the neighbours that were tried, and bound the loss of the mechanism from below. Means over
chains are compared with sums over nets. Exponents are of means under the mechanism's distribution, averaged over
chains. Risks of the methods are medians over repetitions, since a few failed runs would decide a mean.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from privrep.methods.steps.clip_units import projection_threshold
from privrep.theory import jain2021
from privrep.users.losses import Loss
from privrep.users.simulated import Problem
from replication.evidence.cells import resampled
from replication.evidence.findings import Findings
from replication.evidence.intervals import OUTSIDE, log_slope, series_measures
from replication.evidence.measured import Measured, bare, exact
from replication.evidence.numbers import defined
from replication.evidence.scaling import fit_all
from replication.run.settings import MeasureSettings

NETS = ("line", "plane", "dual")
"""Names of nets: of lines in the plane, lines in space, planes in space."""
LINE = ("mechanism", "centaur", "altmin", "random-start", "staged-A", "staged-B")
FEW = ("smooth", "proved", "random", "as-printed")
"""Series of the comparison of methods for k = 1: the main ones, and those run at fewer numbers of users."""
SETTING = ["series", "users", "samples", "dim", "rank", "noise_multiplier"]
"""Columns of a setting of the law; cells with equal values are its repetitions."""
WORKS = 0.05
"""A method works where its risk is at most this share of that of predicting zero."""
TENTH = 0.1
"""Share of the loss of predicting zero at which the law gives the number of users."""
FEWER, COMPARED_AT = 300, 3000
"""Numbers of users at which clips, and choices of candidates, are compared."""
SCALES = {"printed clip": "prescribed", "short clip": "projected"}
BOUNDS = {"mechanism": lambda k, d, n: k**1.5 * d**1.5 / n, "altmin": lambda k, d, n: k**5 * d**3 / n**2}
"""First terms of the bounds that jain2021 compares, with eps n for n."""
K, D = 3.0, 40.0
"""Rank and dim at which bounds are compared; if the paper is right, their crossing in its units depends on neither."""


def losses(cells: pd.DataFrame, series: str) -> pd.DataFrame:
    """Return the privacy loss over the target epsilon, and delta at that epsilon, by users and steps of the chain."""
    rows = cells[cells["series"] == series]
    table = rows[["users", "chain_steps", "delta_at_epsilon"]].assign(loss=rows["privacy_loss"] / rows["epsilon"])
    return table.sort_values(["users", "chain_steps"]).reset_index(drop=True)


def net_points(cells: pd.DataFrame, net: str, indices: np.ndarray | None = None) -> pd.DataFrame:
    """Return mean scores less that of the truth by noise multiplier, from chains and over the net."""
    rows = resampled(cells[cells["series"] == f"net-{net}"], indices)
    means = rows.groupby("noise_multiplier")[["score_excess", "net_excess_uniform", "net_excess", "beta_n"]].mean()
    return means.reset_index()


def ratios(cells: pd.DataFrame, indices: np.ndarray) -> dict[str, float]:
    """Return geometric means of score excess, by net: chains over net, and net as printed over uniform weights."""
    means = {}
    for net in NETS:
        points = net_points(cells, net, indices)
        for name, above in (("chain over net", "score_excess"), ("net as printed over uniform", "net_excess")):
            means[f"{name}, {net}"] = float(np.exp(np.log(points[above] / points["net_excess_uniform"]).mean()))
    return means


def loss_measures(cells: pd.DataFrame) -> list[Measured]:
    """Measure privacy losses on neighbours, of the mechanism with each of three exponents, and of a chain."""
    names = {f"{name} loss over epsilon": f"neighbours-{name}" for name in ("proved", "printed", "exact")}
    names |= {f"chain loss over epsilon, {others}": f"chain-{others}" for others in ("agreeing", "divided")}
    tables = {name: losses(cells, series) for name, series in names.items()}
    printed, divided = tables["printed loss over epsilon"], tables["chain loss over epsilon, divided"]
    return [
        *(exact(name, table["loss"].max()) for name, table in tables.items()),
        exact("printed loss over epsilon, fewest users", printed["loss"].iloc[0]),
        exact("exponent of n in the printed loss", log_slope(printed["users"], printed["loss"])),
        exact("delta of the printed exponent", losses(cells, "balanced")["delta_at_epsilon"].max()),
        exact("chain delta, divided", divided["delta_at_epsilon"].max()),
        exact("loss of the draw over epsilon, divided", divided.loc[divided["chain_steps"] == 0, "loss"].iloc[0]),
    ]


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the results table with law F7 for score excess and loss, and distF of the law where there is one."""
    d, k, half = cells["dim"], cells["rank"], cells["samples"] / 2
    power = np.where(cells["loss"] == "absolute", 1, 2)
    score_law = jain2021.mechanism_excess(cells["beta_n"], d, k, power)
    return cells.assign(
        score_law=score_law,
        law=jain2021.mechanism_loss(score_law, k, half, half),
        distF=cells["law_distF"].fillna(cells["distF"]),
    )


def risks(cells: pd.DataFrame, series: tuple[str, ...], indices: np.ndarray | None = None) -> pd.DataFrame:
    """Return the median risk over that of predicting zero, by users (rows) and series (columns)."""
    rows = resampled(cells[cells["series"].isin(series)], indices)
    share = rows["excess_risk"] / rows["rank"]
    return share.groupby([rows["users"], rows["series"]]).median().unstack()[list(series)]


def method_risks(cells: pd.DataFrame) -> pd.DataFrame:
    """Return `risks` for each panel of the comparison: users, series, risk, panel."""
    panels = {
        "methods": ("mechanism", "staged-B", "altmin", "centaur", "random-start"),
        "ways to run the mechanism": ("mechanism", "smooth", "staged-A", "random", "proved", "as-printed"),
        "methods, larger k": ("plane-chain", "plane-staged", "plane-altmin", "plane-centaur"),
    }
    stacked: dict[str, Any] = {title: risks(cells, series).stack() for title, series in panels.items()}
    tables = {title: table.rename("risk").reset_index() for title, table in stacked.items()}
    return pd.concat([table.assign(panel=title) for title, table in tables.items()])


def users_needed(cells: pd.DataFrame, indices: np.ndarray) -> dict[str, float]:
    """Return the users at which the median risk falls to `WORKS`, interpolated; NaN where none reaches it.

    If the risk rises again in between, its last fall counts.
    """
    needed = {}
    for name, table in risks(cells, (*LINE, *FEW), indices).items():
        logs = pd.Series(np.log(table)).dropna()
        first, users = int((logs[::-1].cummax()[::-1] <= math.log(WORKS)).to_numpy().argmax()), math.nan
        if first > 0:
            here = logs.iloc[[first - 1, first]]
            users = np.interp(-math.log(WORKS), -here.to_numpy(), np.log(here.index))
        needed[f"users for a twentieth, {name}"] = float(np.exp(users))
    return needed


def score_measures(cells: pd.DataFrame) -> list[Measured]:
    """Measure mean score excess over F7, without label noise."""
    rows = cells[cells["score_excess"].notna() & (cells["label_noise_sd"] == 0)]
    means = rows.groupby(SETTING)[["score_excess", "score_law"]].mean()
    over, chains = means["score_excess"] / means["score_law"], int((cells["algorithm"] == "exponential_law").sum())
    return [
        bare(f"{word} score excess over F7", over.agg(end), chains)
        for word, end in {"least": "min", "largest": "max"}.items()
    ]


def clip(scale: str, row: pd.Series, users: float) -> float:
    """Return a unit of L_f in `privrep.methods.steps.clip_units` for the problem of a row with `users` users."""
    problem = Problem(round(users), int(row["samples"]), int(row["dim"]), int(row["rank"]))
    return projection_threshold(scale, 1.0, problem.known)


def users_by_law(row: pd.Series, scale: str) -> float:
    """Return the users at which F7's loss is `TENTH` of predicting zero's, beta = eps / (8 L_f xi sqrt(k))."""
    d, k, half = row["dim"], row["rank"], row["samples"] / 2
    zero = Loss("absolute", 0.0).gaussian_mean(np.sqrt(k))

    def left(log_users: float) -> float:
        n = math.exp(log_users)
        beta_n = row["epsilon"] * n / (8 * clip(scale, row, n) * math.sqrt(k))
        excess = jain2021.mechanism_loss(jain2021.mechanism_excess(beta_n, d, k, 1), k, half, half)
        return math.log(float(np.asarray(excess)) / (TENTH * zero))

    return math.exp(brentq(left, 0, 40))


def clip_measures(cells: pd.DataFrame) -> list[Measured]:
    """Measure error and users of the printed clip over those of the short one, by F7 at the same budget."""
    row = cells[cells["series"] == "mechanism"].iloc[0]
    printed, projected = (clip(scale, row, COMPARED_AT) for scale in SCALES.values())
    users = {name: users_by_law(row, scale) for name, scale in SCALES.items()}
    return [
        exact("error, printed clip over short", printed / projected),
        *(exact(f"users for a tenth, {name}, exponent of the proof", number) for name, number in users.items()),
        exact("users, printed clip over short", users["printed clip"] / users["short clip"]),
    ]


def crossing(k: float, d: float) -> float:
    """Return the users at which the first terms of Theorems 4.2 and 5.2 cross (C = sqrt(k))."""

    def gap(log_n: float) -> float:
        n = math.exp(log_n)
        return math.log(BOUNDS["altmin"](k, d, n) / BOUNDS["mechanism"](k, d, n))

    return math.exp(brentq(gap, 0, 60))


def compared_needs() -> list[Measured]:
    """Measure exponents of k in users and samples of Theorem 4.2 over those of Theorem 5.2 by their printed terms, the
    larger one of two readings: both risks are 1, or a tenth of that of predicting zero."""
    k = 2.0 ** np.arange(2, 6)
    # Predicting zero has risk k in the squared loss, and of order sqrt(k) in a Lipschitz one; C = sqrt(k).
    risks = ((np.ones(4), np.ones(4)), (k / 10, np.sqrt(k) / 10))
    users = max(log_slope(k, (k**2.5 / np.sqrt(a)) / (k**1.5 / b)) for a, b in risks)
    # k/m is at most the risk, and Assumption 4.1 (ii) asks for k^2; of Theorem 5.2 the term is sqrt(k^2/m).
    samples = max(log_slope(k, np.maximum(k / a, k**2) / (k / b) ** 2) for a, b in risks)
    name = "{} of Theorem 4.2 over Theorem 5.2: exponent of k"
    return [exact(name.format("users"), users), exact(name.format("samples"), samples)]


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure privacy losses on neighbours, means over chains divided by those over nets, exponents, risks of the
    mechanism and of other methods, and the cost of the clip."""
    with_nets = cells["series"].str.startswith("net-")
    nets, rest = cells[with_nets], with_predictions(cells[~with_nets])
    measures = [
        *loss_measures(cells),
        *series_measures(nets, "net-line", ratios),
        *defined(study, cells.assign(net=with_nets)),
        *series_measures(rest, "mechanism", users_needed, OUTSIDE),
        *score_measures(rest),
        *clip_measures(rest),
        exact("printed bounds cross over k^3.5 d^1.5 / eps", crossing(K, D) / (K**3.5 * D**1.5)),
        *compared_needs(),
    ]
    series = {name: f"neighbours-{name}" for name in ("printed", "exact", "proved")}
    series |= {name: name for name in ("chain-agreeing", "chain-divided")}
    sizes: Any = cells.groupby("series")[["dim", "rank"]].first()
    points = [net_points(cells, net).assign(net=net, **sizes.loc[f"net-{net}"]) for net in NETS]
    tables = {
        "jain2021/exponential_privacy": pd.concat(
            losses(cells, key).assign(series=name) for name, key in series.items()
        ),
        "jain2021/exponential_sampler": pd.concat(points),
        "comparison/exponential_methods": method_risks(cells),
    }
    return Findings(measures, tables, fit_all(study, rest))
