"""The documents of the repository that show the run of record: the findings in the README, and docs/results.md.
Written by `make docs`.

They are made of the tables in docs/ alone, so that a test can make them again where nothing was run.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import pandas as pd

from replication.evidence import compare
from replication.evidence.compare import Pair, both_tested, changed, confirmation_pairs, number_text, paired, summary
from replication.evidence.facts import NotMeasured
from replication.evidence.verdicts import NEGATIVE, Verdict
from replication.report.chapters import page_text
from replication.report.layout import laid_out
from replication.report.record import DOCS, confirmation_of, reasons
from replication.report.run_tables import Measures, Run, listed, read_text
from replication.report.stub_run import planned_sizes
from replication.report.summary import by_severity
from replication.run.csv_tables import read_rows
from replication.run.models import ConfigError

BLOCK = re.compile(r"(<!-- measured: [^\n]*-->\n).*?(<!-- end of measured -->)", flags=re.DOTALL)
"""The part of the README that is written."""


class Documented(Run):
    """The run of record, with claims and measures, without facts and, in place of cells, their planned settings."""

    def __init__(self, docs: Path = DOCS):
        record = docs / "record"
        claims, errata = (read_text(record / f"{name}.csv") for name in ("claims", "errata"))
        super().__init__(claims, errata, json.loads((record / "provenance.json").read_text()), record, record)

    @cached_property
    def measured(self) -> pd.DataFrame:
        """All measures of the run of record."""
        return read_text(self.results / "measures.csv")

    def measures(self, study: str) -> Measures:
        rows = self.measured
        return Measures(rows[rows["study"] == study].set_index("quantity"), listed(study))

    def sizes(self, study: str) -> pd.DataFrame:
        return planned_sizes(study, self.scale)

    def fact(self, study: str, name: str) -> object:
        raise NotMeasured(name)


def with_findings(readme: str, run: Documented) -> str:
    """Return the README with the findings of the report's opening, each number linked to its line of claims.csv, or of
    measures.csv where it decides no row."""
    link = r'<a class="q" href="#([^"]+)"[^>]*>(.*?)</a>'
    opening = page_text("opening", run)  # names the quantities that decide no row
    lines = record_lines(run)
    opening = re.sub(link, lambda match: f"[{match[2]}](docs/record/{lines[match[1]]})", opening)
    findings = re.search(r"^### .*?(?=\n### |\Z)", as_markdown(opening), flags=re.MULTILINE | re.DOTALL)[0].strip()
    return BLOCK.sub(lambda match: f"{match[1]}\n{findings}\n\n{match[2]}", readme)


def record_lines(run: Documented) -> dict[str, str]:
    """Place in the page -> the table and line of the run of record that has its number."""
    tables = (("claims", run.rows, run.claims, "id"), ("measures", run.others, run.measured, "study"))
    return {
        places[name]: f"{table}.csv#L{line}"
        for table, places, rows, key in tables
        for line, name in enumerate(zip(rows[key], rows["quantity"], strict=True), 2)
        if name in places
    }


def as_markdown(text: str) -> str:
    """Return a text of the report without the page's own elements and links, its headings one level lower."""
    text = re.sub(r"</?(?:div|span)\b[^>]*>", "", text)
    text = re.sub(r"\[([^\]]+)\]\(#[^)]*\)", r"\1", text)
    text = re.sub(r"\n{3,}", "\n\n", text)
    return html.unescape(re.sub(r"^## ", "### ", text, flags=re.MULTILINE)).strip()


def results_page(docs: Path = DOCS) -> str:
    """Return docs/results.md: claims, contradictions, the default run and the run on another seed."""
    record, confirmation = docs / "record", confirmation_of(docs)
    claims = read_rows(record / "claims.csv")
    pairs = both_tested(paired((default for default, _ in confirmation), claims))
    return laid_out(
        "results.md.jinja",
        about=json.loads((record / "provenance.json").read_text()),
        claims=verdicts_by_claim(claims),
        contradictions=contradictions(claims),
        verdicts=[[word, word.meaning] for word in Verdict],
        default=summary(pairs),
        differ=explained(changed(pairs), docs),
        confirmation=summary(confirmation),
        table=_table,
    )


def confirmation_page(rows: list[dict]) -> str:
    """Return docs/confirmation.md, from the rows of docs/confirmation.csv."""
    pairs = confirmation_pairs(rows)
    agreement, differ = f"{summary(pairs)} {compare.coverage(pairs)}", compare.table(changed(both_tested(pairs)))
    return laid_out("confirmation.md.jinja", fact=rows[0], agreement=agreement, differ=differ, table=_table)


def explained(pairs: list[Pair], docs: Path = DOCS) -> list[list[str]]:
    """Return the rows whose verdicts differ with why, or raise ConfigError if an explanation is missing or idle."""
    known = reasons(docs)
    found = {(row["id"], row["quantity"]) for row, _ in pairs}
    wrong = [(name, "is not explained") for name in sorted(found - known.keys())]
    wrong += [(name, "has the same verdict in both runs") for name in sorted(known.keys() - found)]
    if wrong:
        lines = "; ".join(f"{' '.join(name)} {what}" for name, what in wrong)
        raise ConfigError(f"docs/record/differences.yaml: {lines}")
    return [[*cells, known[cells[0], cells[1]]] for cells in compare.table(pairs)]


def verdicts_by_claim(claims: list[dict]) -> list[list[str]]:
    """Return each claim with its place and how many of its quantities have each verdict."""
    own = pd.DataFrame(claims).query("whose == 'paper' and basis != 'definition' and rule != 'all_hold'")
    return [
        [claim, place, ", ".join(f"{count} {word}" for word, count in Counter(rows["verdict"]).items())]
        for (claim, place), rows in own.groupby(["id", "place"], sort=False)
    ]


def contradictions(claims: list[dict]) -> list[list[str]]:
    """Return what does not hold as printed, the most severe first."""
    rows = by_severity(row for row in claims if row["verdict"] in list(NEGATIVE))
    measured = (f"{row['quantity']}: {number_text(row)}, claimed {row['claimed']}; {row['verdict']}" for row in rows)
    return [
        [row["id"], row["severity"], row["printed"], text, row["advice"]]
        for row, text in zip(rows, measured, strict=True)
    ]


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(header), ["---"] * len(list(header)), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
