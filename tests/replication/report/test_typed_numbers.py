"""Numbers typed into prose are found: what was measured comes from the tables, sizes of what was run from the cells.

Looked at are the chapters and the texts on the whole run, the captions and the labels of the figures. In a chapter or
text no digit stands outside of formulas and code, but for what DEFINITIONS has. Found elsewhere, and in formulas, are
decimals, percentages, counts of rounds, runs, users and the like (in digits, or in words from two on), and sizes:
numbers after n, m, d, k, q, T or L and an equals sign, after epsilon, kappa, condition, noise, sine or distance. It
does not matter whether a study has the number as a setting: at another scale it may have another one. What may be typed
is in DEFINITIONS and ALLOWED. Not found there are other whole numbers, fractions such as 1/2, and relations in words,
such as "a quarter" or "twice".

Claims name sizes as part of what is claimed.
There a size has to be a setting of the study at every scale at which the claim is judged.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache

import pandas as pd
import pytest
from workflow_helpers import ROOT

from images.table import listed as read_rows_of_images
from replication.evidence.cells import sizes_of
from replication.evidence.quantities import checked_claims
from replication.report.chapters import FRONT
from replication.report.run_tables import listed
from replication.report.sizes import PLACEHOLDER, found, with_sizes
from replication.report.stub_run import planned_sizes
from replication.run.config import read_config, read_study, read_yaml, study_names
from replication.run.models import ConfigError
from replication.run.settings import Window, settings_of
from replication.run.statements import Bound
from replication.studies.tradeoff.analysis import CONDITIONS

CHAPTERS = [
    *sorted((ROOT / "src" / "replication" / "studies").glob("*/chapter.md")),
    *sorted((ROOT / "src" / "replication" / "report" / "texts").glob("*.md")),
    ROOT / "src" / "replication" / "report" / "templates" / "content.html.jinja",
]
FIGURES = [
    *sorted((ROOT / "src" / "replication" / "studies").glob("*/figures.py")),
    *sorted((ROOT / "src" / "replication" / "drawing").glob("*.py")),
]

PLACES = "Theorem|Lemma|Remark|Section|Assumption|Definition|Corollary|Appendix|Algorithm|Table|Figure|Condition"
LABEL = r"[A-Z]?\.?\d+(?:\.\d+)?(?:\s?\([a-z]+\))?"
DEFINITIONS = (
    rf"(?:{PLACES})s? {LABEL}(?:(?:,| and| to|, and) {LABEL})*",
    r"[eE]qs?\. \(\d+\)(?:(?:,| and| to) \(\d+\))*",
    r"\b[EF]\d+\b",
    r"\b(?:jain2021|shen2023)\b",
    r"arXiv \d+\.\d+",
    r"\(\d+\)",
    r"\^\{*[-\d./]+\}*",
    r"95 %",
)
"""What may be typed anywhere: places in the papers, equations, names of laws, errata and papers, powers,
the level of intervals."""

COUNTED = "rounds|runs|times|users|seeds|repetitions|starts|samples|epochs|draws|iterations|candidates"
WORDS = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|eighteen|twenty|forty|fifty|sixty|hundred"
NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?(?!\d|,\d{3}|\.\d)"
SIGNS = r"(?<![\w\\])(?:[nmdkqTL]|epsilon|kappa|ε|κ|\\varepsilon|\\kappa)\s?=\s?|\\(?:approx|simeq) "
WORDED = r"\b(?:condition(?: number)?|noise(?: of sd)?|sine|distance) "
COEFFICIENT = r"\s?(?:[nmdk]\b|kappa|\\)"
SIZE = rf"(?:{SIGNS}|{WORDED})({NUMBER})(?!{COEFFICIENT})"
COUNT = rf"\b({NUMBER}|{WORDS})(?=\s(?:{COUNTED})\b)"
TYPED = re.compile(rf"{SIZE}|({NUMBER})(?=\s?\\?%)|{COUNT}|(\d[\d,]*\.\d+)")
"""Sizes, percentages, counts and decimals."""
SIZES = re.compile(rf"{SIZE}|{COUNT}")

ALLOWED = {
    **{("images/chapter", number): "in the name of an image set, a table or a figure" for number in ("10", "100")},
    ("images/chapter", "1"): "in the name of a document",
    ("risk/chapter", "ten"): "the tenth in the name of the quantity beside it",
    ("risk/chapter", "eight"): "two to the third, the exponent of d that stands there only with its verdict",
    ("figure2/chapter", "4"): "the error that the paper states",
    **{("figure2/chapter", number): "an epsilon in the name of the quantity beside it" for number in "123"},
    **{("texts/opening", size): "a size in the name of the quantity beside it" for size in ("0.1", "0.25", "40")},
    **{("texts/questions", size): "a size in the name of the quantity beside it" for size in ("1", "20", "100")},
    ("jain2021/davis_kahan", "0.49"): "entry of the matrix H of the counterexample, E15",
    ("jain2021/davis_kahan", "0.51"): "entry of the matrix H of the counterexample, E15",
    ("comparison/settings", "1.5"): "the exponent that shen2023 states for jain2021",
    **{
        ("shen2023/gradient_norms", value): "value of c_zeta that is drawn, CONSTANTS of the figure's module"
        for value in ("0.1", "0.01")
    },
    ("shen2023/update_norms", "99"): "level of the quantile, column representation_q99",
    ("shen2023/update_norms", "1"): "the rank that the law is for",
    ("shen2023/selection", "0.001"): "where shares too small for the axis are drawn",
    ("selection/figures", "0.001"): "where shares too small for the axis are drawn",
    ("texts/verdicts", "five"): "repetitions below which privrep gives no interval",
}
"""File or id of a figure, number -> why it may be typed."""


def numbers(value: object) -> Iterator[float]:
    """All numbers inside a configuration, those inside texts excepted."""
    if isinstance(value, dict):
        yield from numbers([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


@cache
def config_of(scale: str) -> dict:
    overlays = [] if scale == "default" else [ROOT / "config" / "scales" / f"{scale}.yaml"]
    return read_config(overlays)


@cache
def settings(study: str, scale: str) -> frozenset[float]:
    """The numbers that were fixed for a study at a scale: in its file, its module, and the window of all fits."""
    module = vars(importlib.import_module(f"replication.studies.{study}.analysis"))
    constants = [value for name, value in module.items() if name.isupper()]
    of_claims = {"claims": True, "fits": {"__all__": {*Bound.model_fields, "claimed"}}}
    study_file = read_study(config_of(scale), study).model_dump(exclude=of_claims)
    return frozenset(numbers([study_file, constants, Window().model_dump()]))


def prose(source: str) -> list[str]:
    """The strings of a module, docstrings left out."""
    nodes = list(ast.walk(ast.parse(source)))
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    constants = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node.value for node in constants if node not in docstrings]


def is_name(text: str) -> bool:
    """Whether a string is the name of quantities, or the beginning of their names up to what is put in."""
    return any(name.startswith(text.split("%")[0] or "%") for name in NAMES)


FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", flags=re.DOTALL)


MARKUP = re.compile(r"<[^>]+>|`[^`]*`|&\w+;|\]\([^)]*\)|^\d+\. ", flags=re.MULTILINE)
"""Tags, code, signs, addresses, and what begins an item of a list."""


PUT_IN = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", flags=re.DOTALL)


def numbers_of(source: str) -> list[str]:
    """Numbers that stand in a chapter or text: any digit in its prose, and sizes and results in its formulas."""
    text = MARKUP.sub(" ", PUT_IN.sub("{}", FRONT.sub("", source, count=1)))
    formulas = [number for formula in FORMULA.findall(text) for number in named_in(formula, TYPED)]
    return formulas + named_in(FORMULA.sub(" x ", text), re.compile(rf"{COUNT}|({NUMBER})"))


def named_in(text: str, pattern: re.Pattern) -> list[str]:
    """Numbers that a pattern finds in a text, definitions and placeholders left out."""
    for known in (*DEFINITIONS, PLACEHOLDER.pattern):
        text = re.sub(known, "", text)
    found = [next(filter(None, match.groups())) for match in pattern.finditer(text)]
    return [number.replace(",", "").rstrip(".") for number in found]


def typed(text: str, where: str) -> list[str]:
    """Numbers in a text that are no definition and not allowed."""
    return [number for number in named_in(text, TYPED) if (where, number) not in ALLOWED]


STATED = [claim for claims in checked_claims().values() for claim in claims]
QUANTITIES = {quantity.quantity for claim in STATED for quantity in claim.quantities}
NAMES = QUANTITIES | {name for study in study_names() for name in listed(study)}
CAPTIONS = {
    figure: caption
    for study in study_names()
    for figure, caption in read_yaml(ROOT / settings_of(study))["figures"].items()
}


def found_in(path) -> list[tuple[str, str]]:
    """Typed numbers in the strings of a module, each with its text; names of quantities and bare numbers are none."""
    texts = [text for text in prose(path.read_text()) if not is_name(text) and re.search(r"[A-Za-z]", text)]
    return [(number, text) for text in texts for number in typed(text, named(path))]


def named(path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", CHAPTERS, ids=named)
def test_no_number_is_typed_into_a_chapter(path):
    """Each number is put in from a table, the cells or a constant."""
    found = [number for number in numbers_of(path.read_text()) if (named(path), number) not in ALLOWED]
    assert not found, f"name these by q(...), size(...) or constant(...), or in ALLOWED with a reason: {found}"


@pytest.mark.parametrize("path", FIGURES, ids=named)
def test_no_number_is_typed_into_labels(path):
    """Each number is put in from a table, the cells or a constant."""
    found = found_in(path)
    assert not found, f"read these from the tables of the run, or name them in ALLOWED with a reason: {found}"


@pytest.mark.parametrize("figure", CAPTIONS)
def test_no_number_is_typed_into_captions(figure):
    """Sizes are placeholders; results stand in the findings."""
    assert typed(CAPTIONS[figure]["caption"], figure) == []


def test_every_exception_is_needed():
    """An entry of ALLOWED whose text is gone goes, too."""
    texts = {named(path): " ".join(prose(path.read_text())) for path in FIGURES}
    texts |= {figure: caption["caption"] for figure, caption in CAPTIONS.items()}
    found = {name: named_in(text, TYPED) for name, text in texts.items()}
    found |= {named(path): numbers_of(path.read_text()) for path in CHAPTERS}
    assert [key for key in ALLOWED if key[1] not in found[key[0]]] == []


LONG_RUNS = {
    float(value)
    for row in read_rows_of_images(ROOT / "src/images/runs.toml")
    for value in (row.clients, row.options.rounds)
}
"""Sizes of the image runs that are made once."""
STUDIES = {study: read_yaml(ROOT / settings_of(study)) for study in study_names()}
SCALES = ("tiny", "quick", "default", "record")


@pytest.mark.parametrize("scale", SCALES)
def test_captions_can_be_filled_at_every_scale(scale):
    """Each placeholder names a series and a column of the figure's study, or a constant of its module."""
    for name in config_of(scale).studies:
        sizes = planned_sizes(name, scale)
        for figure in STUDIES[name]["figures"]:
            assert "{" not in with_sizes(figure, CAPTIONS[figure]["caption"], name, sizes)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("n = {a.users}", "n = 2,000 to 24,000"),
        ("k = {a.rank}", "k = 2"),
        ("{b.rank} runs at {b.epsilon}", "3 and 4 runs at 0.5"),
        ("within {TARGET}", "within 0.2"),
        ("plain", "plain"),
    ],
)
def test_a_placeholder_is_filled(text, filled):
    """One value, a list, a range of many, a constant; missing numbers are left out."""
    users = [2000, 3000, 6000, 12_000, 24_000]
    cells = pd.DataFrame({"series": ["a"] * 5 + ["b"] * 2, "users": [*users, 1, 1], "rank": [2] * 5 + [4, 3]})
    cells["epsilon"] = [1.0] * 5 + [float("nan"), 0.5]
    table = sizes_of(cells, cells.columns)
    assert with_sizes("shen2023/x", text, "power_method", table) == filled


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("c.users", "no series 'c'"),
        ("a.rounds", "has no 'rounds'"),
        ("a.dim", "has no 'dim'"),
        ("users", "no constant"),
    ],
)
def test_a_placeholder_that_cannot_be_filled_is_named(name, reason):
    """The message has the file, the caption, the placeholder and the reason."""
    cells = pd.DataFrame({"series": ["a"], "users": [7], "dim": [float("nan")]})
    with pytest.raises(ConfigError) as error:
        with_sizes("shen2023/x", f"n = {{{name}}}", "power_method", sizes_of(cells, cells.columns))
    message = str(error.value)
    start = "src/replication/studies/power_method/settings.yaml: figures.shen2023/x.caption: "
    assert message.startswith(f"{start}{{{name}}}: ")
    assert reason in message
    with pytest.raises(ConfigError, match=r"accounting has no cells"):
        with_sizes("x", "{a.users}", "accounting", None)


@pytest.mark.parametrize("claim", [claim for claim in STATED if claim.quantities], ids=lambda claim: claim.id)
def test_claims_name_sizes_that_are_run(claim):
    """A size in a claim is a setting of its study at every scale at which it is judged."""
    texts = [claim.statement, *(quantity.quantity for quantity in claim.quantities)]
    for scale in claim.scales:
        if claim.study not in config_of(scale).studies:
            continue
        known = settings(claim.study, scale) | (LONG_RUNS if claim.study == "images" else set())
        for text in texts:
            sizes = [number for number in named_in(text, SIZES) if number[0].isdigit()]
            assert [number for number in sizes if float(number) not in known] == [], (scale, text)


@pytest.mark.parametrize("scale", [scale for scale in SCALES if scale != "tiny"])
def test_settings_of_the_comparison_are_what_their_names_say(scale):
    """Label noise, k, kappa and epsilon in the names of the settings, which are also names of measures."""
    columns = {"label noise ": "label_noise_sd", "k = ": "rank", "kappa = ": "head_condition", "epsilon = ": "epsilon"}
    table = planned_sizes("tradeoff", scale)
    for setting in CONDITIONS:
        prefix = next(prefix for prefix in columns if setting.label.startswith(prefix))
        for series in (setting.first, setting.second):
            assert found(table, series, columns[prefix]) == [float(setting.label.removeprefix(prefix))]
