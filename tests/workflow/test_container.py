"""The Dockerfile: built where a Docker answers, and read everywhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib

import pytest
from packaging.specifiers import SpecifierSet
from workflow_helpers import PARTS, ROOT

TEXT = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
LINES = [line.split(maxsplit=1) for line in TEXT.splitlines() if line and not line.startswith("#")]


def test_the_image_is_made_of_what_the_lock_names():
    """A Python that the project allows, of a version; packages by hash before anything else; then the project, all of
    whose parts are there and none of which is left out."""
    assert [word for word, _ in LINES] == ["FROM", "WORKDIR", "ENV", "COPY", "RUN", "COPY", "RUN", "CMD"]
    python = re.fullmatch(r"python:(\d+\.\d+)-slim-\w+", LINES[0][1])[1]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert python in SpecifierSet(project["requires-python"])
    packages, own = (text for word, text in LINES if word == "RUN")
    installs = [step for step in packages.split("&&") if "pip install" in step]
    assert len(installs) == 2 and all("--require-hashes --no-deps" in step for step in installs)
    selection = re.search(r"awk '[^']+'", packages)[0]
    assert selection in (ROOT / "Makefile").read_text(), "the same packages come first in the Makefile"
    assert "--no-deps" in own and own.endswith("--editable .")
    copied = [text.split()[0] for word, text in LINES if word == "COPY"]
    assert copied == ["requirements.lock", "."] and (ROOT / copied[0]).exists()
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert not {part.split("/")[0] for part in (*PARTS, "requirements.lock", "pyproject.toml")} & set(ignored)


def test_the_image_is_built_and_plans_a_run():
    """Where Docker is."""
    if not shutil.which("docker") or subprocess.run(["docker", "info"], capture_output=True).returncode:
        pytest.skip("no Docker answers here")
    subprocess.run(["docker", "build", "--tag", "privrep-test", "."], cwd=ROOT, check=True)
    plan = ["docker", "run", "--rm", "privrep-test", "snakemake", "-n", "all"]
    assert "run_shard" in subprocess.run(plan, capture_output=True, text=True, check=True).stdout
