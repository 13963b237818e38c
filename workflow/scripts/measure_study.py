"""Compute the quantities that the claims of a study refer to."""

import argparse
import importlib
from dataclasses import asdict
from pathlib import Path

from privrep.measure import MEASURE_COLUMNS
from privrep.setups import read_cells
from privrep.tables import write_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--cells", type=Path, nargs="?", help="its results table; none for a study of arithmetic")
    parser.add_argument("--output", required=True, type=Path)
    args = parser.parse_args()
    cells = read_cells(args.cells)
    found = importlib.import_module(f"privrep.studies.{args.study}").measure(cells)
    write_rows(args.output, [asdict(one) for one in found], MEASURE_COLUMNS)


if __name__ == "__main__":
    main()
