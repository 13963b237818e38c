"""The packages stand above one another, and so do the layers of each: nothing imports upwards."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import privrep
import replication

SOURCE = Path(privrep.__file__).parents[1]
ORDER = (
    *(f"privrep.{layer}" for layer in privrep.LAYERS),
    "images",
    *(f"replication.{layer}" for layer in replication.LAYERS),
)
"""All layers, the lowest first; the image experiments are one."""


def imported_layers(source: str) -> set[str]:
    """Layers that a file imports from, anywhere in it; in one that imports by name, all that a text of it names."""
    nodes = list(ast.walk(ast.parse(source)))
    modules = {
        f"{node.module}.{alias.name}" for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    if any(getattr(node, "attr", getattr(node, "id", "")) in ("import_module", "__import__") for node in nodes):
        texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        modules |= {match for text in texts for match in re.findall(r"^[\w.]+", text)}
    return {layer for layer in ORDER for module in modules if f"{module}.".startswith(f"{layer}.")}


@pytest.mark.parametrize("package", [privrep, replication], ids=lambda package: package.__name__)
def test_every_folder_is_a_layer(package):
    """And every layer a folder or a module, which the package's docstring names."""
    folder = Path(package.__file__).parent
    there = {path.stem for path in folder.iterdir() if path.stem not in ("__pycache__", "__init__", "__main__")}
    assert there == set(package.LAYERS)
    assert all(re.search(rf"^{layer} *:", package.__doc__, re.MULTILINE) for layer in package.LAYERS)


@pytest.mark.parametrize("layer", ORDER)
def test_nothing_imports_upwards(layer):
    above, place = set(ORDER[ORDER.index(layer) + 1 :]), SOURCE / layer.replace(".", "/")
    files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    wrong = {
        str(path.relative_to(SOURCE)): found for path in files if (found := imported_layers(path.read_text()) & above)
    }
    assert files and wrong == {}


def test_an_import_upwards_is_found():
    """In any of its forms, also inside a function."""
    for line in (
        "from replication.report.page import render",
        "import replication.report.page",
        "from replication import report",
        "def f():\n    from replication.report import page",
        'importlib.import_module("replication.report.page")',
        'import_module(f"replication.report.{name}")',
    ):
        assert imported_layers(line) == {"replication.report"}
