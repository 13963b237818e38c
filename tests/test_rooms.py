"""The rooms of the package stand above one another: nothing imports upwards."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import privrep
from privrep import ROOMS

PACKAGE = Path(privrep.__file__).parent


def imported_rooms(source: str) -> set[str]:
    """Rooms that a file imports from, anywhere in it. In one that imports by name, every room that a text of it names counts."""
    modules = set()
    nodes = list(ast.walk(ast.parse(source)))
    if any(getattr(node, "attr", getattr(node, "id", "")) in ("import_module", "__import__") for node in nodes):
        texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        modules |= {text for text in texts if text in ROOMS}
        modules |= {room for text in texts for room in re.findall(r"^privrep\.(\w+)", text)}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "privrep":
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("privrep."):
            modules.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("privrep.")}
    return modules & set(ROOMS)


def test_every_folder_is_a_room():
    """And every room a folder: no file lies beside them."""
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(ROOMS)
    assert {path.name for path in PACKAGE.glob("*.py")} == {"__init__.py"}
    assert all(f"{room} " in privrep.__doc__ for room in ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_imports_upwards(room):
    above = set(ROOMS[ROOMS.index(room) + 1 :])
    wrong = {
        str(path.relative_to(PACKAGE)): found
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if (found := imported_rooms(path.read_text()) & above)
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
        'ROOM = "errata"\nimportlib.import_module(f"privrep.{ROOM}.{name}")',
    ):
        assert imported_rooms(line) == {"errata"}
