"""Origin of each option of published methods, by paper: src/replication/studies/ingredients.csv.

Texts call a series "as published", with its exceptions, by this table; a method whose paper was not read is "as
reconstructed". The value `any` in the table stands for every value of an option, the paper `all` for every paper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from privrep.privacy.accounting import Budget
from replication.run.config import ROOT, read_config, read_study
from replication.run.csv_tables import read_rows
from replication.run.grids import StudyCell, series_cells

TABLE = Path("src/replication/studies/ingredients.csv")
SEARCH = "smallest_users"
"""Prefix of algorithms that search for a number of users; as a whole name, the search with alternating minimisation."""


@cache
def _lines() -> dict[tuple[str, str, str], dict[str, str]]:
    return {(row["method"], row["option"], row["value"]): row for row in read_rows(ROOT / TABLE)}


def method_of(algorithm: str) -> str:
    """Return the method of an algorithm; for a search, the method that it runs."""
    return algorithm.removeprefix(f"{SEARCH}_").replace(SEARCH, "altmin")


@cache
def published_methods() -> dict[str, dict[str, str]]:
    """Return the line of each method in the table: its paper, and its name "as published" or "as reconstructed"."""
    return {method: line for (method, option, _), line in _lines().items() if not option}


def _spelled(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "none"
    return str(value) if isinstance(value, str) else f"{value:g}"


def foreign(algorithm: str, options: Mapping[str, object]) -> list[str]:
    """Return the options of a method that its paper lacks, in words; ValueError for one that the table lacks."""
    method, lines = method_of(algorithm), _lines()
    options = dict(options)
    pairs, init = options.pop("init_pairs", None), options.pop("init", None)
    if init is not None:
        options["start"] = f"{init}, {pairs}" if init == "spectral" else init
    names = []
    for name, value in options.items():
        places = ((of, name, text) for of in (method, "any") for text in (_spelled(value), "any"))
        line = next((lines[place] for place in places if place in lines), None)
        if line is None:
            raise ValueError(f"{TABLE}: it must have a line for {name} = {_spelled(value)} of {method}, or any value")
        names += [line["called"]] * (line["paper"] not in ("all", published_methods()[method]["paper"]))
    return names


def options_of(cell: StudyCell) -> dict[str, object]:
    """Return the settings of a cell besides the problem and the budget's size: options, and calibration of noise."""
    more = {"calibration": cell.budget.calibration} if isinstance(cell.budget, Budget) else {}
    return {**vars(cell.options), **more}


@cache
def additions(study: str, series: str) -> tuple[str, ...]:
    """Return the options of a series that the paper of its method lacks, in words."""
    cells = series_cells(read_study(read_config(), study), series)
    lacking = {option for cell in cells for option in foreign(cell.algorithm, options_of(cell))}
    return tuple(dict.fromkeys(line["called"] for line in _lines().values() if line["called"] in lacking))


def called(study: str, series: str, beside: str = "") -> str:
    """Return the name of a series of a published method: as published or reconstructed, with its additions; or, with
    `beside`, only the additions that the series `beside` lacks."""
    known = additions(study, beside) if beside else ()
    more = [option for option in additions(study, series) if option not in known]
    words = " and ".join(filter(None, [", ".join(more[:-1]), *more[-1:]]))
    whole = published_methods()[method_of(read_study(read_config(), study).series[series].algorithm)]["value"]
    return words if beside else f"{whole} but for {words}" if words else whole
