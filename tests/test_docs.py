"""The README shows what was measured: its table is the one that docs/claims.csv gives."""

from __future__ import annotations

import importlib.util
import re

from workflow_helpers import ROOT

from privrep.tables import read_rows

spec = importlib.util.spec_from_file_location("update_docs", ROOT / "workflow" / "scripts" / "update_docs.py")
update_docs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(update_docs)


def test_readme_table_is_the_measured_one():
    """An edit of the table by hand, or of docs/claims.csv alone, shows here."""
    readme = (ROOT / "README.md").read_text()
    claims = read_rows(ROOT / "docs" / "claims.csv")
    measures = read_rows(ROOT / "docs" / "figure2_measures.csv")
    assert update_docs.with_block(readme, claims, measures) == readme
    changed = [dict(row, verdict="VIOLATED") for row in claims]
    assert update_docs.with_block(readme, changed, measures) != readme
    changed = [dict(row, measured="0.5") for row in measures]
    assert update_docs.with_block(readme, claims, changed) != readme


def test_readme_names_existing_files_and_targets():
    """Paths and make targets in the README exist."""
    readme = (ROOT / "README.md").read_text()
    for path in re.findall(r"`((?:config|workflow/scripts|tests)/[\w/.-]+)", readme):
        assert (ROOT / path).exists(), path
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"`?make (\w+)", readme)) - {"sets"}:
        assert re.search(rf"^[\w ]*\b{target}\b[\w ]*:", makefile, flags=re.MULTILINE), target


HEADLINE = {("A-L4.6", f"exponent of {name}") for name in ("n", "d", "k", "Delta")} | {
    ("A-L4.4", f"privacy: exponent of {name}") for name in ("n", "d", "k", "Delta")
}
"""Exponents on which the comparison of the papers rests."""


def test_intervals_are_as_narrow_as_promised():
    """At the default scale: +-0.05 for the headline exponents, +-0.15 for risks, +-0.1 for the rest."""
    rates = [row for row in read_rows(ROOT / "docs" / "claims.csv") if row["rule"] == "rate"]
    assert {(row["id"], row["quantity"]) for row in rates} >= HEADLINE
    for row in rates:
        limit = 0.15 if row["study"] == "risk" else 0.1
        limit = 0.05 if (row["id"], row["quantity"]) in HEADLINE else limit
        assert (float(row["ci_high"]) - float(row["ci_low"])) / 2 <= limit, (row["id"], row["quantity"])
