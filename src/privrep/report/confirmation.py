"""The confirmation on the page: the comparison of docs/confirmation.csv, or a sentence that says that there is none."""

from __future__ import annotations

import html
from pathlib import Path

import pandas as pd

from privrep.evidence.confirmation import ALONE, agreement, changed, spelled, verdict_counts
from privrep.report.badges import badge, by_mood
from privrep.report.html_pieces import command_line, table
from privrep.report.spelling import typeset
from privrep.run.config import ROOT
from privrep.run.csv_tables import read_rows


def section(claims: pd.DataFrame, docs: Path = ROOT / "docs") -> list[str]:
    """Paragraphs and tables of the section, as HTML.

    Parameters
    ----------
    claims : rows of claims.csv, as text. docs : folder with confirmation.csv, if there is one.
    """
    path = docs / "confirmation.csv"
    if not path.exists():
        return [
            f"<p>No confirmation was run: the configuration was not yet frozen. {command_line('make confirmation SEED=...')}</p>"
        ]
    rows = read_rows(path)
    fact, counts = rows[0], {word: numbers for word, *numbers in verdict_counts(rows)}
    now = claims["confirmed"].value_counts()
    parts = [
        f"<p>The configuration was frozen at commit <code>{html.escape(fact['commit'][:10])}</code> and run once more, with master seed "
        f"<code>{fact['confirmed_seed']}</code> in place of <code>{fact['seed']}</code>. {ALONE}</p>",
        f"<p>Of {len(claims)} rows of this run {now.get('yes', 0)} have the verdict that was confirmed, {now.get('no', 0)} another one; "
        f"{now.get('not run', 0)} were not in that run, or are judged by a rule that was revised since.</p>",
        f"<p>{typeset(agreement(rows))}</p>",
        table(
            ["Verdict", "First run", "Second run"],
            [[badge(word), *map(str, counts[word])] for word in by_mood(counts)],
            "Verdicts in both runs",
        ),
    ]
    differ = [
        [
            f'<span class="id">{html.escape(row["id"])}</span> {typeset(row["quantity"])}',
            f"{typeset(spelled(row))} {badge(row['verdict'])}",
            f"{typeset(spelled(row, 'confirmed_'))} {badge(row['confirmed_verdict'])}",
        ]
        for row in changed(rows)
    ]
    if differ:
        parts.append(table(["Quantity", "First run", "Second run"], differ, "Quantities whose verdict differs"))
    return parts
