# ruff: noqa: RUF001  (typographic signs are meant)
"""Pieces of HTML that know nothing of privacy: tables."""

from __future__ import annotations

import re
from collections.abc import Iterable

from markupsafe import Markup

from privrep.report.layout import macros

PIECES = macros("pieces.html.jinja")


def table(
    header: Iterable[str], rows: Iterable[Iterable[str]], caption: str = "", kind: str = "", row_header: bool = True
) -> Markup:
    """A table in a container that scrolls. Cells are HTML; a cell with a number alone does not wrap."""
    beside_digits = r"<[^>]+>|[\s,.\[\]×−–✓✗∞†]"
    cells = [[(Markup(text), re.sub(beside_digits, "", text).isdigit()) for text in row] for row in rows]
    return PIECES.table([*map(Markup, header)], cells, Markup(caption), kind, row_header)
