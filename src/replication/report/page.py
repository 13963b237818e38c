"""The page of a run: its texts and tables laid out, with formulas, names of headings and contents, in a frame.

The page needs no network: formulas become MathML, pictures and tables are inside.
Its scripts add search, and numbers at a pointer.
"""

from __future__ import annotations

import html
import re

import latex2mathml.converter
from markupsafe import Markup
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from replication.evidence.verdicts import GROUPS
from replication.report import record, summary
from replication.report.chapters import chapter, text
from replication.report.claims_table import all_rows
from replication.report.layout import PIECES, laid_out
from replication.report.run_tables import Run
from replication.report.spelling import slug, unused
from replication.run.config import ROOT, read_papers
from replication.run.models import ConfigError

ASSETS = ROOT / "workflow" / "page"
TITLE = "Learning a shared representation under user-level differential privacy"
SKIPPED = ("code", "pre", "svg", "style", "script", "math", "button")
"""Elements in which a dollar sign begins no formula."""


def from_markdown(source: str) -> Markup:
    """Return Markdown as HTML, with its formulas left as they are; tables scroll and have headers of columns."""
    text = MarkdownWithMath(renderer=IPythonRenderer(escape=False, exclude_anchor_links=True)).render(source)
    text = re.sub(r"<th(?=>| style)", '<th scope="col"', text)
    parts = re.split(r"(<table>.*?</table>)", text, flags=re.DOTALL)
    parts[1::2] = [PIECES.scrolling(caller=lambda table=table: Markup(table)) for table in parts[1::2]]
    return Markup("".join(parts))


def formula(latex: str, display: str) -> str:
    """Return LaTeX as MathML; raise ConfigError for HTML in it, such as a linked number: tags would be symbols."""
    source = html.unescape(latex).strip()
    if "</" in source:
        raise ConfigError(f"HTML in the formula ${source}$; a number within a formula is {{{{ value(...) | number }}}}")
    mathml = latex2mathml.converter.convert(source, display=display)
    mathml = mathml.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
    return mathml.replace("<mo>&#x02016;</mo>", '<mo stretchy="false">&#x02016;</mo>')


def with_formulas(content: str) -> str:
    """Replace $...$ and $$...$$ by MathML, in text alone: not in tags, code or pictures."""
    pieces, depth = [], 0
    for piece in re.split(r"(<!--.*?-->|<[^>]+>)", content, flags=re.DOTALL):
        tag = re.match(r"<(/?)([a-zA-Z0-9]+)", piece)
        if tag:
            if tag[2].lower() in SKIPPED and not piece.endswith("/>"):
                depth += -1 if tag[1] else 1
        elif not depth:
            piece = re.sub(r"\$\$(.+?)\$\$", lambda match: formula(match[1], "block"), piece, flags=re.DOTALL)
            piece = re.sub(r"\$([^$\n]+?)\$", lambda match: formula(match[1], "inline"), piece)
        pieces.append(piece)
    return "".join(pieces)


def with_anchors(content: str) -> str:
    """Give the headings ids, so that the table of contents can link to them."""
    taken = set(re.findall(r'\bid="([^"]+)"', content))

    def named(match: re.Match) -> str:
        name = unused(slug(re.sub(r"<[^>]+>", "", html.unescape(match[2]))), taken)
        return match[0].replace(">", f' id="{name}">', 1)

    return re.sub(r"<h([23])>(.*?)</h\1>", named, content, flags=re.DOTALL)


def contents(content: str) -> list[tuple[str, list]]:
    """Return the parts of the page, each with id and text of its headings of second level, and of those of third level
    below them."""
    parts: list[tuple[str, list]] = []
    pattern = r'<!-- part: (.*?) -->|<h([23]) id="([^"]+)"[^>]*>(.*?)</h\2>'
    for part, level, name, words in re.findall(pattern, content, flags=re.DOTALL):
        heading = name, Markup(re.sub(r"<[^>]+>", "", words).strip())
        if part:
            parts.append((part, []))
        elif level == "2":
            parts[-1][1].append((heading, []))
        else:
            parts[-1][1][-1][1].append(heading)
    return parts


def body(run: Run) -> Markup:
    """Return the content of the page of a run."""
    about = read_papers()
    return laid_out(
        "content.html.jinja",
        title=TITLE,
        record=run.provenance,
        of_record=record.with_record(run),
        alone=run.alone,
        small=run.small,
        about=about,
        text=lambda name: from_markdown(text(name, run)),
        tally=summary.tally(run.claims),
        contradictions=summary.contradictions(run.of_record if run.small else run.claims),
        verdicts=GROUPS,
        chapters={
            name: [from_markdown(chapter(study, run)) for study in paper.chapters] for name, paper in about.items()
        },
        rows=all_rows(run.claims, run.shown(), summary.claims_touched(run.errata), run.grid_of, run.verdicts_of_record),
        others=run.section_others,
        confirmation=record.confirmation(run.claims),
        deviations=summary.ERRATA.deviations(run.deviations),
        errata=summary.errata_list(run.errata),
        candidates=summary.candidates_table(run.errata),
        provenance=record.provenance_table(run.provenance),
    )


def page(run: Run) -> str:
    """Return the page of a run, with all styles and scripts of workflow/page."""
    content = with_formulas(with_anchors(body(run)))
    style, script = (
        Markup("\n".join(path.read_text(encoding="utf-8") for path in sorted(ASSETS.glob(f"*.{kind}"))))
        for kind in ("css", "js")
    )
    return laid_out(
        "page.html.jinja", title=TITLE, contents=contents(content), content=Markup(content), style=style, script=script
    )
