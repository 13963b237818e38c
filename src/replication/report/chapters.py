"""Chapters of the report: Markdown that a person wrote, with numbers by name.

A chapter is `chapter.md` in the folder of its study, a Jinja2 template. Its words are fixed; numbers come from the run
that is shown, by the names of quantities, sizes and constants, and `Words` are all that it may use. A paragraph names
what it rests on: verdicts, and numbers with a limit. Where the shown run decides otherwise, the paragraph is marked. A
name that does not exist stops the build, and a paragraph that needs a number which a smaller run does not have is left
out.
"""

from __future__ import annotations

import html
import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from privrep.options import misnamed
from replication.evidence.verdicts import Verdict
from replication.report import spelling, summary
from replication.report.claims_table import by_scale
from replication.report.layout import PIECES, macros
from replication.report.pictures import packed
from replication.report.run_tables import NotMeasured, Run
from replication.report.sizes import constants, enumerated, found, size
from replication.run.config import ROOT
from replication.run.ingredients import called
from replication.run.models import ConfigError

SIGNS = {"<": operator.lt, ">": operator.gt}
UNDECIDED = (Verdict.INCONCLUSIVE, Verdict.NOT_TESTED)
"""Verdicts that say nothing against a paragraph."""
MARK = 'class="differs"'
"""What the mark of a paragraph has that this run does not bear out."""

FILTERS = {
    name: getattr(spelling, name) for name in ("number", "share", "listing", "count", "plural", "codes", "typeset")
} | {"capital": spelling.sentence, "escaped": html.escape}
"""How a chapter spells what it has computed."""


LEAD_END = "\n\n</div>"
MORE = "<!-- more -->"
"""Where a chapter is folded from, if it says so; else from behind what it opens with and its first figure."""
OPENING_FIGURE = "comparison/promise"
"""The figure of the opening; the chapter of its study does not show it again."""

TAGS = re.compile(r"^[ \t]*((?:\{%(?:(?!%\}).)*%\}|\{#(?:(?!#\}).)*#\}|[ \t])+)\n", flags=re.MULTILINE)
"""A line of conditions and the like alone: it leaves no line in the text."""

BESIDE_DIGITS = re.compile(r"<[^>]+>|[\s,.\[\]×−–✓✗∞†]")  # noqa: RUF001
"""What a cell with a number alone has beside its digits."""

CHAPTER = macros("chapter.md.jinja")
TEXTS = Path(__file__).with_name("texts")
"""Folder of the texts that belong to no study."""


def chapter_file(study: str) -> Path:
    """The file of a study's chapter."""
    return ROOT / "src" / "replication" / "studies" / study / "chapter.md"


@dataclass
class Words:
    """What a text may use of a run. Names that it looks up are those of its study, or of the one given."""

    run: Run
    study: str = ""  # whose chapter this is; empty for a text on several
    placed: set[str] = field(default_factory=set)  # figures and claims that the text has shown
    drawn: list[Markup] = field(default_factory=list)  # these figures in their order, as HTML
    tables: dict = field(default_factory=dict)  # those read so far
    grounds: list[tuple] = field(default_factory=list)  # what the paragraphs rest on

    def value(self, quantity: str, study: str = "") -> float:
        """A measured number, for conditions and arithmetic."""
        return self._read("measures", study).value(quantity)

    def known(self, quantity: str, study: str = "") -> bool:
        """Whether this run has a number of a quantity."""
        return quantity in self._read("measures", study)

    def note(self, quantity: str, study: str = "") -> str:
        """What the study says beside a quantity."""
        return self._read("measures", study).row(quantity)["note"]

    def n(self, quantity: str, digits: int = 3, study: str = "") -> Markup:
        """A measured number alone, with a link to its row; its interval shows under a pointer. One whose row is
        undecided, or was not repeated, says so."""
        row = self._read("measures", study).row(quantity)
        shown = spelling.number(row["measured"], digits)
        return self._linked(quantity, study, shown, spelling.of_row(row)) + self._doubt(quantity, study)

    def q(self, quantity: str, study: str = "") -> Markup:
        """A measured number with its interval, with a link to its row. One whose row is undecided, or was not repeated,
        says so."""
        shown = spelling.of_row(self._read("measures", study).row(quantity))
        return self._linked(quantity, study, shown) + self._doubt(quantity, study)

    def e(self, fit: str, study: str = "") -> Markup:
        """A fitted exponent with its interval."""
        return self.q(f"exponent {fit}", study)

    def named(self, prefix: str, study: str = "") -> list[str]:
        """The quantities with a number whose names begin so."""
        return self._read("measures", study).named(prefix)

    def numbered(self, prefix: str, study: str = "") -> dict[float, float]:
        """Values of the quantities whose name is the prefix and a number, by that number, ascending; at least one."""
        return self._read("measures", study).numbered(prefix)

    def size(self, series: str, column: str, study: str = "") -> str:
        """What all of a series has in a column."""
        return size(self._read("sizes", study), series, column)

    def values(self, series: str, column: str, study: str = "") -> str:
        """All values that a series has in a column, as a list or a range."""
        return enumerated(found(self._read("sizes", study), series, column))

    def fact(self, name: str, study: str = "") -> object:
        """What the study says beside its quantities: a number, a text, a table or what its analysis makes of these."""
        return self.run.fact(study or self.study, name)

    def table(
        self, header: list[str], rows: Iterable, caption: str = "", kind: str = "", *, caller: Callable, **more: bool
    ) -> str:
        """A table that scrolls, whose cells for one of the rows are what stands in the block, between bars; a cell with
        a number alone does not wrap."""
        texts = [[cell.strip() for cell in caller(row).split("|")] for row in rows]
        cells = [[(Markup(text), BESIDE_DIGITS.sub("", text).isdigit()) for text in row] for row in texts]
        return PIECES.table([*map(Markup, header)], cells, Markup(caption), kind, **more) + "\n"

    def constant(self, name: str, study: str = "") -> object:
        """A constant of the study's measures."""
        known = constants(study or self.study)
        if name not in known:
            what = f"no constant of replication.studies.{study or self.study}.analysis"
            raise ConfigError(misnamed(name, what, list(known)))
        return known[name]

    def law(self, prefix: str) -> dict[str, float]:
        """Least and largest ratio of measured errors to a law over the fits whose names begin so, and their number."""
        ratios = [self.value(name) for name in self.named(f"constant {prefix}")]
        if not ratios:
            raise NotMeasured(f"constant {prefix}")
        return {"least": min(ratios), "largest": max(ratios), "sweeps": len(ratios)}

    def figure(self, figure: str, remark: str = "", study: str = "") -> Markup:
        """A figure of the study, with its caption."""
        if study and not self.run.has(study):
            raise NotMeasured(figure)
        self.placed.add(figure)
        self.drawn.append(self.run.section_figure(study or self.study, figure, remark))
        return self.drawn[-1]

    def claims(self, *claims: str) -> Markup:
        """The verdicts of claims, in short."""
        self.placed.update(claims)
        return self.run.section_claims(*claims)

    def rests(self, *grounds: tuple) -> None:
        """Say what the paragraph rests on.

        A ground is a claim, its verdict and quantities (all exponents where none is named); or a quantity, "<" or ">",
        a limit and the study if it is another one's; or a number, a sign, a limit and what the number is.
        """
        self.grounds += grounds

    def finding(self, caller: Callable[[], str]) -> str:
        """A paragraph that needs all of its numbers, marked where this run decides against what it rests on."""
        before = len(self.grounds)
        try:
            text = caller()
            against = [one for ground in self.grounds[before:] for one in self._against(*ground)]
        except NotMeasured:
            return ""
        doubts = [one for ground in self.grounds[before:] for one in self._not_repeated(*ground)]
        if not against and not doubts:
            return text
        first, *rest = text.strip("\n").split("\n\n", 1)
        first += "".join(f" ({one})" for one in doubts) + (CHAPTER.differs(against) if against else "")
        return "\n\n".join([first, *rest]) + "\n"

    def _not_repeated(self, name: str | float, sign: str, *more: Any) -> list[str]:
        """What confirmations did not repeat of a ground that is a claim."""
        if sign in SIGNS:
            return []
        rows = self.run.decided(str(name), sign, *more)
        found = {row: self.run.doubts.get((str(name), row)) for row in rows.loc[rows["verdict"] == sign, "quantity"]}
        return [f"{spelling.typeset(row)}: {text}" for row, text in found.items() if text]

    def _against(self, name: str | float, sign: str, *more: Any) -> list[Markup]:
        """What this run says against a ground."""
        if sign not in SIGNS:
            rows = self.run.decided(str(name), sign, *more)
            different: list[dict] = rows[~rows["verdict"].isin((*UNDECIDED, sign))].to_dict("records")
            told = [f"{html.escape(row['quantity'])}: {row['verdict']}, {spelling.of_row(row)}" for row in different]
            places = [self.run.rows[row["id"], row["quantity"]] for row in different]
            return [PIECES.quoted(Markup(text), place) for text, place in zip(told, places, strict=True)]
        limit, called = more[0], str(name)
        if isinstance(name, str):
            row = self._read("measures", "".join(more[1:])).row(name)
            text, ends = spelling.of_row(row), [float(row[end]) for end in ("ci_low", "ci_high")]
            best = (min if sign == "<" else max)(ends) if all(map(math.isfinite, ends)) else float(row["measured"])
        else:
            called, best, text = more[1], name, spelling.number(name)
        undecided = math.isnan(best) or math.isnan(limit)
        return [] if undecided or SIGNS[sign](best, limit) else [Markup(f"{html.escape(called)}: {text}")]

    def lead(self, caller: Callable[[], str]) -> str:
        """What a chapter opens with."""
        text = self.finding(caller) or "This run is too small to say what it found."
        return CHAPTER.lead(text.strip())

    def question(self, asked: str, words: str, caller: Callable[[], str]) -> str:
        """A question, its answer, and words that the search finds it by; nothing where a number of it is missing."""
        answer = self.finding(caller).strip()
        return CHAPTER.question(asked, answer, words) if answer else ""

    def folded(self, title: str, caller: Callable[[], str]) -> str:
        """Detail that a reader opens; nothing where none of it was measured."""
        try:
            text = caller().strip()
        except NotMeasured:
            return ""
        return CHAPTER.fold(title, text) + "\n\n" if text else ""

    def _read(self, table: str, study: str) -> Any:
        """A table of a study, of this one where none is named, read once for each text."""
        study = study or self.study
        if (table, study) not in self.tables:
            self.tables[table, study] = getattr(self.run, table)(study)
        return self.tables[table, study]

    def _doubt(self, quantity: str, study: str) -> str:
        """What stands behind a number whose row is undecided, or that a confirmation did not repeat."""
        text = self.run.doubts.get(self.run.first_decided.get((study or self.study, quantity), ("", "")))
        return f" ({text})" if text else ""

    def called(self, series: str, beside: str = "", study: str = "") -> str:
        """What a series of a published method is called: as published, but for what; or what it adds to another."""
        return called(study or self.study, series, beside)

    def _linked(self, quantity: str, study: str, text: str, whole: str = "") -> Markup:
        return PIECES.quoted(text, self.run.place_of(study or self.study, quantity), whole)


def filled(source: Path, words: Words, more: dict[str, object]) -> str:
    """Fill in all names of a text, and `more`; a name of nothing is an error that says the file."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, extensions=["jinja2.ext.do"]
    )
    environment.filters |= FILTERS
    environment.globals |= {"interval": spelling.interval, "guide": PIECES.guide, "packed": packed}
    names = {name: getattr(words, name) for name in dir(words) if not name.startswith("_")}
    where = source.relative_to(ROOT) if source.is_relative_to(ROOT) else source
    try:
        environment.parse(source.read_text())  # names the right line of an error
        return environment.from_string(TAGS.sub(r"\1", source.read_text())).render(names | more)
    except jinja2.TemplateSyntaxError as error:
        raise ConfigError(f"{where}, line {error.lineno}: {error.message}") from None
    except (jinja2.UndefinedError, ConfigError, ValueError, NotMeasured) as error:
        raise ConfigError(f"{where}: {error}") from None


def text(study: str, run: Run, words: Words | None = None) -> str:
    """The chapter of a study as Markdown."""
    return filled(chapter_file(study), words or Words(run, study), {})


def page_text(name: str, run: Run, words: Words | None = None) -> str:
    """A text on the whole run, from `texts`, as Markdown."""
    return filled(TEXTS / f"{name}.md", words or Words(run), summary.facts(run))


def chapter(study: str, run: Run) -> str:
    """The chapter of a study as Markdown; its heading alone where it did not run.

    What it opens with and its first figure stand open (`MORE`).
    The rest is folded: the text, the verdicts of its claims, and the figures that the text does not place.
    """
    if not run.has(study):
        heading = chapter_file(study).read_text().splitlines()[0]
        return f"{heading}\n\nThis study is not part of this run."
    words = Words(run, study)
    parts = [text(study, run, words)]
    claims = [claim for claim in run.claims_of(study) if claim not in words.placed]
    if claims:
        parts.append(CHAPTER.fold(_counted("Verdicts", claims, run), run.section_claims(*claims)))
    figures = [figure for figure in run.captions[study] if figure not in words.placed | {OPENING_FIGURE}]
    if figures:
        further = spelling.sentence(spelling.plural(len(figures), "further figure"))
        parts.append(CHAPTER.fold(further, "\n\n".join(run.section_figure(study, figure) for figure in figures)))
    written = "\n\n".join(parts)
    if MORE not in written:
        first = words.drawn[0] if words.drawn else ""
        written = written.replace(first, "", 1).replace(LEAD_END, f"{LEAD_END}\n\n{first}\n\n{MORE}", 1)
    shown, rest = written.split(MORE)
    return shown + CHAPTER.fold(_counted("The chapter", run.claims_of(study), run), rest.strip(), "chapter")


def _counted(title: str, claims: list[str], run: Run) -> str:
    """A title with how many tests there are of each verdict, but for those that the run is too small for."""
    rows = run.claims[run.claims["id"].isin(claims) & (run.claims["basis"] != "definition")]
    verdicts = by_scale(rows)[0]["verdict"]
    return title if run.small or verdicts.empty else f"{title} {PIECES.tally_line(summary.by_verdict(verdicts))}"
