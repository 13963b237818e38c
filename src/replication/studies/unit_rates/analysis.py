"""Rates of unit steps, and the numbers of users that they need (claims O-RATE and O-USERS)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from privrep.methods.unit_steps.schedule import Sizes, schedule
from privrep.privacy.accounting import gdp_mu
from replication.evidence.facts import NotMeasured, Quantities
from replication.evidence.findings import Findings
from replication.evidence.measured import bare
from replication.evidence.numbers import defined
from replication.evidence.scaling import fit_all
from replication.run.settings import MeasureSettings

LAWS = ("n", "d", "k", "m", "sigma", "noise")
"""Series with a law: their heads have one length."""
USERS = ("users-d", "users-k", "users-start")
SETTING = ["series", "users", "samples", "dim", "rank", "label_noise_sd", "noise_multiplier"]
"""Columns that identify a setting, over whose seeds a mean is taken."""
ASTRAY = 10.0
"""A run has gone astray if its error exceeds this many times that of the law."""


def expected_error2(sizes: Sizes, mu: float, noise2: float) -> float:
    """Return the final e^2 that the recursion of the schedule predicts, in units of a head's coordinate."""
    left = sizes.isotropic_share(mu)
    return schedule(sizes, math.sqrt(left) * mu, noise2).path[-1]


def sizes_of(row: pd.Series, users: float) -> Sizes:
    """Return the sizes of a row, for the given number of users."""
    return Sizes(users, int(row["samples"]), int(row["dim"]), int(row["rank"]))


def law(row: pd.Series) -> float:
    """Return distF as the schedule's recursion predicts it; NaN without noise and for heads of several lengths."""
    if row["series"] not in LAWS or not row["noise_multiplier"] > 0:
        return math.nan
    sizes = sizes_of(row, row["users"])
    error2 = expected_error2(sizes, 1 / row["noise_multiplier"], row["label_noise_sd"] ** 2)
    return math.sqrt(sizes.dist2(error2))


def users_law(row: pd.Series) -> float:
    """Return the users at which the recursion expects the target risk; NaN for series without a target."""
    if row["series"] not in USERS:
        return math.nan
    mu, noise2 = gdp_mu(row["epsilon"], row["delta"]), row["label_noise_sd"] ** 2

    def gap(log_users: float) -> float:
        sizes = sizes_of(row, math.exp(log_users))
        return math.log(sizes.risk(expected_error2(sizes, mu, noise2), noise2) / row["target"])

    return math.exp(brentq(gap, math.log(10), math.log(1e7)))


def with_predictions(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the results table with the laws, d - k, and m - k."""
    return cells.assign(
        freedom=cells["samples"] - cells["rank"],
        outside=cells["dim"] - cells["rank"],
        law=[law(row) for _, row in cells.iterrows()],
        users_law=[users_law(row) for _, row in cells.iterrows()],
    )


def over_law(cells: pd.DataFrame) -> dict[str, float]:
    """Return the least and largest root mean square error over that of the law, over all settings that have a law."""
    rows = cells[cells["law"].notna()]
    means = (rows["distF"] ** 2).groupby([rows[key] for key in SETTING]).mean() ** 0.5
    ratio = means / rows.groupby(SETTING)["law"].mean()
    return {"least error over the law": float(ratio.min()), "largest error over the law": float(ratio.max())}


def users_constant(cells: pd.DataFrame) -> dict[str, float]:
    """Return the range over settings of the mean users needed, over k d / (eps sqrt(m - k))."""
    rows = cells[cells["series"].isin(USERS)]
    unit = rows["rank"] * rows["dim"] / (rows["epsilon"] * np.sqrt(rows["freedom"]))
    means = (rows["smallest_users"] / unit).groupby([rows["series"], rows["dim"], rows["rank"]]).mean()
    name = "users over k d / (eps sqrt(m - k))"
    return {f"least {name}": float(means.min()), f"largest {name}": float(means.max())}


def runs_astray(cells: pd.DataFrame, quantities: Quantities) -> dict[str, object]:
    """Return the number of runs that go astray, and error and setting of the worst run."""
    rows = with_predictions(cells)
    rows = rows[rows["law"].notna()]
    over = rows["distF"] / rows["law"]
    if over.isna().all():
        raise NotMeasured("runs astray")
    worst = rows.iloc[int(over.fillna(0).argmax())]
    alike = over[(rows[SETTING] == worst[SETTING]).all(axis=1)]
    return {
        "runs": len(rows),
        "astray": int((over > ASTRAY).sum()),
        "over": float(over.max()),
        "median": float(alike.median()),
        "noise": float(worst["label_noise_sd"]),
        "learned": float(worst["learned_noise"]),
        "dim": int(worst["dim"]),
    }


FACTS = {"astray": runs_astray}


def analyse(cells: pd.DataFrame, study: MeasureSettings) -> Findings:
    """Measure exponents, errors over the law, and the constant of the users needed."""
    cells = with_predictions(cells)
    seeds = int(cells["seed"].nunique())
    extremes = over_law(cells) | users_constant(cells)
    measured = [bare(name, value, seeds, "over settings") for name, value in extremes.items()]
    return Findings(measured + defined(study, cells), fits=fit_all(study, cells))
