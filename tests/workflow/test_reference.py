"""The numbers of scale quick agree with the committed reference, and the comparison can fail. Each file of
tests/reference is of a test."""

import subprocess
import sys
from itertools import product

import pandas as pd
from method_cases import CASES
from workflow_helpers import ROOT, called, copy_project, script

from replication.errata.demonstrations import DEMONSTRATIONS
from replication.evidence.compare import by_name, paired
from replication.run.config import study_names
from replication.run.csv_tables import read_rows

REFERENCE = ROOT / "tests" / "reference" / "claims_quick.csv"
COLUMNS = ("id", "quantity", "verdict", "measured", "within")
SIMULATED, ARITHMETIC, GROWN = 0.02, 1e-6, 0.3
"""Relative tolerances between machines: other BLAS kernels round differently, arithmetic hardly; where a search goes on
from its last result, as in the study of audits, last digits grow."""

compare_runs = script("compare_runs")


def within(row: dict) -> float:
    """Return the tolerance of a row of a run."""
    return GROWN if row["study"] == "audits" else SIMULATED if int(row["seeds"] or 0) else ARITHMETIC


def reference(claims: list[dict], held: list[dict]) -> str:
    """Return the table of a run: a row that agrees stays as it is held."""
    kept = by_name(row for row, other in paired(held, claims) if compare_runs.agree(row, other))
    rows = by_name(row | {"within": within(row)} for row in claims) | kept
    return pd.DataFrame(list(rows.values()), columns=COLUMNS).to_csv(index=False)


def test_quick_run_agrees_with_the_reference(quick_run, file_regression):
    """Within the tolerances of the reference, on any machine."""
    claims = compare_runs.measured_rows(quick_run / "results" / "quick" / "reports" / "claims.csv")
    file_regression.check(reference(claims, read_rows(REFERENCE)), fullpath=REFERENCE)


def test_rows_that_agree_stay_as_they_are_held():
    """Others are those of the run, and those that it has not go."""
    held = read_rows(REFERENCE)
    kept, changed, *others, _ = (row | {"study": "risk", "seeds": "3"} for row in held)
    run = [kept | {"measured": str(1.0001 * float(kept["measured"]))}, changed | {"verdict": "VIOLATED"}, *others]
    rows = [held[0], held[1] | {"verdict": "VIOLATED", "within": "0.02"}, *held[2:-1]]
    assert reference(run, held) == pd.DataFrame(rows).to_csv(index=False)


def test_each_reference_is_of_a_test():
    """Where a study or an erratum has gone its files go, too."""
    held = {path.relative_to(REFERENCE.parent).as_posix() for path in REFERENCE.parent.rglob("*.*")}
    of_studies = {name for study in study_names() for name in (f"analyses/{study}.csv", f"figures/{study}.txt")}
    of_studies |= {f"methods/{case.name}.csv" for case in CASES} | {f"errata/{name}.txt" for name in DEMONSTRATIONS}
    alone = {REFERENCE.name, "search_words.csv", "numbers.txt", "estimator.csv", "intervals.csv"}
    assert held == alone | of_studies


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


def test_a_changed_row_is_reported():
    """In one line: a verdict that differs, a row that is missing, and a number that is off by more than its tolerance
    as a share of it."""
    rows = read_rows(REFERENCE)
    changed = [rows[0], rows[1] | {"verdict": "VIOLATED"}, *rows[2:]]
    for other, lines in ((rows, 0), (changed, 1), (rows[:-1], 1)):
        assert len(compare_runs.differences(rows, other)) == len(compare_runs.differences(other, rows)) == lines
    for value, within, share in product((-1e6, -1e-6, 1e-6, 1e6), (ARITHMETIC, SIMULATED, GROWN), (0.9, 1.1)):
        row, off = ({**rows[0], "measured": one, "within": within} for one in (value, value * (1 - share * within)))
        assert compare_runs.agree(row, off) == (share < 1)


def test_command_line_exits_with_one_on_a_difference(tmp_path):
    """For scripts: 0 when all agree, 1 otherwise."""
    other = tmp_path / "claims.csv"
    other.write_text(REFERENCE.read_text().replace("HOLDS", "FALSE-AS-PRINTED", 1))
    for second, status in ((REFERENCE, 0), (other, 1)):
        command = [sys.executable, str(ROOT / "workflow" / "scripts" / "compare_runs.py"), str(REFERENCE), str(second)]
        assert subprocess.run(command, capture_output=True).returncode == status
