"""Grounds of a paragraph, and how a run contradicts them.

A ground is a claim, its verdict and quantities (all exponents where none is named); or a quantity, "<" or ">" and a
limit; or a number, "<" or ">", a limit and the number's name.
"""

from __future__ import annotations

import html
import math
import operator
from typing import Any

from markupsafe import Markup

from replication.evidence.verdicts import Verdict
from replication.report import spelling
from replication.report.chapter_numbers import ChapterNumbers
from replication.report.layout import PIECES

SIGNS = {"<": operator.lt, ">": operator.gt}
UNDECIDED = (Verdict.INCONCLUSIVE, Verdict.NOT_TESTED)
"""Verdicts that contradict no paragraph."""


def not_repeated(numbers: ChapterNumbers, name: str | float, sign: str, *more: Any) -> list[str]:
    """The rows of a ground that confirmations did not repeat, with the reason for doubt; none if it is not a claim."""
    if sign in SIGNS:
        return []
    rows = numbers.run.decided(str(name), sign, *more)
    same = [row["quantity"] for row in rows if row["verdict"] == sign]
    doubts = {quantity: numbers.run.doubts.get((str(name), quantity)) for quantity in same}
    return [f"{text}: {spelling.typeset(quantity)}" for quantity, text in doubts.items() if text]


def against(numbers: ChapterNumbers, name: str | float, sign: str, *more: Any) -> list[Markup]:
    """The rows or the number with which a run contradicts a ground, as HTML; none if it does not."""
    if sign not in SIGNS:
        rows = numbers.run.decided(str(name), sign, *more)
        different = [row for row in rows if row["verdict"] not in (*UNDECIDED, sign)]
        words = [f"{html.escape(row['quantity'])}: {row['verdict']}, {spelling.of_row(row)}" for row in different]
        places = [numbers.run.rows[row["id"], row["quantity"]] for row in different]
        return [PIECES.quoted(Markup(text), place) for text, place in zip(words, places, strict=True)]
    limit, *called = more
    if isinstance(name, str):
        row, called = numbers.row(name), [numbers.place(name)[1]]
        text, ends = spelling.of_row(row), [float(row[end]) for end in ("ci_low", "ci_high")]
        best = (min if sign == "<" else max)(ends) if all(map(math.isfinite, ends)) else float(row["measured"])
    else:
        best, text = name, spelling.number(name)
    undecided = math.isnan(best) or math.isnan(limit)
    return [] if undecided or SIGNS[sign](best, limit) else [Markup(f"{html.escape(called[0])}: {text}")]
