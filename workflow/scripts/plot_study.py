"""Draw all figures of some studies from their numbers, as SVG or as PDF."""

import argparse
from pathlib import Path

import pandas as pd

from replication.drawing.style import save, save_pdf
from replication.run.cli_errors import one_line_errors
from replication.run.settings import PlotSettings, read_settings
from replication.studies.drawn import draw


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True, nargs="+", type=Path, help="plot.json of each")
    parser.add_argument("--figures", required=True, type=Path, help="folder of all figures and their numbers")
    parser.add_argument("--print", action="store_true", help="write PDF instead")
    args = parser.parse_args()
    write = save_pdf if args.print else save
    for path in args.settings:
        study = read_settings(PlotSettings, path)
        for name in study.figures:
            write(draw(name, pd.read_csv(args.figures / f"{name}.csv"), study), args.figures / name)


if __name__ == "__main__":
    main()
