"""Run the demonstration of every erratum and write reports/errata.csv."""

import argparse
from pathlib import Path

from privrep.errata.demonstrations import DEMONSTRATIONS
from privrep.errata.finding import ERRATA_COLUMNS
from privrep.evidence.catalogue import read_errata
from privrep.run.csv_tables import write_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", required=True, type=Path, help="config/errata.yaml")
    parser.add_argument("--output", required=True, type=Path)
    args = parser.parse_args()
    rows = []
    for text in read_errata(args.texts):
        finding = DEMONSTRATIONS[text["id"]]()
        rows.append(text | {"measured": finding.measured, "confirmed": "yes" if finding.confirmed else "no"})
    write_rows(args.output, rows, ERRATA_COLUMNS)


if __name__ == "__main__":
    main()
