"""What an analysis ends with, and the numbers of figures on their way to the drawing."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.evidence.findings import Findings, write_numbers
from replication.run.models import ConfigError
from replication.run.settings import AnalysisSettings


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_numbers_come_back_bit_for_bit(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("numbers") / "figure.csv"
    write_numbers(path, pd.DataFrame({"value": values, "name": "a, b"}))
    again = pd.read_csv(path)
    assert again["value"].astype(float).to_numpy().tobytes() == np.array(values, float).tobytes() or (
        again["value"].astype(float).tolist() == values  # -0.0 and 0 in one column of integers
    )
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
