"""Judge every claim: config/claims and the measured quantities of all studies give reports/claims.csv."""

import argparse
import sys
from pathlib import Path

from privrep.evidence.catalogue import read_claims
from privrep.evidence.claims import CLAIM_COLUMNS, exponents_judged, judge
from privrep.run.config import ConfigError
from privrep.run.csv_tables import read_rows, write_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", required=True, nargs="+", type=Path, help="config/claims/<paper>.yaml")
    parser.add_argument("--measures", required=True, nargs="+", type=Path, help="<study>/measures.csv")
    parser.add_argument("--scale", required=True)
    parser.add_argument("--figures", required=True, help="folder of all figures")
    parser.add_argument("--options", default="", help="what Snakemake needs for this run beyond the default")
    parser.add_argument("--output", required=True, type=Path)
    args = parser.parse_args()
    measures = {path.parent.name: {row["quantity"]: row for row in read_rows(path)} for path in args.measures}
    rows = []
    try:
        claims = {path.stem: read_claims(path) for path in args.claims}
        judged = exponents_judged([claim for paper in claims.values() for claim in paper], measures, args.scale)
        for paper, stated in claims.items():
            rows += judge(stated, paper, measures, args.scale, args.figures, args.options, judged)
    except ConfigError as error:
        sys.exit(f"judge_claims.py: {error}")
    write_rows(args.output, rows, CLAIM_COLUMNS)


if __name__ == "__main__":
    main()
