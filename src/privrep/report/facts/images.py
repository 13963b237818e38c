"""What the chapter of images needs beside its quantities."""

from __future__ import annotations

import html

import pandas as pd

from privrep.report.facts.real_images import KEPT
from privrep.report.run_tables import Run
from privrep.run.record import FROM_RECORD

STUDY = "images"


def digits(run: Run) -> dict[str, float]:
    """Accuracy on digits of MNIST in percent, from the run that is kept: clients alone, and CENTAUR with and without noise."""
    rows = pd.read_csv(KEPT).set_index(["series", "method"])["accuracy"]
    places = {
        "alone": ("mnist-alone", "stand_alone"),
        "with noise": ("mnist", "centaur"),
        "without noise": ("mnist-quiet", "centaur"),
    }
    return {name: float(100 * rows[place]) for name, place in places.items()}


def not_run(run: Run) -> str:
    """Why cells of the study were not run; nothing if all were."""
    cells = run.cells(STUDY)
    reasons = cells.loc[cells["status"] == "not run", "reason"]
    return html.escape(str(reasons.iloc[0])) if len(reasons) else ""


def of_record(run: Run) -> str:
    """Which methods of Table 1 were read from the run of record, and which run that was; nothing if all ran here."""
    rows = run.cells(STUDY)
    rows = rows[rows["reason"].fillna("").astype(str).str.startswith(FROM_RECORD)]
    return html.escape(f"{', '.join(rows['method'])}: {rows['reason'].iloc[0]}") if len(rows) else ""
