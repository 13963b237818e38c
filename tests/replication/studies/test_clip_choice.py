"""The choice of the clips: by one rule, from the public simulation alone, and what the comparison's file says."""

import math

import numpy as np
import pandas as pd
import pytest

from replication.evidence.measured import Measured
from replication.run.config import read_config, read_study
from replication.run.grids import expand
from replication.studies.tradeoff.choice import CHOICES, SHARES, TYPICAL, choice

TRADEOFF = read_study(read_config(), "tradeoff")
OPTIONS = {name: TRADEOFF.series[name].options for name in CHOICES}
COMPARED = pd.DataFrame([{"series": name, "clip_scale": "absolute"} | one for name, one in OPTIONS.items()])


def test_seeds_are_apart_from_those_of_the_comparison():
    """No data set of the choice is judged."""
    cells = expand(read_study(read_config(), "tradeoff"))
    judged, chosen = (
        {cell.problem for cell in cells if cell.series.startswith("choice-") == own} for own in (False, True)
    )
    assert min(problem.seed for problem in chosen) > max(problem.seed for problem in judged)


def test_both_methods_have_one_grid():
    """The same factors of the typical size, and the same shares of the budget."""
    names = ("A", "A-start", "A-own", "B", "B-start", "B-random")
    grids = {name: TRADEOFF.grid_of(f"choice-{name}") for name in names}
    sizes = {"A": [one["clip_feature"] for one in grids["A"]["together"]]}
    sizes["B"] = [one["clip"] / TYPICAL["clip"] for one in grids["B"]["together"]]
    sizes["B-random"] = [clip / TYPICAL["clip"] for clip in grids["B-random"]["clip"]]
    assert sizes["A"] == sizes["B"] == sizes["B-random"] == [0.125, 0.25, 0.5, 1, 2]
    assert grids["A"]["init_share"] == grids["B"]["init_share"] == grids["A-own"]["init_share"]
    assert grids["A-start"]["init_share"] == grids["B-start"]["init_share"]
    for method in "AB":
        assert grids[f"{method}-start"]["together"] == grids[method]["together"]
    for one in grids["A"]["together"]:
        assert one["clip_feature"] == one["clip_label"] == one["init_label_clip"]
    for one in grids["B"]["together"]:
        assert one["init_clip"] == 4 * one["clip"]  # both at the same factor of their typical sizes


def table(best: float = 1.0, **options) -> pd.DataFrame:
    """Cells on which the file's setting of every series is the best, or `best` times the error of another one."""
    rows = []
    for series, typed in OPTIONS.items():
        own = series == "A" and "clip_scale" not in typed
        base = {"series": "A-own" if own else series, "dim": 10, "clip_feature": np.nan, "clip": np.nan}
        base |= {"init_share": 0.5} | {name: typed[name] for name in (*base, "init_share") if name in typed}
        other = base | {"series": series, "clip" if "clip" in typed else "clip_feature": 3.0}
        for seed in (0, 1):
            error = 0.1 * (1 + seed)
            rows += [base | {"seed": seed, "dist2": best * error}, other | {"seed": seed, "dist2": error}]
    cells = pd.DataFrame(rows)
    starts = cells[cells["series"].isin(SHARES)]
    starts = starts.assign(series=starts["series"].map(SHARES), dist2=1.5 * starts["dist2"])
    return pd.concat([cells, starts], ignore_index=True)


def measured(cells: pd.DataFrame) -> list[Measured]:
    """What is measured of cells of the choice beside those of the comparison."""
    return choice(pd.concat([cells.assign(series="choice-" + cells["series"]), COMPARED]))[0]


def test_what_rests_on_runs_has_repetitions_and_no_interval():
    """Two data sets cannot show that a choice stands: a ratio of their errors is no arithmetic."""
    for one in measured(table()):
        tried = one.quantity.startswith("settings tried")
        assert one.seeds == (0 if tried else 2)
        assert math.isnan(one.ci_low) == math.isnan(one.ci_high) == (not tried)


def test_a_setting_that_was_not_run_is_no_number():
    """A file that names a setting off the grid cannot pass."""
    found = {one.quantity: one for one in measured(table().assign(init_share=0.77))}["chosen over best, A"]
    assert math.isnan(found.measured) and "not on this grid" in found.note


def test_a_failed_fit_is_no_candidate():
    """Its setting has no error, and the others are judged without it."""
    cells = table(2.0)
    cells.loc[(cells["series"] == "B") & (cells["seed"] == 0) & (cells["clip"] == 3.0), "dist2"] = np.nan
    assert {one.quantity: one.measured for one in measured(cells)}["chosen over best, B"] == pytest.approx(1)
