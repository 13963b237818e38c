"""Merging of shards into one table, in the order of the study, however the work was cut."""

from __future__ import annotations

from pathlib import Path

from replication.run.cli_errors import Unreadable
from replication.run.columns import TIMING_COLUMNS, study_columns
from replication.run.csv_tables import REMEDY, read_rows, write_rows
from replication.run.grids import expand, shard
from replication.run.settings import Simulation


def merge(paths: list[Path], expected: list[list[tuple[str, str]]], order: list[tuple[str, str]]) -> list[dict]:
    """Return the rows of all shards in a given order of (series, key); Unreadable if a file has not the cells that are
    expected of its shard."""
    found: dict[tuple[str, str], dict] = {}
    for path, cells in zip(paths, expected, strict=True):
        listed = read_rows(path)
        rows = {(row["series"], row["key"]): row for row in listed}
        if len(listed) != len(cells) or rows.keys() != set(cells):
            raise Unreadable(
                f"{path}: it has {len(listed)} rows and {len(set(cells) & rows.keys())} of its {len(cells)} cells; "
                f"{REMEDY}"
            )
        found |= rows
    return [found[name] for name in order]


def merge_study(study: Simulation, folder: Path) -> None:
    """Write `folder`/cells.csv and timings.csv from the shards in `folder`/shards."""
    order = [(cell.series, cell.key) for cell in expand(study)]
    parts = range(study.shards)
    expected = [[(cell.series, cell.key) for group in shard(study, part) for cell in group] for part in parts]
    for table, suffix, columns in (("cells", "csv", study_columns(study)), ("timings", "timings.csv", TIMING_COLUMNS)):
        paths = [folder / "shards" / f"{part}.{suffix}" for part in parts]
        write_rows(folder / f"{table}.csv", merge(paths, expected, order), columns)
