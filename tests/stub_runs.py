"""Runs of stub tables for the tests of the report: with chosen verdicts, numbers and cells."""

import inspect
import json
import zlib
from collections.abc import Mapping
from functools import cache

import pandas as pd

from replication.evidence.facts import spelled
from replication.evidence.verdicts import Verdict
from replication.report.run_tables import Measures, listed, told
from replication.report.stub_run import StubRun, facts_of, quantities, stub_rows
from replication.run.config import study_names

Verdicts = Mapping[tuple[str, str], str]
"""Claim and quantity -> verdict."""


def own(quantity: str) -> tuple[float, float, float]:
    """A number with its ends that no other quantity has."""
    middle = 1 + zlib.crc32(quantity.encode()) / 2**32
    return middle, middle - 0.25, middle + 0.5


@cache
def stub_run(number: float) -> StubRun:
    """Its tables serve all runs with this number."""
    return StubRun(number)


FACTS: dict[tuple, object] = {}
"""Facts that rest on chosen quantities, None for one that cannot be had."""


class ChosenRun(StubRun):
    """A stub run with one number throughout, whose verdicts are chosen one by one; all others are undecided, and no
    text says so.

    Parameters
    ----------
    values : quantity -> number, or number with the ends of its interval, in place of the one number.
    table : the cells in place of stub ones.
    """

    def __init__(
        self,
        number: float = 1.5,
        verdicts: Verdicts | None = None,
        values: Mapping[str, float | tuple[float, float, float]] | None = None,
        table: pd.DataFrame | None = None,
    ):
        assert set(values or ()) <= {name for study in study_names() for name in listed(study)}
        stub, chosen = stub_run(number), verdicts or {}
        by_claim = {
            claim: [row | {"verdict": str(chosen.get((claim, row["quantity"]), Verdict.INCONCLUSIVE))} for row in rows]
            for claim, rows in stub.by_claim.items()
        }
        claims = stub.claims.assign(verdict=[row["verdict"] for rows in by_claim.values() for row in rows])
        own = {"claims": claims, "by_claim": by_claim, "provenance": dict(stub.provenance)}
        own |= {"values": values or {}, "table": table, "doubts": {}, "read": {}}
        for name, value in (vars(stub) | own).items():
            object.__setattr__(self, name, value)

    def measures(self, study: str) -> Measures:
        self._folder(study)
        if study not in self.read:
            rows = {row["quantity"]: row | {"note": "as made up"} for row in stub_rows(study, self.number)}
            for quantity in set(self.values) & set(rows):
                value = self.values[quantity]
                ends = value if isinstance(value, tuple) else (value,) * 3
                rows[quantity] |= dict(zip(("measured", "ci_low", "ci_high"), map(str, ends), strict=True))
            self.read[study] = Measures(rows, listed(study))
        return self.read[study]

    def cells(self, study: str) -> pd.DataFrame:
        return super().cells(study) if self.table is None else self.table

    def fact(self, study: str, name: str) -> object:
        fact = facts_of(study).get(name)
        rests_on_quantities = fact and inspect.getsource(getattr(fact, "func", fact)).count("quantities") > 1
        if fact is None or (self.table is None and not (self.values and rests_on_quantities)):
            return super().fact(study, name)
        key = (study, name, self.number, frozenset(self.values.items()), self.table is None)
        if self.table is not None or key not in FACTS:
            FACTS[key] = json.loads(spelled(fact, self.cells(study), quantities(self.measures(study))))
        return told(name, study, {name: FACTS[key]})

    def sizes(self, study: str) -> pd.DataFrame:
        self._folder(study)
        return super().sizes(study)

    def section_figure(self, study: str, figure: str) -> str:
        return f"[figure {super().section_figure(study, figure)}]"

    def section_claims(self, *claims: str) -> str:
        return " ".join(f"[claim {claim}]" for claim in claims)
