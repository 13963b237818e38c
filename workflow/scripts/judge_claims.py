"""Judge every claim: the claims of all papers and the measured quantities of all studies give reports/claims.csv."""

import argparse
import json
from pathlib import Path

from replication.evidence.claims import CLAIM_COLUMNS, Claim, exponents_judged, judge
from replication.evidence.compare import confirmation_pairs, confirmed
from replication.run.cli_errors import one_line_errors
from replication.run.csv_tables import read_rows, write_rows
from replication.run.models import checked


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", required=True, type=Path, help="paper -> claims, see workflow/rules/common.smk")
    parser.add_argument("--measures", required=True, nargs="+", type=Path, help="<study>/measures.csv")
    parser.add_argument("--confirmation", required=True, type=Path, help="docs/confirmation.csv")
    parser.add_argument("--scale", required=True)
    parser.add_argument("--figures", required=True, help="folder of all figures")
    parser.add_argument("--options", default="", help="options of Snakemake for this run beyond the default")
    parser.add_argument("--output", required=True, type=Path)
    args = parser.parse_args()
    measures = {path.parent.name: {row["quantity"]: row for row in read_rows(path)} for path in args.measures}
    stated = json.loads(args.claims.read_text())
    claims = {paper: [checked(Claim, claim, paper) for claim in entries] for paper, entries in stated.items()}
    judged = exponents_judged([claim for paper in claims.values() for claim in paper], measures, args.scale)
    comparison = confirmation_pairs(read_rows(args.confirmation))
    rows = [
        row | {"confirmed": confirmed(row, comparison)}
        for paper, entries in claims.items()
        for row in judge(entries, paper, measures, args.scale, args.figures, args.options, judged)
    ]
    write_rows(args.output, rows, CLAIM_COLUMNS)


if __name__ == "__main__":
    main()
