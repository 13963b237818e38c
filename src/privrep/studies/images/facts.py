"""What the chapter of images needs beside its quantities."""

from __future__ import annotations

import html

from privrep.report.run_tables import Run

STUDY = "images"


def not_run(run: Run) -> str:
    """Why the study was not run; nothing if it was."""
    cells = run.cells(STUDY)
    reasons = cells.loc[cells["status"] == "not run", "reason"]
    return html.escape(str(reasons.iloc[0])) if len(reasons) else ""
