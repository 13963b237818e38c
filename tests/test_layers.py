"""The layers of the package stand above one another: nothing imports upwards."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import privrep
from privrep import LAYERS

PACKAGE = Path(privrep.__file__).parent


def imported_layers(source: str) -> set[str]:
    """Layers that a file imports from, anywhere in it.
    In one that imports by name, every layer that a text of it names counts."""
    modules = set()
    nodes = list(ast.walk(ast.parse(source)))
    if any(getattr(node, "attr", getattr(node, "id", "")) in ("import_module", "__import__") for node in nodes):
        texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        modules |= {text for text in texts if text in LAYERS}
        modules |= {layer for text in texts for layer in re.findall(r"^privrep\.(\w+)", text)}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "privrep":
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("privrep."):
            modules.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("privrep.")}
    return modules & set(LAYERS)


def test_every_folder_is_a_layer():
    """And every layer a folder: no file lies beside them."""
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(LAYERS)
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py"}
    assert all(f"{layer} " in privrep.__doc__ for layer in LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_nothing_imports_upwards(layer):
    above = set(LAYERS[LAYERS.index(layer) + 1 :])
    wrong = {
        str(path.relative_to(PACKAGE)): found
        for path in sorted((PACKAGE / layer).rglob("*.py"))
        if (found := imported_layers(path.read_text()) & above)
    }
    assert wrong == {}


def test_an_import_upwards_is_found():
    """In any of its forms, also inside a function."""
    for line in (
        "from privrep.errata.finding import Finding",
        "import privrep.errata.finding",
        "from privrep import errata",
        "def f():\n    from privrep.errata import finding",
        'importlib.import_module("privrep.errata.finding")',
        'import_module(f"privrep.errata.{name}")',
        'LAYER = "errata"\nimportlib.import_module(f"privrep.{LAYER}.{name}")',
    ):
        assert imported_layers(line) == {"errata"}
