"""Largest singular value of a matrix of normals, used by laws of both papers."""

from __future__ import annotations

import numpy as np
import pandas as pd

Values = float | np.ndarray | pd.Series
"""A number, or an array of one number per row."""


TRACY_WIDOM_MEAN = -1.2065
"""Mean of the Tracy-Widom law of real matrices."""


def edge(d: Values, k: Values) -> Values:
    """Root mean square of the largest singular value of a (d - k, k) matrix of unit normals: sqrt(d - 1) for k = 1,
    else about sqrt(d - k) + sqrt(k), less the edge fluctuation of 5 to 20 % at d = 20 to 80 (Johnstone 2001)."""
    long, short = np.sqrt(np.asarray(d, dtype=float) - k - 1), np.sqrt(k)
    square = (long + short) ** 2 + TRACY_WIDOM_MEAN * (long + short) * np.cbrt(1 / long + 1 / short)
    return np.sqrt(np.where(np.equal(k, 1), np.subtract(d, 1), square))
