"""Facts on their way from an analysis to a chapter, and sizes of what was run."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from replication.evidence.cells import sizes_of
from replication.evidence.facts import NotMeasured, Quantities, facts_json
from replication.evidence.measured import bare, exact
from replication.report.run_tables import told
from replication.report.stub_run import planned_cells, study_of
from replication.run.columns import settings_columns
from replication.run.models import ConfigError

FACTS = {
    "third": lambda cells, quantities: np.float64(1) / 3,
    "rows": lambda cells, quantities: cells,
    "last": lambda cells, quantities: list(quantities.numbered("error at d ="))[-1],
    "gap": lambda cells, quantities: quantities["gap"].measured,
}


def test_facts_come_back_as_they_were():
    """Numbers with the same bits, tables as lists of rows; what needs a quantity without a number is not there."""
    cells = pd.DataFrame({"series": ["a", "b"], "users": [3, 10**12], "error": [0.1 + 0.2, math.inf]})
    measured = [*(exact(f"error at d = {dim}", dim) for dim in (80, 5)), exact("error at d = 90, other", 1)]
    found = json.loads(facts_json(FACTS, cells, Quantities([*measured, bare("gap", math.nan, 0)])))
    assert found == {"third": 1 / 3, "rows": cells.to_dict("records"), "last": 80, "gap": None}
    assert told("third", "toy", found) == 1 / 3
    with pytest.raises(NotMeasured, match="gap"):
        told("gap", "toy", found)
    with pytest.raises(
        ConfigError, match=r"'thrid' is no fact of replication\.studies\.toy\.analysis; the nearest is 'third'"
    ):
        told("thrid", "toy", found)


def test_sizes_are_the_settings_of_each_series():
    """Each number once, ascending; texts, switches, results and what a series does not have are left out."""
    cells = pd.DataFrame({"series": ["b", "a", "a"], "users": [7, 20, 3], "law": "gauss", "mse": 0.5})
    cells["epsilon"] = [math.nan, 1.0, 1.0]
    cells["fetch"] = pd.Series([True, False, False], dtype=object)
    found = sizes_of(cells, ["users", "epsilon", "law", "fetch", "seed"]).to_numpy().tolist()
    assert found == [["b", "users", 7], ["a", "users", 3], ["a", "users", 20], ["a", "epsilon", 1]]


@pytest.mark.parametrize("study", ["figure2", "audits", "images"])
def test_what_is_known_before_a_run_is_a_setting(study):
    """All but what names the cell."""
    assert set(planned_cells(study)) <= settings_columns(study_of(study))
