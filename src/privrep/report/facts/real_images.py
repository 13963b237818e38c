"""What the chapter of real_images needs beside its quantities."""

from __future__ import annotations

import html

import pandas as pd

from privrep.report.html_pieces import table
from privrep.report.run_tables import Run
from privrep.report.spelling import interval
from privrep.run.config import ROOT
from privrep.studies.real_images.analysis import ROWS, missing, mnist_measures

STUDY = "real_images"
KEPT = ROOT / "docs" / "real_digits.csv"
"""Cells of the digits from a run that had their files."""


def rows(run: Run) -> int:
    """Rows of Tables 1 and 3."""
    return len(ROWS)


def rows_run(run: Run) -> int:
    """Those whose files were there."""
    cells = run.cells(STUDY)
    return sum(not missing(cells, row) for row in ROWS)


def first_run(run: Run) -> str:
    """The first of them; nothing where there is none."""
    cells = run.cells(STUDY)
    return next((row for row in ROWS if not missing(cells, row)), "")


def digits_run(run: Run) -> bool:
    """Whether the digits of MNIST were there."""
    return not missing(run.cells(STUDY), "mnist")


def kept_digits(run: Run) -> dict[str, str]:
    """CENTAUR's leads on digits of MNIST with their intervals, by the other method, from the run that is kept."""
    cells = pd.read_csv(KEPT).assign(status="ok", reason="", seed=0)
    found = mnist_measures(cells)
    return {one.quantity.split("over ")[1]: interval(one.measured, one.ci_low, one.ci_high) for one in found}


def files(run: Run) -> str:
    """Which file has to be where, for each image set."""
    cells = run.cells(STUDY).drop_duplicates("images")
    reasons = [
        "there" if cell["status"] != "not run" else f"Not run. {html.escape(str(cell['reason']))}"
        for _, cell in cells.iterrows()
    ]
    wanted = [[name, reason.replace("\n", "<br>")] for name, reason in zip(cells["images"], reasons, strict=True)]
    return table(["Images", "Files"], wanted)
