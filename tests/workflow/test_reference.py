"""The numbers of scale quick agree with the committed reference, and the comparison can fail."""

from __future__ import annotations

import subprocess
import sys

import pytest
from workflow_helpers import ROOT, called, copy_project, script

from replication.run.csv_tables import read_rows

REFERENCE = ROOT / "tests" / "reference" / "claims_quick.csv"

compare_runs = script("compare_runs")


def test_quick_run_agrees_with_the_reference(quick_run):
    """Within the tolerances of the reference, on any machine."""
    claims = compare_runs.measured_rows(quick_run / "results" / "quick" / "reports" / "claims.csv")
    assert compare_runs.differences(read_rows(REFERENCE), claims) == []


def test_another_seed_keeps_the_arithmetic_and_moves_the_simulation(quick_run, tmp_path):
    """All that is drawn hangs on the master seed; what is computed does not."""
    folder = copy_project(tmp_path / "copy")
    table = "init_rates/measures.csv"
    words = ["--configfile", "config/scales/quick.yaml", "--config", "master_seed=7"]
    command = ["snakemake", "-j2", f"results/quick-seed7/{table}", *words]
    done = called(folder, command)
    assert done.returncode == 0, done.stderr
    here, there = (read_rows(root / table) for root in (quick_run / "results/quick", folder / "results/quick-seed7"))
    moved = {row["quantity"] for row, other in zip(here, there, strict=True) if row["measured"] != other["measured"]}
    drawn = {row["quantity"] for row in here if row["seeds"] != "0"}
    finite = {row["quantity"] for row in here if row["measured"] != "nan"}
    assert moved <= drawn < {row["quantity"] for row in here}, table
    assert len(moved) > 0.8 * len(drawn & finite), table


@pytest.mark.parametrize(("column", "value"), [("verdict", "VIOLATED"), ("measured", "123.0")])
def test_a_changed_row_is_reported(column, value):
    """A verdict or a number that differs is one line, and so is a missing row."""
    rows = read_rows(REFERENCE)
    changed = [rows[0], rows[1] | {column: value}, *rows[2:]]
    assert len(compare_runs.differences(rows, changed)) == 1
    assert compare_runs.differences(rows, rows) == []
    assert len(compare_runs.differences(rows, rows[:-1])) == len(compare_runs.differences(rows[:-1], rows)) == 1


def test_command_line_exits_with_one_on_a_difference(tmp_path):
    """For scripts: 0 when all agree, 1 otherwise."""
    other = tmp_path / "claims.csv"
    other.write_text(REFERENCE.read_text().replace("HOLDS", "FALSE-AS-PRINTED", 1))
    for second, status in ((REFERENCE, 0), (other, 1)):
        command = [sys.executable, str(ROOT / "workflow" / "scripts" / "compare_runs.py"), str(REFERENCE), str(second)]
        assert subprocess.run(command, capture_output=True).returncode == status
