"""The tour of the results: executed beside the tables of a run, the same each time, and telling when it fails."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from stub_page import SVG, write_run
from workflow_helpers import ROOT, patience

VALUES = np.array([10.0, 20.0, 40.0, 80.0])
FIT = {
    "fit": "made up",
    "value": VALUES,
    "error": np.where(VALUES < 80, VALUES**-1.5, 1),
    "left out": ["", "", "", "saturated"],
    "exponent": -1.5,
}
"""Three points on a line, and one that is left out and does not lie on it."""


def lay_out(folder: Path, results: str) -> Path:
    """The tables and figures of a stub run as a run leaves them; results : where the studies stand.
    One figure, of fits, comes before all others."""
    made = write_run(folder / "made")
    shutil.copytree(made / "results", folder / results, dirs_exist_ok=True)
    shutil.copytree(made / "figures", folder / "figures")
    (folder / "figures/a").mkdir()
    (folder / "figures/a/fits.svg").write_text(SVG)
    pd.DataFrame(FIT).to_csv(folder / "figures/a/fits.csv", index=False)
    study = pd.read_csv(made / "claims.csv")["study"].dropna().iloc[0]
    pd.DataFrame({"key": ["synthetic"]}).to_csv(folder / results / study / "cells.csv", index=False)
    (folder / "reports").mkdir()
    shutil.copy(made / "claims.csv", folder / "reports")
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """The default run."""
    return lay_out(tmp_path_factory.mktemp("tour"), "results/default")


def execute(run: Path, source: Path = ROOT / "workflow/notebooks/tour.py") -> subprocess.CompletedProcess:
    words = [sys.executable, str(ROOT / "workflow/scripts/execute_tour.py"), "--source", str(source)]
    words += ["--output", str(run / "reports/tour.ipynb")]
    return subprocess.run(words, capture_output=True, text=True, timeout=patience())


@pytest.fixture(scope="module")
def tour(run) -> nbformat.NotebookNode:
    done = execute(run)
    assert done.returncode == 0, done.stderr
    return nbformat.read(run / "reports/tour.ipynb", as_version=4)


def outputs(tour: nbformat.NotebookNode, kind: str) -> list[str]:
    found = [output["data"] for cell in tour.cells for output in cell.get("outputs", ()) if "data" in output]
    return [data[kind] for data in found if kind in data]


def test_the_tour_shows_the_run(run, tour):
    """Verdicts as they are counted in the claims, a figure, its fit made again, and how to run a cell."""
    nbformat.validate(tour)
    claims = pd.read_csv(run / "reports/claims.csv")
    counted, *_ = outputs(tour, "text/html")
    assert sum(map(int, re.findall(r"<td>(\d+)</td>", counted))) == len(claims)
    assert tour.metadata["kernelspec"]["name"] == "python3"
    assert len(outputs(tour, "image/svg+xml")) == 1
    (fit,) = [table for table in outputs(tour, "text/plain") if "made up" in table and "made again" in table]
    assert [float(text) for text in fit.splitlines()[-1].split()[-3:]] == pytest.approx([-1.5, -1.5, -1.5])
    printed = "".join(output.get("text", "") for cell in tour.cells for output in cell.get("outputs", ()))
    assert re.search(r"run_shard\.py --study \w+ --cell synthetic\n", printed)


def test_the_tour_is_the_same_again(run, tour):
    """Byte by byte, without times and drawn names."""
    before = (run / "reports/tour.ipynb").read_bytes()
    assert execute(run).returncode == 0
    assert (run / "reports/tour.ipynb").read_bytes() == before


def test_the_tour_finds_the_tables_of_another_run(tmp_path):
    """Whose studies stand beside its reports."""
    done = execute(lay_out(tmp_path, "."))
    assert done.returncode == 0, done.stderr


def test_a_cell_that_fails_is_told(run, tour, tmp_path):
    """Exit status, the error, and the notebook as it was."""
    source = tmp_path / "broken.py"
    source.write_text("# %%\nraise LookupError('no such table')\n")
    before = (run / "reports/tour.ipynb").read_bytes()
    done = execute(run, source)
    assert done.returncode
    assert "LookupError" in done.stderr and "no such table" in done.stderr and "\x1b" not in done.stderr
    assert (run / "reports/tour.ipynb").read_bytes() == before
