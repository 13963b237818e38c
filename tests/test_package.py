"""What is installed without the repository: the methods, the estimator and the command work, studies say what they
lack."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from patience import patience
from workflow_helpers import ROOT

import privrep

USED = """
from privrep.data.given_users import GivenUsers
from privrep.estimator import PrivateRepresentation
from privrep.run.config import ConfigError, read_config
from privrep.run.shell import fit
import numpy as np, pandas as pd, privrep

print(privrep.__file__)
sizes = {"users": 200, "samples": 8, "dim": 6, "rank": 2}
row, ledger = fit("centaur", **sizes, epsilon=2.0, init="random", rounds=3, clip=0.5, batch_samples=2)
assert row["status"] == "ok"
rows = pd.DataFrame({"x": np.tile(np.arange(10.0), 50), "who": np.repeat(np.arange(50), 10)})
model = PrivateRepresentation(epsilon=4, kinds={"x": (0, 9)}, label_bounds=(0, 9), users="who", random_state=0)
import warnings; warnings.simplefilter("ignore")
model.fit(rows, rows["x"])
try:
    read_config()
except ConfigError as error:
    print(error)
"""


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


def test_a_wheel_has_every_file_of_the_package(wheel):
    """Templates, texts and tables, too."""
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("privrep/")}
    there = (path for path in (ROOT / "src/privrep").rglob("*.*") if path.is_file() and path.suffix != ".pyc")
    assert inside == {str(path.relative_to(ROOT / "src")) for path in there}


def test_what_is_installed_works_without_the_repository(wheel, tmp_path):
    """From another folder, with this environment's dependencies and the wheel's code alone."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    away = tmp_path / "away"
    away.mkdir()
    here = os.environ | {"PYTHONPATH": str(tmp_path / "site"), "PRIVREP_JOURNAL": str(tmp_path / "journal")}

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=away, env=here, capture_output=True, text=True, timeout=patience()
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    used = run("-c", USED)
    assert str(tmp_path / "site") in used and "has no folder config: studies and reports need the repository" in used
    command = ("-c", "from privrep.commands.main import app; app()")
    advice = run(
        *command, "advise", "--users", "5000", "--samples", "20", "--dim", "50", "--rank", "2", "--epsilon", "1"
    )
    assert "Use unit steps" in advice


def test_the_version_is_said_once_more_alike():
    """In pyproject.toml, the package, CITATION.cff and the newest entry of CHANGELOG.md that is released."""
    (named,) = [
        line.split('"')[1] for line in (ROOT / "pyproject.toml").read_text().splitlines() if line[:9] == "version ="
    ]
    entries = (ROOT / "CHANGELOG.md").read_text().split("\n## ")[1:]
    newest = next(entry for entry in entries if not entry.startswith("Unreleased")).split(" ")[0]
    assert named == privrep.__version__ == yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == newest
