"""Numbers typed into prose are found: findings read what was measured from the tables, captions name settings alone."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache

import pytest
from workflow_helpers import ROOT

from privrep.config import read_yaml
from privrep.scaling import Window

FINDINGS = sorted((ROOT / "src" / "privrep" / "report" / "findings").glob("*.py"))

LOOKUPS = (
    "judged",
    "known",
    "value",
    "text",
    "seeds",
    "numbered",
    "exponent",
    "isin",
    "startswith",
    "removeprefix",
    "split",
)
"""Functions whose arguments are names in tables and no prose."""

PLACES = "Theorem|Lemma|Remark|Section|Assumption|Definition|Corollary|Appendix|Algorithm|Table|Figure|Condition"
LABEL = r"[A-Z]?\.?\d+(?:\.\d+)?(?:\s?\([a-z]+\))?"
DEFINITIONS = (
    rf"(?:{PLACES})s? {LABEL}(?:(?:,| and| to|, and) {LABEL})*",
    r"[eE]qs?\. \(\d+\)(?:(?:,| and| to) \(\d+\))*",
    r"\b[EF]\d+\b",
    r"\(\d+\)",
    r"\^\{*[-\d./]+\}*",
    r"95 %",
)
"""What may be typed anywhere: places in the papers, equations, names of laws and errata, powers, the level of intervals."""

COUNTED = "rounds|runs|times|users|seeds|repetitions|starts|samples|epochs|draws|iterations|candidates"
NUMBER = r"\d[\d,]*(?:\.\d+)?"
TYPED = re.compile(
    rf"\d[\d,]*\.\d+|{NUMBER}(?=\s?\\?%)|\b{NUMBER}(?=\s(?:{COUNTED})\b)|(?<=[nmdkTL]\s=\s){NUMBER}|(?:(?<=\\approx )|(?<=\\simeq )){NUMBER}"
)
"""Decimals, percentages, counts and sizes."""

ALLOWED = {
    ("power_method", "3.5"): "half the exponent of k in eq. (67) at the prescribed clip, by arithmetic",
    ("jain2021/davis_kahan", "0.49"): "entry of the matrix H of the counterexample, E15",
    ("jain2021/davis_kahan", "0.51"): "entry of the matrix H of the counterexample, E15",
    ("comparison/cost", "36"): "default of privrep.algorithms.centaur, T_0",
    ("comparison/cost", "14"): "default of privrep.algorithms.centaur, L",
    ("shen2023/gradient_norms", "0.01"): "values of c_zeta that are drawn, CONSTANTS of privrep.figures.client_lemmas",
    ("shen2023/update_norms", "99"): "level of the quantile, column representation_q99",
    ("shen2023/selection", "0.001"): "where shares too small for the axis are drawn",
}
"""File of findings or id of a figure, number -> why it is no measured one."""


def numbers(value: object) -> Iterator[float]:
    """All numbers inside a configuration, those inside texts included."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


@cache
def settings(study: str) -> frozenset[float]:
    """The numbers that were fixed for a study: in its file, as constants of its module, and by the window of all fits."""
    module = vars(importlib.import_module(f"privrep.studies.{study}"))
    constants = [value for name, value in module.items() if name.isupper()]
    return frozenset(
        numbers([read_yaml(ROOT / "config" / "studies" / f"{study}.yaml"), constants, Window().model_dump()])
    )


def docstrings(tree: ast.AST) -> set[ast.AST]:
    """Strings that stand alone as statements."""
    return {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def names(tree: ast.AST) -> Iterator[ast.AST]:
    """Parts of the code whose strings name rows of tables: arguments of look-ups, subscripts, keys, comparisons, lists of names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in LOOKUPS:
                yield from node.args
        elif isinstance(node, ast.Subscript):
            yield node.slice
        elif isinstance(node, ast.Dict):
            yield from (key for key in node.keys if key is not None)
        elif isinstance(node, ast.Compare):
            yield from (node.left, *node.comparators)
        elif isinstance(node, ast.Tuple | ast.List):
            yield from (part for part in node.elts if isinstance(part, ast.Constant | ast.JoinedStr))


def prose(source: str) -> Iterator[str]:
    """The texts of a module that a reader sees; what an f-string puts in is shown as {}."""
    tree = ast.parse(source)
    skipped = docstrings(tree) | {part for name in names(tree) for part in ast.walk(name)}
    joined = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in joined:
            yield node.value


def typed(text: str, study: str, where: str) -> list[str]:
    """Numbers in a text that look measured: no definition, no setting of the study, and not allowed."""
    for pattern in DEFINITIONS:
        text = re.sub(pattern, "", text)
    found = [match.replace(",", "").rstrip(".") for match in TYPED.findall(text)]
    fixed = settings(study)
    return [
        number
        for number in found
        if not {float(number), float(number) / 100} & fixed and (where, number) not in ALLOWED
    ]


@cache
def studies_of_figures() -> dict[str, str]:
    """Id of a figure -> its study."""
    studies = [read_yaml(path) for path in sorted((ROOT / "config" / "studies").glob("*.yaml"))]
    return {figure: study["study"] for study in studies for figure in study["figures"]}


def is_study(name: str) -> bool:
    return (ROOT / "config" / "studies" / f"{name}.yaml").exists()


@pytest.mark.parametrize("path", [path for path in FINDINGS if is_study(path.stem)], ids=lambda path: path.stem)
def test_findings_type_no_measured_number(path):
    """Each number in prose is put in from a table, or is a setting."""
    found = [(number, text) for text in prose(path.read_text()) for number in typed(text, path.stem, path.stem)]
    assert not found, f"read these from the tables of the run, or name them in ALLOWED with a reason: {found}"


CAPTIONS = {
    figure: caption
    for path in sorted((ROOT / "config" / "claims").glob("*.yaml"))
    for figure, caption in read_yaml(path).get("captions", {}).items()
}


@pytest.mark.parametrize("figure", CAPTIONS)
def test_captions_name_settings_alone(figure):
    """A size that the study no longer has, or a result, shows here."""
    study = studies_of_figures()[figure]
    assert typed(CAPTIONS[figure], study, figure) == []


def test_prose_is_found_and_names_are_not():
    """Docstrings, names of rows and keys are no prose; what is put into a text is not typed."""
    source = '''
def finding(run):
    """Measured 1.11."""
    known = {"key 2.22": "heads of condition 1.5"}
    if judged(run, "B-T5.1", f"row 3.33 of {run}"):
        return f"In {number(run.value('name 4.44'), 2)} of " "all runs" f" and {run} more"
    return "plain" if run == "5.55" else "other"
'''
    assert sorted(prose(source)) == ["In {} of all runs and {} more", "heads of condition 1.5", "other", "plain"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The error falls by a factor of 3.21.", ["3.21"]),
        ("It holds in 87 % of the runs.", ["87"]),
        ("It holds in $87\\%$ of the runs.", ["87"]),
        ("After 1,234 rounds it is over.", ["1234"]),
        ("All 777 users agree.", ["777"]),
        ("At $d \\approx 771$ they meet.", ["771"]),
        ("Drawn at n = 12,345 and $k = 77$.", ["12345", "77"]),
        ("With $d^{1.5}$, law F3, Lemma 4.6, Theorems 1.1 and 4.2, eq. (22) and (24), E42 and 95 % intervals.", []),
        ("From $x = 1.15$ on; $\\kappa^{{-3}} k^{3/2}$, k^1.5.", []),
    ],
)
def test_a_typed_number_is_found(text, found):
    """Results and sizes that no study has are found; definitions and settings are not."""
    assert typed(text, "local_convergence", "local_convergence") == found


def test_a_number_typed_into_a_finding_is_found():
    """3.21 in place of what a table says."""
    path = next(path for path in FINDINGS if path.stem == "risk")
    changed = path.read_text() + "\n\ndef more(run):\n    return f'{run.scale}: the risk is 3.21 times as large.'\n"
    assert [number for text in prose(changed) for number in typed(text, "risk", "risk")] == ["3.21"]
