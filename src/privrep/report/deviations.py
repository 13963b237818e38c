"""What was revised after results existed, how gaps of the papers were filled, and what stands in for something else."""

from __future__ import annotations

import html

from privrep.report.html_pieces import table
from privrep.report.spelling import typeset

KINDS = {
    "revised-after-results": "Revised after results existed",
    "revised-after-confirmation": "Revised after the confirmation on a second master seed",
    "left-open": "Left open by the papers",
    "fallback": "Fallbacks",
    "split": "Which samples serve which step",
    "analogue": "Analogues of methods that are not linear",
    "stand-in": "Stand-ins",
}
"""Kind of a deviation -> caption of its table."""


def deviations_table(deviations: list[dict]) -> str:
    """All entries, one table for each kind."""
    parts = []
    for kind, caption in KINDS.items():
        rows = [_row(entry) for entry in deviations if entry["kind"] == kind]
        if rows:
            parts.append(table(["Where", "What", "Why", "Effect"], rows, caption, kind="errata"))
    return "".join(parts)


def _row(entry: dict) -> list[str]:
    places = ", ".join(html.escape(place) for place in entry["where"])
    commits = ", ".join(f"<code>{commit}</code>" for commit in entry.get("commits", []))
    where = f'<span class="id">{entry["id"]}</span> <span class="place">{places}</span>'
    return [where, f"{typeset(entry['what'])} {commits}".strip(), typeset(entry["why"]), typeset(entry["effect"])]
