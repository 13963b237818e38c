"""Clear the way for a run after one was killed.

A killed run leaves Snakemake's lock and perhaps jobs without a parent. Jobs write their output in one move, so none is
half done, and they can be ended safely. A job is known by a mark in its environment, which it inherits from the run
that started it, however that was started. Nothing without a mark is ended, whatever its arguments say.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import psutil

MARK = "PRIVREP_RUN"
"""Environment variable of all jobs: process id and start time of the run they belong to."""
CLOCK_STEP = 2.0
"""Seconds by which the start time of one process may be read differently, since it is counted from a clock that can be
set."""


class RunAlive(RuntimeError):
    """Another run works in this folder."""


def mark_of(process: psutil.Process) -> str:
    """The mark of the jobs of a run; the start time tells the run from a later process with the same id."""
    return f"{process.pid}:{process.create_time():.2f}"


def mark_jobs() -> None:
    """Mark all that this process starts from now on as jobs of it.
    A mark that it has inherited stays: it is a job itself."""
    os.environ.setdefault(MARK, mark_of(psutil.Process()))


def read_mark(environment: dict[str, str] | None) -> tuple[int, float] | None:
    """Process id and start time in a mark; None where there is none."""
    pid, _, start = (environment or {}).get(MARK, "").partition(":")
    try:
        return int(pid), float(start)
    except ValueError:
        return None


def is_running(pid: int, start: float) -> bool:
    """Whether the process that had this id at this time is still there."""
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - start) < CLOCK_STEP
    except psutil.NoSuchProcess:
        return False


def is_snakemake(words: list[str] | None) -> bool:
    """Whether a command line runs Snakemake."""
    names = [Path(word).name for word in (words or [""])[:3]]
    return names[0].startswith(("python", "snakemake")) and "snakemake" in names


def survey(folder: Path) -> tuple[list[int], list[psutil.Process]]:
    """Process ids of the runs that are alive in `folder`, and the jobs there whose run is gone;
    this process and its parents excepted."""
    own = psutil.Process()
    family = {own.pid, *(parent.pid for parent in own.parents())}
    runs, orphans = [], []
    for process in psutil.process_iter(["cmdline", "cwd", "environ"]):
        if process.info["cwd"] != str(folder.resolve()) or process.pid in family:
            continue
        mark = read_mark(process.info["environ"])
        if mark is None:
            runs += [process.pid] if is_snakemake(process.info["cmdline"]) else []
        elif is_running(*mark):
            runs.append(mark[0])
        else:
            orphans.append(process)
    return runs, orphans


def end(processes: list[psutil.Process]) -> None:
    """Ask processes to end, and end those that have not after ten seconds; psutil refuses where an id has passed to
    another process."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, left = psutil.wait_procs(processes, timeout=10)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=10)


def unlock(folder: Path) -> bool:
    """Unlock a folder in which no run is alive, and end what a killed run left there; returns whether there was a lock.

    Raises
    ------
    RunAlive
        If a run is alive; the message names its process.
    """
    if not any((folder / ".snakemake" / "locks").glob("*")):
        return False
    runs, orphans = survey(folder)
    if runs:
        raise RunAlive(f"a run is alive in {folder} (process {runs[0]}); wait for it, or end it and try again")
    end(orphans)
    subprocess.run(["snakemake", "--unlock"], cwd=folder, check=True, capture_output=True)
    return True
