"""Reading, merging and checking of the configuration, with one sentence for each error.

A study's settings are its settings.yaml with the chosen scale's changes merged in. Everything is checked before any job
starts: types and names by the models of `replication.run.settings`, ranges and feasibility by building every cell.
A job reads the settings that the run resolved for it, never these files. An error in what a scale or an overlay
changes names the line of its own file.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from privrep.options import misnamed
from replication.run.models import ConfigError, checked
from replication.run.rivals import read_choices
from replication.run.settings import SCALES, Overridable, Paper, RunConfig, Study, settings_of

ROOT = Path(__file__).resolve().parents[3]


YAML: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(YAML):
    """Loader of YAML that refuses a repeated key, and a number that YAML reads differently than a person."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key) for key, _ in node.value]
        for key, (mark, _) in zip(keys, node.value, strict=True):
            if keys.count(key) > 1 and key != "<<":
                raise ConfigError(f"the key {key!r} stands twice, last in line {mark.start_mark.line + 1}")
        return super().construct_mapping(node, deep)

    def construct_number(self, node):
        """Return a number, unless YAML 1.1 reads it in base 8 or 60: 010 as 8, and 1:30 as 90."""
        convert = self.construct_yaml_int if node.tag.endswith(":int") else self.construct_yaml_float
        text, number = node.value, convert(node)
        if ":" in text or re.match(r"[-+]?0[0-9_]+$", text):
            line = node.start_mark.line + 1
            raise ConfigError(f"line {line}: YAML reads {text} as {number}; write {number}, or '{text}' for a text")
        return number


for _kind in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_kind}", _Loader.construct_number)


def read_yaml(path: Path) -> dict:
    """Return a file's YAML mapping; ConfigError if it is missing, is not YAML, has a key twice, or is no mapping."""
    path = Path(path)
    if not path.exists():
        raise ConfigError(f"{path}: there is no such file")
    return pickle.loads(_parsed(path, path.read_bytes()))


@cache
def _parsed(path: Path, text: bytes) -> bytes:
    """Parse a file, once for each content, since every study's file is read for its settings and for its claims. The
    mapping is pickled, so that each caller has a copy of its own."""
    try:
        content = yaml.load(text.decode(), _Loader)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is no UTF-8 text; is this a configuration?") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: this is not valid YAML: {' '.join(str(error).split())}") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: this must be a mapping of keys to values")
    return pickle.dumps(content)


def merge(base: Mapping, overrides: Mapping) -> dict:
    """Merge two mappings key by key, at any depth; any other value of `overrides` replaces that of `base`."""
    merged = dict(base)
    for key, value in overrides.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def study_names(root: Path = ROOT) -> list[str]:
    """Return the names of all studies, which are folders with settings; ConfigError for a name like that of a copy."""
    names = sorted(path.parent.name for path in root.glob(settings_of("*")))
    for name in names:
        if not re.fullmatch(r"[a-z0-9_]+", name):
            raise ConfigError(f"{settings_of(name)}: a study is named by small letters, digits and _; rename it")
    return names


def read_papers(root: Path = ROOT) -> dict[str, Paper]:
    """Return the papers by name, in alphabetical order, without an editor's hidden files; ConfigError where a file has
    the name of a copy or a backup."""
    found = {}
    for path in sorted((root / "config" / "papers").glob("[!.]*.y*ml")):
        source = f"config/papers/{path.name}"
        if not re.fullmatch(r"[a-z0-9_]+\.yaml", path.name):
            what = "this is no name of a file that is read here, small letters, digits and _ before .yaml"
            raise ConfigError(f"{source}: {what}; rename it, or move it elsewhere")
        found[path.stem] = checked(Paper, read_yaml(path), source)
    return found


def chapters(root: Path = ROOT) -> list[str]:
    """Return all studies in the order of the report."""
    return [study for paper in read_papers(root).values() for study in paper.chapters]


def read_config(overlays: Sequence[Path] = (), master_seed: int | None = None, root: Path = ROOT) -> RunConfig:
    """Return config/config.yaml with overlay files merged in, and another master seed where one is given, checked."""
    config = read_yaml(root / "config" / "config.yaml")
    for overlay in overlays:
        config = merge(config, read_yaml(overlay))
    if master_seed is not None:
        config["master_seed"] = master_seed
    return check_config(config, root, overlays)


def check_config(config: dict, root: Path = ROOT, overlays: Sequence[Path] = ()) -> RunConfig:
    """Return a configuration with `overlays` merged in; ConfigError names the file that lacks a key, has an unknown
    one, or names a study twice or one that has no file, and the file of a study that is no chapter and not valid."""
    source = f"config/config.yaml or --config (scale {config.get('scale', '?')})"
    files = [Layer(Path(path).absolute()) for path in (root / "config" / "config.yaml", *overlays)]
    config = {"studies": chapters(root)} | config
    checked_config = checked(RunConfig, config, source, lambda keys: place(files, keys, root=root) if keys else "")
    known = study_names(root)
    for key in ("studies", "overrides"):
        names = list(getattr(checked_config, key))
        for name in names:
            if name not in known or names.count(name) > 1:
                what = misnamed(name, "no study", known) if name not in known else f"{name!r} stands twice"
                raise ConfigError(f"{place(files, (key, name), (key,), root=root) or source}: {key}: {what}")
    for name in set(known) - set(chapters(root)):
        _read_own(name, root)
    return checked_config


@dataclass(frozen=True)
class Layer:
    """A file with settings of a study. prefix : keys of the mapping in the file that has these settings."""

    path: Path
    prefix: tuple[str, ...] = ()


@cache
def _document(path: Path, changed: int) -> yaml.Node | None:
    return yaml.compose(path.read_text(), Loader=YAML)


def line_of(path: Path, keys: Sequence[str]) -> int | None:
    """Return the line, from 1, of the last of nested keys; None where the file does not have them."""
    try:
        node = _document(path, path.stat().st_mtime_ns)
    except (OSError, yaml.YAMLError):
        return None
    line = 1
    for key in map(str, keys):
        entries = {}
        if isinstance(node, yaml.SequenceNode):
            entries = {str(number): (value, value) for number, value in enumerate(node.value)}
        elif isinstance(node, yaml.MappingNode):
            entries = {name.value: (name, value) for name, value in node.value}
        if key not in entries:
            return None
        name, node = entries[key]
        line = name.start_mark.line + 1
    return line


def place(layers: Iterable[Layer], *choices: Sequence[str], root: Path = Path()) -> str:
    """Return file and line of the first choice of keys that a layer has, from the last layer on, or an empty text."""
    for keys in choices:
        for layer in reversed(list(layers)):
            line = line_of(layer.path, [*layer.prefix, *keys])
            if line:
                shown = layer.path.relative_to(root) if layer.path.is_relative_to(root) else layer.path
                return f"{shown}, line {line}"
    return ""


def layers(config: RunConfig, name: str, overlays: Sequence[Path] = (), root: Path = ROOT) -> list[Layer]:
    """Return the files in which settings of a study stand, each before those that override it."""
    own = root / settings_of(name)
    over = [root / "config" / "config.yaml", *(Path(path).absolute() for path in overlays)]
    return [Layer(own), Layer(own, (config.scale,)), *(Layer(path, ("overrides", name)) for path in over)]


def at_scale(part: Any, scale: str, counts: Mapping[Any, int], where: str) -> Any:
    """Return settings at a scale: the entries of any mapping under the scale's name are merged into that mapping.

    counts : key -> integer in place of any integer under that key, unless the mapping has a value for the scale.
    """
    if not isinstance(part, Mapping):
        return part
    for name in SCALES:
        if not isinstance(part.get(name, {}), Mapping):
            raise ConfigError(f"{where}{name}: {part[name]!r} must be a mapping")
    own = {key: at_scale(value, scale, counts, f"{where}{key}.") for key, value in part.items() if key not in SCALES}
    return merge(own | {key: counts[key] for key in counts if type(own.get(key)) is int}, part.get(scale, {}))


def _read_own(name: str, root: Path) -> dict:
    """Return the content of a study's file; ConfigError if it has a key that its place decides, or a single value
    in place of a mapping that a scale can change."""
    source = settings_of(name)
    content = read_yaml(root / source)
    for key in ("study", "paper", "choices", "complete"):
        if key in content:
            raise ConfigError(f"{source}: {key!r} is no key of a study's file, its place says so")
    checked(Overridable, content, source)
    return content


def read_study(config: RunConfig, name: str, root: Path = ROOT, overlays: Sequence[Path] = ()) -> Study:
    """Return the settings of one study, with the changes of the scale and of `config.overrides` merged in.

    ConfigError names the file that has the wrong value, which may be one of the `overlays`.
    """
    source, files = settings_of(name), layers(config, name, overlays, root)
    content, overrides = _read_own(name, root), config.overrides.get(name, {})
    _check_parts(overrides, content, lambda keys: place(files[2:], keys, root=root) or f"overrides.{name}", source)
    papers = [paper for paper, about in read_papers(root).items() if name in about.chapters]
    if not papers:
        raise ConfigError(f"{source}: no file of config/papers has {name!r} among its chapters")
    own, scaled = (at_scale(content, *of, f"{source}: ") for of in (("default", {}), (config.scale, config.counts)))
    content = merge(scaled, overrides)
    content |= {"study": name, "paper": papers[0], "complete": own == scaled and name not in config.overrides}
    if any(isinstance(series, Mapping) and series.get("tuned") for series in (content.get("series") or {}).values()):
        content["choices"] = read_choices(name, root)
    return checked(Study, content, source, lambda keys: place(files, keys, root=root) if keys else "")


def _check_parts(overrides: Mapping, content: Mapping, where: Callable[[Sequence[str]], str], source: str) -> None:
    """Raise ConfigError if an override is for what `Overridable` lists and the study does not have, or replaces in one
    series the grid that several series share."""
    parts = checked(Overridable, overrides, "overrides", where)
    for part in Overridable.model_fields:
        there = content.get(part, {})
        for key, entry in getattr(parts, part).items():
            at = f"{where((part, key))}: {part}"
            if key not in there:
                raise ConfigError(f"{at}: {misnamed(key, f'not in {part} of {source}', list(there))}")
            if part == "series" and isinstance(entry.get("grid"), Mapping) and isinstance(there[key]["grid"], str):
                raise ConfigError(f"{at}.{key}.grid: the grid is shared; override grids.{there[key]['grid']}")


def run_name(config: RunConfig) -> str:
    """Return the folder of a run under results/: the scale, and the master seed when it is not the default one."""
    default = read_yaml(ROOT / "config" / "config.yaml")["master_seed"]
    suffix = "" if config.master_seed == default else f"-seed{config.master_seed}"
    return f"{config.scale}{suffix}"
