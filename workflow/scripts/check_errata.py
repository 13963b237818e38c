"""Run the demonstration of every erratum and write reports/errata.csv."""

import argparse
from pathlib import Path

from privrep.config import ROOT, check_schema, read_yaml
from privrep.errata.demonstrations import DEMONSTRATIONS
from privrep.errata.finding import ERRATA_COLUMNS
from privrep.tables import write_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True, type=Path)
    args = parser.parse_args()
    texts = read_yaml(ROOT / "config" / "claims" / "errata.yaml")
    check_schema(texts, "errata", "config/claims/errata.yaml")
    rows = []
    for text in texts["errata"]:
        finding = DEMONSTRATIONS[text["id"]]()
        rows.append(text | {"measured": finding.measured, "confirmed": "yes" if finding.confirmed else "no"})
    write_rows(args.output, rows, ERRATA_COLUMNS)


if __name__ == "__main__":
    main()
