"""A small picture of one judged number: the interval, what is claimed and what the rule tolerates, on one scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

WIDTH, HEIGHT = 120, 14
MARGIN, OPEN_MARGIN = 6, 24
"""Room beside the marks, and on a side on which all is tolerated."""
LOG_FROM = 20
"""Positive numbers that differ by more than this factor stand on a logarithmic scale."""


@dataclass(frozen=True)
class Bar:
    """What is drawn. The claimed side reaches from `low` to `high`, which may be infinite; `claimed` is its edge or its middle."""

    measured: float
    start: float
    end: float
    claimed: float
    low: float
    high: float


def bar_of(row: dict) -> Bar | None:
    """The bar of a row of claims.csv, its numbers as text; None where there is no number to draw. An exponent is drawn as corrected for the finite grid."""
    if row["rule"] in ("", "all_hold") or not _finite(row["measured"]):
        return None
    claimed = float(row["claimed"].removeprefix("<= ").removeprefix(">= "))
    measured = float(row["measured"])
    shift = float(row["corrected"]) - measured if _finite(row["corrected"]) else 0.0
    ends = [row["ci_low"], row["ci_high"]] if _finite(row["ci_low"]) and _finite(row["ci_high"]) else [measured] * 2
    start, end = (float(one) + shift for one in ends)
    tolerance = float(row["tolerance"] or 0)
    low, high = claimed - tolerance, claimed + tolerance
    if row["rule"] == "at_most":
        low = -math.inf
    elif row["rule"] == "at_least":
        high = math.inf
    return Bar(measured + shift, start, end, claimed, low, high)


def _finite(text: str) -> bool:
    return text != "" and math.isfinite(float(text))


def bar(row: dict, mood: str) -> str:
    """The same as SVG in a colour of the mood; the numbers stand beside it, so that a screen reader skips it."""
    found = bar_of(row)
    if found is None:
        return ""
    marks = [
        found.measured,
        found.start,
        found.end,
        found.claimed,
        *(x for x in (found.low, found.high) if math.isfinite(x)),
    ]
    least, most = min(marks), max(marks)
    if least > 0 and most > LOG_FROM * least:
        scale = math.log
        least, most = math.log(least), math.log(most)
    else:
        scale = float
    span = (most - least) or abs(most) or 1.0
    left, right = (MARGIN if math.isfinite(end) else OPEN_MARGIN for end in (found.low, found.high))
    start_at = left if most > least else (WIDTH + left - right) / 2

    def place(value: float) -> float:
        if not math.isfinite(value):
            return 0.0 if value < 0 else float(WIDTH)
        at = start_at + (scale(value) - least) / span * (WIDTH - left - right)
        return round(min(max(at, 0), WIDTH), 1)

    low, high, half = place(found.low), place(found.high), HEIGHT / 2
    drawn = f'<rect x="{low:g}" y="1" width="{max(high - low, 0):g}" height="{HEIGHT - 2}"/>' if high > low else ""
    drawn += f'<path class="claim-mark" d="M{place(found.claimed):g} 0V{HEIGHT}"/>'
    start, end = place(found.start), place(found.end)
    drawn += f'<path d="M{start:g} {half:g}H{end:g}"/>' if end > start else ""
    drawn += f'<circle cx="{place(found.measured):g}" cy="{half:g}" r="3"/>'
    return f'<svg class="bar {mood}" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{drawn}</svg>'
