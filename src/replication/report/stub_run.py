"""The chapters of the report on stub tables, for lint and tests: without these checks, a text that names a quantity,
a claim or a series which does not exist would fail only when the page of a run is written, after all jobs.

Each chapter is written with numbers and without any.
"""

from __future__ import annotations

import importlib
import json
import math
from functools import cache
from pathlib import Path
from typing import ClassVar

import pandas as pd

from privrep.options import misnamed
from replication.evidence.cells import sizes_of
from replication.evidence.claims import CLAIM_COLUMNS, judge
from replication.evidence.facts import Fact, Quantities, spelled
from replication.evidence.measured import MEASURE_COLUMNS, Measured
from replication.evidence.quantities import checked_claims, measured
from replication.report.chapters import text
from replication.report.run_tables import Measures, Run, captions, listed, study_of, told
from replication.run.columns import settings_columns, study_columns
from replication.run.config import study_names
from replication.run.grids import expand
from replication.run.models import ConfigError


class StubRun(Run):
    """A run on stub tables, with the same number everywhere, or NaN. Series have the sizes of the scale."""

    number: ClassVar[float]

    def __init__(self, number: float, scale: str = "default"):
        claims = pd.DataFrame(judged_claims(number), columns=list(CLAIM_COLUMNS)).fillna("").astype(str)
        provenance = {"config": {"scale": scale, "studies": study_names()}}
        errata = pd.DataFrame({"confirmed": ["yes"], "changes": ["nothing"], "same_as": [""]})
        super().__init__(claims, errata, provenance, Path(), Path(), captions())
        object.__setattr__(self, "number", number)

    def measures(self, study: str) -> Measures:
        return stub_measures(study, self.number, self.scale)

    def cells(self, study: str) -> pd.DataFrame:
        """Return the cells from which facts are computed."""
        return stub_cells(study, self.number, self.scale)

    def sizes(self, study: str) -> pd.DataFrame | None:
        return planned_sizes(study, self.scale)

    def fact(self, study: str, name: str) -> object:
        facts = facts_of(study)
        if name in facts:
            facts = facts | {name: stub_fact(study, name, self.number, self.scale)}
        return told(name, study, facts)

    def section_figure(self, study: str, figure: str) -> str:
        if figure not in self.captions[study]:
            raise ConfigError(misnamed(figure, f"no figure of study {study}", list(self.captions[study])))
        return figure


def stub_rows(study: str, number: float, scale: str = "default") -> list[dict[str, str]]:
    """Return measures.csv of a study with one number everywhere, as text."""
    text = dict.fromkeys(MEASURE_COLUMNS, str(number)) | {"seeds": "8", "note": "", "standard_error": "0.1"}
    return [text | {"quantity": name} for name in measured(study_of(study, scale))]


@cache
def stub_measures(study: str, number: float, scale: str) -> Measures:
    """Return the measures of a study with one number everywhere."""
    return Measures({row["quantity"]: row for row in stub_rows(study, number, scale)}, listed(study))


@cache
def stub_fact(study: str, name: str, number: float, scale: str) -> object:
    """Return a fact of a study on stub tables, None where it cannot be had."""
    tables = stub_cells(study, number, scale), quantities(stub_measures(study, number, scale))
    return json.loads(spelled(facts_of(study)[name], *tables))


@cache
def judged_claims(number: float) -> list[dict]:
    """Return the rows of claims.csv that follow from the stub measures of all studies."""
    measures = {name: {row["quantity"]: row for row in stub_rows(name, number)} for name in study_names()}
    papers = checked_claims().items()
    return [row for paper, claims in papers for row in judge(claims, paper, measures, "default", "figures")]


@cache
def planned_cells(study: str, scale: str = "default") -> pd.DataFrame:
    """Return the columns of a study's cells that are known before they are run."""
    return pd.DataFrame([cell.row for cell in expand(study_of(study, scale))])


@cache
def planned_sizes(study: str, scale: str = "default") -> pd.DataFrame | None:
    """Return the planned sizes of a study; None for a study without series."""
    settings = study_of(study, scale)
    return sizes_of(planned_cells(study, scale), settings_columns(settings)) if settings.series else None


def facts_of(study: str) -> dict[str, Fact]:
    """Return the facts of a study by name."""
    return getattr(importlib.import_module(f"replication.studies.{study}.analysis"), "FACTS", {})


def quantities(measures: Measures) -> Quantities:
    """Return measures in the form in which an analysis has them."""
    return Quantities(
        Measured(name, float(row["measured"]), float(row["ci_low"]), float(row["ci_high"]))
        for name, row in measures.rows.items()
    )


@cache
def stub_cells(study: str, number: float, scale: str = "default") -> pd.DataFrame:
    """Return cells.csv of a study: its planned cells, with one number in all columns that are known after the run."""
    planned = planned_cells(study, scale)
    known_after = [name for name in study_columns(study_of(study, scale)) if name not in planned]
    return planned.assign(**dict.fromkeys(known_after, number) | {"status": "ok", "reason": None}).copy()


@cache
def stub_runs() -> list[StubRun]:
    """Return a run with one number everywhere, and a run without numbers, whose text must then need no number."""
    return [StubRun(1.5), StubRun(math.nan)]


def check(name: str) -> None:
    """Write a chapter or a text with and without numbers; raise ConfigError, with its file, if it names something
    that does not exist."""
    for run in stub_runs():
        text(name, run)
