"""Packages and their layers stand above one another: nothing imports upwards, or loads a heavy library for nothing."""

import ast
import re
import subprocess
import sys
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
    there = {path.stem for path in folder.iterdir() if path.stem not in ("__pycache__", "__init__", "__main__", "py")}
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


SCRIPTS = SOURCE.parent / "workflow" / "scripts"
CONFIGURATION = """
from replication.evidence import catalogue, quantities
from replication.run.config import read_config, read_study
config = read_config()
for name in config.studies:
    quantities.check_columns(read_study(config, name))
claims = quantities.checked_claims()
catalogue.check_errata([claim.id for some in claims.values() for claim in some])
"""
"""What each run reads and checks first."""
MEASURES = """
import importlib, measure_study
from replication.run.config import study_names
for study in study_names():
    importlib.import_module(f"replication.studies.{study}.analysis")
"""
HEAVY = ("scipy.stats", "matplotlib", "seaborn", "jax", "sklearn", "dp_accounting")


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        (CONFIGURATION, ("pandas", *HEAVY)),
        ("import run_shard, privrep.methods.altmin, replication.experiments.audit", ("pandas", *HEAVY)),
        (MEASURES, HEAVY[1:]),
        ("import measure_study, replication.studies.unit_map.analysis", HEAVY),
        ("import run_all", ("pandas", "scipy", *HEAVY)),
    ],
    ids=["configuration", "shard", "measuring", "measuring a comparison", "run_all"],
)
def test_libraries_that_are_not_used_are_not_loaded(code, absent):
    words = f"import sys\nsys.path.insert(0, {str(SCRIPTS)!r})\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "privrep" in loaded and not loaded & set(absent)


def test_no_analysis_draws():
    """Not inside of a function, either: a change of a picture makes no measure again."""
    files = list(SCRIPTS.parents[1].glob("src/replication/studies/*/analysis.py"))
    drawn = r"^\s*(?:from|import) (?:matplotlib|seaborn|replication\.drawing|replication import drawing)"
    assert files and not [path for path in files if re.search(drawn, path.read_text(), re.MULTILINE)]
