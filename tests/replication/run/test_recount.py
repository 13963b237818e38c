"""The epsilon of every row of a small run, recounted from its ledger by dp_accounting."""

import math
import re
from functools import cache

import dp_accounting
import numpy as np
import pandas as pd
import pytest
from dp_accounting.pld import PLDAccountant

from privrep.privacy.ledger import GaussianRelease, Ledger, PureRelease

TERM = re.compile(
    r"(?P<count>\d+) x (?:gaussian (?P<sensitivity>\S+)/(?P<sd>\S+) rate (?P<rate>\S+)|pure (?P<epsilon>\S+))"
    r" users (?P<start>\d+):(?P<stop>\d+)"
)
DELTA = 1e-6
NEAR = 0.005
"""Relative tolerance where loss distributions are composed on a grid."""


def terms(ledger: str) -> list[dict[str, float]]:
    """The releases of a ledger's line, as numbers by name."""
    found = [TERM.fullmatch(part) for part in ledger.split("; ")]
    assert None not in found, f"{ledger} has a part that is no release"
    return [{name: float(text) for name, text in one.groupdict().items() if text is not None} for one in found]


def for_one_user(releases: list[dict[str, float]], delta: float) -> float:
    """Epsilon of releases that all touch one user."""
    if any(one.get("sd") == 0 or one.get("epsilon") == math.inf for one in releases):
        return math.inf
    if all(one.get("rate") == 1 for one in releases):
        mu = math.sqrt(sum(one["count"] * (one["sensitivity"] / one["sd"]) ** 2 for one in releases))
        return dp_accounting.get_epsilon_gaussian(1 / mu, delta)
    if len(releases) == releases[0]["count"] == 1 and releases[0].get("epsilon", 0) > 30:
        return releases[0]["epsilon"]  # of which delta takes off next to nothing, and too much for a grid
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    for one in releases:
        if "epsilon" in one:
            event = dp_accounting.RandomizedResponseDpEvent(2 / (1 + math.exp(one["epsilon"])), 2)
            for _ in range(int(one["count"])):  # the accountant (0.6.0) leaves out the count of this event
                accountant.compose(event)
        else:  # the accountant takes noise over half the replace-one sensitivity
            event = dp_accounting.GaussianDpEvent(2 * one["sd"] / one["sensitivity"])
            accountant.compose(dp_accounting.PoissonSampledDpEvent(one["rate"], event), int(one["count"]))
    return accountant.get_epsilon(delta)


@cache
def epsilon_of(ledger: str, delta: float) -> float:
    """Epsilon of the user who is touched most."""
    releases = terms(ledger)
    starts = {one["start"] for one in releases}
    return max(for_one_user([one for one in releases if one["start"] <= user < one["stop"]], delta) for user in starts)


@pytest.mark.parametrize(
    "entries",
    [
        [GaussianRelease("sum", 2.0, 3.0, 0, 10), GaussianRelease("sum", 1.0, 3.0, 5, 20)] * 3,
        [GaussianRelease("round", 2.0, 3.0, 0, 10, 0.2)] * 20,
        [GaussianRelease("round", 2.0, 3.0, 0, 10), GaussianRelease("round", 1.0, 3.0, 0, 10, 0.5)],
        [PureRelease("choice", 1.0, 0, 10)],
        [PureRelease("choice", 0.5, 0, 10), PureRelease("choice", 0.3, 0, 10)],
        [GaussianRelease("start", 2.0, 3.0, 0, 10), PureRelease("choice", 0.5, 0, 10)],
        [GaussianRelease("sum", 1.0, 0.0, 0, 5)],
    ],
)
def test_every_kind_of_release_is_recounted(entries):
    ledger = Ledger(entries)
    assert epsilon_of(ledger.summary, DELTA) == pytest.approx(ledger.epsilon(DELTA), rel=NEAR)


@pytest.mark.parametrize(("count", "sd", "rate"), [(2, 2.0, 1.0), (3, 4.0, 1.0), (3, 2.0, 0.5)])
def test_another_ledger_has_another_epsilon(count, sd, rate):
    """A release, noise or participation that is missing in the ledger."""
    stated = Ledger([GaussianRelease("sum", 1.0, 2.0, 0, 5)] * 3).epsilon(DELTA)
    assert epsilon_of(f"{count} x gaussian 1.0/{sd} rate {rate} users 0:5", DELTA) < 0.9 * stated


def test_every_row_of_the_quick_run_holds_its_ledger(quick_run):
    """And no run that was calibrated by exact accounting spends more than its budget."""
    studies = set()
    for path in sorted((quick_run / "results" / "quick").glob("*/cells.csv")):
        table = pd.read_csv(path)
        if "epsilon_exact" not in table:
            continue
        rows = table[table["epsilon_exact"].notna()]
        for key, ledger, delta, stated in rows[["key", "ledger", "delta", "epsilon_exact"]].itertuples(index=False):
            near = 1e-6 if "pure" not in ledger and set(re.findall(r"rate (\S+)", ledger)) == {"1.0"} else NEAR
            assert epsilon_of(ledger, delta) == pytest.approx(stated, rel=near, abs=1e-9), f"cell {key}: {ledger}"
            studies.add(path.parent.name)
        if "calibration" in table:
            # A search spends the budget of each of its runs; the budget of the image experiments is for adding or
            # removing a user; a mutant and a sensitivity alone keep to none.
            free = table["algorithm"].str.startswith("smallest_users") | (table["algorithm"] == "federated_images")
            free |= table["mutant"].fillna("none") != "none" if "mutant" in table else False
            whole = table[(table["calibration"] == "exact") & ~free & table["epsilon_exact"].notna()]
            np.testing.assert_array_less(
                whole["epsilon_exact"], whole["epsilon"] * (1 + 1e-3), err_msg=path.parent.name
            )
    assert len(studies) > 12
