"""Measured quantities: numbers with intervals, from which verdicts follow."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import betaincinv

from privrep.options import misnamed
from replication.run.models import ConfigError
from replication.run.settings import MeasureSettings, settings_of

MEASURE_COLUMNS = ("quantity", "measured", "ci_low", "ci_high", "seeds", "note", "standard_error", "formula")


@dataclass(frozen=True)
class Measured:
    """A number with its 95 % interval over `seeds` repetitions.

    Arithmetic has no error: `seeds` is 0 and both ends equal the number. A number that has an error and no interval has
    NaN ends; one that could not be computed is NaN, and `note` says why. An exponent has its standard error, for
    intervals at other levels, and the slope of the formula on the same grid.
    """

    quantity: str
    measured: float
    ci_low: float
    ci_high: float
    seeds: int = 0
    note: str = ""
    standard_error: float = math.nan
    formula: float = math.nan


def exact(quantity: str, value: float, note: str = "") -> Measured:
    """Return a quantity without sampling error."""
    return Measured(quantity, float(value), float(value), float(value), 0, note)


def bare(quantity: str, value: float, seeds: int, note: str = "") -> Measured:
    """Return a number over runs that has no interval, for instance the largest value among them."""
    return Measured(quantity, float(value), math.nan, math.nan, seeds, note)


def share(quantity: str, hits: float, runs: float, note: str = "") -> Measured:
    """Return a share of runs with its Clopper-Pearson interval."""
    return Measured(quantity, hits / runs, *share_ends(int(hits), int(runs)), int(runs), note)


def share_ends(hits: int, runs: int) -> tuple[float, float]:
    """Return the ends of the 95 % Clopper-Pearson interval of a share, 0 <= hits <= runs."""
    low = float(betaincinv(hits, runs - hits + 1, 0.025)) if hits > 0 else 0.0
    return low, float(betaincinv(hits + 1, runs - hits, 0.975)) if hits < runs else 1.0


NOT_RUN = "not run: "


def not_run(quantity: str, reason: str) -> Measured:
    """Return a quantity whose runs are missing, noting the reason's first line; a claim on it is not tested."""
    return bare(quantity, math.nan, 0, NOT_RUN + reason.splitlines()[0])


def check_names(measures: list[Measured], study: MeasureSettings) -> None:
    """Raise ConfigError if a study measured a quantity that its file does not list, or lacks a listed one at a scale
    that does not change the study's settings."""
    source = f"{settings_of(study.study)}: quantities"
    names = [measure.quantity for measure in measures]
    for name in names:
        if name not in study.quantities:
            raise ConfigError(f"{source}: {misnamed(name, 'measured and not listed', study.quantities)}")
    for name in study.quantities if study.complete else ():
        if name not in names:
            raise ConfigError(f"{source}: {misnamed(name, 'listed and not measured', names)}")
