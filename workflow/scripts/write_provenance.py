"""Write reports/provenance.json: versions and machine of the run, its duration, and its use of time."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd

from replication.run.cli_errors import arguments, one_line_errors
from replication.run.provenance import provenance


def total(paths: list[Path], column: str, delimiter: str) -> float:
    """Return the sum of a column over several tables; entries that are not numbers, and damaged headers, count as 0."""
    tables = (pd.read_csv(path, sep=delimiter, encoding_errors="replace") for path in paths)
    return float(sum(pd.to_numeric(table[column], errors="coerce").sum() for table in tables if column in table))


def wall_seconds(paths: list[Path]) -> float:
    """Return the seconds from the start of the first job to the end of the last one, with any pause between runs."""
    ends = {path: path.stat().st_mtime for path in paths}
    return max(ends.values()) - min(end - total([path], "s", "\t") for path, end in ends.items())


@one_line_errors
def main() -> None:
    args = arguments(__doc__, config=json.loads, timings=[Path], jobs=[Path], output=Path)
    cells, everything = total(args.timings, "wall_seconds", ","), total(args.jobs, "s", "\t")
    record = provenance(args.config) | {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "jobs": len(args.jobs),
        "wall_seconds": round(wall_seconds(args.jobs), 1),
        "job_seconds": round(everything, 1),
        "cell_seconds": round(cells, 1),
        "cell_cpu_seconds": round(total(args.timings, "cpu_seconds", ","), 1),
        "share_of_job_time_inside_cells": round(cells / everything, 3) if everything else None,
    }
    args.output.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
