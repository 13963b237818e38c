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
from pathlib import Path

import pandas as pd

from privrep.evidence.confirmation import NUMBERS, agreement, changed, revised_since, with_interval
from privrep.evidence.verdicts import NEGATIVE, SEVERITIES, Verdict
from privrep.report.anchors import claim_anchor
from privrep.report.chapters import page_text
from privrep.report.of_record import DOCS, both_tested, differing, reasons
from privrep.report.run_tables import Measures, Run, listed, read_text
from privrep.report.stub_run import planned_sizes
from privrep.run.csv_tables import read_rows
from privrep.run.settings import ConfigError

BLOCK = re.compile(r"(<!-- measured: [^\n]*-->\n).*?(<!-- end of measured -->)", flags=re.DOTALL)
"""The part of the README that is written."""


DEFAULT_COLUMNS = ("id", "quantity", "verdict", *NUMBERS[1:], "seeds", "reason")
"""Of docs/default.csv: what the default run found."""


class Documented(Run):
    """The run of record: its claims and measures. Of its cells the settings are known."""

    def __init__(self, docs: Path = DOCS):
        record = docs / "record"
        tables = {"results": record, "figures": record, "captions": {}, "deviations": []}
        errata = read_text(record / "errata.csv")
        super().__init__(
            read_text(record / "claims.csv"), errata, json.loads((record / "provenance.json").read_text()), **tables
        )

    def measures(self, study: str) -> Measures:
        rows = read_text(self.results / "measures.csv")
        return Measures(rows[rows["study"] == study].set_index("quantity"), listed(study))

    def sizes(self, study: str) -> pd.DataFrame:
        return planned_sizes(study, self.scale)


def with_findings(readme: str, run: Run) -> str:
    """The README with the first section of the report's opening in its place.
    A number leads to the first row of its claim in docs/record/claims.csv."""
    lines = {
        claim_anchor(claim): f"docs/record/claims.csv#L{row + 2}"
        for row, claim in reversed(list(enumerate(run.claims["id"])))
    }
    opening = re.sub(
        r'<a class="q" href="#([^"]+)">(.*?)</a>',
        lambda match: f"[{match[2]}]({lines[match[1]]})",
        page_text("opening", run),
    )
    findings = re.findall(r"^### .*?(?=\n### |\Z)", as_markdown(opening), flags=re.MULTILINE | re.DOTALL)[0]
    findings = findings.strip()
    return BLOCK.sub(lambda match: f"{match[1]}\n{findings}\n\n{match[2]}", readme)


def as_markdown(text: str) -> str:
    """A text of the report without the page's own elements and links; headings a level lower."""
    text = re.sub(r"</?(?:div|span)\b[^>]*>", "", text)
    text = re.sub(r"\[([^\]]+)\]\(#[^)]*\)", r"\1", text)
    text = re.sub(r"\n{3,}", "\n\n", text)
    return html.unescape(re.sub(r"^## ", "### ", text, flags=re.MULTILINE)).strip()


def results_page(docs: Path = DOCS) -> str:
    """docs/results.md: what became of each claim, what does not hold as printed, the default run, and the run on
    another seed."""
    record, confirmed = docs / "record", read_rows(docs / "confirmation.csv")
    claims, default = read_rows(record / "claims.csv"), read_rows(docs / "default.csv")
    about = json.loads((record / "provenance.json").read_text())
    letters = "; ".join(f"{letter} {meaning}" for letter, meaning in SEVERITIES.items())
    pairs = both_tested(claims, default)
    return (
        "\n\n".join(
            [
                "# Results of the run of record",
                "Written by `make docs` from the tables in [record](record) and beside it. "
                "[claims.csv](record/claims.csv) has every row with its interval and reason.",
                f"Scale {about['config']['scale']}, master seed `{about['config']['master_seed']}`, commit "
                f"`{about['commit']}`, finished {about['finished'][:10]}: {about['cell_cpu_seconds'] / 3600:.1f} CPU "
                f"hours on {about['cpu']}.",
                "## What became of each claim",
                "The papers' own statements. Not counted are corrections, laws and limits of this project, and what "
                "holds by definition.",
                _table(("claim", "place", "verdicts on its quantities"), verdicts_by_claim(claims)),
                "## What does not hold as printed",
                f"Severity: {letters}.",
                _table(("claim", "severity", "printed", "measured", "what to do"), contradictions(claims)),
                "## What the verdicts mean",
                _table(("verdict", "meaning"), [[word, word.meaning] for word in Verdict]),
                "## The default run beside it",
                f"Of {len(pairs)} rows that both runs tested {len(pairs) - len(differing(pairs))} have the same "
                "verdict. Why the others differ is written by hand in [differences.yaml](record/differences.yaml).",
                _table(("claim", "quantity", "default", "record", "why"), explained(differing(pairs), docs)),
                "## The default run once more",
                "On a master seed never used; see [confirmation.md](confirmation.md).",
                agreement(confirmed),
                _table(("claim", "quantity", "first run", "second run"), other_verdicts(confirmed)),
                revised_since(confirmed, default),
            ]
        ).rstrip()
        + "\n"
    )


def explained(pairs: list[tuple[dict, dict]], docs: Path = DOCS) -> list[list[str]]:
    """The rows of the run of record with another verdict than the default run, and why.

    Raises
    ------
    ConfigError
        If one is not explained, or an explanation explains nothing.
    """
    known = reasons(docs)
    found = {(row["id"], row["quantity"]) for row, _ in pairs}
    wrong = [(name, "is not explained") for name in sorted(found - known.keys())]
    wrong += [(name, "has the same verdict in both runs") for name in sorted(known.keys() - found)]
    if wrong:
        lines = "; ".join(f"{' '.join(name)} {what}" for name, what in wrong)
        raise ConfigError(f"docs/record/differences.yaml: {lines}")
    return [
        [
            row["id"],
            row["quantity"],
            f"{with_interval(default)}, {default['verdict']}",
            f"{with_interval(row)}, {row['verdict']}",
            known[row["id"], row["quantity"]],
        ]
        for row, default in pairs
    ]


def verdicts_by_claim(claims: list[dict]) -> list[list[str]]:
    """Claim, place, and how many of its quantities have each verdict."""
    own = [
        row for row in claims if row["whose"] == "paper" and row["basis"] != "definition" and row["rule"] != "all_hold"
    ]
    counts: dict[str, Counter] = {}
    for row in own:
        counts.setdefault(row["id"], Counter())[row["verdict"]] += 1
    places = {row["id"]: row["place"] for row in claims}
    return [
        [claim, places[claim], ", ".join(f"{count} {word}" for word, count in words.items())]
        for claim, words in counts.items()
    ]


def contradictions(claims: list[dict]) -> list[list[str]]:
    """What does not hold as printed, the most severe first."""
    negative = [row for row in claims if row["verdict"] in list(NEGATIVE)]
    return [
        [
            row["id"],
            row["severity"],
            row["printed"],
            f"{row['quantity']}: {with_interval(row)}, claimed {row['claimed']}; {row['verdict']}",
            row["advice"],
        ]
        for row in sorted(negative, key=lambda row: [*SEVERITIES, ""].index(row["severity"]))
    ]


def other_verdicts(confirmed: list[dict]) -> list[list[str]]:
    """The quantities whose verdict the second run does not share."""
    return [
        [
            row["id"],
            row["quantity"],
            f"{with_interval(row)}, {row['verdict']}",
            f"{with_interval(row, 'confirmed_')}, {row['confirmed_verdict']}",
        ]
        for row in changed(confirmed)
    ]


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(header), ["---"] * len(list(header)), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
