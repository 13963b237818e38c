"""The confirmation on the page: the comparison of docs/confirmation.csv, or a sentence that says that there is none."""

from __future__ import annotations

import html
from pathlib import Path

from privrep.evidence.confirmation import ALONE, agreement, changed, revised_since, spelled, verdict_counts
from privrep.report.badges import badge, by_mood
from privrep.report.html_pieces import command_line, table
from privrep.report.spelling import typeset
from privrep.run.config import ROOT
from privrep.run.csv_tables import read_rows


def section(docs: Path = ROOT / "docs") -> list[str]:
    """Paragraphs and tables of the section, as HTML.

    Parameters
    ----------
    docs : folder with confirmation.csv, if there is one, and with the claims.csv of the present default run.
    """
    path = docs / "confirmation.csv"
    if not path.exists():
        return [
            f"<p>No confirmation was run: the configuration was not yet frozen. {command_line('make confirmation SEED=...')}</p>"
        ]
    rows = read_rows(path)
    fact, counts = rows[0], {word: numbers for word, *numbers in verdict_counts(rows)}
    parts = [
        f"<p>The configuration was frozen at commit <code>{html.escape(fact['commit'][:10])}</code> and run once more, with master seed "
        f"<code>{fact['confirmed_seed']}</code> in place of <code>{fact['seed']}</code>. {ALONE}</p>",
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
    revised = revised_since(rows, read_rows(docs / "claims.csv"))
    if revised:
        parts.append(f"<p>{typeset(revised)}</p>")
    return parts
