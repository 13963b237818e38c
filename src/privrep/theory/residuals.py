"""Errors of the laws: factors between a run and its prediction that cover 95 % of runs at random settings.

Factors depend on the method, on whether the assumptions of its law hold, and on log(n mu sqrt(m) / d), in bins; their
logarithms are interpolated between the centres of bins. workflow/scripts/calibrate_advice.py makes the table.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from privrep.theory.whole_methods import Regime

TABLE = Path(__file__).with_name("factors.csv")
RANGES = {
    "users": (150, 6000),
    "samples": (6, 48),
    "dim": (4, 24),
    "rank": (1, 3),
    "epsilon": (0.1, 8.0),
    "label_noise": (0.01, 2.0),
}
"""Ranges of the random settings; users and epsilon are uniform in their logarithms."""


def place(sizes: Regime, mu: float) -> float:
    """Return log(n mu sqrt(m) / d), on which the factors depend."""
    return math.log(sizes.users * mu * math.sqrt(sizes.samples) / sizes.dim)


@cache
def shipped() -> pd.DataFrame:
    """Return the table of measured factors that comes with the package."""
    return pd.read_csv(TABLE)


def interval(name: str, risk: float, known: bool, at: float) -> tuple[float, float]:
    """Return the 95 % interval of the risk of one run with predicted risk `risk`, at log(n mu sqrt(m) / d) = `at`."""
    table = shipped()
    of_method = table[table["method"] == name]
    mine = of_method[of_method["known"] == known]
    mine = (mine if len(mine) else of_method).sort_values("place")
    low, high = (risk * math.exp(np.interp(at, mine["place"], np.log(mine[end]))) for end in ("low", "high"))
    return low, high
