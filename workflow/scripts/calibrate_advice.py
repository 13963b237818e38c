"""Measure how far the laws err at random settings, write src/privrep/theory/factors.csv, and print which share of runs
at other settings its intervals cover. Some minutes; one thread."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from privrep.theory.residuals import TABLE, covered, factors, settings, shipped, simulated

CALIBRATION, CHECK = (300, 1), (200, 2)
"""Number of settings and seed."""


if __name__ == "__main__":
    factors(simulated(settings(*CALIBRATION))).to_csv(TABLE, index=False, float_format="%.5g")
    shipped.cache_clear()
    print(covered(simulated(settings(*CHECK))))
