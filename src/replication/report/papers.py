"""The errata found in the papers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

import pandas as pd
from markupsafe import Markup

from replication.evidence.catalogue import Change
from replication.evidence.verdicts import SEVERITIES
from replication.report.layout import macros

ERRATA = macros("errata.html.jinja")


def decided(errata: pd.DataFrame) -> pd.DataFrame:
    """Errata with a demonstration."""
    return errata[errata["confirmed"].isin(("yes", "no"))]


def by_change(errata: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The errata by what they change, the most severe first, as they are counted:
    without those that are one question with another."""
    rows = decided(errata)
    rows = rows[rows["same_as"] == ""]
    return {change: part for change in get_args(Change) if len(part := rows[rows["changes"] == change])}


def by_severity(rows: Iterable[dict]) -> list[dict]:
    """The rows of claims or errata, the most severe first."""
    return sorted(rows, key=lambda row: [*SEVERITIES, ""].index(row["severity"]))


def claims_touched(errata: pd.DataFrame) -> dict[str, list[str]]:
    """Id of a claim -> ids of the errata that a reader of it should know."""
    found: dict[str, list[str]] = {}
    for row in decided(errata).to_dict("records"):
        for claim in _claims(row):
            found.setdefault(claim, []).append(row["id"])
    return found


def _claims(row: dict) -> list[str]:
    return row["claims"].split("; ") if row["claims"] else []


def errata_list(errata: pd.DataFrame) -> Markup:
    """What is printed, what is right, how that was shown, and what it changes, the most severe first;
    one question stands together."""
    every = [row | {"touched": _claims(row)} for row in decided(errata).to_dict("records")]
    changes = {change: [] for change in by_change(errata)}
    for row in by_severity(row for row in every if not row["same_as"]):
        changes[row["changes"]] += [row, *(other for other in every if other["same_as"] == row["id"])]
    return ERRATA.errata(changes)


def candidates_table(errata: pd.DataFrame) -> Markup:
    """What was suspected, and why it was set aside."""
    return ERRATA.candidates(errata.drop(decided(errata).index).to_dict("records"))
