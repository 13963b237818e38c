"""File and line of a setting, so that an error in what a scale or an overlay changes names its own file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml


@dataclass(frozen=True)
class Layer:
    """A file with settings of a study. prefix : the keys under which they stand."""

    path: Path
    prefix: tuple[str, ...] = ()


@cache
def _document(path: Path, changed: int) -> yaml.Node | None:
    return yaml.compose(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def line_of(path: Path, keys: Sequence[str]) -> int | None:
    """Return the line, from 1, of a key that stands under others; None where it is not in the file."""
    try:
        node = _document(path, path.stat().st_mtime_ns)
    except (OSError, yaml.YAMLError):
        return None
    line = 1
    for key in keys:
        if isinstance(node, yaml.SequenceNode) and str(key).isdecimal() and int(key) < len(node.value):
            node = node.value[int(key)]
            line = node.start_mark.line + 1
            continue
        entries = node.value if isinstance(node, yaml.MappingNode) else []
        found = [(name, value) for name, value in entries if name.value == str(key)]
        if not found:
            return None
        name, node = found[0]
        line = name.start_mark.line + 1
    return line


def place(layers: Iterable[Layer], *choices: Sequence[str], root: Path = Path()) -> str:
    """Return file and line of the first of some keys that a layer has, the last layer first, or an empty text."""
    for keys in choices:
        for layer in reversed(list(layers)):
            line = line_of(layer.path, [*layer.prefix, *keys])
            if line:
                shown = layer.path.relative_to(root) if layer.path.is_relative_to(root) else layer.path
                return f"{shown}, line {line}"
    return ""
