"""A measured quantity, as it goes from a study to the verdicts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import betaincinv

from privrep.run.settings import ConfigError, MeasureSettings, misnamed

MEASURE_COLUMNS = ("quantity", "measured", "ci_low", "ci_high", "seeds", "note", "standard_error", "formula")


@dataclass(frozen=True)
class Measured:
    """A number with its 95 % interval over `seeds` repetitions. Arithmetic has no error:
    `seeds` is 0 and both ends equal the number. A number that has an error and no interval has NaN ends.

    `note` adds what a reader of the verdict should know, for instance which cells were selected. An exponent has its
    standard error, for intervals at other levels, and the slope of the formula on the same grid. A number that could
    not be had is NaN, and the note says why.
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
    """A quantity without sampling error.

    Parameters
    ----------
    quantity : name of the number.
    value : the number.
    note : for readers of the verdict.
    """
    return Measured(quantity, float(value), float(value), float(value), 0, note)


def bare(quantity: str, value: float, seeds: int, note: str = "") -> Measured:
    """A number over runs that has no interval, for instance the largest of them.

    Parameters
    ----------
    quantity : name of the number.
    value : the number.
    seeds : repetitions.
    note : for readers of the verdict.
    """
    return Measured(quantity, float(value), math.nan, math.nan, seeds, note)


def share(quantity: str, hits: int, runs: int, note: str = "") -> Measured:
    """A share of runs with its Clopper-Pearson interval.

    Parameters
    ----------
    quantity : name of the number.
    hits : runs that count.
    runs : all of them, at least 1.
    note : for readers of the verdict.
    """
    return Measured(quantity, hits / runs, *share_ends(int(hits), int(runs)), int(runs), note)


def share_ends(hits: int, runs: int) -> tuple[float, float]:
    """Clopper-Pearson: the two shares at which so many hits or more, or so few or fewer, have probability 2.5 %.

    Parameters
    ----------
    hits : runs that count, from 0 to `runs`.
    runs : all of them, at least 1.
    """
    low = float(betaincinv(hits, runs - hits + 1, 0.025)) if hits > 0 else 0.0
    return low, float(betaincinv(hits + 1, runs - hits, 0.975)) if hits < runs else 1.0


NOT_RUN = "not run: "


def not_run(quantity: str, reason: str) -> Measured:
    """A quantity of runs that are not there. A claim on it is not tested, for the first line of the reason.

    Parameters
    ----------
    quantity : its name.
    reason : why there are no runs.
    """
    return bare(quantity, math.nan, 0, NOT_RUN + reason.splitlines()[0])


def check_names(found: list[Measured], study: MeasureSettings) -> None:
    """Raise ConfigError unless a study measured what its file lists: nothing else, and all of it where the scale leaves
    the study as it is.

    Parameters
    ----------
    found : what the study measured.
    study : its settings, which list the quantities.
    """
    source = f"config/studies/{study.study}.yaml: quantities"
    names = [one.quantity for one in found]
    for name in names:
        if name not in study.quantities:
            raise ConfigError(f"{source}: {misnamed(name, 'measured and not listed', study.quantities)}")
    for name in study.quantities if study.complete else ():
        if name not in names:
            raise ConfigError(f"{source}: {misnamed(name, 'listed and not measured', names)}")
