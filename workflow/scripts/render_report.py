"""Execute the report's notebook on the tables of a run and write it as one page that needs no network."""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

from nbclient.exceptions import CellExecutionError

from privrep.report.page import render, write
from privrep.report.run_tables import PARAMETERS
from privrep.run.config import ROOT
from privrep.run.plainly import plainly
from privrep.run.settings import ConfigError


@plainly
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notebook", required=True, type=Path, help="jupytext source")
    parser.add_argument(
        "--template", required=True, type=Path, help="folder with page.html around the notebook, its styles and scripts"
    )
    parser.add_argument("--claims", required=True, type=Path)
    parser.add_argument("--errata", required=True, type=Path)
    parser.add_argument("--provenance", required=True, type=Path)
    parser.add_argument("--studies", required=True, nargs="+", type=Path, help="config/studies/<study>.yaml")
    parser.add_argument("--deviations", required=True, type=Path, help="config/deviations.yaml")
    parser.add_argument("--results", required=True, type=Path, help="folder of the studies' tables")
    parser.add_argument("--figures", required=True, type=Path, help="folder of all figures")
    parser.add_argument("--output", required=True, type=Path)
    args = parser.parse_args()
    places = {
        name: str(getattr(args, name).resolve())
        for name in ("claims", "errata", "provenance", "deviations", "results", "figures")
    }
    places["studies"] = [str(path.resolve()) for path in args.studies]
    with tempfile.TemporaryDirectory() as folder:
        parameters = Path(folder) / "parameters.json"
        parameters.write_text(json.dumps(places))
        try:
            page = render(args.notebook, args.template, ROOT, {PARAMETERS: str(parameters)})
        except CellExecutionError as error:
            if error.ename == ConfigError.__name__:  # a text names what does not exist
                sys.exit(f"render_report.py: {error.evalue}")
            traceback = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
            sys.exit(f"render_report.py: a cell of {args.notebook} failed\n{traceback}")
    write(args.output, page)


if __name__ == "__main__":
    main()
