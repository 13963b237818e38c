"""Measure how far the laws err at random settings: src/privrep/advice/factors.csv, and tests/advice_check.csv of
settings that it has not seen. Some minutes; one thread."""

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from privrep.advice.residuals import TABLE, factors, settings, simulated

CALIBRATION, CHECK = (300, 1), (200, 2)
"""Number of settings and seed."""


def main(kind: str) -> None:
    if kind == "factors":
        factors(simulated(settings(*CALIBRATION))).to_csv(TABLE, index=False, float_format="%.5g")
    else:
        where = settings(*CHECK)
        table = simulated(where).merge(where, left_on="setting", right_index=True)
        table.to_csv(Path("tests/advice_check.csv"), index=False, float_format="%.5g")


if __name__ == "__main__":
    for kind in sys.argv[1:] or ("factors", "check"):
        main(kind)
