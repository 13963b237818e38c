"""Chapters of the report: Markdown that a person wrote, with numbers by name.

A chapter is `chapter.md` in the folder of its study. Its words are fixed; Jinja2 puts in the numbers of the run that
is shown, by name (`replication.report.chapter_numbers`). A blank line ends a paragraph, except after a colon; each
item of a list is a paragraph of its own, except the three with which a chapter opens. A paragraph that needs a number
which a smaller run does not have is left out. Text between lines `::: title` and `:::` is folded until it is opened.

The YAML above the text (`Front`) defines the names that it uses, and the grounds of its paragraphs
(`replication.report.grounds`), each under the bold words at the paragraph's beginning, or `lead` for the opening. A
paragraph whose grounds the shown run contradicts is marked. A name that does not exist stops the build.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import jinja2
import yaml
from markupsafe import Markup
from pydantic import Field

from privrep.options import misnamed
from replication.report import spelling, summary
from replication.report.chapter_numbers import ChapterNumbers
from replication.report.claims_table import by_scale
from replication.report.grounds import against, not_repeated
from replication.report.layout import PIECES, macros
from replication.report.pictures import packed
from replication.report.run_tables import NotMeasured, Run
from replication.run.config import ROOT
from replication.run.models import ConfigError, Model, checked

MARK = 'class="differs"'
"""Attribute in the HTML tag of a mark that says what this run contradicts."""
LEAD_END = "\n\n</div>"
MORE = "<!-- more -->"
"""Mark in a chapter after which it is folded; without it, the fold begins after the opening and the first figure."""
OPENING_FIGURE = "comparison/promise"
"""The figure of the page's opening; the chapter of its study does not show it again."""
SMALL = "This run is too small to say what it found."

FRONT = re.compile(r"---\n(.*?\n)---\n+", flags=re.DOTALL)
FOLD = re.compile(r"^::: (.+?)$(.*?)^:::$", flags=re.MULTILINE | re.DOTALL)
BLANK = re.compile(r"(?<![^:]:)\n{2,}")
ITEM = re.compile(r"\n(?=- |\d+\. )")
LEAD = "- **Claimed.**"
TITLE = re.compile(r"(?:- |\d+\. )?\*\*(.+?)[.,:]?\*\*")
BESIDE_DIGITS = re.compile(r"<[^>]+>|[\s,.\[\]×−–✓✗∞†]")  # noqa: RUF001
"""Tags and signs that a table cell with a number alone may have besides the digits."""

CHAPTER = macros("chapter.md.jinja")
TEXTS = Path(__file__).with_name("texts")
"""Folder of the texts that belong to no study."""


def table(
    header: list[str], rows: Iterable, caption: str = "", kind: str = "", *, caller: Callable, **more: bool
) -> str:
    """A table that scrolls, as HTML; `caller` writes the cells of one row, separated by |. Empty without rows. A cell
    with a number alone does not wrap."""
    texts = [[cell.strip() for cell in caller(row).split("|")] for row in rows]
    if not texts:
        return ""
    cells = [[(Markup(text), BESIDE_DIGITS.sub("", text).isdigit()) for text in row] for row in texts]
    return PIECES.table([*map(Markup, header)], cells, Markup(caption), kind, **more) + "\n"


def _plain(value: object) -> object:
    """A number that a text outputs without a filter, in the shortest form: 1 for 1.0."""
    return f"{value:g}" if isinstance(value, float) else value


ENVIRONMENT = jinja2.Environment(
    undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_plain
)
ENVIRONMENT.filters |= {
    name: getattr(spelling, name)
    for name in ("number", "share", "listing", "count", "plural", "power", "codes", "typeset")
} | {"capital": spelling.sentence, "escaped": html.escape}
ENVIRONMENT.globals |= {"interval": spelling.interval, "guide": PIECES.guide, "packed": packed, "table": table}
template = cache(ENVIRONMENT.from_string)
compiled = cache(ENVIRONMENT.compile)


@cache
def expression(source: str) -> Callable[..., object]:
    """An expression of names as a function of these names; ConfigError if it is not valid."""
    try:
        return ENVIRONMENT.compile_expression(source, undefined_to_none=False)
    except jinja2.TemplateSyntaxError as error:
        raise ConfigError(f"{source!r}: {error.message}") from None


class Front(Model):
    """The YAML above a text.

    names : name -> its meaning, an expression.
    rests : bold words that a paragraph begins with -> its grounds, of which a part behind "=" is an expression.
    found_by : question -> words that the search finds it by.
    """

    names: dict[str, str] = Field(default_factory=dict)
    rests: dict[str, list[list[str | float]]] = Field(default_factory=dict)
    found_by: dict[str, str] = Field(default_factory=dict)


def title_of(paragraph: str) -> str:
    """The bold words at the beginning of a paragraph, or empty; "lead" for the opening of a chapter."""
    found = TITLE.match(paragraph)
    return "lead" if paragraph.startswith(LEAD) else found[1] if found else ""


@dataclass
class Text:
    """A text that is filled with the numbers of a run."""

    source: Path
    numbers: ChapterNumbers
    more: dict[str, object] = field(default_factory=dict)  # further names that it may use
    placed: set[str] = field(default_factory=set)  # figures and claims that the text has shown
    drawn: list[Markup] = field(default_factory=list)  # figures that it has shown, in order, as HTML

    @cached_property
    def parts(self) -> tuple[Front, str]:
        """The YAML above the text, and the text."""
        written = self.source.read_text()
        above = FRONT.match(written)
        front = checked(Front, yaml.safe_load(above[1]), "above the text") if above else Front()
        return front, FRONT.sub("", written, count=1)

    @cached_property
    def blocks(self) -> list[list[str]]:
        """The paragraphs of the text; items of a list are together."""
        blocks = BLANK.split(self.parts[1].strip("\n"))
        return [[block] if block.startswith(LEAD) else ITEM.split(block) for block in blocks]

    @cached_property
    def names(self) -> dict[str, object]:
        """All names that the text may use; one whose number this run lacks raises NotMeasured where it is used."""
        own = {name: getattr(self.numbers, name) for name in dir(self.numbers) if not name.startswith("_")}
        names = own | {"figure": self.figure, "claims": self.claims} | self.more
        for name, meaning in self.parts[0].names.items():
            try:
                names[name] = expression(meaning)(**names)
                if isinstance(names[name], jinja2.Undefined):
                    str(names[name])  # raises for an undefined name
            except NotMeasured as error:
                names[name] = jinja2.StrictUndefined(str(error), exc=NotMeasured)  # pyright: ignore[reportArgumentType]
        return names

    def figure(self, figure: str) -> Markup:
        """A figure of the study, with its caption."""
        study, name = self.numbers.place(figure)
        if not self.numbers.run.has(study):
            raise NotMeasured(figure)
        self.placed.add(name)
        self.drawn.append(self.numbers.run.section_figure(study, name))
        return self.drawn[-1]

    def claims(self, *claims: str) -> Markup:
        """A short table of the verdicts of claims."""
        self.placed.update(claims)
        return self.numbers.run.section_claims(*claims)

    def filled(self) -> str:
        """The text with its numbers, as Markdown; ConfigError, with the file, for a name that does not exist."""
        where = self.source.relative_to(ROOT) if self.source.is_relative_to(ROOT) else self.source
        try:
            written = self.source.read_text()
            compiled(FRONT.sub(lambda above: "\n" * above[0].count("\n"), written, count=1))
            titles = [title_of(paragraph) for block in self.blocks for paragraph in block]
            for name in (*self.parts[0].rests, *self.parts[0].found_by):
                if name not in titles:
                    raise ConfigError(misnamed(name, "the beginning of no paragraph", titles))
            blocks = ["\n".join(filter(None, map(self._paragraph, block))) for block in self.blocks]
        except jinja2.TemplateSyntaxError as error:
            raise ConfigError(f"{where}, line {error.lineno}: {error.message}") from None
        except (jinja2.UndefinedError, yaml.YAMLError, ValueError, NotMeasured) as error:
            raise ConfigError(f"{where}: {' '.join(str(error).split())}") from None
        return FOLD.sub(_folded, "\n\n".join(filter(None, blocks))) + "\n"

    def grounds(self, title: str) -> list[list]:
        """The grounds of the paragraph with a title."""
        return [[*map(self._meant, ground)] for ground in self.parts[0].rests.get(title, [])]

    def _meant(self, part: str | float) -> object:
        return expression(part[1:])(**self.names) if isinstance(part, str) and part.startswith("=") else part

    def _paragraph(self, paragraph: str) -> str:
        """A paragraph with its numbers, marked if this run contradicts its grounds; empty if a number is missing."""
        title = title_of(paragraph)
        try:
            words = template(paragraph).render(self.names).strip("\n")
            grounds = self.grounds(title)
            differs = [one for ground in grounds for one in against(self.numbers, *ground)]
        except NotMeasured:
            return CHAPTER.lead(SMALL).strip() if title == "lead" else ""
        doubts = [one for ground in grounds for one in not_repeated(self.numbers, *ground)]
        first, *rest = words.split("\n\n", 1)
        first += "".join(f" ({one})" for one in doubts) + (CHAPTER.differs(differs) if differs else "")
        words = "\n\n".join([first, *rest])
        if title in self.parts[0].found_by:
            return CHAPTER.question(spelling.slug(f"question {title}"), words, self.parts[0].found_by[title])
        return CHAPTER.lead(words).strip() if title == "lead" else words


def _folded(fold: re.Match) -> str:
    return CHAPTER.fold(fold[1], fold[2].strip()) if fold[2].strip() else ""


def chapter_file(study: str) -> Path:
    """The file of a study's chapter."""
    return ROOT / "src" / "replication" / "studies" / study / "chapter.md"


def heading(study: str) -> str:
    """The heading of a study's chapter."""
    return FRONT.sub("", chapter_file(study).read_text(), count=1).partition("\n")[0]


def text_of(name: str, run: Run) -> Text:
    """The chapter of a study, or a text on the whole run from `texts`, to be filled."""
    path = TEXTS / f"{name}.md"
    if path.exists():
        return Text(path, ChapterNumbers(run), summary.facts(run))
    return Text(chapter_file(name), ChapterNumbers(run, name))


def text(name: str, run: Run) -> str:
    """The chapter of a study, or a text on the whole run, filled, as Markdown."""
    return text_of(name, run).filled()


def chapter(study: str, run: Run) -> str:
    """The chapter of a study as Markdown; its heading alone where it did not run.

    Its opening and its first figure are not folded (`MORE`).
    The rest is folded: the text, the verdicts of its claims, and the figures that the text does not place.
    """
    if not run.has(study):
        return f"{heading(study)}\n\nThis study is not part of this run."
    own = text_of(study, run)
    parts = [own.filled()]
    claims = [claim for claim in run.claims_of(study) if claim not in own.placed]
    if claims:
        parts.append(CHAPTER.fold(_counted("Verdicts", claims, run), run.section_claims(*claims)))
    figures = [figure for figure in run.captions[study] if figure not in own.placed | {OPENING_FIGURE}]
    if figures:
        further = spelling.sentence(spelling.plural(len(figures), "further figure"))
        parts.append(CHAPTER.fold(further, "\n\n".join(run.section_figure(study, figure) for figure in figures)))
    written = "\n\n".join(parts)
    if MORE not in written:
        first = own.drawn[0] if own.drawn else ""
        written = written.replace(first, "", 1).replace(LEAD_END, f"{LEAD_END}\n\n{first}\n\n{MORE}", 1)
    shown, rest = written.split(MORE)
    return shown + CHAPTER.fold(_counted("The chapter", run.claims_of(study), run), rest.strip(), "chapter")


def _counted(title: str, claims: list[str], run: Run) -> str:
    """A title with the number of tests for each verdict, without the tests for which the run is too small."""
    rows = run.claims[run.claims["id"].isin(claims) & (run.claims["basis"] != "definition")]
    verdicts = by_scale(rows)[0]["verdict"]
    return title if run.small or verdicts.empty else f"{title} {PIECES.tally_line(summary.by_verdict(verdicts))}"
