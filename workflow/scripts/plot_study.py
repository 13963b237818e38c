"""Draw all figures of a study from their numbers, as SVG or as PDF."""

import argparse
import importlib
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from privrep.drawing.style import save, save_pdf
from privrep.drawing.sweeps import draw_sweeps
from privrep.evidence.findings import read_numbers
from privrep.run.plainly import plainly
from privrep.run.settings import PlotSettings, read_settings


def drawn(numbers: dict[str, pd.DataFrame], study: PlotSettings) -> dict[str, Figure]:
    """Id of a figure -> the figure."""
    figures = {
        name: draw_sweeps(numbers[name], one.panels, study.claimed, one.ylabel) for name, one in study.sweeps.items()
    }
    if len(figures) == len(study.figures):
        return figures
    return figures | importlib.import_module(f"privrep.studies.{study.study}.figures").draw(numbers, study)


@plainly
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True, type=Path, help="plot.json of the study, see privrep.run.resolved")
    parser.add_argument("--figures", required=True, type=Path, help="folder of all figures and their numbers")
    parser.add_argument("--print", action="store_true", help="write PDF instead")
    args = parser.parse_args()
    study = read_settings(PlotSettings, args.settings)
    numbers = {name: read_numbers(args.figures / f"{name}.csv") for name in study.figures}
    for name, figure in drawn(numbers, study).items():
        if args.print:
            save_pdf(figure, args.figures / name)
        else:
            save(figure, numbers[name], args.figures / name)


if __name__ == "__main__":
    main()
