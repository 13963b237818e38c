"""Draw all figures of a study from their numbers, as SVG or as PDF."""

from pathlib import Path

import pandas as pd

from replication.drawing.style import save, save_pdf
from replication.run.cli_errors import arguments, one_line_errors
from replication.run.settings import PlotSettings, read_settings
from replication.studies.drawn import draw


@one_line_errors
def main() -> None:
    args = arguments(__doc__, settings=Path, figures=Path, kind=str)
    study, write = read_settings(PlotSettings, args.settings), {"svg": save, "pdf": save_pdf}[args.kind]
    for name in study.figures:
        write(draw(name, pd.read_csv(args.figures / f"{name}.csv"), study), args.figures / name)


if __name__ == "__main__":
    main()
