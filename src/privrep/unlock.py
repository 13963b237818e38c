"""Clear the way for a run after one was killed.

A killed run leaves Snakemake's lock and perhaps jobs without a parent. Jobs write their output in one move, so none is half
done, and they can be ended safely.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import psutil


class RunAlive(RuntimeError):
    """Another run works in this folder."""


def processes_in(folder: Path) -> list[psutil.Process]:
    """Processes that work in `folder` and run snakemake or one of the workflow's scripts, this one excepted."""
    own = psutil.Process()
    family = {own.pid, *(parent.pid for parent in own.parents())}
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = process.info["cmdline"] or []
        ours = is_snakemake(words) or any("workflow/scripts/" in word for word in words)
        if ours and process.info["cwd"] == str(folder) and process.pid not in family:
            found.append(process)
    return found


def is_snakemake(words: list[str]) -> bool:
    """Whether a command line is Snakemake itself, not a job of it."""
    return any(Path(word).name == "snakemake" for word in words[:3])


def unlock(folder: Path) -> bool:
    """Unlock a folder in which no run is alive; returns whether there was a lock.

    Raises
    ------
    RunAlive
        If a run is alive; the message names its process.
    """
    if not any((folder / ".snakemake" / "locks").glob("*")):
        return False
    found = processes_in(folder)
    alive = [process for process in found if is_snakemake(process.info["cmdline"])]
    if alive:
        raise RunAlive(f"a run is alive in {folder} (process {alive[0].pid}); wait for it, or end it and try again")
    for orphan in found:
        orphan.terminate()
    psutil.wait_procs(found, timeout=10)
    subprocess.run(["snakemake", "--unlock"], cwd=folder, check=True, capture_output=True)
    return True
