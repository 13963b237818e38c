"""The papers, and the errata found in them."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import get_args

import pandas as pd

from privrep.evidence.catalogue import Change
from privrep.evidence.verdicts import SEVERITIES
from privrep.report.badges import claim_anchor, erratum_anchor
from privrep.report.html_pieces import table
from privrep.report.spelling import plural, typeset
from privrep.run.settings import Paper


def papers(about: Mapping[str, Paper]) -> str:
    """What the papers are, in the order given."""
    entries = "".join(
        f"<dt><code>{name}</code></dt><dd>{html.escape(f'{paper.authors}: ')}<cite>{html.escape(paper.title)}</cite>. {html.escape(paper.venue)}.</dd>"
        for name, paper in about.items()
    )
    return f'<dl class="papers">{entries}</dl>'


def decided(errata: pd.DataFrame) -> pd.DataFrame:
    """Errata with a demonstration."""
    return errata[errata["confirmed"].isin(("yes", "no"))]


def by_change(errata: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The errata by what they change, the gravest first, as they are counted: without those that are one question with another."""
    rows = decided(errata)
    rows = rows[rows["same_as"] == ""]
    return {change: part for change in get_args(Change) if len(part := rows[rows["changes"] == change])}


def claims_touched(errata: pd.DataFrame) -> dict[str, list[str]]:
    """Id of a claim -> ids of the errata that a reader of it should know."""
    found: dict[str, list[str]] = {}
    for row in decided(errata).to_dict("records"):
        for claim in _claims(row):
            found.setdefault(claim, []).append(row["id"])
    return found


def _claims(row: dict) -> list[str]:
    return row["claims"].split("; ") if row["claims"] else []


def errata_list(errata: pd.DataFrame) -> str:
    """What is printed, what is right, how that was shown, and what it changes, the gravest first; one question stands together."""
    parts = []
    for change, rows in by_change(errata).items():
        parts.append(f"<h3>Changes {change}: {plural(len(rows), 'erratum', 'errata')}</h3>\n")
        for row in rows.sort_values(
            "severity", key=lambda column: column.map([*SEVERITIES].index), kind="stable"
        ).to_dict("records"):
            parts += map(_erratum, [row, *decided(errata).query("same_as == @row['id']").to_dict("records")])
    return "".join(parts)


def _erratum(row: dict) -> str:
    confirmed = row["confirmed"] == "yes"
    mood, word = ("good", "confirmed") if confirmed else ("bad", "not confirmed")
    entries = {
        "Printed": typeset(row["printed"]),
        "Right": typeset(row["correct"]),
        "Demonstration": typeset(row["demonstration"]),
        "Measured": f"{typeset(row['measured'])} <span class='badge {mood}'>{word}</span>",
        "What it changes": f"{typeset(row['changes'])}; {SEVERITIES[row['severity']]}",
    }
    if row["same_as"]:
        entries["One question with"] = (
            f'<a href="#{erratum_anchor(row["same_as"])}">{row["same_as"]}</a>, counted there'
        )
    claims = _claims(row)
    if claims:
        entries["Claims"] = ", ".join(f'<a href="#{claim_anchor(claim)}">{html.escape(claim)}</a>' for claim in claims)
    listed = "".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in entries.items())
    place = f"{html.escape(row['paper'])}, {typeset(row['place'])}"
    kind = f"one question with {row['same_as']}" if row["same_as"] else SEVERITIES[row["severity"]]
    return (
        f'<details class="erratum" id="{erratum_anchor(row["id"])}"><summary><span class="id">{html.escape(row["id"])}</span> '
        f'{place} <span class="place">{kind}</span></summary><dl>{listed}</dl></details>'
    )


def candidates_table(errata: pd.DataFrame) -> str:
    """What was suspected, and why it was set aside."""
    rows = [
        [
            f'<span class="id">{html.escape(row["id"])}</span><span class="place">{html.escape(row["paper"])}, {typeset(row["place"])}</span>',
            typeset(row["printed"]),
            typeset(row["correct"]),
        ]
        for row in errata.drop(decided(errata).index).to_dict("records")
    ]
    return table(["Place", "Suspected", "Why it is no erratum here"], rows, kind="errata")
