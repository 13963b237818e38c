"""`make` sets up .venv anew by itself where what is there cannot be used, and no clone runs another's code.

Pythons are stubs here, which note what they are asked to do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import patience
from workflow_helpers import ROOT, copy_project, environment

STUB = """#!/bin/sh
[ "$1" = -c ] || echo "{version} $*" >> calls
case "$*" in
  "-m venv .venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python; echo "command = x $PWD/.venv" > .venv/pyvenv.cfg;;
  *requirements.lock) [ ! -e stop ] || exit 130;;
  *) echo "{version}";;
esac
"""


@pytest.fixture
def clone(tmp_path, monkeypatch) -> Path:
    """A folder that can be set up, and two Pythons on the path."""
    scripts, folder = tmp_path / "scripts", tmp_path / "clone"
    scripts.mkdir()
    folder.mkdir()
    for name, version in (("python3", "3.11"), ("python3.12", "3.12")):
        (scripts / name).write_text(STUB.format(version=version))
        (scripts / name).chmod(0o755)
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    monkeypatch.setenv("PATH", f"{scripts}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("PYTHON", raising=False)
    return folder


def made(folder: Path, *words: str) -> list[str]:
    """Which Pythons made an environment, and installed in it, when the folder was set up."""
    calls = folder / "calls"
    calls.write_text("")
    subprocess.run(["make", ".venv/ready", *words], cwd=folder, capture_output=True, timeout=patience())
    return [line.split(" --quiet")[0] for line in calls.read_text().splitlines()]


INSTALLED = [f"{{}} -m {what}" for what in ("venv .venv", "pip install", "pip install", "pip install")]


def whole(version: str) -> list[str]:
    """The calls of a whole set-up."""
    return [line.format(version) for line in INSTALLED]


def test_a_folder_is_set_up_once(clone):
    """Again where the lock is newer, in the same environment."""
    assert made(clone) == whole("3.11")
    assert made(clone) == []
    later = (clone / ".venv/ready").stat().st_mtime + 10
    os.utime(clone / "requirements.lock", (later, later))
    assert made(clone) == whole("3.11")[1:]


def test_a_folder_that_was_moved_is_set_up_anew(clone):
    made(clone)
    moved = clone.rename(clone.parent / "moved")
    assert made(moved) == whole("3.11")
    assert made(moved) == []


@pytest.mark.parametrize("first", [True, False])
def test_a_set_up_that_was_cut_short_begins_anew(first, clone):
    """The first one, and one for a newer lock."""
    if not first:
        made(clone)
        later = (clone / ".venv/ready").stat().st_mtime + 10
        os.utime(clone / "requirements.lock", (later, later))
    (clone / "stop").touch()
    assert len(made(clone)) < 4 and not (clone / ".venv/ready").exists()
    (clone / "stop").unlink()
    os.utime(clone / "requirements.lock", (0, 0))
    assert made(clone) == whole("3.11")


def test_an_environment_of_another_python_is_made_anew(clone):
    """Where one is asked for. Where none is, what is there stays; where it is gone, there is another."""
    made(clone)
    assert made(clone, "PYTHON=python3.12") == whole("3.12")
    assert made(clone) == made(clone, "PYTHON=python3.12") == []
    (clone / ".venv/bin/python").unlink()
    assert made(clone) == whole("3.11")
    assert made(clone, "PYTHON=python3.99") == [] and (clone / ".venv/ready").exists()


def test_a_link_to_an_environment_is_replaced_and_what_it_leads_to_stays(clone):
    made(clone)
    other = clone.parent / "other"
    other.mkdir()
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(clone / name, other)
    (other / ".venv").symlink_to(clone / ".venv")
    assert made(other) == whole("3.11")
    assert not (other / ".venv").is_symlink() and made(clone) == []


@pytest.mark.parametrize(
    "command",
    [
        ["snakemake", "-n"],
        [sys.executable, "workflow/scripts/run_all.py"],
        [sys.executable, "workflow/scripts/check_chapters.py", "figure2"],
        [sys.executable, "-m", "pytest", "tests/test_names.py"],
    ],
    ids=["snakemake", "run_all", "check_chapters", "pytest"],
)
def test_a_clone_does_not_run_the_code_of_another(command, tmp_path):
    """In the environment of the other: one line names both."""
    folder = copy_project(tmp_path / "copy")
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    surroundings = environment(folder) | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, timeout=patience())
    assert done.returncode and "Traceback" not in done.stderr
    (line,) = [line for line in (done.stdout + done.stderr).splitlines() if str(folder / "src/privrep") in line]
    assert str(ROOT / "src/privrep") in line and "run make here" in line
