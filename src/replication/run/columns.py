"""Columns of a study's results table: those of every fit, and those of its algorithms.

The table of a study has columns of its own algorithms alone, so that a new algorithm changes no other study.
"""

from __future__ import annotations

from dataclasses import fields

from privrep.methods.running.columns import IDENTITY, RESULTS, option_column, own_columns
from replication.run.registry import method_files, options_class
from replication.run.settings import Simulation

PLACE = {"study": "study that the cell belongs to", "series": "label of the reading or method within the study"}
"""Columns that name the study and the series of a row."""

TIMING_COLUMNS = ("key", "series", "cpu_seconds", "wall_seconds")


def study_columns(study: Simulation) -> tuple[str, ...]:
    """Return the columns of a study's table, in order."""
    brought = [name for series in study.series.values() for name in own_columns(options_class(series.algorithm))]
    return tuple(dict.fromkeys([*PLACE, *IDENTITY, *brought, *RESULTS]))


def settings_columns(study: Simulation) -> set[str]:
    """Return the columns of a study's table with the settings of a cell, and its noise multiplier."""
    options = {field.name for series in study.series.values() for field in fields(options_class(series.algorithm))}
    return {*PLACE, *IDENTITY, "noise_multiplier", *map(option_column, options)}


def dictionary() -> str:
    """Return all columns of all tables by owner, as Markdown."""
    lines = ["# Columns of cells.csv"]
    owners = {"Every study": PLACE | IDENTITY | RESULTS}
    owners |= {f"`{name}`": own_columns(options_class(name)) for name in method_files()}
    for title, owned in owners.items():
        lines += ["", f"## {title}", "", "| column | meaning |", "|---|---|"]
        lines += [f"| {name} | {meaning.replace('|', chr(92) + '|')} |" for name, meaning in owned.items()]
    return "\n".join(lines) + "\n"
