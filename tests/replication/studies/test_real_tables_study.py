"""What the study of real tables says over tables and splits, on made-up errors."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from replication.studies.real_tables import analysis


def made_up() -> pd.DataFrame:
    """Two tables at two splits: one of many people gains, one of few is worse than own data."""
    tables = (("many", 2000, 0.5, 0.4, 0.39, 0.1), ("few", 300, 0.2, 0.25, 0.3, -1))
    rows = []
    for table, users, own, error, rival, held_out in tables:
        for seed in (0, 1):
            of = {"table": table, "users": users, "samples": 4, "dim": 3, "seed": seed, "status": "ok", "reason": None}
            for method, value in ((analysis.OWN, own), (analysis.SINGLE, 0.9), (analysis.CEILING, own - 0.2)):
                rows.append(of | {"series": "judged-alone", "method": method, "error": value})
            mine = {"method": analysis.PRIVATE, "error": error + 0.02 * seed, "answer": 0 if table == "many" else seed}
            mine |= {"gain_low": 0.0, "gain_held_out": held_out, "gain_high": 0.2}
            rows += [of | mine | {"series": series, "epsilon": 1.0} for series in ("judged", "judged-default")]
            rows.append(of | {"series": "judged", "epsilon": 1.0, "method": analysis.RIVAL, "error": rival})
    return pd.DataFrame(rows)


def test_numbers_over_tables_and_splits():
    """By hand; what no table decides has a reason, and tables without their package are in no number."""
    expected = {
        "most above own data, epsilon 1": 0.06,
        "single fits above own data, epsilon 1": 0.07,
        "four tables in five above the rival, epsilon 1": 0.02,
        "most above the rival, epsilon 1": 0.02,
        "most above own data, default delta, epsilon 1": 0.06,
        "share of intervals that cover": 2 / 4,
        "share of answers that are right": 2 / 3,
        "share of clear gains that are answered": 1,
        "least part of the gain kept, epsilon 1": 0.09 / 0.2,
    }
    names = (*(f"judged: {name}" for name in expected), "developed: most above own data, epsilon 1")
    cells = analysis.with_baselines(made_up())
    *found, none = analysis.measured(cells, names)
    assert {one.quantity[len("judged: ") :]: one.measured for one in found} == pytest.approx(expected)
    assert math.isnan(none.measured) and none.note == "not run: no table that was run decides it"
    absent = cells.assign(error=math.nan, status="not run", reason="pip install it")
    assert [one.note for one in analysis.measured(absent, names)] == ["not run: pip install it"] * len(names)
    assert [row["table"] for row in analysis.tables(made_up(), {})] == ["many", "few"]
