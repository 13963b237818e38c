"""The prose of the report on made-up tables, before any job: a finding that names a quantity, a claim or a series that does not exist
would drop its paragraph, or fail, after hours.

All names are those of the default scale. A paragraph may stand or fall with a verdict or with a number, so each study's findings are
written four times: with all verdicts as they should be or not, and with numbers on both sides of 1.
"""

from __future__ import annotations

import importlib
import itertools
from functools import cache
from pathlib import Path

import pandas as pd

from privrep.evidence.claims import CLAIM_COLUMNS, judge
from privrep.evidence.measured import MEASURE_COLUMNS
from privrep.evidence.quantities import checked_claims, measured
from privrep.report.badges import VERDICTS
from privrep.report.run_tables import Measures, Run
from privrep.run.columns import study_columns
from privrep.run.config import read_config, read_study, study_names
from privrep.run.grids import expand
from privrep.run.results import cell_row
from privrep.run.settings import ConfigError, Study, misnamed
from privrep.studies.figure2.measures import judge_readings

NUMBERS = (0.5, 1.5)
"""Values that all quantities have in turn."""


class ListedMeasures(Measures):
    """Measures that refuse a name which their study does not list, where a run would only miss it."""

    def __contains__(self, quantity: str) -> bool:
        if quantity not in self.rows.index:
            raise ConfigError(misnamed(quantity, "measured by no study", list(self.rows.index)))
        return True

    def row(self, quantity: str) -> pd.Series:
        return super().row(quantity) if quantity in self else None

    def named(self, prefix: str) -> list[str]:
        found = super().named(prefix)
        if not found:
            raise ConfigError(misnamed(prefix, "the beginning of no quantity", list(self.rows.index)))
        return found


class Rehearsal(Run):
    """A run whose tables are made up, with one number throughout, in which all verdicts are those asked for, or none."""

    def __init__(self, number: float, agrees: bool):
        claims = pd.DataFrame(judged_claims(number), columns=list(CLAIM_COLUMNS)).fillna("").astype(str)
        tables = {"results": Path(), "figures": Path(), "captions": {}, "deviations": []}
        provenance = {"config": {"scale": "default", "studies": study_names()}}
        super().__init__(claims, pd.DataFrame(), provenance, **tables)
        object.__setattr__(self, "number", number)
        object.__setattr__(self, "agrees", agrees)

    def judged(self, claim: str, word: str, *quantities: str) -> bool:
        for name, what, known in ((claim, "no claim", self.claims["id"].unique()), (word, "no verdict", VERDICTS)):
            if name not in known:
                raise ConfigError(misnamed(name, what, list(known)))
        super().judged(claim, word, *quantities)
        return self.agrees

    def measures(self, study: str) -> Measures:
        return ListedMeasures(pd.DataFrame(made_up_rows(study, self.number)).set_index("quantity"))

    def cells(self, study: str) -> pd.DataFrame:
        return made_up_cells(study, self.number)

    def numbers(self, figure: str) -> pd.DataFrame:
        return made_up_readings(self.number)


@cache
def study_of(name: str) -> Study:
    """A study at the default scale."""
    return read_study(read_config(), name)


def made_up_rows(study: str, number: float) -> list[dict[str, str]]:
    """measures.csv of a study with one number everywhere, as text."""
    text = dict.fromkeys(MEASURE_COLUMNS, str(number)) | {"seeds": "8", "note": "", "standard_error": "0.1"}
    return [text | {"quantity": name} for name in measured(study_of(study))]


@cache
def judged_claims(number: float) -> list[dict]:
    """claims.csv on these measures."""
    measures = {name: {row["quantity"]: row for row in made_up_rows(name, number)} for name in study_names()}
    return [
        row
        for paper, claims in checked_claims().items()
        for row in judge(claims, paper, measures, "default", "figures")
    ]


@cache
def planned_cells(study: str) -> pd.DataFrame:
    """What is known of a study's cells before they are run."""
    return pd.DataFrame([cell_row(cell) for cell in expand(study_of(study))])


@cache
def made_up_cells(study: str, number: float) -> pd.DataFrame:
    """cells.csv of a study with its planned cells, and one number for whatever is known after the run."""
    planned = planned_cells(study)
    known_after = [name for name in study_columns(study_of(study)) if name not in planned]
    return planned.assign(**dict.fromkeys(known_after, number) | {"status": "ok", "reason": None})


@cache
def made_up_readings(number: float) -> pd.DataFrame:
    """The table of the figure jain2021/figure2_readings, the one that prose reads."""
    return judge_readings(made_up_cells("figure2", number))


def rehearse(study: str) -> None:
    """Write the findings of a study in all four ways.

    Raises
    ------
    ConfigError
        If they name a quantity, a claim or a series that does not exist; the message names the file.
    """
    source = f"src/privrep/report/findings/{study}.py"
    findings = importlib.import_module(f"privrep.report.findings.{study}").findings
    for number, agrees in itertools.product(NUMBERS, (True, False)):
        try:
            findings(Rehearsal(number, agrees))
        except (ConfigError, LookupError, ValueError) as error:
            raise ConfigError(f"{source}: {error}") from None
