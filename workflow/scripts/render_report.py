"""Write the tables, texts and figures of a run as one page that needs no network."""

import argparse
from pathlib import Path

from privrep.users.whole_files import write_whole
from replication.report.page import page
from replication.report.run_tables import Run
from replication.run.cli_errors import one_line_errors


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assets", required=True, type=Path, help="folder with the styles and scripts of the page")
    parser.add_argument("--claims", required=True, type=Path)
    parser.add_argument("--errata", required=True, type=Path)
    parser.add_argument("--provenance", required=True, type=Path)
    parser.add_argument("--studies", required=True, nargs="+", type=Path, help="settings.yaml of all")
    parser.add_argument("--deviations", required=True, type=Path, help="src/replication/studies/deviations.yaml")
    parser.add_argument("--results", required=True, type=Path, help="folder of the studies' tables")
    parser.add_argument("--figures", required=True, type=Path, help="folder of all figures")
    parser.add_argument("--alone", action="store_true", help="the files of the run will not lie beside the page")
    parser.add_argument("--output", required=True, type=Path)
    args = vars(parser.parse_args())
    assets, output = args.pop("assets"), args.pop("output")
    write_whole(output, page(Run.read(**args), assets))


if __name__ == "__main__":
    main()
