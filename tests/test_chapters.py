"""The chapters follow the tables: conclusions stand only where the verdicts carry them, numbers come from measures, and nothing that a run has
is left off the page."""

from __future__ import annotations

import ast
import importlib
import math
import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from made_up_runs import BEYOND, BROKEN, CLAIMS, SPARE, MadeUp, all_open, as_found

from privrep.report import chapters
from privrep.report.chapters import TAGS, TEXTS, Words, chapter, chapter_file, filled, page_text, text
from privrep.report.rehearsal import NUMBERS, Rehearsal
from privrep.report.run_tables import Run
from privrep.report.sizes import sizes
from privrep.run.config import ROOT, study_names
from privrep.run.settings import ConfigError

SOURCE = ROOT / "src" / "privrep"
STUDIES = study_names()
STRONG = {
    "accounting": [
        "All hold.",
        "The printed chain holds",
        "The guarantees stand",
        "explains every printed digit",
        "is explained digit by digit",
    ],
    "centaur_rates": [
        "Theorem 5.1 is tight",
        "Twice the users bear twice the noise",
        "Much of the bound is the clip",
        "Let the clip grow no faster",
        "A power of the condition number to spare",
        "The noise of the rounds adds in squares",
        "Faster than proved",
        "Eq. (20) does not follow from the cap on the noise",
        "Keep $\\sigma_g$ to the order of",
        "Eq. (18) loses a factor $k$",
    ],
    "client_lemmas": [
        "has much to spare",
        "lack a constant",
        "Give Lemmas C.2 and C.3 a constant",
        "bounds the wrong norm",
        "Subtract the mean in Lemma C.4",
        "lacks $\\mu^2$",
        "does better than Lemma C.5",
        "Rounds contract faster than proved",
        "a fixed clip gets looser round by round",
        "for its probability alone",
        "add, they do not multiply",
        "Appendix D holds",
        "the conclusions do not need it",
        "needs a factor $n$",
        "No distribution meets",
    ],
    "figure2": ["The published shape comes out", "criteria are met"],
    "heterogeneity": [
        "share a representation.",
        "vanish at the optimum, those of a model do not",
        "Limits of Remark 3.1",
        "moves the optimum only where",
        "pulls to one side cancel",
    ],
    "init_rates": [
        "Lemma 4.6 is tight",
        "The norm matters",
        "a gap in the proof",
        "For Lemma 4.4 take",
        "are those of Lemma B.1",
    ],
    "local_convergence": [
        "Lemma 4.4 is tight",
        "belongs to the algorithm",
        "Rounds are not free",
        "Take few rounds",
        "Inside the proof",
        "Lemma B.4 has no $m$",
        "Lemma B.6 has $m^{-1/2}$",
        "the norm itself does not",
        "faster than the proof of Lemma B.3 has it",
    ],
    "risk": [
        "not $\\Delta$",
        "the first is a slip",
        "$k^4$, not $k^5$",
        "lose a factor $k$",
        "costs nothing",
        "Twice the users quarter",
    ],
    "sample_complexity": [
        "Assumption 4.1 is too weak for the proof",
        "stay below $1/64$",
        "times what Assumption 4.1 asks for",
        "fewer than Remark 2 has",
    ],
    "tradeoff": [
        "The exponents differ as shen2023 says**.",
        "Take shen2023's method",
        "Half of shen2023's exponent is the clip",
        "Users, too, improve by $\\sqrt d$",
    ],
}
"""Conclusions of a chapter that need a verdict."""
ON_THE_PAGE = {
    "opening": [
        ", as claimed",
        "comparable on a linear axis alone",
        "its epsilon is too small",
        "more noise than needed",
        "(a slip)",
        "(loose)",
        "high dimension:** shen2023.",
        "shen2023; ",
    ]
}
"""The same for the texts that belong to no study."""
SMALL = "This run is too small to say what it found."


def lead(written: str) -> str:
    """What a chapter opens with."""
    found = re.findall(r'<div class="lead">\n\n(.*?)\n\n</div>', written, flags=re.DOTALL)
    assert len(found) == 1
    return found[0]


def asks_for_verdicts(path: Path) -> bool:
    return "judged(" in path.read_text()


# Conclusions


def writer_of(name: str):
    """How a text is written from a run, and what it concludes: the chapter of a study, or a text on the whole run."""
    if name in STUDIES:
        return lambda run: text(name, run), STRONG.get(name, [])
    return lambda run: page_text(name, run), ON_THE_PAGE.get(name, [])


@cache
def as_written(name: str, verdict_of, number: float, *denied: tuple) -> tuple[str, frozenset]:
    """A text with verdicts, at one number, and what it asked of them."""
    run = MadeUp(number, verdict_of, denied=denied)
    return writer_of(name)[0](run), frozenset(run.asked)


CONCLUDING = [*STUDIES, *sorted(path.stem for path in TEXTS.glob("*.md"))]


@pytest.mark.parametrize("name", CONCLUDING)
def test_conclusions_follow_the_verdicts(name):
    """Present with the verdicts that carry them, absent when all is open, whatever the numbers are."""
    found = [as_written(name, as_found, number)[0] for number in NUMBERS]
    unsure = [as_written(name, all_open, number)[0] for number in NUMBERS]
    for words in writer_of(name)[1]:
        assert any(words in written for written in found), words
        assert not any(words in written for written in unsure), words


@pytest.mark.parametrize("name", CONCLUDING)
def test_each_verdict_that_is_asked_for_carries_a_conclusion(name):
    """Without any one of them at least one conclusion falls: a condition that carries nothing would be a leftover, and one whose
    conclusion is not listed above could be lost."""
    asked = {triple for number in NUMBERS for triple in as_written(name, as_found, number)[1]}
    for triple in asked:
        fallen = [
            words
            for words in writer_of(name)[1]
            for number in NUMBERS
            if words in as_written(name, as_found, number)[0]
            and words not in as_written(name, as_found, number, triple)[0]
        ]
        assert fallen, triple


def test_every_text_that_asks_for_verdicts_is_looked_at():
    """A new chapter with conclusions needs its list."""
    asking = {study for study in STUDIES if asks_for_verdicts(chapter_file(study))}
    assert asking == set(STRONG)
    assert {path.stem for path in TEXTS.glob("*.md") if asks_for_verdicts(path)} == set(ON_THE_PAGE)


def test_verdicts_as_found_name_quantities():
    """An entry whose claim has gone would decide nothing."""
    places = {(claim.id, quantity.quantity) for claim in CLAIMS for quantity in claim.quantities}
    assert places >= BROKEN | SPARE | BEYOND


# Numbers and formulas


@pytest.mark.parametrize("study", STUDIES)
def test_numbers_come_from_the_measures(study):
    """Another measured value changes the text; without any there is no number that was to be one, and no exponent."""
    assert "1.23" in text(study, MadeUp(1.2345)) and "1.23" not in text(study, MadeUp(1.5))
    bare = text(study, MadeUp(math.nan))
    assert 'class="q"' not in bare and "–" not in bare
    assert not re.search(r"\bnan\b", bare, flags=re.IGNORECASE)


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("agrees", [True, False])
def test_formulas_and_tags_are_closed(study, number, agrees):
    """An odd number of dollar signs would swallow text, and a tag that is left would be read."""
    written = text(study, Rehearsal(number, agrees))
    for paragraph in written.split("\n\n"):
        assert paragraph.count("$") % 2 == 0, paragraph
    for left in ("{{", "}}", "{%", "%}", "{#", "#}"):
        assert left not in written
    assert written.count("**") % 2 == 0
    assert written.count("<details>") == written.count("</details>")


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("agrees", [True, False])
def test_sentences_are_whole(study, number, agrees):
    """A condition that leaves out its sentence leaves no bracket open, no full stop alone and no blank before one."""
    written = re.sub(r"<[^>]+>|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$|^\|.*\|$", "x", text(study, Rehearsal(number, agrees)), flags=re.DOTALL)
    for paragraph in written.split("\n\n"):
        assert paragraph.count("(") == paragraph.count(")"), paragraph
        assert not re.search(r"\s[.,;:](?!\d)|\.\.|,,|;\.|,\.|:\.|^\s*[.,;:]", paragraph), paragraph


# What a chapter consists of


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_chapter_opens_with_heading_and_lead(study, number):
    """What is claimed, what was found and what to do, a line each; without numbers that the run is too small."""
    written = text(study, MadeUp(number))
    assert written.lstrip().startswith("## ") and written.count("\n## ") <= 1
    found = lead(written)
    if math.isnan(number):
        assert found == SMALL
    else:
        lines = found.split("\n")
        starts = [f"- **{word}.** " for word in ("Claimed", "Found", "Use")]
        assert [line.startswith(start) for line, start in zip(lines, starts, strict=True)] == [True] * 3, lines


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("verdict_of", [as_found, all_open])
def test_every_figure_and_claim_of_a_study_is_on_the_page_once(study, number, verdict_of):
    """Placed by the text, or folded after it; a paragraph that is left out must not take its figure along."""
    run = MadeUp(number, verdict_of)
    written = chapter(study, run)
    assert Counter(re.findall(r"\[figure ([^\]]+)\]", written)) == Counter(list(run.captions[study]))
    assert Counter(re.findall(r"\[claim ([^\]]+)\]", written)) == Counter(run.claims_of(study))


def test_figures_and_claims_that_no_text_places_are_folded(monkeypatch):
    """With their number, and with how many verdicts there are of each."""
    monkeypatch.setattr(chapters, "text", lambda study, run, words: "## Risk\n\n" + words.figure("jain2021/risk_privacy"))
    run = MadeUp()
    placed, verdicts, figures = chapter("risk", run).split("<details>")
    assert "[figure jain2021/risk_privacy]" in placed
    assert verdicts.startswith("\n<summary>Verdicts: ") and "[claim A-T4.2]" in verdicts
    assert "further figure" in figures and figures.count("[figure ") == len(run.captions["risk"]) - 1


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_that_did_not_run_has_its_heading(study):
    """And one sentence, with no number and no figure."""
    run = MadeUp()
    run.provenance["config"] = {"scale": "default", "studies": [name for name in STUDIES if name != study]}
    heading, sentence = chapter(study, run).split("\n\n")
    assert heading.startswith("## ") and "{" not in heading
    assert sentence == "This study is not part of this run."
    assert text(study, MadeUp()).lstrip().startswith(heading)


# How a text is filled


def written(tmp_path: Path, template: str, run: Run | None = None, study: str = "init_rates", **facts: object) -> str:
    """A template of its own, filled for a study."""
    source = tmp_path / "chapter.md"
    source.write_text(template)
    return filled(source, Words(run or MadeUp(), study), facts)


def test_a_paragraph_without_its_number_is_left_out(tmp_path):
    """The others stay, and a sentence that may be missing leaves its paragraph."""
    template = """First.

{% call finding() %}
From {{ e("privacy n dist2") }}.
{% endcall %}

{% call finding() %}
Second{% if known("exponent privacy n dist2") %}, with {{ e("privacy n dist2") }}{% endif %}.
{% endcall %}

{% call folded("More") %}
{{ e("privacy n dist2") }}
{% endcall %}
"""
    known, missing = (written(tmp_path, template, MadeUp(number)) for number in (0.25, math.nan))
    linked = '<a class="q" href="#claim-A-L4.6">0.250</a>'
    assert f"From {linked}." in known and f"Second, with {linked}." in known
    assert f"<summary>More</summary>\n\n{linked}" in known
    assert missing.split() == ["First.", "Second."]


def test_a_number_outside_of_a_paragraph_that_may_go_is_an_error(tmp_path):
    """At a smaller run the page would fail."""
    with pytest.raises(ConfigError, match=r"chapter\.md: exponent privacy n dist2"):
        written(tmp_path, '{{ e("privacy n dist2") }}', MadeUp(math.nan))


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ('{{ q("davis-kahan print") }}', "the nearest is 'davis-kahan printed'"),
        ('{{ n("davis-kahan print") }}', "the nearest is 'davis-kahan printed'"),
        ('{{ e("privacy nn dist2") }}', "the nearest is 'exponent privacy n dist2'"),
        ('{% if value("davis-kahan print") > 1 %}more{% endif %}', "the nearest is 'davis-kahan printed'"),
        ('{% if known("davis-kahan print") %}more{% endif %}', "the nearest is 'davis-kahan printed'"),
        ('{{ q("davis-kahan printed", study="risk") }}', "'davis-kahan printed' is not measured by this study"),
        ('{{ numbered("distF over dist2 at rnak") }}', "'distF over dist2 at rnak' is the beginning of no quantity"),
        ('{{ law("privcy").least }}', "'constant privcy' is the beginning of no quantity; the nearest is"),
        ('{{ judged("A-L4.66", "LOOSE") }}', "'A-L4.66' is no claim; the nearest is 'A-L4.6"),
        ('{{ judged("A-L4.6", "LOSE") }}', "'LOSE' is no verdict; the nearest is 'LOOSE'"),
        ('{{ judged("A-L4.6", "LOOSE", "expnent of n") }}', "'expnent of n' is no quantity of claim A-L4.6; the nearest"),
        ('{{ size("n-anisotropic", "head_condition") }}', "there is no series 'n-anisotropic'"),
        ('{{ size("n-aniso", "head_conditions") }}', "the series 'n-aniso' has no 'head_conditions'"),
        ('{{ values("n-anisotropic", "users") }}', "there is no series 'n-anisotropic'"),
        ('{{ constant("RANGE") }}', "'RANGE' is no constant of privrep.studies.init_rates.measures; the nearest is 'RANGES'"),
        ('{{ figure("jain2021/init_privcy") }}', "'jain2021/init_privcy' is no figure of study init_rates; the nearest is"),
        ("{{ exponent }}", "'exponent' is undefined"),
        ("{{ 1.5 | nubmer }}", "line 1: No filter named 'nubmer'"),
        ('One.\n\n{% if judged("A-L4.6", "LOOSE") %}\nTwo.\n', "line 3: Unexpected end of template"),
        ("One.\n\nTwo {{ q( }}.\n", "line 3: unexpected '}'"),
    ],
)
def test_a_name_of_nothing_is_found(tmp_path, template, words):
    """With the file, the name and the nearest right one, or the line of an error in the template."""
    for run in (Rehearsal(1.5, True), Rehearsal(math.nan, False)):
        with pytest.raises(ConfigError) as caught:
            written(tmp_path, template, run)
        message = str(caught.value)
        assert message.startswith(str(tmp_path / "chapter.md")) and words in message


def test_an_error_in_a_chapter_names_its_file(monkeypatch):
    """From the root of the project, as all other messages do."""
    monkeypatch.setattr(Words, "finding", lambda *_: missing)  # noqa: F821
    with pytest.raises(NameError):
        text("risk", MadeUp())
    monkeypatch.setattr(chapters, "FILTERS", {})
    with pytest.raises(ConfigError, match=r"^src/privrep/studies/risk/chapter\.md, line \d+: No filter named"):
        text("risk", MadeUp())


@pytest.mark.parametrize(
    ("template", "filled_in"),
    [
        ("One.\n{% if true %}\nTwo.\n{% endif %}\nThree.\n", "One.\nTwo.\nThree.\n"),
        ("One.\n  {% set a = 1 %}{% set b = 2 %}\nTwo.\n", "One.\nTwo.\n"),
        ("One.\n{# Why. #}\nTwo.\n", "One.\nTwo.\n"),
        ("- One{% if true %} and more{% endif %}\n- Two\n", "- One and more\n- Two\n"),
        ("- One{% if false %} and more{% endif %}\n- Two\n", "- One\n- Two\n"),
        ("{% if true %}One{% endif %}\nTwo\n", "One\nTwo\n"),
        ("{% if true %}\n\nOne\n\n{% endif %}\nTwo\n", "\nOne\n\nTwo\n"),
        ("{% for i in [1, 2] %}\n{{ i }}\n{% endfor %}\nEnd\n", "1\n2\nEnd\n"),
    ],
)
def test_a_condition_on_a_line_of_its_own_leaves_no_line(tmp_path, template, filled_in):
    """One at the end of a line of text keeps the end of that line: items of a list and sentences would run together."""
    assert written(tmp_path, template) == filled_in


def test_lines_of_text_are_no_tags():
    for line in ("One {% if a %}\n", "{{ a }}\n", "{% if a %}One{% endif %}\n"):
        assert not TAGS.match(line)


@pytest.mark.parametrize(("size", "word"), [(1.05, "with"), (1.2, "up to"), (0.7, "up to")])
def test_a_law_holds_with_its_constant_near_one(size, word):
    """From the ratios of measured and predicted errors."""
    assert f"the law holds {word} its constant" in text("risk", MadeUp(size))
    found = Words(MadeUp(size), "risk").law("privacy")
    assert found["least"] == found["largest"] == size and found["sweeps"] > 1


def test_a_size_that_differs_is_not_named():
    """A text names the one value of a series; a sweep or no series at all is an error, not a wrong number."""
    cells = pd.DataFrame({"series": ["a", "a", "b"], "users": [100, 100, 7], "rank": [1, 2, 3]})
    assert sizes(cells, "a", "users") == ("100",)
    with pytest.raises(ValueError, match="can name only one"):
        sizes(cells, "a", "rank")
    with pytest.raises(ValueError, match="no series 'c'"):
        sizes(cells, "c", "users")


# No English in Python


FACTS = sorted((SOURCE / "studies").glob("*/facts.py"))
SENTENCE = re.compile(r"(?:[A-Za-z{}][\w{}'’-]*[,;:]?\s+){3,}[\w{}'’-]+\.(?:\s|$)")
"""Four words or more that end in a full stop."""
LONGEST_LABEL = 4
"""Words that an f-string may have: a name of a quantity or of a column, no clause."""


def spoken(source: str) -> tuple[list[str], list[str]]:
    """The strings and the f-strings of a module, captions of tables and docstrings left out; what is put in is shown as {}."""
    tree = ast.parse(source)
    skipped = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "caption" for target in targets):
            skipped |= set(ast.walk(node))
    joined = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    nodes = [node for node in ast.walk(tree) if node not in skipped]
    plain = [node.value for node in nodes if isinstance(node, ast.Constant) and node not in joined]
    filled_in = [
        "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        for node in nodes
        if isinstance(node, ast.JoinedStr)
    ]
    return [value for value in plain if isinstance(value, str)], filled_in


def prose_in(source: str) -> list[str]:
    """Sentences among the strings of a module, and clauses among its f-strings."""
    plain, filled_in = spoken(source)
    sentences = [value for value in plain + filled_in if SENTENCE.search(value)]
    clauses = [value for value in filled_in if len(re.findall(r"[A-Za-z]{2,}", re.sub("<[^>]+>", "", value))) > LONGEST_LABEL]
    return sentences + clauses


@pytest.mark.parametrize("path", FACTS, ids=lambda path: path.parent.name)
def test_no_english_is_assembled_in_python(path):
    """What a chapter computes is numbers, lists and tables; sentences stand in its text, where a writer finds them."""
    assert prose_in(path.read_text()) == []
    study = path.parent.name
    for name, function in chapters.facts_of(study, MadeUp()).items():
        assert function.func.__doc__, f"{study}: {name} does not say what it returns"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('def f(run):\n    """It says what it is."""\n    return "Settings"\n', 0),
        ('def f(run):\n    return "The error falls with more users."\n', 1),
        ('def f(run):\n    return f"The error falls by {run.value} for twice the users"\n', 1),
        ('def f(run):\n    return f"{run.name} at d = {run.dim:g}"\n', 0),
        ('def f(run):\n    caption = "Mean over the seeds of a series. Bold: least."\n    return caption\n', 0),
    ],
)
def test_english_in_python_is_found(source, found):
    assert len(prose_in(source)) == found


# What measures need


PLOTTING = ("matplotlib", "seaborn", "privrep.drawing")


@cache
def imported(module: str) -> frozenset[str]:
    """What the import statements of a module of this project name, with the packages around each."""
    path = SOURCE.parent / Path(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not path.exists():
        return frozenset()
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(found | {name.rpartition(".")[0] for name in found if "." in name})


def needed_by(module: str) -> set[str]:
    """All that a module imports, directly or through modules of this project."""
    found, waiting = set(), [module]
    while waiting:
        for name in imported(waiting.pop()) - found:
            found.add(name)
            if name.startswith("privrep."):
                waiting.append(name)
    return found


@pytest.mark.parametrize("study", STUDIES)
def test_measures_need_no_plotting(study):
    """Numbers of a run can be taken where nothing can be drawn, and a change of a picture recomputes no measure."""
    drawn = [name for name in needed_by(f"privrep.studies.{study}.measures") if name.startswith(PLOTTING)]
    assert drawn == []


def test_plotting_is_found_where_it_is_needed():
    """The same walk over the modules that draw."""
    for study in STUDIES:
        assert any(name.startswith(PLOTTING) for name in needed_by(f"privrep.studies.{study}.figures")), study
    assert importlib.util.find_spec("privrep.drawing") is not None
