"""The papers, and the errata found in them."""

from __future__ import annotations

import html
from collections.abc import Mapping

import pandas as pd

from privrep.evidence.catalogue import SET_ASIDE
from privrep.evidence.verdicts import SEVERITIES
from privrep.report.html_pieces import table
from privrep.report.spelling import typeset
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


def errata_table(errata: pd.DataFrame) -> str:
    """What is printed, what is right, and how that was shown."""
    rows = []
    for row in decided(errata).to_dict("records"):
        confirmed = row["confirmed"] == "yes"
        mood, word = ("good", "confirmed") if confirmed else ("bad", "not confirmed")
        mark = f'<span class="badge {mood}">{word}</span>'
        place = f"{html.escape(row['paper'])}, {typeset(row['place'])}"
        rows.append(
            [
                f'<span class="id">{html.escape(row["id"])}</span><span class="place">{place}</span>',
                f"<b>{row['severity']}</b> {SEVERITIES[row['severity']]}",
                row["changes"],
                typeset(row["printed"]),
                typeset(row["correct"]),
                f"{typeset(row['demonstration'])} <b>Found:</b> {typeset(row['measured'])}. {mark}",
            ]
        )
    return table(["Place", "Severity", "Changes", "Printed", "Correct", "Demonstration"], rows, kind="errata")


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
