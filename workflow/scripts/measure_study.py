"""Compute the quantities that the claims of a study refer to."""

import argparse
import importlib
import sys
from dataclasses import asdict
from pathlib import Path

from privrep.evidence.cells import read_cells
from privrep.evidence.measured import MEASURE_COLUMNS, check_names
from privrep.evidence.recount import MiscountError, check_epsilons
from privrep.run.csv_tables import write_rows
from privrep.run.plainly import plainly
from privrep.run.settings import ConfigError, MeasureSettings, read_settings


@plainly
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--settings", required=True, type=Path, help="measure.json of the study, see privrep.run.resolved"
    )
    parser.add_argument("--cells", type=Path, nargs="?", help="its results table; none for a study of arithmetic")
    parser.add_argument("--output", required=True, type=Path)
    args = parser.parse_args()
    study = read_settings(MeasureSettings, args.settings)
    cells = read_cells(args.cells)
    try:
        if cells is not None:
            check_epsilons(cells)
        found = importlib.import_module(f"privrep.studies.{study.study}.measures").measure(cells, study)
        check_names(found, study)
    except (ConfigError, MiscountError) as error:
        sys.exit(f"measure_study.py: {error}")
    write_rows(args.output, [asdict(one) for one in found], MEASURE_COLUMNS)


if __name__ == "__main__":
    main()
