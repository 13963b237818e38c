"""What the study of real tables says over tables and splits, on made-up errors."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from replication.evidence.facts import Quantities
from replication.studies.real_tables import analysis

FIT = {"method": analysis.PRIVATE, "status": "ok", "reason": None, "dim": 3, "samples": 4}
GAIN = {"gain_low": 0.0, "gain_held_out": 0.1, "gain_high": 0.2}


def made_up() -> pd.DataFrame:
    """Two tables of one kind at two splits: one of many people gains, one of few is worse than own data."""
    rows = []
    for table, users, own, error, rival, ceiling in (
        ("many", 2000, 0.5, 0.4, 0.39, 0.3),
        ("few", 300, 0.2, 0.25, 0.3, 0.2),
    ):
        for seed in (0, 1):
            same = {"table": table, "users": users, "seed": seed}
            alone = [(analysis.OWN, own), (analysis.SINGLE, 0.9), (analysis.CEILING, ceiling)]
            for method, value in alone[: 3 - seed]:
                rows.append(FIT | same | {"series": "judged-alone", "method": method, "error": value})
            for series, epsilons in (("judged", (0.5, 1.0)), ("judged-default", (1.0,))):
                for epsilon in epsilons:
                    mine = FIT | same | GAIN | {"series": series, "epsilon": epsilon, "answer": 0}
                    rows.append(mine | {"error": error + 0.02 * seed})
            for epsilon in (0.5, 1.0):
                rows.append(
                    FIT | same | {"series": "judged", "epsilon": epsilon, "method": analysis.RIVAL, "error": rival}
                )
    cells = pd.DataFrame(rows)
    worse = (cells["table"] == "few") & cells["gain_low"].notna()
    return cells.assign(
        answer=cells["answer"].mask(worse & (cells["seed"] == 1), 1),
        gain_held_out=cells["gain_held_out"].mask(worse, -0.05),
    )


def test_numbers_over_tables_and_splits():
    found = {one: value for one, value, _ in analysis.quantities_of(analysis.with_baselines(made_up()), "judged")}
    expected = {
        "most above own data, epsilon 1": 0.06,
        "share of fits beyond own data, epsilon 1": 2 / 4,
        "share of tables at least as good as the rival, epsilon 1": 1 / 2,
        "most above the rival, epsilon 1": 0.02,
        "most above own data, default delta, epsilon 1": 0.06,
        "share of intervals that cover": 2 / 4,
        "share of answers that are right": 4 / 6,
        "share of clear gains that are answered": 1,
        "least part of the gain kept, epsilon 1": 0.09 / 0.2,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_what_no_table_decides_is_not_run():
    """What is asked has a number or a reason; a table without its package is in no number."""
    cells = analysis.with_baselines(made_up())
    listed = ("judged: most above own data, epsilon 1", "developed: most above own data, epsilon 1")
    one, none = analysis.measured(cells, listed)
    assert (one.measured, one.note) == (pytest.approx(0.06), "of 2")
    assert math.isnan(none.measured) and none.note == "not run: no table that was run decides it"
    absent = cells.assign(error=math.nan, status="not run", reason="pip install it")
    assert [row.note for row in analysis.measured(absent, listed)] == ["not run: pip install it"] * 2
    assert analysis.tables(made_up(), Quantities([]))[0]["default"] == [pytest.approx(0.41)]
