"""environment.yml, pyproject.toml and requirements.lock name the same packages."""

import json
import re
import shutil
import subprocess
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from workflow_helpers import ROOT

CONDA_NAMES = {"snakemake-minimal": "snakemake"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def declared() -> dict[str, Requirement]:
    """Requirements of pyproject.toml, with those of all extras."""
    lines = [*PROJECT["dependencies"], *(line for extra in PROJECT["optional-dependencies"].values() for line in extra)]
    return {requirement.name: requirement for requirement in map(Requirement, lines)}


def locked() -> dict[str, list[Version]]:
    """Versions in the lock; a package may have one for each Python version."""
    pins = re.findall(r"^([a-z0-9-]+)==([^ ;\\]+)", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)
    versions: dict[str, list[Version]] = {}
    for name, version in pins:
        versions.setdefault(name, []).append(Version(version))
    return versions


def conda(file: str = "environment.yml") -> dict[str, Requirement]:
    """Packages of an environment, under their PyPI names."""
    dependencies = yaml.safe_load((ROOT / file).read_text())["dependencies"]
    lines = [line for line in dependencies if isinstance(line, str)]
    lines += next(line["pip"] for line in dependencies if isinstance(line, dict))
    found = [Requirement(line) for line in lines if not line.startswith("--editable")]
    return {CONDA_NAMES.get(requirement.name, requirement.name): requirement for requirement in found}


def test_environment_and_pyproject_agree():
    """Same Python, same packages, same bounds; the library alone needs few."""
    assert len(PROJECT["dependencies"]) <= 10
    packages = {name: str(requirement.specifier) for name, requirement in conda().items() if name != "pip"}
    bounds = {name: str(requirement.specifier) for name, requirement in declared().items()}
    assert packages == bounds | {"python": PROJECT["requires-python"]}


def test_lock_satisfies_pyproject():
    """Every declared package is locked, at versions within its bounds."""
    pins = locked()
    for name, requirement in declared().items():
        assert name in pins, f"{name} is not in requirements.lock; run make lock"
        assert all(version in requirement.specifier for version in pins[name])


TEXT = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
LINES = [line.split(maxsplit=1) for line in TEXT.splitlines() if line and not line.startswith("#")]


def test_the_image_is_made_of_what_the_lock_names():
    """A Python that the project allows, of a version, and packages by hash; nothing of the project but the lock, since
    the checkout is mounted, whose run goes through the one command that everybody uses."""
    assert [word for word, _ in LINES] == ["FROM", "WORKDIR", "ENV", "RUN", "COPY", "RUN", "CMD"]
    python = re.fullmatch(r"python:(\d+\.\d+)-slim-\w+", LINES[0][1])[1]
    assert python in SpecifierSet(PROJECT["requires-python"])
    packages = LINES[5][1]
    installs = [step for step in packages.split("&&") if "pip install" in step]
    assert len(installs) == 2 and all("--require-hashes --no-deps" in step for step in installs)
    assert re.search(r"awk '[^']+'", packages)[0] in (ROOT / "Makefile").read_text(), "the same come first there"
    assert LINES[4][1].split()[0] == "requirements.lock"
    assert (ROOT / ".dockerignore").read_text().split() == ["*", "!requirements.lock"]
    where = LINES[1][1]
    assert f"USER=privrep PYTHONPATH={where}/src" in LINES[2][1]
    assert f'-v "$PWD:{where}"' in (ROOT / "docs" / "how_to.md").read_text()
    command, script = json.loads(LINES[-1][1])
    assert command == "python" and script in (ROOT / "Makefile").read_text()


def test_the_image_is_built_and_plans_a_run():
    """Where Docker is."""
    if not shutil.which("docker") or subprocess.run(["docker", "info"], capture_output=True).returncode:
        pytest.skip("no Docker answers here")
    subprocess.run(["docker", "build", "--tag", "privrep-test", "."], cwd=ROOT, check=True)
    plan = f"docker run --rm -u 4321:4321 -v {ROOT}:/privrep privrep-test snakemake -n all"
    assert "run_shard" in subprocess.run(plan.split(), capture_output=True, text=True, check=True).stdout
