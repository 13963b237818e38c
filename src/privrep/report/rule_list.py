"""The text of every rule of judging, window and exclusion, and how it differs from the committed one.

A verdict depends on the claims' rules, on the windows of fits, on the grids and series behind them and on constants of
the code. tests/reference/rules.txt spells them: a rule is a line with its title, and a line for each of its parts.
Beside it, rules.csv has a row per rule with the hash of its text and the reason why it last changed, so that no text
changes without one. The row of a rule that goes away stays as removed, so that a dropped claim leaves a trace.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import importlib
import json
import math
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path

import numpy as np
import yaml

from privrep.evidence.catalogue import read_errata
from privrep.run.config import ROOT, read_config, read_papers, read_study, read_yaml
from privrep.run.rivals import TABLE
from privrep.run.settings import Window

Rules = dict[str, list[str]]
"""Title of a rule -> its lines: the first one opens with the title, the others are indented."""
RULE_COLUMNS = ("rule", "hash", "reason")
WRAPPED = textwrap.TextWrapper(200, subsequent_indent=6 * " ", break_long_words=False, break_on_hyphens=False)
"""Lines of the text: what is longer goes on in the next one."""
REMOVED = "(removed)"
"""Hash of a rule that is gone."""
COMMAND = "python workflow/scripts/list_rules.py --write tests/reference/rules.csv --reason '...'"
TEXTS = ("id", "place", "statement", "figure", "printed", "advice", "quantity", "quantities")
"""Fields of claims that decide no verdict, or that name a line."""
JUDGING = (
    "evidence.claim_rules",
    "evidence.claims",
    "evidence.verdicts",
    "evidence.intervals",
    "evidence.measured",
    "evidence.scaling",
)
"""Modules whose constants are all listed, as are those of the studies."""
NO_RULES = ("ALPHA", "SD", "OWN", "GROUPS", "STUDY", "CLAIM_COLUMNS", "MEASURE_COLUMNS", "SHOWN", "OUTSIDE")
NO_RULES += ("FACTS", "KEPT", "FINE", "SYMBOLS", "LABELS", "NAMES", "STARTS", "LARGEST", "STREAMS", "MEASURED_AS")
NO_RULES += ("BY_CLIPS", "BY_CONDITION", "OF_RECORD")
"""Constants of these modules that decide nothing: names and columns of tables, facts of chapters, and from where on a
number is shown."""
FURTHER = {
    "searches.user_search": ("PRECISION", "FIRST_TRIAL"),
    "laws.prescribed_powers": ("FAR",),
    "laws.shen2023": ("TARGET", "CANDIDATE"),
    "algorithms.parts.clip_units": ("FAILURE_POWER",),
    "data.problem": ("HEAVY_EVERY",),
    "run.results": ("SHARED_ROLES",),
    "privacy.regression_moments": ("DOMINATED", "INDEPENDENT"),
}
"""Constants of other modules that decide verdicts: module -> names."""


class RulesError(ValueError):
    """A rule that changed without a reason."""


def _plain(value: object) -> object:
    """For JSON: functions by their names, dataclasses by their fields."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return getattr(value, "__name__", None) or repr(value)


def _spell(name: str, value: object, indent: str = "") -> list[str]:
    """One spelling of a name and its value, in YAML."""
    content = {name: json.loads(json.dumps(value, default=_plain))}
    text = yaml.safe_dump(content, default_flow_style=True, width=math.inf, sort_keys=False, allow_unicode=True)
    return WRAPPED.wrap(indent + text.strip()[1:-1])


def _rule(title: str, own: dict, parts: Iterable[tuple[str, object]] = ()) -> Iterator[str]:
    """The lines of a rule: what it says itself, then its parts, whose order decides nothing."""
    yield from _spell(title, own)
    for name, value in sorted(parts, key=lambda part: part[0]):
        yield from _spell(name, value, "  ")


def mark(lines: list[str]) -> str:
    """The hash of a text."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8] if lines else REMOVED


def _judging(entry: dict) -> dict:
    """An entry without its texts."""
    return {key: value for key, value in entry.items() if key not in TEXTS}


def claim_rules(root: Path) -> Iterator[str]:
    """A rule for each claim: whatever fields it and its quantities have, but for their texts."""
    for paper, about in read_papers(root).items():
        stated = [(claim, {}) for claim in about.not_tested]
        for study in about.chapters:
            claims = read_yaml(root / "config" / "studies" / f"{study}.yaml").get("claims", [])
            stated += [(claim, {"study": study}) for claim in claims]
        for claim, decided in stated:
            parts = [(quantity["quantity"], _judging(quantity)) for quantity in claim.get("quantities", [])]
            yield from _rule(f"claim {paper} {claim['id']}", _judging(claim) | decided, parts)


def study_rules(root: Path) -> Iterator[str]:
    """A rule for each study, with its problem, and for each of its grids, with the series and fits on it,
    all at the default scale.

    Windows are resolved, and say what is not as in the default one.
    Chosen options stand by their hash, since their table can be read itself.
    """
    config = read_config(root=root)
    for path in sorted((root / "config" / "studies").glob("*.yaml")):
        study = read_study(config, path.stem, root)
        yield from _rule(f"study {path.stem}", study.model_dump(include={"problem", "delta"}, exclude_unset=True))
        parts: dict[str, list] = {grid: [] for grid in study.grids}
        for name, series in study.series.items():
            parts[series.grid].append((f"series {name}", series.model_dump(exclude={"grid"}, exclude_unset=True)))
            if series.tuned:
                rows = [choice.model_dump_json() for choice in study.choices if choice.series == name]
                parts[series.grid].append((f"tuned {name}", f"{len(rows)} rows of {TABLE}, {mark(rows)}"))
        for name, fit in study.fits.items():
            window = study.window_of(name).model_dump(exclude_defaults=True)
            entries = fit.model_dump(exclude={"name", "window"}, exclude_unset=True) | window
            parts[study.series[fit.series].grid].append((f"fit {name}", entries))
        for grid, axes in study.grids.items():
            yield from _rule(f"grid {path.stem} {grid}", dict(axes), parts[grid])


def _assigned(module: str) -> list[str]:
    """Names of constants that a module itself assigns, in capitals."""
    source = Path(importlib.import_module(module).__file__).read_text()
    targets = []
    for node in ast.parse(source).body:
        found = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        targets += [name for target in found for name in ast.walk(target) if isinstance(name, ast.Name)]
    return [target.id for target in targets if target.id.isupper() and target.id not in NO_RULES]


def constant_rules() -> Iterator[str]:
    """A rule for each module with constants that decide verdicts."""
    studies = sorted(path.parent.name for path in (ROOT / "src" / "privrep" / "studies").glob("*/analysis.py"))
    modules = [*JUDGING, *(f"studies.{study}.analysis" for study in studies)]
    for module, names in [*((module, _assigned(f"privrep.{module}")) for module in modules), *FURTHER.items()]:
        values = vars(importlib.import_module(f"privrep.{module}"))
        yield from _rule(f"constants {module}", {}, [(name, values[name]) for name in names])
    yield from _rule("constants run.settings", {}, [("Window", Window().model_dump())])


def errata_rules(root: Path) -> Iterator[str]:
    """What each error in print is said to be: its severity, what it changes, with which it counts as one,
    and which claims it touches."""
    for erratum in read_errata(root / "config" / "errata.yaml"):
        said = {key: erratum[key] for key in ("severity", "changes", "same_as", "claims") if key in erratum}
        yield from _rule(f"erratum {erratum['paper']} {erratum['id']}", said)


def rules(root: Path = ROOT) -> Rules:
    """All rules."""
    return read_text([*claim_rules(root), *study_rules(root), *constant_rules(), *errata_rules(root)])


def read_text(lines: Iterable[str]) -> Rules:
    """Rules from the lines of their text; those of one title are one rule."""
    found: Rules = {}
    title = ""
    for line in lines:
        if not line.startswith(" "):
            title = line.partition(":")[0]
        found.setdefault(title, []).append(line)
    return found


def text_of(current: Rules) -> str:
    """The text of rules, sorted by title."""
    return "".join(f"{line}\n" for title in sorted(current) for line in current[title])


def differences(rows: list[dict], listed: Rules, current: Rules) -> list[str]:
    """What is not as listed: the title of each such rule, then its old lines after - and its new ones after +.

    Parameters
    ----------
    rows, listed : the table and the text as they are committed.
    """
    marks = {row["rule"]: row["hash"] for row in rows}
    found = []
    for title in sorted({*marks, *listed, *current}):
        old, new = listed.get(title, []), current.get(title, [])
        if old != new:
            found += [title, *(line for line in difflib.ndiff(old, new) if line[0] in "+-")]
        elif marks.get(title) != mark(new):
            found.append(f"{title}: its row has the hash of another text")
    return found


def partly(listed: Rules, current: Rules, where: str) -> Rules:
    """The current rules with these words in their title, and the others as listed."""
    held = {title: lines for title, lines in listed.items() if where not in title}
    return held | {title: lines for title, lines in current.items() if where in title}


def updated(rows: list[dict], current: Rules, reason: str = "") -> list[dict]:
    """The table as it is now. A row keeps its reason while its hash stays; a new, changed or removed one gets `reason`.

    Raises
    ------
    RulesError
        If a rule changed and no reason is given.
    """
    old = {row["rule"]: row for row in rows}
    found = []
    for title in sorted({*old, *current}):
        row = {"rule": title, "hash": mark(current.get(title, [])), "reason": reason.strip()}
        if title in old and old[title]["hash"] == row["hash"]:
            row = old[title]
        elif not row["reason"]:
            raise RulesError(f"{title}: changed rules need a reason: --reason '...'")
        found.append(row)
    return found
