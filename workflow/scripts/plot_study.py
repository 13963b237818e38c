"""Draw all figures of a study, each as SVG and the table of the plotted numbers, or as PDF."""

import argparse
import importlib
from pathlib import Path

from privrep.drawing.style import save, save_pdf
from privrep.evidence.cells import read_cells
from privrep.run.plainly import plainly
from privrep.run.settings import PlotSettings, read_settings


@plainly
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True, type=Path, help="plot.json of the study, see privrep.run.resolved")
    parser.add_argument("--cells", type=Path, nargs="?", help="its results table; none for a study of arithmetic")
    parser.add_argument("--figures", required=True, type=Path, help="folder of all figures")
    parser.add_argument("--print", action="store_true", help="write PDF instead")
    args = parser.parse_args()
    study = read_settings(PlotSettings, args.settings)
    draw = importlib.import_module(f"privrep.studies.{study.study}.figures").draw
    for name, (figure, numbers) in draw(read_cells(args.cells), study).items():
        if args.print:
            save_pdf(figure, args.figures / name)
        else:
            save(figure, numbers, args.figures / name)


if __name__ == "__main__":
    main()
