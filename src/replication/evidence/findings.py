"""Results of an analysis: the quantities of a study, and the numbers that its figures show."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from privrep.users.whole_files import in_one_move
from replication.evidence.measured import Measured
from replication.evidence.scaling import Fit, fit_measures, fit_table
from replication.run.models import ConfigError
from replication.run.settings import AnalysisSettings, settings_of


@dataclass(frozen=True)
class Findings:
    """All results of one analysis.

    `measured` has the quantities of the study besides those of its fits. `tables` maps the id of a figure to the
    numbers that it shows, except for figures of sweeps, whose numbers follow from `fits`.
    """

    measured: list[Measured]
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    fits: dict[str, Fit] = field(default_factory=dict)

    @property
    def quantities(self) -> list[Measured]:
        """All quantities, those of fits first."""
        return fit_measures(self.fits) + self.measured

    def numbers(self, study: AnalysisSettings) -> dict[str, pd.DataFrame]:
        """Return id of each figure -> numbers that it is drawn from; ConfigError if the study lists other figures."""
        tables = self.tables | {name: fit_table(self.fits, figure.panels) for name, figure in study.sweeps.items()}
        if tables.keys() != set(study.figures):
            listed, there = ", ".join(study.figures), ", ".join(tables)
            raise ConfigError(f"{settings_of(study.study)}: figures are {listed}; there are numbers for {there}")
        return tables


def write_numbers(path: Path, numbers: pd.DataFrame) -> None:
    """Write the numbers of a figure as CSV, the whole file or nothing; reading it back gives the same bits."""
    with in_one_move(path) as temporary:
        temporary.write_text(numbers.to_csv(index=False, lineterminator="\n"), encoding="utf-8")
