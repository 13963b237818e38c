"""What an analysis ends with, and the numbers of figures on their way to the drawing."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.evidence.cells import sizes_of
from replication.evidence.facts import NotMeasured, Quantities, facts_json
from replication.evidence.findings import Findings, write_numbers
from replication.evidence.measured import bare, exact
from replication.report.run_tables import told
from replication.report.stub_run import planned_cells, study_of
from replication.run.columns import settings_columns
from replication.run.models import ConfigError
from replication.run.settings import AnalysisSettings


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_numbers_come_back_bit_for_bit(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("numbers") / "figure.csv"
    write_numbers(path, pd.DataFrame({"value": values, "name": "a, b"}))
    again = pd.read_csv(path)
    read = again["value"].astype(float)  # -0.0 and 0 in one column of integers
    assert read.to_numpy().tobytes() == np.array(values, float).tobytes() or read.tolist() == values
    assert set(again["name"]) == {"a, b"}


def test_a_figure_without_numbers_has_none(tmp_path):
    write_numbers(tmp_path / "figure.csv", pd.DataFrame({"accuracy": []}))
    assert pd.read_csv(tmp_path / "figure.csv").empty


def test_every_figure_has_numbers_and_no_other():
    """A figure that is listed and not made, or made and not listed, is said by its study's file."""
    study = AnalysisSettings(study="toy", figures=("paper/a",))
    tables = {"paper/a": pd.DataFrame({"x": [math.pi]})}
    assert Findings([], tables).numbers(study).keys() == tables.keys()
    for wrong in ({}, tables | {"paper/b": pd.DataFrame()}):
        with pytest.raises(ConfigError, match=r"toy/settings\.yaml: figures are paper/a; there are numbers for"):
            Findings([], wrong).numbers(study)


# Facts on their way from an analysis to a chapter, and sizes of what was run


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
    with pytest.raises(ConfigError, match=r"'thrid' is no fact of .*studies\.toy\.analysis; the nearest is 'third'"):
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
