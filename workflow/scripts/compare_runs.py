"""Compare the verdicts and the measured numbers of two runs.

    python workflow/scripts/compare_runs.py reports/claims.csv results/default-seed7/reports/claims.csv
    python workflow/scripts/compare_runs.py tests/reference/claims_quick.csv results/quick/reports/claims.csv

The first form asks whether the verdicts stand under other random numbers: verdicts must agree, and both measured
numbers are shown. In the second form the first table has a column `within`, and the numbers must agree to that relative
tolerance too. Exit status 1 when something disagrees.
"""

import argparse
import math
import sys
from pathlib import Path

from privrep.evidence.confirmation import by_name
from privrep.run.cli_errors import one_line_errors
from privrep.run.csv_tables import read_rows, write_rows

REFERENCE_COLUMNS = ("id", "quantity", "verdict", "measured", "within")
SIMULATED, ARITHMETIC, GROWN = 0.02, 1e-6, 0.3
"""Relative tolerances of a reference between machines: other BLAS kernels round differently, arithmetic hardly;
where a search goes on from its last result, last digits grow."""
GROWING = "audits"
"""The study that searches."""
READ = "images"
"""The study whose rows are of a committed table, which grows, and not of the run."""


def agree(one: float, two: float, within: float) -> bool:
    """Whether two numbers agree to a relative tolerance; two that could not be had agree."""
    return math.isclose(one, two, rel_tol=within) or (math.isnan(one) and math.isnan(two))


def measured_rows(path: Path) -> list[dict]:
    """The rows of a run's claims.csv that it measured itself, or of a reference."""
    return [row for row in read_rows(path) if row.get("study") != READ]


def differences(first: list[dict], second: list[dict]) -> list[str]:
    """One line for each disagreement."""
    one, two = by_name(first), by_name(second)
    lines = [f"{' '.join(name)}: in one run only" for name in sorted(one.keys() ^ two.keys())]
    for name in [name for name in one if name in two]:
        a, b = one[name], two[name]
        if a["verdict"] != b["verdict"]:
            lines.append(f"{' '.join(name)}: verdict {a['verdict']} against {b['verdict']}")
        if a.get("within") and not agree(
            float(a["measured"] or "nan"), float(b["measured"] or "nan"), float(a["within"])
        ):
            lines.append(f"{' '.join(name)}: measured {a['measured']} against {b['measured']}, tolerance {a['within']}")
    return lines


def reference(rows: list[dict]) -> list[dict]:
    """The rows of a run as a reference with tolerances."""
    kept = [{name: row[name] for name in REFERENCE_COLUMNS[:-1]} for row in rows]
    for row, full in zip(kept, rows, strict=True):
        row["within"] = SIMULATED if int(full["seeds"] or 0) else ARITHMETIC
        if full["study"] == GROWING:
            row["within"] = GROWN
    return kept


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path, help="claims.csv of a run, or a reference")
    parser.add_argument("second", type=Path, nargs="?", help="claims.csv of another run")
    parser.add_argument("--write-reference", type=Path, help="write the first run as a reference with tolerances")
    args = parser.parse_args()
    first = measured_rows(args.first)
    if args.write_reference:
        write_rows(args.write_reference, reference(first), REFERENCE_COLUMNS)
        return
    if args.second is None:
        parser.error("two runs are needed to compare")
    second = measured_rows(args.second)
    two = by_name(second)
    for name, row in by_name(first).items():
        if name in two:
            print(
                f"{row['id']:<10} {row['quantity'][:58]:<58} {row['measured'][:9]:>10} "
                f"{two[name]['measured'][:9]:>10}  {two[name]['verdict']}"
            )
    lines = differences(first, second)
    print("\n".join(lines) or "All verdicts agree.")
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
