"""The wheel holds the library alone, which works with what it declares alone, and its docstrings' examples run."""

import doctest
import importlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from workflow_helpers import ROOT, patience

import privrep
from privrep.methods.running.registry import method_files

USED = """
import numpy as np, pandas as pd, privrep
from privrep.estimator import PrivateRepresentation
from privrep.simulate import fit

print(privrep.__file__)
sizes = {"users": 200, "samples": 8, "dim": 6, "rank": 2}
row, ledger = fit("centaur", **sizes, epsilon=2.0, init="random", rounds=3, clip=0.5, batch_samples=2)
assert row["status"] == "ok"
rows = pd.DataFrame({"x": np.tile(np.arange(10.0), 50), "who": np.repeat(np.arange(50), 10)})
model = PrivateRepresentation(epsilon=4, feature_bounds=(0, 9), label_bounds=(0, 9), users="who", random_state=0)
import warnings; warnings.simplefilter("ignore")
model.fit(rows, rows["x"])
"""
ADVICE = "from privrep.estimator.commands.main import app; app()"
SIZES = ("--users", "5000", "--samples", "20", "--dim", "50", "--rank", "2", "--epsilon", "1")
ABSENT = ("snakemake", "matplotlib", "seaborn", "jax", "nbconvert", "distributed", "replication", "images")
ABSENT += ("dp_accounting", "yaml")
MOST_BYTES = 10**6


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy: setuptools leaves its own beside the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    words = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(folder)]
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, timeout=patience())
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("*.whl")
    return made


def needed(one: Distribution, found: dict[str, Distribution]) -> dict[str, Distribution]:
    """Distributions that one needs, directly or not, without extras."""
    for requirement in map(Requirement, one.requires or ()):
        wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if wanted and requirement.name not in found:
            found[requirement.name] = distribution(requirement.name)
            needed(found[requirement.name], found)
    return found


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory) -> Path:
    """A folder of packages with the wheel and what it needs, by links to this environment's."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    (about,) = folder.glob("*.dist-info")
    for one in needed(PathDistribution(about), {}).values():
        for name in {path.parts[0] for path in one.files if path.parts[0] not in ("..", "__pycache__")}:
            if not (folder / name).exists():
                (folder / name).symlink_to(one.locate_file(name))
    return folder


def test_the_wheel_has_every_file_of_the_library_and_no_other(wheel):
    """Templates and tables, too."""
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    there = (path for path in (ROOT / "src/privrep").rglob("*.*") if path.is_file() and path.suffix != ".pyc")
    assert inside == {str(path.relative_to(ROOT / "src")) for path in there}
    assert wheel.stat().st_size < MOST_BYTES


def test_the_library_works_with_what_it_declares(site, tmp_path):
    """From another folder, without this environment's other packages."""
    here = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "PRIVREP_JOURNAL": str(tmp_path / "journal")}

    def run(*words: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-S", "-c", *words]
        return subprocess.run(command, cwd=tmp_path, env=here, capture_output=True, text=True, timeout=patience())

    for name in ABSENT:
        assert f"No module named '{name}'" in run(f"import {name}").stderr
    used = run(USED)
    assert not used.returncode and str(site) in used.stdout, used.stderr
    advice = run(ADVICE, "advise", *SIZES)
    assert not advice.returncode and "Use unit steps" in advice.stdout, advice.stderr
    drawn = run(ADVICE, "advise", *SIZES, "--plot", "curves.svg")
    assert drawn.returncode == 2 and drawn.stderr.endswith(
        "needs the package matplotlib: pip install 'privrep[plot]'\n"
    )


def test_the_version_is_said_once_more_alike():
    """In pyproject.toml, the package, CITATION.cff and the newest entry of CHANGELOG.md that is released."""
    (named,) = [
        line.split('"')[1] for line in (ROOT / "pyproject.toml").read_text().splitlines() if line[:9] == "version ="
    ]
    entries = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1:]
    newest = next(entry for entry in entries if not entry.startswith("Unreleased")).split(" ")[0]
    assert named == privrep.__version__ == yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == newest


METHODS = {path: name for name, path in method_files().items()}
SHOWN = [path.relative_to(ROOT) for path in (ROOT / "src").rglob("*.py") if re.search(r"\n *>>> ", path.read_text())]


@pytest.mark.parametrize("path", sorted({*METHODS, *SHOWN}), ids=lambda path: path.stem)
def test_an_example_runs(path):
    """That of a method fits it."""
    module = importlib.import_module(".".join(path.with_suffix("").parts[1:]))
    assert path not in METHODS or f'= fit("{METHODS[path]}", ' in module.__doc__
    found = doctest.testmod(module)
    assert found.attempted and not found.failed
