# ruff: noqa: RUF001  (typographic signs are meant)
"""Pieces of HTML that know nothing of privacy: tables, and downloads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

from markupsafe import Markup

from privrep.report.layout import macros

PIECES = macros("pieces.html.jinja")
EMBEDDED_BYTES = 200_000
"""Tables up to this size are put into the page for download."""
READABLE = ",.;:/()=+*^[]|@!?-_~"
"""Signs that an address of text keeps."""


def table(
    header: Iterable[str], rows: Iterable[Iterable[str]], caption: str = "", kind: str = "", row_header: bool = True
) -> Markup:
    """A table in a container that scrolls. Cells are HTML; a cell with a number alone does not wrap."""
    cells = [[(Markup(text), _is_number(text)) for text in row] for row in rows]
    return PIECES.table([*map(Markup, header)], cells, Markup(caption), kind, row_header)


def _is_number(text: str) -> bool:
    return re.sub(r"<[^>]+>|[\s,.\[\]×−–✓✗∞†]", "", text).isdigit()


def download(content: bytes, name: str, text: str = "numbers as CSV", label: str = "") -> Markup:
    """A link that saves a table; the name of the file when the table is too large for the page.

    label : what a screen reader says, where the text alone says too little.
    """
    address = "" if len(content) > EMBEDDED_BYTES else f"data:text/csv;charset=utf-8,{quote(content, safe=READABLE)}"
    return PIECES.download(name, name.rsplit("/", 1)[-1], address, text, label)
