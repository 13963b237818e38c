"""The papers, and the errata found in them."""

from __future__ import annotations

import html
from collections.abc import Mapping

import pandas as pd

from privrep.evidence.catalogue import SET_ASIDE
from privrep.evidence.verdicts import SEVERITIES
from privrep.report.badges import claim_anchor, erratum_anchor
from privrep.report.html_pieces import table
from privrep.report.spelling import plural, sentence, typeset
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
    return errata[errata["confirmed"] != SET_ASIDE]


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
    """What is printed, what is right, how that was shown, and what it changes, the gravest first."""
    parts = []
    for severity, words in SEVERITIES.items():
        rows = decided(errata)
        rows = rows[rows["severity"] == severity].to_dict("records")
        if rows:
            title = f"{sentence(words)}: {plural(len(rows), 'erratum', 'errata')}"
            parts.append(f"<h3>{title}</h3>\n" + "".join(_erratum(row) for row in rows))
    return "\n".join(parts)


def _erratum(row: dict) -> str:
    confirmed = row["confirmed"] == "yes"
    mood, word = ("good", "confirmed") if confirmed else ("bad", "not confirmed")
    entries = {
        "Printed": typeset(row["printed"]),
        "Right": typeset(row["correct"]),
        "Demonstration": typeset(row["demonstration"]),
        "Measured": f"{typeset(row['measured'])} <span class='badge {mood}'>{word}</span>",
        "What it changes": f"{typeset(row['changes'])}",
    }
    claims = _claims(row)
    if claims:
        entries["Claims"] = ", ".join(f'<a href="#{claim_anchor(claim)}">{html.escape(claim)}</a>' for claim in claims)
    listed = "".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in entries.items())
    place = f"{html.escape(row['paper'])}, {typeset(row['place'])}"
    changes = f"changes {typeset(row['changes'])}"
    return (
        f'<details class="erratum" id="{erratum_anchor(row["id"])}"><summary><span class="id">{html.escape(row["id"])}</span> '
        f'{place} <span class="place">{changes}</span></summary><dl>{listed}</dl></details>'
    )


def candidates_table(errata: pd.DataFrame) -> str:
    """What was suspected, and why it was set aside."""
    rows = [
        [
            f'<span class="id">{html.escape(row["id"])}</span><span class="place">{html.escape(row["paper"])}, {typeset(row["place"])}</span>',
            typeset(row["printed"]),
            typeset(row["correct"]),
        ]
        for row in errata[errata["confirmed"] == SET_ASIDE].to_dict("records")
    ]
    return table(["Place", "Suspected", "Why it is no erratum here"], rows, kind="errata")
