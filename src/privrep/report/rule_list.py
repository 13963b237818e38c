"""The list of every rule of judging, window and exclusion, and how it differs from a committed one.

A verdict depends on the claims' rules, on the windows of fits, on the series behind them and on constants of the code. The list
holds all of these, one row each, with the reason why the row last changed. A rule that changes without its row is found
by comparing the two; a row that goes away stays as removed, so that a dropped quantity leaves a trace.
"""

from __future__ import annotations

import ast
import importlib
import json
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path

import numpy as np

from privrep.evidence.catalogue import read_errata
from privrep.run.config import ROOT, read_config, read_papers, read_study, read_yaml
from privrep.run.settings import Window

RULE_COLUMNS = ("kind", "where", "name", "key", "value", "reason")
NAME = RULE_COLUMNS[:4]
"""Columns that name a row."""
REMOVED = "(removed)"
"""Value of a row whose rule is gone."""
COMMAND = "python workflow/scripts/list_rules.py --write tests/reference/rules.csv --reason '...'"

TEXTS = ("id", "place", "statement", "figure", "printed", "advice", "quantity", "quantities")
"""Fields of claims that decide no verdict, or that name the row."""
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
"""Constants of these modules that decide nothing: names and columns of tables, and from where on a number is shown."""
FURTHER = (
    ("searches.user_search", "PRECISION"),
    ("searches.user_search", "FIRST_TRIAL"),
    ("laws.prescribed_powers", "FAR"),
    ("laws.shen2023", "TARGET"),
    ("laws.shen2023", "CANDIDATE"),
    ("algorithms.parts.clip_units", "FAILURE_POWER"),
    ("data.problem", "HEAVY_EVERY"),
    ("run.results", "SHARED_ROLES"),
    ("privacy.regression_moments", "DOMINATED"),
    ("privacy.regression_moments", "INDEPENDENT"),
)
"""Constants of other modules that decide verdicts: module, name."""


class RulesError(ValueError):
    """A list that cannot be written; the message says what is missing."""


def spell(value: object) -> str:
    """One spelling of a value: JSON, with functions by their names and dataclasses by their fields."""

    def plain(value: object) -> object:
        if isinstance(value, np.ndarray | np.generic):
            return value.tolist()
        if is_dataclass(value) and not isinstance(value, type):
            return asdict(value)
        return getattr(value, "__name__", None) or repr(value)

    return json.dumps(value, default=plain, ensure_ascii=False)


def _row(kind: str, where: str, name: str, key: str, value: object) -> dict[str, str]:
    return dict(zip(RULE_COLUMNS, (kind, where, name, key, spell(value), ""), strict=True))


def _flat(content: dict, prefix: str = "") -> Iterator[tuple[str, object]]:
    """The entries of a mapping that are no texts, inner mappings as key.key."""
    for key, value in content.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif prefix or key not in TEXTS:
            yield f"{prefix}{key}", value


def claim_rules(root: Path) -> Iterator[dict]:
    """Whatever fields the claims and their quantities have, but for their texts."""
    for paper, about in read_papers(root).items():
        stated = [(claim, {}) for claim in about.not_tested]
        for study in about.chapters:
            claims = read_yaml(root / "config" / "studies" / f"{study}.yaml").get("claims", [])
            stated += [(claim, {"study": study}) for claim in claims]
        for claim, decided in sorted(stated, key=lambda one: about.claims.index(one[0]["id"])):
            where = f"{paper} {claim['id']}"
            yield from (_row("claim", where, "", key, value) for key, value in _flat(claim | decided))
            for quantity in claim.get("quantities", []):
                for key, value in _flat(quantity):
                    yield _row("quantity", where, quantity["quantity"], key, value)


def study_rules(root: Path) -> Iterator[dict]:
    """Problem, series and fits of every study at the default scale; windows and repetitions resolved."""
    config = read_config(root=root)
    for path in sorted((root / "config" / "studies").glob("*.yaml")):
        study = read_study(config, path.stem, root)
        for key, value in _flat(study.model_dump(include={"problem", "delta"}, exclude_unset=True)):
            yield _row("study", path.stem, "", key, value)
        for name, series in study.series.items():
            grid = dict(study.grids[series.grid])
            entries = {"repetitions": grid.pop("seed", 1), "redraws": grid.pop("redraw", 1)}
            settings = series.model_dump(exclude={"grid"}, exclude_unset=True)
            entries |= {"grid": grid, "settings": {key: settings[key] for key in sorted(settings)}}
            yield from (_row("series", path.stem, name, key, value) for key, value in entries.items())
        for choice in study.choices:
            about = choice.model_dump()
            options = about.pop("options")
            yield _row(
                "choice",
                path.stem,
                about.pop("series"),
                " ".join(f"{key}={value}" for key, value in about.items()),
                options,
            )
        for name, fit in study.fits.items():
            entries = fit.model_dump(exclude={"name", "window"}, exclude_unset=True)
            entries |= study.window_of(name).model_dump()
            yield from (_row("fit", path.stem, name, key, value) for key, value in entries.items())


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


def constant_rules() -> Iterator[dict]:
    """Constants of the code that decide verdicts."""
    studies = sorted(path.parent.name for path in (ROOT / "src" / "privrep" / "studies").glob("*/analysis.py"))
    modules = [*JUDGING, *(f"studies.{study}.analysis" for study in studies)]
    named = [(module, name) for module in modules for name in _assigned(f"privrep.{module}")]
    for module, name in [*named, *FURTHER]:
        yield _row(
            "constant", f"privrep.{module}", name, "", getattr(importlib.import_module(f"privrep.{module}"), name)
        )
    for name, value in Window().model_dump().items():
        yield _row("constant", "privrep.evidence.scaling", "Window", name, value)


def errata_rules(root: Path) -> Iterator[dict]:
    """What each error in print is said to be: its severity, what it changes, with which it counts as one, and which claims it touches."""
    for erratum in read_errata(root / "config" / "errata.yaml"):
        said = {key: erratum[key] for key in ("severity", "changes", "same_as", "claims") if key in erratum}
        yield _row("erratum", erratum["paper"], erratum["id"], "", said)


def rules(root: Path = ROOT) -> list[dict]:
    """All rows of the list, without reasons."""
    return [*claim_rules(root), *study_rules(root), *constant_rules(), *errata_rules(root)]


def _by_name(rows: list[dict]) -> dict[tuple[str, ...], dict]:
    """Rows by what names them.

    Raises
    ------
    RulesError
        If two rows have the same name: one of them would be judged by an unlisted rule.
    """
    named: dict[tuple[str, ...], dict] = {}
    for row in rows:
        name = tuple(row[column] for column in NAME)
        if name in named:
            raise RulesError(f"{' / '.join(name)}: two rules have this name")
        named[name] = row
    return named


def differences(listed: list[dict], current: list[dict]) -> list[str]:
    """One line for each rule that is not as listed."""
    old, new = _by_name(listed), _by_name(current)
    lines = []
    for name in [*old, *(name for name in new if name not in old)]:
        before, now = (table[name]["value"] if name in table else REMOVED for table in (old, new))
        if before != now:
            before = "(not listed)" if name not in old else before
            lines.append(f"{' / '.join(part for part in name if part)}: listed {before}, now {now}")
    return lines


def updated(listed: list[dict], current: list[dict], reason: str = "", where: str = "") -> list[dict]:
    """The list as it is now. A row keeps its reason while its value stays; a new, changed or removed one gets `reason`.

    Parameters
    ----------
    where : only rows with this text in kind, where or name are brought up to date, so that each change can have its own reason.

    Raises
    ------
    RulesError
        If a row changed and no reason is given.
    """
    old, new = _by_name(listed), _by_name(current)
    rows = []
    for name in [*new, *(name for name in old if name not in new)]:
        before = old.get(name)
        now = new.get(name) or dict(before, value=REMOVED)
        if before is not None and before["value"] == now["value"]:
            rows.append(before)
        elif where and where not in " ".join(name[:3]):
            rows += [before] if before else []
        elif not reason.strip():
            line = differences([before] if before else [], [now])[0]
            raise RulesError(f"{line}; changed rows need a reason: --reason '...'")
        else:
            rows.append(dict(now, reason=reason.strip()))
    return rows
