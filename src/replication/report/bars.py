"""A small picture of one judged number: the interval, what is claimed and what the rule tolerates, on one scale."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

from replication.evidence.compare import interval_of

WIDTH = 120
MARGIN, OPEN_MARGIN = 6, 24
"""Room beside the marks, and on a side on which all is tolerated."""
LOG_FROM = 20
"""Positive numbers that differ by more than this factor stand on a logarithmic scale."""


@dataclass(frozen=True)
class Bar:
    """What is drawn. The claimed side reaches from `low` to `high`, which may be infinite;
    `claimed` is its edge or its middle."""

    measured: float
    start: float
    end: float
    claimed: float
    low: float
    high: float


def bar_of(row: dict) -> Bar | None:
    """The bar of a row of claims.csv, its numbers as text; None where there is no number to draw.
    An exponent is drawn as corrected for the finite grid."""
    measured, start, end = interval_of(row)
    if row["rule"] in ("", "all_hold") or not math.isfinite(measured):
        return None
    if not (math.isfinite(start) and math.isfinite(end)):
        start = end = measured
    claimed = float(row["claimed"].removeprefix("<= ").removeprefix(">= "))
    tolerance = float(row["tolerance"] or 0)
    low, high = claimed - tolerance, claimed + tolerance
    if row["rule"] == "at_most":
        low = -math.inf
    elif row["rule"] == "at_least":
        high = math.inf
    return Bar(measured, start, end, claimed, low, high)


def drawn(row: dict) -> Bar | None:
    """The bar of a row with the places of its marks on one scale, in units of the picture."""
    found = bar_of(row)
    if found is None:
        return None
    marks = astuple(found)
    finite = [mark for mark in marks if math.isfinite(mark)]
    least, most = min(finite), max(finite)
    scale = math.log if least > 0 and most > LOG_FROM * least else float
    least, most = scale(least), scale(most)
    span = (most - least) or abs(most) or 1.0
    left, right = (MARGIN if math.isfinite(end) else OPEN_MARGIN for end in (found.low, found.high))
    start_at = left if most > least else (WIDTH + left - right) / 2

    def place(value: float) -> float:
        if not math.isfinite(value):
            return 0.0 if value < 0 else float(WIDTH)
        at = start_at + (scale(value) - least) / span * (WIDTH - left - right)
        return round(min(max(at, 0), WIDTH), 1)

    return Bar(*map(place, marks))
