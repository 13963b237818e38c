"""The run of record, whose tables stand in docs/record and whose page is docs/index.html, and how a run agrees with
it. A default run stands beside it in docs/default.csv; docs/record/differences.yaml says why the two differ."""

from __future__ import annotations

import json
from pathlib import Path

from markupsafe import Markup

from privrep.evidence.confirmation import by_name, with_interval
from privrep.evidence.verdicts import Verdict
from privrep.report.claims_table import row_anchor
from privrep.report.layout import macros
from privrep.report.run_tables import Run
from privrep.run.config import ROOT, read_yaml
from privrep.run.csv_tables import read_rows

DOCS = ROOT / "docs"


def both_tested(rows: list[dict], others: list[dict]) -> list[tuple[dict, dict]]:
    """The rows of two claims.csv that both runs tested, in pairs.

    Parameters
    ----------
    rows : of a run. others : of another one.
    """
    known = by_name(others)
    pairs = [(row, known[key]) for key, row in by_name(rows).items() if key in known]
    return [pair for pair in pairs if all(row["verdict"] != Verdict.NOT_TESTED for row in pair)]


def differing(pairs: list[tuple[dict, dict]]) -> list[tuple[dict, dict]]:
    """The pairs with two verdicts."""
    return [(row, other) for row, other in pairs if row["verdict"] != other["verdict"]]


def reasons(docs: Path = DOCS) -> dict[tuple[str, str], str]:
    """Claim and quantity -> why the default run has another verdict than the run of record."""
    entries = read_yaml(docs / "record" / "differences.yaml")["differences"]
    return {(one["id"], one["quantity"]): one["why"] for one in entries}


def agreement(run: Run, docs: Path = DOCS) -> Markup:
    """One line for the top of a page: this is the run of record, every row agrees with it, or these do not. A row that
    differs as the default run does says why."""
    about = json.loads((docs / "record" / "provenance.json").read_text())
    pairs = both_tested(run.claims.to_dict("records"), read_rows(docs / "record" / "claims.csv"))
    default, why = by_name(read_rows(docs / "default.csv")), reasons(docs)
    rows = []
    for row, other in differing(pairs):
        name = (row["id"], row["quantity"])
        known = name in default and default[name]["verdict"] == row["verdict"]
        shown = {"anchor": row_anchor(row), "record": with_interval(other), "other": other["verdict"]}
        rows.append(row | shown | {"why": why.get(name, "") if known else ""})
    hours = about.get("cell_cpu_seconds", 0) / 3600
    return macros("record.html.jinja").agreement(about == run.provenance, about, hours, len(pairs), rows)
