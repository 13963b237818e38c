# ruff: noqa: RUF001  (typographic signs are meant)
"""Pieces of HTML that know nothing of privacy: tables, commands and downloads."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from urllib.parse import quote

EMBEDDED_BYTES = 200_000
"""Tables up to this size are put into the page for download."""
READABLE = ",.;:/()=+*^[]|@!?-_~"
"""Signs that an address of text keeps."""


def table(
    header: list[str], rows: Iterable[list[str]], caption: str = "", kind: str = "", row_header: bool = True
) -> str:
    """An HTML table in a container that scrolls. Cells are HTML; a cell with a number alone does not wrap."""

    def cell(text: str, first: bool) -> str:
        if first and row_header:
            return f'<th scope="row">{text}</th>'
        plain = re.sub(r"<[^>]+>|[\s,.\[\]×−–✓✗∞†]", "", text)
        return f'<td class="number">{text}</td>' if plain.isdigit() else f"<td>{text}</td>"

    head = "".join(f'<th scope="col">{name}</th>' for name in header)
    body = "".join(f"<tr>{''.join(cell(text, not i) for i, text in enumerate(row))}</tr>" for row in rows)
    title = f"<caption><div>{caption}</div></caption>" if caption else ""
    return scrolling(
        f'<table class="{kind}">{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>', caption
    )


def scrolling(content: str, label: str = "") -> str:
    """A container that scrolls sideways by itself, by keyboard too."""
    name = re.sub(r"<[^>]+>", "", label) or "Table"
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{html.escape(name)}">{content}</div>'


def command_line(command: str) -> str:
    """A command that a reader can copy."""
    return f'<code class="command">{html.escape(command, quote=False)}</code>'


def data_uri(content: bytes, kind: str) -> str:
    """Text as a link target of its own."""
    return f"data:{kind};charset=utf-8,{quote(content, safe=READABLE)}"


def download(content: bytes, name: str, text: str = "numbers as CSV", label: str = "") -> str:
    """A link that saves a table; the name of the file when the table is too large for the page.

    label : what a screen reader says, where the text alone says too little.
    """
    if len(content) > EMBEDDED_BYTES:
        return f"{text}: <code>{html.escape(name)}</code>"
    file = name.rsplit("/", 1)[-1]
    spoken = f' aria-label="{label}"' if label else ""
    return f'<a download="{html.escape(file)}" href="{data_uri(content, "text/csv")}"{spoken}>{text}</a>'
