"""Put the rows of all shards into the order of the study: one file that does not depend on how the work was cut."""

import argparse
import sys
from pathlib import Path

from privrep.run.columns import study_columns
from privrep.run.csv_tables import read_rows, write_rows
from privrep.run.grids import expand
from privrep.run.results import TIMING_COLUMNS
from privrep.run.settings import ShardSettings, read_settings


def merge(paths: list[Path], order: list[tuple[str, str]]) -> list[dict]:
    """Rows of all files in the given order of (series, key).

    Raises
    ------
    SystemExit
        If a cell is missing or appears twice.
    """
    found: dict[tuple[str, str], dict] = {}
    for path in paths:
        for row in read_rows(path):
            name = (row["series"], row["key"])
            if name in found:
                sys.exit(f"merge_cells.py: {path}: cell {name} appears twice")
            found[name] = row
    missing = [name for name in order if name not in found]
    if missing:
        sys.exit(f"merge_cells.py: {len(missing)} cells are missing, the first is {missing[0]}")
    return [found[name] for name in order]


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
    for paths, output, columns in (
        (args.cells, args.output, study_columns(study)),
        (args.timings, args.output_timings, TIMING_COLUMNS),
    ):
        write_rows(output, merge(paths, order), columns)


if __name__ == "__main__":
    main()
