"""Cells that a run reads from a run of record."""

import math

import pandas as pd
import pytest

from privrep.evidence.cells import read_cells
from privrep.evidence.measured import Measured
from privrep.run.config import read_config, read_study
from privrep.run.grids import expand
from privrep.run.record import ABOUT, FROM_RECORD, read_record
from privrep.run.results import row_of_record
from privrep.run.settings import MeasureSettings, PlotSettings, read_settings
from privrep.studies.drawn import drawn
from privrep.studies.images.analysis import TABLE, analyse, from_record

CONFIG = read_config()
STUDY = read_study(CONFIG, "images")


CELLS = {(cell.series, cell.key): cell for cell in expand(STUDY)}
LARGEST = {
    (cell.series, cell.key) for cell in expand(read_study(CONFIG.model_copy(update={"scale": "record"}), "images"))
}
ROWS = read_record(STUDY.record)
RECORD = {name: row for name, row in ROWS.items() if name in CELLS}


def test_the_record_is_table_1_whole():
    """It has the cells of scale record in the two series of Table 1, those of the default scale among them; all ran, at
    one commit and on the default master seed."""
    assert ROWS.keys() == {name for name in LARGEST if name[0] in TABLE}
    assert len({row["commit"] for row in ROWS.values()}) == 1
    assert RECORD.keys() == {name for name in CELLS if name[0] in TABLE}
    for name, row in RECORD.items():
        assert row["status"] == "ok" and 0 < float(row["accuracy"]) < 1 and all(row[part] for part in ABOUT)
        assert int(row["master_seed"]) == CONFIG.master_seed and row["method"] == CELLS[name].chosen.method


def test_a_row_of_record_says_so_and_is_else_as_it_stands():
    """On another master seed no row of this one is taken for it."""
    for name, row in RECORD.items():
        read = row_of_record(CELLS[name], row, CONFIG.master_seed)
        assert read.pop("reason").startswith(FROM_RECORD) and read.items() <= row.items()
        other = row_of_record(CELLS[name], row, CONFIG.master_seed + 1)
        assert other["status"] == "not run" and "accuracy" not in other and other["key"] == row["key"]


def test_scale_quick_runs_all_cells():
    """It has no table of record."""
    assert read_record(read_study(CONFIG.model_copy(update={"scale": "quick"}), "images").record) == {}


@pytest.mark.parametrize(("of_table", "measured"), [(True, "gain of"), (False, "share of updates cut")])
def test_what_was_not_run_leaves_the_rest_measured(quick_run, of_table, measured):
    """Without Table 1 the sweeps are measured and drawn, and the other way round; every quantity has a row."""
    cells = read_cells(quick_run / "results" / "quick" / "images" / "cells.csv")
    absent = cells["series"].isin(TABLE) == of_table
    cells = cells.assign(status=cells["status"].mask(absent, "not run"), reason=cells["reason"].mask(absent, "why"))
    study = read_settings(MeasureSettings, quick_run / "results" / "quick" / "images" / "measure.json")
    findings = analyse(cells, study)
    found, tables = findings.measured, findings.tables
    assert {one.quantity for one in found} == set(study.quantities)
    ran = [one.quantity for one in found if not math.isnan(one.measured)]
    assert any(name.startswith(measured) for name in ran) and {
        one.note for one in found if one.quantity not in ran
    } >= {"not run: why"}
    plot = PlotSettings(study="images", claimed={}, figures=tuple(tables))
    assert drawn(tables, plot).keys() == tables.keys()
    assert [not tables[f"shen2023/image_{name}"].empty for name in ("methods", "epsilon", "clips", "updates")] == [
        not of_table,
        of_table,
        of_table,
        not of_table,
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [("accuracy of centaur", True), ("accuracy of pmtl", False), ("lead of centaur over pmtl", True), ("least", True)],
)
def test_a_quantity_says_which_run_it_rests_on(name, said):
    """It does if one of its methods was read; what was not measured has its own reason."""
    cells = pd.DataFrame(
        {"series": "table", "method": ["centaur", "pmtl"], "reason": [FROM_RECORD + "commit x", math.nan]}
    )
    one = Measured(name, 1.0, 0.0, 2.0, 1, "one run")
    assert from_record(one, cells).note == ("one run; from the run of record: commit x" if said else "one run")
    nothing = Measured(name, math.nan, math.nan, math.nan, 0, "not run: y")
    assert from_record(nothing, cells) == nothing
