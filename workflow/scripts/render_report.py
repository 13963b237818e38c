"""Write the tables, texts and figures of a run as one page that needs no network, and each figure's caption in a file
for `snakemake --report`."""

import argparse
import re
from pathlib import Path

from privrep.users.whole_files import write_whole
from replication.report.page import page
from replication.report.run_tables import Run
from replication.run.cli_errors import one_line_errors


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reports", required=True, type=Path, help="folder of claims, errata and provenance")
    parser.add_argument("--results", required=True, type=Path, help="folder of the studies' tables")
    parser.add_argument("--figures", required=True, type=Path, help="folder of all figures")
    parser.add_argument("--alone", action="store_true", help="the files of the run will not lie beside the page")
    parser.add_argument("--output", required=True, type=Path)
    args = parser.parse_args()
    run = Run.read(args.reports, args.results, args.figures, args.alone)
    write_whole(args.output, page(run))
    for study, figures in run.captions.items():
        for figure in figures if run.has(study) else ():
            text = re.sub(r"([*`|_\\])", r"\\\1", run.caption(study, figure))
            write_whole(args.results / "captions" / f"{figure}.rst", f"{text}\n")


if __name__ == "__main__":
    main()
