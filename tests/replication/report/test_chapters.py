"""The chapters follow the tables: words are fixed, numbers come from measures, paragraphs that a run does not bear out
are marked, and nothing that a run has is left off the page."""

import html
import json
import math
import re
from collections import Counter
from functools import cache, lru_cache
from pathlib import Path

import pandas as pd
import pytest
from stub_runs import ChosenRun, own

from replication.evidence.cells import sizes_of
from replication.evidence.compare import by_name
from replication.evidence.verdicts import Verdict
from replication.report import chapters, spelling
from replication.report.chapter_numbers import ChapterNumbers
from replication.report.chapters import (
    LEAD_END,
    MARK,
    OPENING_FIGURE,
    SMALL,
    TEXTS,
    Text,
    chapter,
    chapter_file,
    text,
    text_of,
    title_of,
)
from replication.report.documents import Documented
from replication.report.grounds import SIGNS
from replication.report.run_tables import DOCS, Run, judged, listed, read_text
from replication.report.sizes import size
from replication.report.stub_run import StubRun, check, facts_of
from replication.run.config import ROOT, study_names
from replication.run.models import ConfigError

STUDIES = study_names()
TEXT_NAMES = [*STUDIES, *sorted(path.stem for path in TEXTS.glob("*.md"))]
"""All that is written: chapters of studies, and texts on the whole run."""
TABLE = re.compile(r"\{% call(?:\(\w+\))? table\(.*?\{% endcall %\}", flags=re.DOTALL)
BRANCH = re.compile(r"\{%-? *(?:if|elif|else)\b|\{\{[^}]* if (?!not loop)[^}]*\}\}|\{%-? *set[^%]* if [^%]*%\}")
CONCLUDES = re.compile(
    r"\b(?:holds?|is tight|is loose|loose in|best|better|worse|beats?|larger than|smaller than|faster than|fewer than|"
    r"costs nothing|not needed|is broken|does not follow|is a slip|reproduces)\b",
    flags=re.IGNORECASE,
)
"""Words by which a paragraph concludes something from what was measured."""


def source_of(name: str) -> str:
    return (chapter_file(name) if name in STUDIES else TEXTS / f"{name}.md").read_text()


def in_words(name: str, run: Run) -> tuple[str, list[tuple]]:
    """A chapter or text of a run, and what its paragraphs rest on."""
    one = text_of(name, run)
    found, grounds = one.filled(), [ground for title in one.parts[0].rests for ground in one.grounds(title)]
    places = (one.numbers.place(name)[1] if isinstance(name, str) else name for name, *_ in grounds)
    return found, [(place, *ground[1:]) for place, ground in zip(places, grounds, strict=True)]


@cache
def grounds_of(name: str) -> list[tuple]:
    """All that the paragraphs of a text rest on."""
    return list(dict.fromkeys(in_words(name, ChosenRun())[1]))


@cache
def expected(name: str) -> dict[tuple[str, str], str]:
    """Claim and quantity -> the verdict that a text rests on."""
    run, found = ChosenRun(), {}
    for claim, verdict, *quantities in grounds_of(name):
        if verdict not in SIGNS:
            for quantity in (row["quantity"] for row in run.decided(claim, verdict, *quantities)):
                assert found.setdefault((claim, quantity), verdict) == verdict, f"{quantity} rests on two verdicts"
    return found


def beyond(sign: str, limit: float, by: float) -> tuple[float, float, float]:
    """A number on the side of a limit that the sign says, or on the other one, with an interval inside that side."""
    away = by * (abs(limit) + 1) * (1 if sign == ">" else -1)
    return limit + away, *sorted((limit + 0.9 * away, limit + 1.1 * away))


@cache
def numbers_for(name: str) -> dict[str, tuple[float, float, float]]:
    """Quantity -> a number on the side of its limits that a text rests on."""
    found: dict[str, tuple[float, float, float]] = {}
    for _ in range(3):  # a limit may be a number of the run
        grounds = in_words(name, ChosenRun(values=found))[1]
        compared = [ground for ground in grounds if ground[1] in SIGNS and isinstance(ground[0], str)]
        found = {quantity: beyond(sign, limit, 0.4) for quantity, sign, limit, *_ in compared}
    return found


def words_of(found: str) -> str:
    """A text without its marks and whole numbers, which in the opening count verdicts."""
    flat = re.sub(r'<span class="interval">(.*?)</span>', r"\1", found)
    return re.sub(r"\d+", "", re.sub(rf" <span {MARK}>.*?</span>", "", flat))


# What a paragraph rests on


@lru_cache(1)
def marks_of(text: str) -> str:
    """What the marks of a text say."""
    return "".join(re.findall(rf"<span {MARK}>.*", text))


def marked(quantity: str, text: str) -> bool:
    """Whether a mark of a text names a quantity."""
    return any(f"{before}{html.escape(quantity)}: " in marks_of(text) for before in ("run: ", "; ", ">"))


@pytest.mark.parametrize("name", TEXT_NAMES)
def test_a_paragraph_is_marked_where_the_run_differs(name):
    """With each verdict replaced by another one, and each number on the other side of its limit, there is a mark that
    names it and the words stay; undecided verdicts mark nothing. Every second verdict changes at a time, and the others
    are not named."""
    verdicts, values = expected(name), numbers_for(name)
    as_said, grounds = in_words(name, ChosenRun(verdicts=verdicts, values=values))
    assert words_of(as_said) == words_of(in_words(name, ChosenRun(values=values))[0])
    computed = [ground for ground in grounds if not isinstance(ground[0], str)]
    assert as_said.count(MARK) <= len(computed)
    for first in (0, 1):
        opposite = {Verdict.VIOLATED: Verdict.HOLDS}
        changed = {place: opposite.get(verdicts[place], Verdict.VIOLATED) for place in list(verdicts)[first::2]}
        found, _ = in_words(name, ChosenRun(verdicts=verdicts | changed, values=values))
        assert words_of(found) == words_of(as_said)
        for _, quantity in verdicts:
            assert marked(quantity, found) == any(place[1] == quantity for place in changed), quantity
    limits = [(ground[0], ground[1:3]) for ground in grounds if ground[1] in SIGNS and isinstance(ground[0], str)]
    while limits:  # one limit of each number at a time
        chosen = dict(limits)
        other = values | {quantity: beyond(*limit, -0.4) for quantity, limit in chosen.items()}
        found = in_words(name, ChosenRun(verdicts=verdicts, values=other))[0]
        assert [quantity for quantity in chosen if not marked(quantity, found)] == []
        limits = [pair for pair in limits if chosen[pair[0]] != pair[1]]


def test_the_run_of_record_bears_out_what_paragraphs_rest_on():
    """By its verdicts, which are kept beside its page; it is older than the word for what is ours and holds."""
    claims = read_text(ROOT / "docs" / "record" / "claims.csv").set_index(["id", "quantity"])["verdict"].to_dict()
    undecided = {Verdict.INCONCLUSIVE, Verdict.NOT_TESTED}
    for name in TEXT_NAMES:
        for place, verdict in expected(name).items():
            older = {"REPRODUCED"} if place[0] in ("A-zCDP", "O-TABLES") else set()
            assert claims.get(place, verdict) in {verdict, *undecided, *older}, (name, place)


@pytest.mark.parametrize("name", TEXT_NAMES)
def test_words_do_not_branch(name):
    """Outside of the cells of tables."""
    assert BRANCH.findall(TABLE.sub("", source_of(name))) == []


@pytest.mark.parametrize("name", TEXT_NAMES)
def test_a_paragraph_that_concludes_says_what_it_rests_on(name):
    """A paragraph with numbers of the run. No two paragraphs that rest on something begin with the same words."""
    one = text_of(name, ChosenRun())
    rests, paragraphs = one.parts[0].rests, [part for block in one.blocks for part in block]
    bare = [part for part in paragraphs if re.search(r"\b[nqe]\(", part) and title_of(part) not in rests]
    assert [part for part in bare if CONCLUDES.search(re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "", part))] == []
    assert all(count == 1 for title, count in Counter(map(title_of, paragraphs)).items() if title in rests)


def test_what_is_undecided_or_was_not_repeated_is_told_where_it_stands(tmp_path):
    """Behind each number that its row decides, and at the end of a paragraph for the claims that it rests on."""
    template = """---
rests:
  It is:
  - [A-L4.6, RATE-AGREES, exponent of d]
---
**It is** {{ n("exponent privacy n dist2") }} and {{ q("exponent privacy d dist2") }}.
"""
    run, place = ChosenRun(verdicts={("A-L4.6", "exponent of d"): "RATE-AGREES"}), ("A-L4.6", "exponent of d")
    assert "(" not in re.sub("<[^>]*>", "", written(tmp_path, template, run))
    vars(run)["doubts"] = {("A-L4.6", "exponent of n"): "undecided", place: "undecided on 1 of 3 other seeds"}
    found = re.sub("<[^>]*>", "", written(tmp_path, template, run))
    assert re.search(r"It is\*\* [\d.]+ \(undecided\) and \S+ \(undecided on 1 of 3 other seeds\)\.", found), found
    assert "(undecided on 1 of 3 other seeds: exponent of d)" in found


def test_the_record_says_what_confirmations_and_more_repetitions_did():
    """A row that one confirmation left undecided, those that the record alone decides, one that it leaves open."""
    run, rows = Documented(), read_text(DOCS / "confirmation.csv")
    found, newest = run.doubts, rows[rows["confirmed_seed"] == rows["confirmed_seed"][0]]
    left_open = by_name(newest[newest["verdict"] == Verdict.INCONCLUSIVE].to_dict("records")).keys() & run.rows.keys()
    assert {name for name in left_open if found[name] != "undecided"} == {
        name for name, text in found.items() if text == "by more repetitions, not confirmed"
    }
    once = f"undecided on 1 of {rows['confirmed_seed'].nunique()} other seeds"
    assert found["A-F2", "(ii) largest MSE ratio between successive epsilons"] == once
    assert found["A-T5.2", "exponent of d, L_f as printed"] == "undecided"


def test_a_mark_names_quantity_verdict_and_number(tmp_path):
    template = """---
rests:
  First:
  - [A-L4.6, RATE-AGREES, exponent of n]
  - [davis-kahan printed, "<", "= 2 / 2"]
---
**First.**

Second.
"""
    run = ChosenRun(verdicts={("A-L4.6", "exponent of n"): "LOOSE"}, values={"davis-kahan printed": (1.5, 1.2, 1.8)})
    first, second = written(tmp_path, template, run).strip().split("\n\n")
    assert MARK not in written(tmp_path, template.replace("2 / 2", "2.6 / 2"), ChosenRun(values=run.values))
    assert first.startswith(f"**First.** <span {MARK}>Not borne out by this run: ") and second == "Second."
    assert "exponent of n: LOOSE, " in first and "davis-kahan printed: 1.5" in first and "A-L4.6" in first


# Numbers, formulas and sentences


@pytest.mark.parametrize("study", STUDIES)
def test_numbers_come_from_the_measures(study):
    """A name gives value and ends of its own quantity, and in every chapter leads to the first row that the quantity
    decides, or to a line of its own. Without measures there is no number made of one, no exponent."""
    run = ChosenRun(values={name: own(name) for name in listed(study)})
    words, other = ChapterNumbers(run, study), ChapterNumbers(run)
    for name in listed(study):
        rows = [(claim.id, one.quantity) for claim, one in judged() if (claim.study, one.measured) == (study, name)]
        places = [run.rows[row] for row in rows if row in run.rows][:1] or [run.place_of(study, name)]
        whole = f"{study}: {name}"
        for found in (words.q(name), words.n(name), other.q(whole), other.n(whole)):
            assert re.findall('href="#([^"]*)"', found) == places and (places[0][:7] != "number-") == bool(rows)
        assert words.value(name) == other.value(whole) == own(name)[0]
        for found, spelled in ((words.q(name), spelling.interval(*own(name))), (words.n(name), f"{own(name)[0]:.2f}")):
            assert re.sub("<[^>]+>", "", found) == re.sub("<[^>]+>", "", spelled)
        assert not name.startswith("exponent ") or words.e(name.removeprefix("exponent ")) == words.q(name)
    lines = re.findall(r'<tr id="(.+?)"><td><code>(.+?)</code></td><th scope="row">(.*?)</th>', run.section_others())
    assert {(of, text): place for place, of, text in lines} == {
        (of, spelling.typeset(name)): place for (of, name), place in run.others.items()
    }
    assert len({*run.others.values()}) == len(lines)
    bare = chapter(study, ChosenRun(math.nan))
    assert 'class="q"' not in bare and spelling.number(math.nan) not in bare


@pytest.mark.parametrize("name", TEXT_NAMES)
def test_formulas_tags_and_sentences_are_whole(name):
    """An odd number of dollar signs would swallow text, a tag that is left would be read, and so would a missing
    number. What is put in leaves no bracket open and no mark alone."""
    for number in (1.5, math.nan):
        found = whole(name, number)
        for paragraph in found.split("\n\n"):
            assert paragraph.count("$") % 2 == 0, paragraph
        assert not re.search(r"\{\{|\{%|%\}|\{#|\b(?:nan|NaN|inf)\b|\bNone\b(?! of)", found)
        assert found.count("**") % 2 == 0
        for tag in ("details", "div", "span"):
            assert found.count(f"<{tag}") == found.count(f"</{tag}>")
        for paragraph in sentences(found):
            assert paragraph.count("(") == paragraph.count(")"), paragraph
            assert not BROKEN_OFF.search(paragraph), paragraph


@cache
def whole(name: str, number: float) -> str:
    return (chapter if name in STUDIES else text)(name, ChosenRun(number))


BROKEN_OFF = re.compile(r"(?:^|\s)[.,;:](?!\d)|\.\.|,,|[,;:]\.|\(\)|[a-z]  [a-z]")
"""A mark after nothing, two marks, a bracket around nothing, two blanks."""


def sentences(found: str) -> list[str]:
    """The paragraphs of a text without tags, with x for formulas and code."""
    plain = re.sub(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`", "x", found, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", "", plain).split("\n\n")


# What a chapter consists of


@pytest.mark.parametrize("study", STUDIES)
def test_a_chapter_opens_with_heading_and_lead(study):
    """What is claimed, what was found and what to do, a line each; without numbers that the run is too small."""
    for number in (1.5, math.nan):
        found = whole(study, number)
        assert found.startswith("## ") and found.count("\n## ") == 0
        opening = re.findall(r'<div class="lead">\n\n(.*?)\n\n</div>', found, flags=re.DOTALL)
        assert len(opening) == 1
        if math.isnan(number):
            assert opening == [SMALL]
            continue
        lines = opening[0].split("\n")
        starts = [f"- **{word}.** " for word in ("Claimed", "Found", "Use")]
        assert len(lines) == 3 and all(map(str.startswith, lines, starts)), lines


@pytest.mark.parametrize("study", STUDIES)
def test_every_figure_and_claim_of_a_study_is_on_the_page_once(study):
    """Placed by the text, or folded after it; a paragraph that is left out must not take its figure along."""
    run = ChosenRun()
    for number in (1.5, math.nan):
        found = whole(study, number)
        figures = run.captions[study].keys() - {OPENING_FIGURE}
        assert Counter(re.findall(r"\[figure ([^\]]+)\]", found)) == Counter(figures)
        assert Counter(re.findall(r"\[claim ([^\]]+)\]", found)) == Counter(run.claims_of(study))


def test_figures_and_claims_that_no_text_places_are_folded(monkeypatch):
    """With their number, and with how many verdicts there are of each."""
    run = ChosenRun()
    first = run.claims_of("risk")[0]

    def places(own):
        return "## Risk" + LEAD_END + own.figure("jain2021/risk_privacy") + own.claims(first)

    monkeypatch.setattr(Text, "filled", places)
    rows = run.claims[run.claims["study"] == "risk"]
    left = rows.index[rows["id"] != first]
    run.claims.loc[left[:3], "basis"] = "definition"  # which is not counted
    placed, verdicts, figures = chapter("risk", run).split("<details>")
    assert f" {len(rows) - 3}</span>" in placed and f" {len(left) - 3}</span>" in verdicts
    start, rest = placed.split('<details class="chapter">')
    assert "[figure jain2021/risk_privacy]" in start and "[figure" not in rest
    assert f"[claim {first}]" in start + rest and f"[claim {first}]" not in verdicts
    assert verdicts.startswith("\n<summary>Verdicts <") and "[claim A-R1]" in verdicts
    assert "further figure" in figures and figures.count("[figure ") == len(run.captions["risk"]) - 1


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_that_did_not_run_has_its_heading(study):
    """And one sentence, with no number and no figure."""
    run = ChosenRun()
    run.provenance["config"] = {"scale": "default", "studies": [name for name in STUDIES if name != study]}
    heading, sentence = chapter(study, run).split("\n\n")
    assert sentence == "This study is not part of this run."
    assert "{" not in heading and whole(study, 1.5).startswith(f"{heading}\n")


def test_the_opening_stands_where_studies_did_not_run():
    """What it says of a study is left out with it, and the other sentences stay."""
    run = ChosenRun()
    run.provenance["config"] = {"scale": "default", "studies": ["risk"]}
    found = text("opening", run)
    assert "Theorem 4.2" in found and "Theorem 5.2" not in found
    assert found.count('class="q"') == 2 and not any(map(BROKEN_OFF.search, sentences(found)))


METHODS = r"jain2021|shen2023|CENTAUR|nit steps|lternating minimisation|exponential mechanism|thresholds|sliders"


def test_no_sentence_of_the_opening_loses_its_subject():
    """With every verdict undecided, each finding and each advice names what it speaks of before it says "it"."""
    items = re.findall(r"^(?:1\.|-) (.*)$", text("opening", ChosenRun()), flags=re.MULTILINE)
    assert len(items) == 12
    for item in sentences("\n\n".join(items)):
        said = item.replace("*", "")
        pronoun = re.search(r"\b(?:they|their|its?)\b", said, flags=re.IGNORECASE)
        assert re.search(METHODS, said[: pronoun.start() if pronoun else None]), item
        assert not re.search(r"[.] [a-z]", said), item


# How a text is filled


def written(tmp_path: Path, template: str, run: Run | None = None, study: str = "init_rates", **facts: object) -> str:
    """A template of its own, filled for a study."""
    source = tmp_path / "chapter.md"
    source.write_text(template)
    return Text(source, ChapterNumbers(run or ChosenRun(), study), facts).filled()


def test_a_paragraph_without_its_number_is_left_out(tmp_path):
    """The others stay, and a sentence that may be missing leaves its paragraph."""
    template = """---
names:
  slope: value("exponent privacy n dist2")
---
First.

From {{ e("privacy n dist2") }}.

Twice {{ 2 * slope }}.

::: More

{{ e("privacy n dist2") }}

:::

- **Claimed.** Of {{ e("privacy n dist2") }}.
- **Found.** More.
"""
    known, missing = (written(tmp_path, template, ChosenRun(number)) for number in (0.25, math.nan))
    linked = f'<a class="q" href="#{ChosenRun().place_of("init_rates", "exponent privacy n dist2")}">0.250</a>'
    assert f"From {linked}." in known
    assert f"<summary>More</summary>\n\n{linked}" in known
    assert f"Of {linked}.\n- **Found" in known and SMALL not in known and "Twice 0.5." in known
    assert missing.replace("First.", "").split() == chapters.CHAPTER.lead(SMALL).split()


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ('{{ q("davis-kahan print") }}', "the nearest is 'davis-kahan printed'"),
        ('{{ q("risk: davis-kahan printed") }}', "'davis-kahan printed' is not measured by this study"),
        ('{{ numbered("distF over dist2 at rnak") }}', "'distF over dist2 at rnak' is the beginning of no quantity"),
        ("rests: {Frst: [[A-L4.6, LOOSE]]}", "'Frst' is the beginning of no paragraph; the nearest is 'First'"),
        ("rest: {}", "'rest' is not a known key; the nearest is 'rests'"),
        ("rests: {First: 1}", "above the text: rests.First: 1 is a int"),
        ("rests: {First: [", "while parsing a flow node expected the node content"),
        ('rests: {First: [["= value(1", "<", 1]]}', "' value(1': unexpected end of template, expected"),
        ("names: {one: nothing}", "'nothing' is undefined"),
        ("rests: {First: [[A-L4.66, LOOSE]]}", "'A-L4.66' is no claim; the nearest is 'A-L4.6"),
        ("rests: {First: [[A-L4.6, LOSE]]}", "'LOSE' is no verdict; the nearest is"),
        ("rests: {First: [[A-L4.6, LOOSE, expnent of n]]}", "'expnent of n' is no quantity of claim A-L4.6; the near"),
        ('rests: {First: [[davis-kahan print, ">", 1]]}', "the nearest is 'davis-kahan printed'"),
        ('{{ size("n-anisotropic", "head_condition") }}', "there is no series 'n-anisotropic'"),
        ('{{ constant("RANGE") }}', "no constant of replication.studies.init_rates.analysis; the nearest is 'RANGES'"),
        ('{{ figure("jain2021/init_privcy") }}', "'jain2021/init_privcy' is no figure of study init_rates; the nea"),
        ("One.\n\n{% for i in [1] %}\nTwo.\n", "line 4: Unexpected end of template"),
    ],
)
def test_a_name_of_nothing_is_found(tmp_path, template, words):
    """With the file, the name and the nearest right one, or the line of an error in the template."""
    above = f"---\n{template}\n---\n**First.**\n" if re.match("rests?:|names:", template) else template
    for run in (ChosenRun(1.5), ChosenRun(math.nan)):
        with pytest.raises(ConfigError) as caught:
            written(tmp_path, above, run)
        message = str(caught.value)
        assert message.startswith(str(tmp_path / "chapter.md")) and words in message


def test_an_error_in_a_chapter_names_its_file(monkeypatch):
    """From the root of the project, as all other messages do, and with its line where there is one."""
    monkeypatch.delitem(chapters.ENVIRONMENT.filters, "listing")
    chapters.compiled.cache_clear()
    with pytest.raises(ConfigError, match=r"^src/replication/studies/risk/chapter\.md, line \d+: No filter named"):
        text("risk", ChosenRun())


@pytest.mark.parametrize(
    ("template", "filled_in"),
    [
        ("One.\n\nTwo {{ MISSING }}.\n\nThree.\n", "One.\n\nThree.\n"),
        ("One:\n\n| {{ MISSING }} |\n\nThree.\n", "Three.\n"),
        ("- One\n- Two {{ MISSING }}\n- Three\n", "- One\n- Three\n"),
        ("::: More\n\n{{ MISSING }}\n\n:::\n\nOne.\n", "\n\nOne.\n"),
        ("| a |\n{% for i in [1, 2.5] %}\n| {{ i }} |\n{% endfor %}\n\nEnd.\n", "| a |\n| 1 |\n| 2.5 |\n\nEnd.\n"),
    ],
)
def test_a_paragraph_ends_at_a_blank_line(tmp_path, template, filled_in):
    """But not behind a colon; each item of a list is one. A line of a loop leaves none."""
    missing = template.replace("MISSING", 'value("davis-kahan printed")')
    assert written(tmp_path, missing, ChosenRun(math.nan)) == filled_in


def test_a_size_that_differs_is_not_named():
    """A text names the one value of a series; a sweep or no series at all is an error, not a wrong number."""
    cells = pd.DataFrame({"series": ["a", "a", "b"], "users": [100, 100, 7], "rank": [1, 2, 3]})
    table = sizes_of(cells, cells.columns)
    assert size(table, "a", "users") == "100"
    with pytest.raises(ValueError, match="can name only one"):
        size(table, "a", "rank")


# No English in Python


TOLD = [study for study in STUDIES if facts_of(study)]
CLAUSE = re.compile(r"(?:[A-Za-z][\w'-]*+[,;:]?\s+){3,}[\w'-]++\.(?:\s|$)|(?:[\w'-]++\s+){7}")
"""Four words or more that end in a full stop, or eight in a row."""


@pytest.mark.parametrize("study", TOLD)
def test_no_english_is_assembled_in_python(study):
    """Facts are numbers, lists and tables; sentences stand in the chapter. A whole run has all facts."""
    for name, fact in facts_of(study).items():
        found = ChosenRun(1.5).fact(study, name)
        assert found is not None and not CLAUSE.search(json.dumps(found)), name
        fact = getattr(fact, "func", fact)
        assert fact.__doc__ or fact.__name__ == "<lambda>", f"{study}: {name} does not say what it returns"


@pytest.mark.parametrize("name", TEXT_NAMES)
def test_texts_hold_for_a_run_of_record(name):
    """Its series have more sizes, of which prose can name only one, and its grids more quantities. Lint writes chapters
    on stub runs."""
    text(name, StubRun(1.5, "record"))
    if name not in STUDIES:
        check(name)
