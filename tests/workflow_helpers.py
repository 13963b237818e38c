"""A throw-away copy of the project in which workflow tests run Snakemake."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
DOCS = ("docs/record", "docs/confirmation.csv")
PARTS = ("Snakefile", "config", *DOCS, "profiles", "src", "workflow")


def copy_project(folder: Path) -> Path:
    """Copy what a run needs, without results, into a new `folder`."""
    folder.mkdir()
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            (folder / part).parent.mkdir(exist_ok=True)
            shutil.copy(source, folder / part)
    for generated in ("figures", "reports"):
        (folder / generated).mkdir()
    return folder


def copy_run(run: Path, folder: Path) -> Path:
    """Copy a finished run, with the times of its files and what Snakemake remembers of them, into a new `folder`."""
    return shutil.copytree(run, folder, symlinks=True)


def at_tiny(folder: Path, old: str, new: str) -> None:
    """Change what the study figure2 has at scale tiny, wherever it says so."""
    path = folder / "src/replication/studies/figure2/settings.yaml"
    text = path.read_text()
    changed = re.sub(r"tiny: \{.*", lambda tiny: tiny[0].replace(old, new, 1), text)
    assert changed != text
    path.write_text(changed)


def run_all_at_tiny(jobs: int) -> list[str]:
    """What `make tiny` runs."""
    return [sys.executable, "workflow/scripts/run_all.py", f"--jobs={jobs}", "--configfile", "config/scales/tiny.yaml"]


def environment(folder: Path) -> dict[str, str]:
    """The present environment, with this Python first on the path and the copied library before the installed one."""
    scripts = str(Path(sys.executable).parent)
    return os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(folder / "src")}


def script(name: str) -> ModuleType:
    """A script of the workflow as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "workflow" / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def called(folder: Path, command: list[str]) -> subprocess.CompletedProcess:
    """Run a command in the copy, whatever its exit status."""
    return subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=patience()
    )


def snakemake(folder: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess:
    """Run snakemake in the copy at scale tiny."""
    command = ["snakemake", *words, "--configfile", "config/scales/tiny.yaml"]
    done = called(folder, command)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    return done


# How long a test waits for a state: so many times a piece of work as this machine does it now, minutes at least


@cache
def unit_seconds() -> float:
    """Seconds in which a new Python has imported pandas: about half a second alone on a core."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import pandas"], check=True)
    return time.perf_counter() - start


def patience(units: float = 1000, least: float = 600) -> float:
    """Seconds after which something hangs, and is not slow. A test passes or fails by a state; this only ends it."""
    return max(least, units * unit_seconds())
