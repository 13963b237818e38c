"""environment.yml, pyproject.toml and requirements.lock name the same packages."""

from __future__ import annotations

import re
import tomllib

import yaml
from packaging.requirements import Requirement
from packaging.version import Version
from workflow_helpers import ROOT

CONDA_NAMES = {"snakemake-minimal": "snakemake"}
CONDA_ONLY = {"python", "pip"}


def declared() -> dict[str, Requirement]:
    """Requirements of pyproject.toml, with those of all extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    return {requirement.name: requirement for requirement in map(Requirement, lines)}


def locked() -> dict[str, list[Version]]:
    """Versions in the lock; a package may have one for each Python version."""
    pins = re.findall(r"^([a-z0-9-]+)==([^ ;\\]+)", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)
    versions: dict[str, list[Version]] = {}
    for name, version in pins:
        versions.setdefault(name, []).append(Version(version))
    return versions


def conda() -> dict[str, Requirement]:
    """Packages of environment.yml, under their PyPI names."""
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    lines = [line for line in dependencies if isinstance(line, str)]
    lines += next(line["pip"] for line in dependencies if isinstance(line, dict))
    found = [Requirement(line) for line in lines if not line.startswith("--editable")]
    return {CONDA_NAMES.get(requirement.name, requirement.name): requirement for requirement in found}


def test_environment_and_pyproject_agree():
    """Same packages, same bounds."""
    packages = {name: str(requirement.specifier) for name, requirement in conda().items() if name not in CONDA_ONLY}
    assert packages == {name: str(requirement.specifier) for name, requirement in declared().items()}


def test_lock_satisfies_pyproject():
    """Every declared package is locked, at versions within its bounds."""
    pins = locked()
    for name, requirement in declared().items():
        assert name in pins, f"{name} is not in requirements.lock; run make lock"
        assert all(version in requirement.specifier for version in pins[name])


def test_python_version_agrees():
    """pyproject and environment.yml ask for the same Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"].replace(" ", "") == str(conda()["python"].specifier)
