"""The documents of the repository that show the run of record: caption, methods and findings in the README,
docs/results.md and docs/table_1.md. Written by `make docs`.

They are made of the tables in docs/ alone, so that a test can make them again where nothing was run."""

from __future__ import annotations

import html
import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from replication.evidence import compare
from replication.evidence.compare import Pair, both_tested, changed, confirmation_pairs, number_text, paired, summary
from replication.evidence.counts import AGREES, by_outcome, own_statements
from replication.evidence.facts import NotMeasured
from replication.evidence.verdicts import NEGATIVE, SEVERITIES, Verdict
from replication.report.chapter_numbers import ChapterNumbers
from replication.report.chapters import TEXTS, Text
from replication.report.layout import laid_out
from replication.report.record import DOCS, confirmation_of, reasons
from replication.report.run_tables import Measures, Run, judged, listed, read_text
from replication.report.stub_run import planned_sizes
from replication.report.summary import by_question, by_severity
from replication.run.config import read_papers
from replication.run.csv_tables import read_rows
from replication.run.models import ConfigError
from replication.studies.images.analysis import LABELS, best_clips, leads, lines

BLOCK = re.compile(r"(<!-- measured: [^\n]*-->\n).*?(<!-- end of measured -->)", flags=re.DOTALL)
"""The part of the README that is generated from texts/readme.md.jinja."""


class Documented(Run):
    """The run of record, which has claims and measures, no facts and, in place of cells, their planned settings."""

    def __init__(self, docs: Path = DOCS):
        record = docs / "record"
        claims, errata = (read_text(record / f"{name}.csv") for name in ("claims", "errata"))
        super().__init__(claims, errata, json.loads((record / "provenance.json").read_text()), record, record)

    @cached_property
    def measured(self) -> pd.DataFrame:
        """All measures of the run of record."""
        return read_text(self.results / "measures.csv")

    def measures(self, study: str) -> Measures:
        rows: list[dict] = self.measured[self.measured["study"] == study].to_dict("records")
        return Measures({row["quantity"]: row for row in rows}, listed(study))

    def sizes(self, study: str) -> pd.DataFrame | None:
        return planned_sizes(study, self.scale)

    def fact(self, study: str, name: str) -> object:
        raise NotMeasured(name)

    def line_of(self, study: str, quantity: str) -> str:
        """Return table and line of a quantity: the first row of claims.csv that it decides, or its own row of
        measures.csv."""
        decides = {
            (claim.id, item.quantity) for claim, item in judged() if item.measured == quantity and claim.study == study
        }
        tables = ("claims", "id", self.claims, decides), ("measures", "study", self.measured, {(study, quantity)})
        for name, key, rows, wanted in tables:
            for line, place in enumerate(zip(rows[key], rows["quantity"], strict=True), 2):
                if place in wanted:
                    return f"{name}.csv#L{line}"
        raise NotMeasured(quantity)


class LinkedNumbers(ChapterNumbers):
    """Numbers for a document of the repository; each links to its line in the tables of the run of record."""

    def run_on(self, images: str) -> list[str]:
        """Name the methods that were run on a set of images."""
        methods = set(read_text(self.run.results / "images.csv").query("images == @images")["method"])
        return [name for method, name in LABELS.items() if method in methods]

    def _link(self, place: tuple[str, str], text: str, whole: str) -> Markup:
        record: Any = self.run  # the run of record, whose tables have lines
        return Markup(f"[{text}](docs/record/{record.line_of(*place)})")


def with_findings(readme: str, run: Documented) -> str:
    """Return the README with its figure's caption, table of methods and findings filled from the run of record."""
    more: dict[str, object] = {"log": math.log, **counts(run)}
    text = as_markdown(Text(TEXTS / "readme.md.jinja", LinkedNumbers(run), more).filled())
    return BLOCK.sub(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", readme)


def text_page(name: str, run: Documented) -> str:
    """Return docs/article.md; or docs/table_1.md, which has the choices that are in the scripts of shen2023 and not in
    its text, and our runs beside its Table 1."""
    more = {"runs": pd.read_csv(run.results / "images.csv"), "lines": lines, "leads": leads, "best_clips": best_clips}
    more |= {**counts(run), "about": run.provenance}
    return as_markdown(Text(TEXTS / f"{name}.jinja", LinkedNumbers(run), more).filled()).replace("](docs/", "](") + "\n"


def counts(run: Documented) -> dict[str, dict[str, int]]:
    """Count the statements of the papers, and ours, by outcome."""
    return {"counted": by_outcome(run.claims), "ours": by_outcome(run.claims, "ours")}


def letters(docs: Path = DOCS) -> dict[str, str]:
    """Return paper -> letter to its authors: statements that hold, then the errata, the most severe first."""
    claims, errata = (read_text(docs / "record" / f"{name}.csv") for name in ("claims", "errata"))
    own = own_statements(claims)
    own = own[own["verdict"] != Verdict.NOT_TESTED]
    written = {}
    for key, paper in read_papers().items():
        mine, wrong = own[own["paper"] == key], errata[errata["paper"] == key].fillna("").to_dict("records")
        holds = mine.groupby("id", sort=False).filter(lambda rows: rows["verdict"].isin(AGREES).all())
        questions = by_question(wrong)
        by_letter = {letter: [row for row in questions if row["severity"] == letter] for letter in SEVERITIES}
        if key in set(claims.loc[claims["whose"] == "paper", "paper"]):
            written[key] = laid_out(
                "letter.md.jinja",
                paper=paper,
                holds=holds.drop_duplicates("id").to_dict("records"),
                counts=by_outcome(mine),
                errata=by_letter,
            )
    return written


def pages(docs: Path = DOCS) -> dict[str, str]:
    """Return the documents that are made of the run of record alone, by their paths in docs/."""
    written = {f"letters/{paper}.md": letter for paper, letter in letters(docs).items()}
    texts = {name: text_page(name, Documented(docs)) for name in ("article.md", "table_1.md")}
    return {"results.md": results_page(docs), **texts, **written}


def as_markdown(text: str) -> str:
    """Return a text of the report without the page's own elements."""
    text = re.sub(r"</?(?:div|span)\b[^>]*>", "", text)
    return html.unescape(re.sub(r"\n{3,}", "\n\n", text)).strip()


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
    pairs, (seeds, differ) = confirmation_pairs(rows), compare.every_seed(rows)
    same = sum(row["measured"] == other["measured"] for row, other in both_tested(pairs))
    agreement = f"{summary(pairs)} {same} have one number in both: nothing in them is drawn. {compare.coverage(pairs)}"
    return laid_out(
        "confirmation.md.jinja", fact=rows[0], agreement=agreement, seeds=seeds, differ=differ, table=_table
    )


def explained(pairs: list[Pair], docs: Path = DOCS) -> list[list[str]]:
    """Return rows with two different verdicts and the reason; ConfigError if a row has no reason or a reason no row."""
    known = reasons(docs)
    differing = {(row["id"], row["quantity"]) for row, _ in pairs}
    wrong = [(name, "is not explained") for name in sorted(differing - known.keys())]
    wrong += [(name, "has the same verdict in both runs") for name in sorted(known.keys() - differing)]
    if wrong:
        lines = "; ".join(f"{' '.join(name)} {what}" for name, what in wrong)
        raise ConfigError(f"docs/record/differences.yaml: {lines}")
    return [[*cells, known[cells[0], cells[1]]] for cells in compare.table(pairs)]


def verdicts_by_claim(claims: list[dict]) -> list[list[str]]:
    """Return each claim with its place and the number of its quantities by verdict."""
    own = pd.DataFrame(claims).query("whose == 'paper' and basis != 'definition' and rule != 'all_hold'")
    return [
        [str(claim), str(place), ", ".join(f"{count} {word}" for word, count in Counter(rows["verdict"]).items())]
        for (claim, place), rows in own.groupby(["id", "place"], sort=False)
    ]


def contradictions(claims: list[dict]) -> list[list[str]]:
    """Return the statements that do not hold as printed, the most severe first."""
    rows = by_severity(row for row in claims if row["verdict"] in list(NEGATIVE))
    measured = (f"{row['quantity']}: {number_text(row)}, claimed {row['claimed']}; {row['verdict']}" for row in rows)
    return [
        [row["id"], row["severity"], row["printed"], text, row["advice"]]
        for row, text in zip(rows, measured, strict=True)
    ]


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(header), ["---"] * len(list(header)), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
