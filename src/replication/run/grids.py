"""Cells of a study, from its settings, their division into shards, and the merging of the shards' tables into one.

A cell is one fit: problem, algorithm with options, budget, repetition. Its key is a hash of these values by name, so a
cell keeps its key and its random streams when the grid around it changes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from privrep.methods.running.method import MethodOptions
from privrep.methods.running.runner import prepared
from privrep.options import build
from privrep.privacy.accounting import Budget, FixedNoise
from privrep.simulate import PROBLEM_AXES, Cell, check_budget
from privrep.users.simulated import Problem
from replication.run.cli_errors import Unreadable
from replication.run.columns import TIMING_COLUMNS, study_columns
from replication.run.config import ROOT, Layer, place
from replication.run.csv_tables import REMEDY, read_rows, write_rows
from replication.run.models import ConfigError
from replication.run.registry import load_options
from replication.run.rivals import chosen_options
from replication.run.settings import MOST_CELLS, Simulation, settings_of


@dataclass(frozen=True)
class StudyCell(Cell):
    """A cell of a study. `series` is its label in the study; neither of the two is part of its identity."""

    study: str
    series: str

    @property
    def row(self) -> dict:
        """The part of a row that is known before the run."""
        return {"study": self.study, "series": self.series} | super().row


# Cached, because most cells of a study differ in problem and budget alone.
@cache
def _chosen(algorithm: str, options: tuple[tuple[str, type, object], ...]) -> MethodOptions:
    return load_options(algorithm, {name: value for name, _, value in options})


def points(grid: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the points of a grid: each point under `together` with each combination of values of the other axes. A
    number of seeds or redraws stands for the list 0, 1, ..."""
    axes: dict[str, Any] = {axis: range(one) if isinstance(one, int) else one for axis, one in grid.items()}
    for joint in axes.pop("together", [{}]):
        for values in itertools.product(*axes.values()):
            yield joint | dict(zip(axes, values, strict=True))


def _budget(point: dict, delta: float, calibration: str) -> Budget | FixedNoise | None:
    """Remove epsilon or the noise multiplier, and the redraw, from a point; return the budget, None without either."""
    epsilon, multiplier = point.pop("epsilon", None), point.pop("noise_multiplier", None)
    redraw = point.pop("redraw", 0)
    if epsilon is not None and multiplier is not None:
        raise ValueError("the grid has both epsilon and noise_multiplier; a cell takes one of them")
    if redraw and multiplier is None and epsilon is None:
        raise ValueError("the grid has redraw without noise_multiplier or epsilon; there is no noise to draw again")
    if multiplier is not None:
        return FixedNoise(float(multiplier), delta, redraw)
    return None if epsilon is None else Budget(float(epsilon), delta, calibration, redraw)


def series_cells(study: Simulation, name: str) -> Iterator[StudyCell]:
    """Yield the cells of a series."""
    spec = study.series[name]
    for point in points(study.grid_of(name)):
        if point.get("redraw") and point.get("noise_multiplier") == 0:
            continue  # there is no noise to draw again
        problem = study.problem | spec.problem
        problem |= {axis: point.pop(axis) for axis in PROBLEM_AXES if axis in point}
        problem = build(Problem, problem, "problem")
        power = point.pop("delta_power", None)
        delta: Any = problem.users**-power if power else spec.delta or study.delta
        budget = _budget(point, delta, spec.calibration)
        options = spec.options | point
        if spec.tuned:
            assert isinstance(budget, Budget)
            options |= chosen_options(study.choices, name, vars(problem) | {"epsilon": budget.epsilon})
        # The type is part of the cache's key: a row shows 20 and 20.0 as they were written.
        chosen = _chosen(spec.algorithm, tuple((name, type(value), value) for name, value in options.items()))
        # A variant of a method has the rows and the random streams of that method.
        algorithm = getattr(chosen, "varies", spec.algorithm)
        cell = StudyCell(algorithm, chosen, problem, budget, study.study, name)
        method, grid = prepared(cell.options, cell.problem), "its grid has"
        axes = "epsilon or noise_multiplier"
        check_budget(spec.algorithm, method, budget, f"{grid} no {axes}", f"{grid} an {axes}")
        yield cell


def _where(study: Simulation, name: str, error: str, files: Sequence[Layer]) -> str:
    """Return file and line of the option, axis or size that is the first word of an error, or else of the series."""
    word, own, series = error.split(" ", 1)[0], ("series", name), study.series[name]
    grid = ("grids", series.grid) if isinstance(series.grid, str) else (*own, "grid")
    inside = ((*own, "options"), ("options", series.algorithm), grid, (*own, "problem"), ("problem",))
    choices = [*((*keys, word) for keys in inside), own]
    return place(files, *choices, root=ROOT) or settings_of(study.study)


def expand(study: Simulation, files: Sequence[Layer] = ()) -> list[StudyCell]:
    """Return all cells of a study in the order of its file, none for a study without series.

    ConfigError names the line, in one of `files`, of a value that is out of range or infeasible, or of a series in
    which two cells coincide.
    """
    cells: list[StudyCell] = []
    for name in study.series:
        try:
            axes = study.grid_of(name).values()
            count = math.prod(one if isinstance(one, int) else len(one) for one in axes)
            if count > MOST_CELLS - len(cells):
                raise ValueError(f"its grid of {count:,} cells is too large; a study has at most {MOST_CELLS:,}")
            series = list(series_cells(study, name))
            if len({cell.key for cell in series}) < len(series):
                raise ValueError("its grid holds the same cell twice")
        except ValueError as error:
            raise ConfigError(f"{_where(study, name, str(error), files)}: series.{name}: {error}") from None
        cells += series
    return cells


def groups(cells: list[StudyCell], size: int) -> list[list[StudyCell]]:
    """Return the cells in groups that share a data draw, at most `size` in each, in order of first appearance."""
    by_draw: dict[Problem, list[StudyCell]] = {}
    for cell in cells:
        by_draw.setdefault(cell.problem, []).append(cell)
    return [draw[i : i + size] for draw in by_draw.values() for i in range(0, len(draw), size)]


def shards(study: Simulation) -> list[list[list[StudyCell]]]:
    """Return the groups of each shard: every `shards`-th group, so that large and small draws mix."""
    every = groups(expand(study), study.cells_per_draw or 1)
    return [every[index :: study.shards] for index in range(study.shards or 0)]


def merge(paths: list[Path], expected: list[list[tuple[str, str]]], order: list[tuple[str, str]]) -> list[dict]:
    """Return the rows of all shards in a given order of (series, key); Unreadable if a file has other cells than those
    of its shard."""
    found: dict[tuple[str, str], dict] = {}
    for path, cells in zip(paths, expected, strict=True):
        listed = read_rows(path)
        rows = {(row["series"], row["key"]): row for row in listed}
        if len(listed) != len(cells) or rows.keys() != set(cells):
            own = len(set(cells) & rows.keys())
            raise Unreadable(f"{path}: it has {len(listed)} rows and {own} of its {len(cells)} cells; {REMEDY}")
        found |= rows
    return [found[name] for name in order]


def merge_study(study: Simulation, folder: Path) -> None:
    """Write `folder`/cells.csv and timings.csv from the shards in `folder`/shards."""
    order = [(cell.series, cell.key) for cell in expand(study)]
    expected = [[(cell.series, cell.key) for group in part for cell in group] for part in shards(study)]
    for table, suffix, columns in (("cells", "csv", study_columns(study)), ("timings", "timings.csv", TIMING_COLUMNS)):
        paths = [folder / "shards" / f"{part}.{suffix}" for part in range(len(expected))]
        write_rows(folder / f"{table}.csv", merge(paths, expected, order), columns)
