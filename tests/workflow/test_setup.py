"""`make` sets up .venv anew by itself where what is there cannot be used.

Pythons are stubs here, which note what they are asked to do.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from workflow_helpers import ROOT, patience

COMPILED = "compileall -q -q -j 0 -x /tests/ .venv/lib"
STUB = """#!/bin/sh
[ "$1" = -c ] || echo "{version} $*" >> calls
case "$*" in
  "-m venv .venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python
    echo "command = x -m venv $PWD/.venv" > .venv/pyvenv.cfg;;
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


def whole(version: str) -> list[str]:
    """The calls of a whole set-up."""
    return [f"{version} -m {what}" for what in ("venv .venv", *3 * ["pip install"], COMPILED)]


def test_a_folder_is_set_up_once_and_again_for_a_newer_lock(clone):
    """In the same environment; one that is cut short begins anew."""
    assert made(clone) == whole("3.11")
    assert made(clone) == []
    later = (clone / ".venv/ready").stat().st_mtime + 10
    os.utime(clone / "requirements.lock", (later, later))
    (clone / "stop").touch()
    assert len(made(clone)) < 4 and not (clone / ".venv/ready").exists()
    (clone / "stop").unlink()
    os.utime(clone / "requirements.lock", (0, 0))
    assert made(clone) == whole("3.11") and made(clone) == []


def test_a_folder_that_was_moved_keeps_its_environment(clone):
    """Whose programs run there, without a network: no path leads back. In a folder with blanks they cannot."""
    made(clone)
    program = clone / ".venv/bin/program"
    program.write_text(f"#!{clone}/.venv/bin/python\n")
    clone = clone.rename(clone.parent / "moved")
    assert made(clone) == made(clone) == []
    assert (clone / program.relative_to(program.parents[2])).read_text() == f"#!{clone}/.venv/bin/python\n"
    assert made(clone.rename(clone.parent / "moved to here")) == whole("3.11")


def test_an_environment_that_cannot_be_used_is_made_anew(clone):
    """Of another Python than the one that is asked for, or of one that is gone."""
    made(clone)
    assert made(clone, "PYTHON=python3.12") == whole("3.12")
    assert made(clone) == made(clone, "PYTHON=python3.12") == []
    (clone / ".venv/bin/python").unlink()
    assert made(clone) == whole("3.11")
    assert made(clone, "PYTHON=python3.99") == [] and (clone / ".venv/ready").exists()
