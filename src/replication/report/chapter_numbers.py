"""The numbers of one run by name, as chapters and texts quote them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from markupsafe import Markup

from privrep.options import misnamed
from replication.report import spelling
from replication.report.layout import PIECES
from replication.report.run_tables import NotMeasured, Run
from replication.report.sizes import constants, enumerated, found, size
from replication.run.config import study_names
from replication.run.ingredients import called
from replication.run.models import ConfigError

STUDIES = cache(study_names)
_called = cache(called)


@dataclass
class ChapterNumbers:
    """Quantities, sizes, facts and constants of a run. A name belongs to the text's own study, unless it begins with
    another study: "risk: exponent privacy k"."""

    run: Run
    study: str = ""  # the study whose chapter the text is; empty for other texts
    tables: dict = field(default_factory=dict)  # tables read so far

    def value(self, quantity: str) -> float:
        """A measured number, for conditions and arithmetic."""
        return float(self.row(quantity)["measured"])

    def known(self, quantity: str) -> bool:
        """Whether this run has a number of a quantity."""
        study, name = self.place(quantity)
        return name in self._read("measures", study)

    def note(self, quantity: str) -> str:
        """The remark of the study on a quantity."""
        return self.row(quantity)["note"]

    def n(self, quantity: str, digits: int = 3) -> Markup:
        """A measured number alone, with a link to its row; its interval shows under the mouse pointer. A note follows
        if the row is undecided or was not repeated."""
        row = self.row(quantity)
        return self._linked(quantity, spelling.number(row["measured"], digits), spelling.of_row(row))

    def q(self, quantity: str) -> Markup:
        """A measured number as `n` writes it, followed by its interval."""
        return self._linked(quantity, spelling.of_row(self.row(quantity)))

    def e(self, fit: str) -> Markup:
        """A fitted exponent with its interval."""
        return self.q(f"exponent {fit}")

    def numbered(self, prefix: str) -> dict[float, float]:
        """Number -> value of the quantity named by the prefix and that number, ascending; NotMeasured without any."""
        study, name = self.place(prefix)
        return self._read("measures", study).numbered(name)

    def law(self, prefix: str) -> dict[str, float]:
        """Least and largest ratio of measured errors to a law over the fits with a prefix; number of these fits."""
        ratios = [self.value(name) for name in self._read("measures", self.study).named(f"constant {prefix}")]
        if not ratios:
            raise NotMeasured(f"constant {prefix}")
        return {"least": min(ratios), "largest": max(ratios), "sweeps": len(ratios)}

    def size(self, series: str, column: str) -> str:
        """The value of a column that all cells of a series share, as text."""
        study, name = self.place(series)
        return size(self._read("sizes", study), name, column)

    def values(self, series: str, column: str) -> str:
        """The distinct values of a column in the cells of a series, as a list or a range."""
        study, name = self.place(series)
        return enumerated(found(self._read("sizes", study), name, column))

    def fact(self, name: str) -> object:
        """A number, text or table that the analysis of the study makes besides its quantities."""
        return self.run.fact(*self.place(name))

    def constant(self, name: str) -> object:
        """A constant of the analysis of the study."""
        study, name = self.place(name)
        if name not in (known := constants(study)):
            raise ConfigError(misnamed(name, f"no constant of replication.studies.{study}.analysis", list(known)))
        return known[name]

    def called(self, series: str, beside: str = "") -> str:
        """The name of a series of a published method, "as published but for" its additions; with `beside`, only the
        additions that the series `beside` lacks."""
        study, name = self.place(series)
        return _called(study, name, beside)

    def place(self, name: str) -> tuple[str, str]:
        """The study to which a name belongs, and the name without that study."""
        study, colon, own = name.partition(": ")
        return (study, own) if colon and study in STUDIES() else (self.study, name)

    def row(self, quantity: str) -> Any:
        """The row of a quantity in the measures of its study, as text."""
        study, name = self.place(quantity)
        return self._read("measures", study).row(name)

    def _read(self, table: str, study: str) -> Any:
        """A table of a study, read once for each text."""
        if (table, study) not in self.tables:
            self.tables[table, study] = getattr(self.run, table)(study)
        return self.tables[table, study]

    def _linked(self, quantity: str, text: str, whole: str = "") -> Markup:
        """A number with its link and, in parentheses, any doubt about the row of the claims that it decides."""
        place = self.place(quantity)
        doubt = self.run.doubts.get(self.run.first_decided.get(place, ("", "")))
        return self._link(place, text, whole) + (f" ({doubt})" if doubt else "")

    def _link(self, place: tuple[str, str], text: str, whole: str) -> Markup:
        return PIECES.quoted(text, self.run.place_of(*place), whole)
