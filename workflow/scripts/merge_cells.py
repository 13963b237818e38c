"""Put the rows of all shards into the order of the study: one file that does not depend on how the work was cut."""

import argparse
from pathlib import Path

from privrep.run.columns import study_columns
from privrep.run.csv_tables import REMEDY, read_rows, write_rows
from privrep.run.grids import expand, shard
from privrep.run.plainly import Unreadable, plainly
from privrep.run.results import TIMING_COLUMNS
from privrep.run.settings import ShardSettings, read_settings


def merge(paths: list[Path], expected: list[list[tuple[str, str]]], order: list[tuple[str, str]]) -> list[dict]:
    """Rows of all files in the given order of (series, key).

    Parameters
    ----------
    paths : of the shards in their order. expected : the cells of each.

    Raises
    ------
    Unreadable
        If a file lacks a cell, or has one twice or one of another shard.
    """
    found: dict[tuple[str, str], dict] = {}
    for path, cells in zip(paths, expected, strict=True):
        listed = read_rows(path)
        rows = {(row["series"], row["key"]): row for row in listed}
        if len(listed) != len(cells) or rows.keys() != set(cells):
            raise Unreadable(
                f"{path}: it has {len(listed)} rows and {len(set(cells) & rows.keys())} of its {len(cells)} cells; {REMEDY}"
            )
        found |= rows
    return [found[name] for name in order]


@plainly
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True, type=Path)
    parser.add_argument("--cells", required=True, nargs="+", type=Path, help="rows of the shards")
    parser.add_argument("--timings", required=True, nargs="+", type=Path, help="run times of the shards")
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--output-timings", required=True, type=Path)
    args = parser.parse_args()
    study = read_settings(ShardSettings, args.settings).study
    order = [(cell.series, cell.key) for cell in expand(study)]
    expected = [
        [(cell.series, cell.key) for group in shard(study, number) for cell in group] for number in range(study.shards)
    ]
    for paths, output, columns in (
        (args.cells, args.output, study_columns(study)),
        (args.timings, args.output_timings, TIMING_COLUMNS),
    ):
        write_rows(output, merge(paths, expected, order), columns)


if __name__ == "__main__":
    main()
