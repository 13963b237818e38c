"""Numbers that a study's file defines under `numbers`, by kind, measured on its cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from privrep.users.rng import stream
from replication.evidence.intervals import FEWEST, student_ends
from replication.evidence.measured import Measured, bare, exact, not_run, share
from replication.run.settings import AVERAGES, MeasureSettings, Number, names_in

Statistic = Callable[[np.ndarray], np.ndarray]
"""Function that maps indices of resampled repetitions, along the last axis, to a number."""


def defined(study: MeasureSettings, cells: pd.DataFrame) -> list[Measured]:
    """Measure the numbers that the study's file defines, without those that have no runs."""
    found = (measure(name, number, cells) for name, number in study.numbers.items())
    return [one for one in found if one is not None]


def measure(name: str, number: Number, cells: pd.DataFrame) -> Measured | None:
    """Measure one number; None if it has no runs, NaN with the reason if all its runs have status "not run"."""
    rows = chosen(cells, number)
    if len(rows) and (rows["status"] == "not run").all():
        return not_run(name, rows["reason"].iloc[0])
    values = evaluated(rows, getattr(number, number.kind))
    if number.kind in AVERAGES:
        return averaged(name, number, cells, rows) if len(rows) else None
    values = values.dropna()
    runs = len(values)
    if not runs:
        return None
    note = number.note.replace("[runs]", str(runs))
    if number.kind == "share":
        return share(name, int((values > number.beyond).sum()), runs, note)
    if number.kind in ("largest", "least"):
        value = values.max() if number.kind == "largest" else values.min()
        return bare(name, value, runs, note if "note" in number.model_fields_set else f"{number.kind} of {runs} runs")
    return exact(name, values.iloc[0], note)


def chosen(cells: pd.DataFrame, number: Number) -> pd.DataFrame:
    """Return the rows of the runs from which a number is computed."""
    rows = cells[cells["series"] == number.series] if number.series else cells
    return rows[evaluated(rows, number.where)] if number.where else rows


def evaluated(rows: pd.DataFrame, expression: str) -> pd.Series:
    """Return the values of a column, or of an expression of columns."""
    found: Any = rows
    return found[expression] if expression in rows else found[names_in(expression)].eval(expression, engine="python")


def averaged(name: str, number: Number, cells: pd.DataFrame, rows: pd.DataFrame) -> Measured:
    """Measure an average over repetitions, or a ratio of two, with its interval."""
    below = chosen(cells, number.below) if number.over else None
    if number.largest_at:
        axis = number.largest_at
        # Runs without a value of the axis are in the denominator at every value.
        parts = [
            [part[(part[axis] == at) | part[axis].isna()] for part in (rows, below) if part is not None]
            for at in rows[axis].unique()
        ]
        ratios = [ratio(number, *part) for part in parts]
        seeds = ratios[0][1]
        return bare(name, max(float(one(np.arange(seeds))) for one, _ in ratios), seeds, number.note)
    statistic, seeds = ratio(number, rows, below)
    value, ends = float(statistic(np.arange(seeds))), (np.nan, np.nan)
    if seeds >= FEWEST and number.draws:
        rng = stream(0, "bootstrap", {"name": number.stream or name, "repetitions": seeds})
        ends = student_ends(value, statistic(rng.integers(seeds, size=(number.draws, seeds))), seeds)
    return Measured(name, value, *ends, seeds, number.note)


def ratio(number: Number, rows: pd.DataFrame, below: pd.DataFrame | None = None) -> tuple[Statistic, int]:
    """Return the average over repetitions, divided by that of `below` on the same repetitions, and their number."""
    power = 2 if number.kind == "rms" else 1
    of = [(rows, number)] if below is None else [(rows, number), (below, number.below)]
    means = [(evaluated(part, getattr(one, number.kind)) ** power).groupby(part["seed"]).mean() for part, one in of]
    seeds = means[-1].index.intersection(means[0].index)
    values = [mean[seeds].to_numpy() for mean in means]
    constant = evaluated(rows, number.per).iloc[0] if number.per else 1

    def statistic(indices: np.ndarray) -> np.ndarray:
        average = np.median if number.kind == "median" else np.mean
        above, *under = (average(one[indices], axis=-1) for one in values)
        found = above / under[0] if under else above
        return (np.sqrt(found) if number.kind == "rms" else found) / constant

    return statistic, len(seeds)
