"""Rows of claims, with the printed or claimed value beside the measured one: short for a chapter, and all rows with
their details."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import pandas as pd
from markupsafe import Markup

from replication.evidence.compare import interval_of
from replication.evidence.verdicts import Verdict
from replication.report.layout import BAR_WIDTH, macros
from replication.report.spelling import row_anchor, unused

CLAIMS = macros("claims.html.jinja")
Names = Mapping[tuple[str, str], str]
"""(Claim id, quantity) -> text."""
NONE: Names = MappingProxyType({})
MARGIN, OPEN_MARGIN = 6, 24
"""Margin beside the marks, in units of the picture, and on a side where the claimed range is infinite."""
LOG_FROM = 20
"""Positive numbers that differ by more than this factor are drawn on a logarithmic scale."""
SHOWN_SHIFT = 0.005
"""Least correction of an exponent for the finite grid that is shown."""
TOO_SMALL = r"^needs scale |did not run at this scale$"
"""Pattern of the reasons of rows for which a run is too small, see `replication.evidence.claims`."""
ORIGINS = {"correction": "our correction", "ours": "ours", "computed": "computed", "definition": "by definition"}
"""Source of a row's statement, or its evidence -> words, where the row is not a measured statement of the paper."""


def by_scale(claims: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows that this run decides, or leaves open for another reason, and rows that need a larger scale."""
    small = (claims["verdict"] == Verdict.NOT_TESTED) & claims["reason"].str.contains(TOO_SMALL)
    return claims[~small], claims[small]


def brief_table(claims: pd.DataFrame, record: Names = NONE) -> Markup:
    """Return a short table of claims, one group of rows each. Rows that need a larger scale show the verdict of the
    run of record, or are counted in one line."""
    rows, small = (claims, claims[:0]) if record else by_scale(claims)
    parts = [part.to_dict("records") for _, part in rows.groupby(["paper", "id"], sort=False)]
    return CLAIMS.brief([[_shown(row, record) for row in part] for part in parts], len(small))


def all_rows(
    claims: pd.DataFrame, figures: list[str], errata: Mapping[str, list[str]], grid: Callable, record: Names = NONE
) -> Markup:
    """Return every row with its details: its figure, if the page has it, errata of its claim, and grid of its study.
    The same rows are data for the page's script, as indices into a list of all texts. Rows that the scale does not test
    come last, with the verdict of the run of record."""
    names = row_anchors(claims)
    claims = pd.concat(by_scale(claims))
    rows = []
    for row, first in zip(claims.to_dict("records"), ~claims["id"].duplicated(), strict=True):
        about = {"name": names[row["id"], row["quantity"]], "first": first, "errata": errata.get(row["id"], [])}
        rows.append(_shown(row, record) | about | {"shown": row["figure"] in figures, "grid": grid(row)})
    cells = [list(claims.columns), *claims.to_numpy().tolist()]
    texts = {text: at for at, text in enumerate(dict.fromkeys(text for line in cells for text in line))}
    return CLAIMS.every(rows, [list(texts), *([texts[text] for text in line] for line in cells)])


def row_anchors(claims: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return the anchor of the row of each claim and quantity."""
    taken: set[str] = set()
    return {name: unused(row_anchor(*name), taken) for name in zip(claims["id"], claims["quantity"], strict=True)}


def _shown(row: dict, record: Names) -> dict:
    """Return a row of claims.csv with more fields for its cells: its origin, any other verdict on another seed, its
    bar, whether its correction for the grid is shown, and its verdict in the run of record."""
    origin = [ORIGINS[row[name]] for name in ("whose", "basis") if row[name] in ORIGINS]
    origin += ["another verdict on another seed"] if row["confirmed"] == "no" else []
    shift = float(row["corrected"] or "nan") - float(row["measured"] or "nan")
    shifted = row["rule"] == "rate" and math.isfinite(shift) and abs(shift) > SHOWN_SHIFT
    small = row["verdict"] == Verdict.NOT_TESTED and re.search(TOO_SMALL, row["reason"])
    of_record = record.get((row["id"], row["quantity"]), "") if small else ""
    return row | {"origin": origin, "marks": drawn(row), "shifted": shifted, "of_record": of_record}


class Bar(NamedTuple):
    """Marks of a judged number with an interval from `start` to `end`. The claimed range is from `low` to `high`, which
    may be infinite; `claimed` is its edge or its middle."""

    measured: float
    start: float
    end: float
    claimed: float
    low: float
    high: float


def bar_of(row: dict) -> Bar | None:
    """Return the bar of a row of claims.csv, whose numbers are text; None where there is no number to draw.
    An exponent is drawn as corrected for the finite grid."""
    measured, start, end = interval_of(row)
    if row["rule"] in ("", "all_hold") or not math.isfinite(measured):
        return None
    if not (math.isfinite(start) and math.isfinite(end)):
        start = end = measured
    claimed = float(row["claimed"].removeprefix("<= ").removeprefix(">= "))
    tolerance = float(row["tolerance"] or 0)
    low = -math.inf if row["rule"] == "at_most" else claimed - tolerance
    high = math.inf if row["rule"] == "at_least" else claimed + tolerance
    return Bar(measured, start, end, claimed, low, high)


def drawn(row: dict) -> Bar | None:
    """Return the bar of a row with its numbers as positions on one scale, in units of the picture."""
    bar = bar_of(row)
    if bar is None:
        return None
    finite = [mark for mark in bar if math.isfinite(mark)]
    least, most = min(finite), max(finite)
    scale = math.log if least > 0 and most > LOG_FROM * least else float
    least, most = scale(least), scale(most)
    span = (most - least) or abs(most) or 1.0
    left, right = (MARGIN if math.isfinite(end) else OPEN_MARGIN for end in (bar.low, bar.high))
    start_at = left if most > least else (BAR_WIDTH + left - right) / 2

    def place(value: float) -> float:
        if not math.isfinite(value):
            return 0.0 if value < 0 else float(BAR_WIDTH)
        at = start_at + (scale(value) - least) / span * (BAR_WIDTH - left - right)
        return round(min(max(at, 0), BAR_WIDTH), 1)

    return Bar(*map(place, bar))
