"""Facts: contents of a study's chapter besides quantities. They are not claims, and are not judged."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from replication.evidence.measured import Measured


class NotMeasured(LookupError):
    """Raised where a run, at its scale, lacks a quantity that its study's file lists, or the data that a fact needs."""


class Quantities(dict[str, Measured]):
    """The quantities of a run that are finite, by name. Looking up any other name raises NotMeasured."""

    def __init__(self, measured: Iterable[Measured]):
        super().__init__({measure.quantity: measure for measure in measured if math.isfinite(measure.measured)})

    def numbered(self, prefix: str) -> dict[float, Measured]:
        """Return number -> quantity for the quantities named `<prefix> <number>`, in ascending order of the numbers."""
        ends = {name: re.fullmatch(rf"{re.escape(prefix)} ([\d.]+)", name) for name in self}
        return dict(sorted((float(end[1]), self[name]) for name, end in ends.items() if end))

    def __missing__(self, name: str) -> Measured:
        raise NotMeasured(name)


Fact = Callable[[Any, Quantities], object]
"""Function of the cells and the quantities of a study: a number, a text, a table, or lists and dicts by name of these.
It raises NotMeasured where a run lacks its data. `FACTS` in the analysis of a study maps names to its facts."""


def total(cells: pd.DataFrame, quantities: Quantities, names: Iterable[str]) -> float:
    """Return the sum of named quantities."""
    return sum(quantities[name].measured for name in names)


def spelled(fact: Fact, cells: pd.DataFrame | None, quantities: Quantities) -> str:
    """Return a fact as JSON: tables as lists of rows, null where data are missing; numbers keep all their digits."""
    try:
        return json.dumps(fact(cells, quantities), default=_plain)
    except NotMeasured:
        return "null"


def _plain(value: Any) -> object:
    return value.to_dict("records") if isinstance(value, pd.DataFrame) else value.item()


def facts_json(facts: Mapping[str, Fact], cells: pd.DataFrame | None, quantities: Quantities) -> str:
    """Return all facts of a study by name, as JSON."""
    lines = [f"{json.dumps(name)}: {spelled(fact, cells, quantities)}" for name, fact in facts.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"
