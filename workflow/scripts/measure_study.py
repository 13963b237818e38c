"""Compute the quantities that the claims of a study refer to."""

import argparse
import importlib
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from privrep.measure import MEASURE_COLUMNS
from privrep.tables import write_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--cells", type=Path, nargs="?", help="its results table; none for a study of arithmetic")
    parser.add_argument("--output", required=True, type=Path)
    args = parser.parse_args()
    cells = pd.read_csv(args.cells) if args.cells else None
    found = importlib.import_module(f"privrep.studies.{args.study}").measure(cells)
    write_rows(args.output, [asdict(one) for one in found], MEASURE_COLUMNS)


if __name__ == "__main__":
    main()
