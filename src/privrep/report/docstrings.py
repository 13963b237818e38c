"""Docstrings as Markdown for the pages of the interface.

They are written to be read as they stand: formulas in plain text, where * and < are no marks; `name : meaning` for a
parameter or an attribute; pseudo-code, tables and examples set apart.
"""

from __future__ import annotations

import inspect
import re

SECTION = re.compile(r"(\w[\w ]*)\n-{3,}\n(.*)", re.DOTALL)
NAMED = re.compile(r"(?:^|(?<=[.;] ))(\*{0,2}[A-Za-z]\w*(?:, \w+)*) : ", re.MULTILINE)
KEPT = re.compile(r"(`[^`]*`|^\* )", re.MULTILINE)
"""Code, and the mark of a list."""
COLUMNS = re.compile(r"\S {2,}\S")
MARKS = str.maketrans({char: f"&#{ord(char)};" for char in "&<>*[~|\\"})


def prose(text: str) -> str:
    """Return text in which formulas stand for themselves and the names that it explains are code."""
    parts = KEPT.split(NAMED.sub(r"`\1`: ", text))
    return "".join(part if number % 2 else part.translate(MARKS) for number, part in enumerate(parts))


def items(body: str) -> list[str]:
    """Return the entries of a section, each of which begins with its name or has its meaning indented below."""
    out: list[str] = []
    lines = body.split("\n")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith(" ") or (out and not NAMED.match(line) and not following.startswith(" ")):
            out[-1] += f" {line.strip()}"
        else:
            alone = following.startswith(" ") and not NAMED.match(line)
            out.append(f"{line} :" if alone and re.fullmatch(r"\w+", line) else line)
    return out


def block(text: str) -> str:
    """Return the Markdown of one block of a docstring, between blank lines."""
    if section := SECTION.fullmatch(text):
        return f"###### {section[1]}\n\n" + "\n".join(f"- {prose(item)}" for item in items(section[2]))
    if text.startswith(">>> "):
        return f"```pycon\n{text}\n```"
    if text.startswith("    "):
        return text
    if COLUMNS.search(text):
        return "\n".join(f"    {line}" for line in text.split("\n"))
    return prose(text)


def markdown(docstring: str) -> str:
    """Return the Markdown of a docstring."""
    return "\n\n".join(map(block, re.split(r"\n{2,}", inspect.cleandoc(docstring))))
