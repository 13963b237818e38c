"""What the chapter of real_images needs beside its quantities."""

from __future__ import annotations

import html

from privrep.report.html_pieces import table
from privrep.report.run_tables import Run
from privrep.studies.real_images.measures import ROWS, missing

STUDY = "real_images"
HELD = "The files are there; the paper's sizes are those of scale paper."


def rows(run: Run) -> int:
    """Rows of Tables 1 and 3."""
    return len(ROWS)


def rows_run(run: Run) -> int:
    """Those whose files were there."""
    cells = run.cells(STUDY)
    return sum(not missing(cells, row) for row in ROWS)


def digits_run(run: Run) -> bool:
    """Whether the digits of MNIST were there."""
    return not missing(run.cells(STUDY), "mnist")


def files(run: Run) -> str:
    """Which file has to be where, for each image set."""
    cells = run.cells(STUDY).drop_duplicates("images")
    reasons = [
        HELD if cell["status"] != "not run" else f"Not run. {html.escape(str(cell['reason']))}"
        for _, cell in cells.iterrows()
    ]
    wanted = [[name, reason.replace("\n", "<br>")] for name, reason in zip(cells["images"], reasons, strict=True)]
    return table(["Images", "Files"], wanted)
