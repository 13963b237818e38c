"""Compare the verdicts and the measured numbers of two runs.

    python workflow/scripts/compare_runs.py reports/claims.csv results/default-seed7/reports/claims.csv
    python workflow/scripts/compare_runs.py tests/reference/claims_quick.csv results/quick/reports/claims.csv

The first form shows whether the verdicts hold under other random numbers. In the second form the first table has a
column `within`, and the numbers must agree to that relative tolerance too. Disagreements are printed, and the exit
status is then 1.
"""

import argparse
import math
import sys
from pathlib import Path

from replication.evidence.compare import by_name, paired, summary
from replication.run.cli_errors import one_line_errors
from replication.run.csv_tables import read_rows

READ = "images"
"""The study whose rows come from a committed table, which grows, and not from the run."""


def measured_rows(path: Path) -> list[dict]:
    """Return the rows of a claims.csv, of a run or a reference, that runs measure themselves."""
    return [row for row in read_rows(path) if row.get("study") != READ]


def agree(row: dict, other: dict) -> bool:
    """Return whether two rows have the same verdict and, within the first's tolerance, number; NaN agrees with NaN."""
    value, again, within = (float(text or "nan") for text in (row["measured"], other["measured"], row.get("within")))
    near = math.isnan(within) or math.isclose(value, again, rel_tol=within) or (math.isnan(value) and math.isnan(again))
    return near and row["verdict"] == other["verdict"]


def differences(first: list[dict], second: list[dict]) -> list[str]:
    """Return one line for each disagreement."""
    alone = sorted(by_name(first).keys() ^ by_name(second).keys())
    return [f"{' '.join(name)}: in one run only" for name in alone] + [
        f"{row['id']} {row['quantity']}: {row['measured']} {row['verdict']} against {other['measured']} "
        f"{other['verdict']}" + (f", tolerance {row['within']}" if row.get("within") else "")
        for row, other in paired(first, second)
        if not agree(row, other)
    ]


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path, help="claims.csv of a run, or a reference")
    parser.add_argument("second", type=Path, help="claims.csv of another run")
    args = parser.parse_args()
    first, second = measured_rows(args.first), measured_rows(args.second)
    lines = differences(first, second)
    print("\n".join([*lines, summary(paired(first, second))]))
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
