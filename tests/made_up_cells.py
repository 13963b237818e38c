"""Every study's analysis on made-up cells, and what is known of it: tests/reference/analyses.

The numbers of each cell are its own, so that no two series, seeds or columns can stand for each other, and they are
skewed, so that a mean is no median. For each quantity, fact and column of a figure the reference has the number and
the series that move it. Hold a row that is renewed against its name.
"""

import importlib
import json
import math
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from replication.evidence.facts import Quantities, facts_json
from replication.evidence.findings import Findings
from replication.evidence.quantities import measured, numbers
from replication.report.run_tables import study_of
from replication.report.stub_run import facts_of, planned_cells
from replication.run.columns import study_columns
from replication.run.config import read_config
from replication.run.csv_tables import read_rows
from replication.run.models import checked
from replication.run.resolved import resolved
from replication.run.settings import MeasureSettings

FOLDER = Path(__file__).parent / "reference" / "analyses"
COLUMNS = ["name", "value", "moved by"]
SEEDS = 3
"""Repetitions, too few for an interval: the bootstrap has tests of its own."""
LARGER = {"eta": 100, "zeta": 100}
"""Columns whose numbers have to be of this size for a point to be fitted."""
SILENT = 0.1
"""Errors without noise, in units of those with noise: floors lie below the points of a fit."""


def number(*words: object) -> float:
    """A number in [0, 1) that no other words have."""
    return zlib.crc32(" ".join(map(str, words)).encode()) / 2**32


@cache
def made_up(study: str) -> pd.DataFrame | None:
    """The planned cells of a study with results that are theirs alone; None for a study of arithmetic."""
    if not study_of(study).series:
        return None
    cells = planned_cells(study)
    cells = cells[cells.groupby("series")["seed"].rank(method="dense") <= SEEDS].reset_index(drop=True)
    noise = cells["noise_multiplier"] if "noise_multiplier" in cells else pd.Series(math.nan, cells.index)
    results = {"noise_multiplier": noise.mask(cells["epsilon"].notna(), 0.05)} if "epsilon" in cells else {}
    for name in study_columns(study_of(study)):
        if name not in cells:
            of_series = {series: 0.05 * math.exp(number(series, name)) for series in cells["series"].unique()}
            skewed = [math.exp(number(key, name) ** 2 / 2) for key in cells["key"]]
            results[name] = cells["series"].map(of_series) * skewed * np.where(noise == 0, SILENT, LARGER.get(name, 1))
    return cells.assign(**results | {"status": "ok", "reason": None, "ledger": "1 gaussian"}).copy()


def summed(value: object, place: str) -> dict[str, float]:
    """The numbers at a place of a fact or a figure: a list or a column is one sum, in which no two can be exchanged."""
    if isinstance(value, dict):
        return {name: one for key, part in value.items() for name, one in summed(part, f"{place}, {key}").items()}
    if isinstance(value, list):
        rows = [summed(part, "") for part in value]
        places = dict.fromkeys(name for row in rows for name in row)
        return {
            place + name: sum((1 + number(name, at)) * row.get(name, 0.5) for at, row in enumerate(rows))
            for name in places
        }
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return {place: float(value) if is_number else number(value)}


def analyse(study: str, cells: pd.DataFrame | None) -> Findings:
    """What the analysis of a study finds in cells."""
    settings = resolved(study_of(study), read_config(), measured(study_of(study)), numbers(study_of(study)))["measure"]
    analysis = importlib.import_module(f"replication.studies.{study}.analysis")
    return analysis.analyse(cells, checked(MeasureSettings, settings, study))


def told(study: str, cells: pd.DataFrame | None) -> dict[str, float]:
    """All of it by name, as numbers; of images what rests on cells, and not on the table of long runs."""
    findings = analyse(study, cells)
    found = {one.quantity: one.measured for one in findings.quantities}
    facts = json.loads(facts_json(facts_of(study), cells, Quantities(findings.quantities)))
    found |= {name: one for fact, value in facts.items() for name, one in summed(value, f"fact {fact}").items()}
    for figure, table in findings.tables.items():
        found |= summed(table.to_dict("list"), f"figure {figure}")
    return {name: one for name, one in found.items() if study != "images" or name.startswith("digits")}


def alike(one: float, other: float, share: float = 1e-6) -> bool:
    return math.isclose(one, other, rel_tol=share, abs_tol=1e-9) or (math.isnan(one) and math.isnan(other))


def agreeing(path: Path, values: dict[str, float], share: float = 1e-6) -> dict[str, dict[str, str]]:
    """The rows of a reference that agree with these values, by name."""
    held = {row["name"]: row for row in read_rows(path)} if path.exists() else {}
    return {name: row for name, row in held.items() if alike(float(row["value"]), values.get(name, math.inf), share)}


def numbers_held(path: Path, values: dict[str, float]) -> str:
    """Return the table of some numbers, to a share of 1e-4: a row that agrees stays as it is held."""
    rows = {name: {"name": name, "value": f"{value:.8g}"} for name, value in values.items()}
    return pd.DataFrame((rows | agreeing(path, values, 1e-4)).values()).to_csv(index=False)


def moved_by(study: str, found: dict[str, float]) -> dict[str, list[str]]:
    """The series, and methods within one, whose results move each number."""
    cells, moved, labels = made_up(study), {name: [] for name in found}, []
    if cells is not None and found:
        method = cells["method"].map("/{}".format, na_action="ignore").fillna("") if "method" in cells else ""
        labels = cells["series"] + method
    for label in dict.fromkeys(labels):
        factor = np.where(labels == label, 1 + cells["key"].map(number) / 2, 1)
        results = [name for name in cells.select_dtypes(float) if name not in planned_cells(study)]
        changed = cells.assign(**{name: cells[name] * factor for name in results})
        again = told(study, changed)
        for name in found:
            if not alike(found[name], again.get(name, math.inf)):
                moved[name].append(label)
    return moved


def reference(study: str) -> str:
    """Return the table of a study: a row that agrees stays as it is held, of any other it is sought what moves it."""
    path, values = FOLDER / f"{study}.csv", told(study, made_up(study))
    held = agreeing(path, values)
    moved = moved_by(study, {name: value for name, value in values.items() if name not in held})
    rows = {name: {"name": name, "value": f"{values[name]:.8g}", "moved by": " ".join(moved[name])} for name in moved}
    return pd.DataFrame([(held | rows)[name] for name in values], columns=COLUMNS).to_csv(index=False)
