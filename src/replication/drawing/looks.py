"""Looks of series: those of methods and other series in looks.toml, and looks for values with or without an order."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any

import seaborn as sns

from replication.drawing.style import short


@dataclass(frozen=True)
class Look:
    """Label, colour, marker and line of a series. dash : matplotlib's line style, "" for none. filled : of markers."""

    label: str
    colour: str
    marker: str = "o"
    dash: str = "-"
    filled: bool = True

    def but(self, label: str | None = None, **changed: object) -> Look:
        """Return a copy of the look with another label, where one is given, and with other fields changed."""
        return replace(self, label=self.label if label is None else label, **changed)


STATED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
METHODS = {name: Look(**stated) for name, stated in STATED["methods"].items()}
"""Method -> its look in every figure."""


def look(method: str, label: str | None = None, **changed: object) -> Look:
    """Return the look of a method with another label, where one is given, and with other fields changed."""
    return METHODS[method].but(label, **changed)


def looks(study: str, table: str) -> dict[str, Look]:
    """Return name -> look of a table of a study in looks.toml."""
    return {name: _stated(**stated) for name, stated in STATED[study][table].items()}


def _stated(like: str = "", **stated: Any) -> Look:
    return look(like, **stated) if like else Look(**stated)


def graded(values: Iterable[object], label: str = "{}", **changed: object) -> dict[object, Look]:
    """Return looks for ordered values, from light to dark: numbers by size, texts in the given order. label : text in
    which {} stands for a value, as `short` writes it."""
    different: list[Any] = list(dict.fromkeys(values))
    different.sort(key=lambda value: 0 if isinstance(value, str) else value)
    return _looks(different, sns.color_palette("crest", len(different)).as_hex(), "osD^vPX*", label, changed)


def distinct(values: Iterable[object], label: str = "{}", **changed: object) -> dict[object, Look]:
    """Return looks for values without an order."""
    colours = [
        METHODS[name].colour for name in ("centaur", "altmin", "unit", "fedrep", "fedavg", "ppsgd", "exponential")
    ]
    return _looks(dict.fromkeys(values), colours, "o^DsvPh", label, changed)


def _looks(values: Iterable[Any], colours: Iterable[str], marks: str, label: str, changed: dict) -> dict:
    texts = [label.format(value if isinstance(value, str) else short(value)) for value in values]
    drawn = zip(values, texts, cycle(colours), cycle(marks))
    return {value: Look(text, colour, mark, **changed) for value, text, colour, mark in drawn}
