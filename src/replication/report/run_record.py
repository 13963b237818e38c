# ruff: noqa: RUF001  (typographic signs are meant)
"""The record of a run: what it was made with, when, and how long it took."""

from __future__ import annotations

from markupsafe import Markup

from replication.report.layout import macros
from replication.report.spelling import number, share


def provenance_table(record: dict) -> Markup:
    """What the run was made with, and how long it took: every entry named ..._seconds or share_... is shown."""
    packages = ", ".join(f"{name} {version}" for name, version in record["packages"].items())
    blas = " ".join(str(value) for value in (record.get("blas") or {}).values())
    times = [
        f"{_words(name.removesuffix('_seconds'))} {duration(value)}"
        for name, value in record.items()
        if name.endswith("_seconds")
    ]
    shares = {
        _words(name): "–" if value is None else share(value)
        for name, value in record.items()
        if name.startswith("share_")
    }
    return macros("record.html.jinja").provenance(record, packages, blas, times, shares)


def _words(name: str) -> str:
    """A key as words."""
    return name.replace("_", " ").replace("cpu", "CPU")


def duration(seconds: float) -> str:
    """Seconds in words.

    >>> duration(42), duration(754), duration(7300)
    ('42 s', '12.6 min', '2.03 h')
    """
    if seconds < 120:
        return f"{number(seconds)} s"
    return f"{number(seconds / 60)} min" if seconds < 7200 else f"{number(seconds / 3600)} h"
