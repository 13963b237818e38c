"""Judge every claim: the claims of all papers and the measured quantities of all studies give reports/claims.csv."""

import json
from pathlib import Path

from replication.evidence.claims import CLAIM_COLUMNS, Claim, exponents_judged, judge
from replication.evidence.compare import confirmation_pairs, confirmed
from replication.run.cli_errors import arguments, one_line_errors
from replication.run.csv_tables import read_rows, write_rows
from replication.run.models import checked


@one_line_errors
def main() -> None:
    paths = {"claims": Path, "measures": [Path], "confirmation": Path, "output": Path}
    args = arguments(__doc__, **paths, scale=str, figures=str, options=str)
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
