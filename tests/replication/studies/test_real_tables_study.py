"""What the study of real tables says over tables and splits, on made-up errors."""

import math

import pandas as pd
import pytest
from made_up_cells import analyse

from privrep.estimator import statement
from replication.evidence.numbers import measure
from replication.evidence.quantities import measured as quantities
from replication.evidence.quantities import numbers
from replication.report.run_tables import study_of
from replication.studies.real_tables import analysis


def made_up() -> pd.DataFrame:
    """Two tables at two splits: one of many people gains, one of few is worse than own data, and far worse than the
    shrunk mean; n mu is 200 or, of few people at the default delta, 60."""
    tables = (("many", 2000, 0.5, 0.6, 0.4, 0.39, 0.1), ("few", 300, 0.2, 0.15, 0.25, 0.3, -1))
    rows = []
    for table, users, own, shrunk, error, rival, held_out in tables:
        for seed in (0, 1):
            of = {"table": table, "users": users, "samples": 4, "dim": 3, "seed": seed, "status": "ok", "reason": None}
            alone = {analysis.OWN: own, analysis.SHRUNK: shrunk, analysis.SINGLE: 0.9, analysis.CEILING: own - 0.2}
            rows += [of | {"series": "judged-alone", "method": name, "error": value} for name, value in alone.items()]
            mine = {"method": analysis.PRIVATE, "error": error + 0.02 * seed}
            mine |= {"gain_low": 0.0, "gain_held_out": held_out, "gain_high": 0.2, "epsilon": 1.0}
            for series, n_mu, doubt in (("judged", 200, 2), ("judged-default", 200 if users > 300 else 60, 1)):
                answer = doubt if table == "few" and seed else 0
                rows.append(of | mine | {"series": series, "mu": n_mu / users, "answer": answer})
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
        "most above the better of own data and shrunk mean, epsilon 1": 0.11,
        "worst fit above own data, n mu >= 150": 0.07,
        "least part of the gain kept, epsilon 1": 0.09 / 0.2,
    }
    names = [*(f"judged: {name}" for name in expected), "developed: most above own data, epsilon 1"]
    cells = analysis.with_baselines(made_up())
    *found, none = analysis.measured(cells, names)
    assert {one.quantity[len("judged: ") :]: one.measured for one in found} == pytest.approx(expected)
    assert math.isnan(none.measured) and none.note == "not run: no table that was run decides it"
    none = dict.fromkeys(("error", "gain_held_out", "mu", "error_newcomers", "error_newcomers_mean"), math.nan)
    absent = analyse("real_tables", made_up().assign(**none, status="not run", reason="pip install it")).quantities
    listed = quantities(study_of("real_tables"))
    assert {one.quantity: one.note for one in absent} == dict.fromkeys(listed, "not run: pip install it")
    shown = {row["table"]: (row["shrunk"], row["misses"]) for row in analysis.tables(made_up(), {})}
    assert shown == {"many": (0.6, 0), "few": (0.15, pytest.approx(0.11))}


def test_bands_of_n_mu_are_those_of_the_warnings():
    """What is said before a fit is what the study measures, whose analysis does not load the estimator."""
    assert (analysis.ENOUGH, analysis.TOO_FEW) == (statement.SAFE, statement.HARMFUL)


def test_shares_of_fits():
    """By hand, as the study's file defines them: of intervals and answers at each epsilon, and by n mu."""
    expected = {
        "share of intervals that cover, epsilon 1": 4 / 8,
        "share of fits that answer share, epsilon 1": 6 / 8,
        "share of fits that answer cannot be told, epsilon 1": 1 / 8,
        "share of fits that answer own data, epsilon 1": 1 / 8,
        "share of answers that are right": 5 / 7,
        "share of clear gains that are answered": 1,
        "share of large gains that are answered": 1,
        "share of fits more than .02 above own data, n mu < 75": 1,
        "share of fits more than .02 above own data, n mu < 150": 1,
        "share of fits more than .02 above own data, n mu >= 150": 2 / 6,
        "worst fit above own data, n mu < 75": 0.07,
    }
    cells = analysis.with_baselines(made_up())
    found = {
        name: measure(f"judged: {name}", numbers(study_of("real_tables"))[f"judged: {name}"], cells).measured
        for name in expected
    }
    assert found == pytest.approx(expected)
