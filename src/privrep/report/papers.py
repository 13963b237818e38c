"""The papers, and the errata found in them."""

from __future__ import annotations

import html
from collections.abc import Iterable

import pandas as pd

from privrep.evidence.claims import SEVERITIES
from privrep.report.html_pieces import table
from privrep.report.spelling import typeset

PAPERS = {
    "jain2021": "P. Jain, J. K. Rush, A. Smith, S. Song, A. Thakurta: "
    "<cite>Differentially Private Model Personalization</cite>. NeurIPS 2021.",
    "shen2023": "Z. Shen, J. Ye, A. Kang, H. Hassani, R. Shokri: "
    "<cite>Share Your Representation Only: Guaranteed Improvement of the Privacy-Utility Tradeoff in Federated "
    "Learning</cite>. ICLR 2023.",
}


def papers(names: Iterable[str]) -> str:
    """What the papers are, in the order given."""
    entries = "".join(f"<dt><code>{name}</code></dt><dd>{PAPERS.get(name, '')}</dd>" for name in dict.fromkeys(names))
    return f'<dl class="papers">{entries}</dl>'


def errata_table(errata: pd.DataFrame) -> str:
    """What is printed, what is right, and how that was shown."""
    rows = []
    for row in errata.to_dict("records"):
        confirmed = row["confirmed"] == "yes"
        mood, word = ("good", "confirmed") if confirmed else ("bad", "not confirmed")
        mark = f'<span class="badge {mood}">{word}</span>'
        place = f"{html.escape(row['paper'])}, {typeset(row['place'])}"
        rows.append(
            [
                f'<span class="id">{html.escape(row["id"])}</span><span class="place">{place}</span>',
                f"<b>{row['severity']}</b> {SEVERITIES[row['severity']]}",
                typeset(row["printed"]),
                typeset(row["correct"]),
                f"{typeset(row['demonstration'])} <b>Found:</b> {typeset(row['measured'])}. {mark}",
            ]
        )
    return table(["Place", "Severity", "Printed", "Correct", "Demonstration"], rows, kind="errata")
