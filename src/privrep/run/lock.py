"""One run at a time in a folder: a lock file that a run holds, and whose text says who it is.

The kernel takes the lock from a process that ends, however it ends, so nothing has to be unlocked after a kill. Jobs
look at the lock and end when it is no longer their run's. They write their output in one move, so none is half done.
On another host the lock may not be seen: there, jobs look at the text, and the next run ends what is left of them in
Slurm before it begins.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

from privrep.run.slurm_jobs import SlurmSilent, cancel_jobs, jobs_of

LOCK = ".privrep.lock"
"""Name of the file; it is empty where no run is alive or was killed."""
RUN = "PRIVREP_RUN"
"""Environment variable of all jobs: the text of the lock of the run they belong to."""
LOOK_EVERY_SECONDS = 1.0
ON_CLUSTER = ", jobs in Slurm"
"""End of the text of a run whose jobs may be on other hosts."""


class RunAlive(RuntimeError):
    """Another run works in this folder, or may do so on another host."""


class RunOver(RuntimeError):
    """The run that this process is a job of is over."""


def _here() -> str:
    return f"host {socket.gethostname()}, "


def _is_locked(file: int, kind: int) -> bool:
    """Whether another process holds the lock. Where none does, this one has it then."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _text(file: int) -> str:
    return os.pread(file, 1000, 0).decode(errors="replace")


def _lock(file: int, kind: int, folder: Path) -> str:
    """Lock the open lock file of a folder, and return what the last run left in it.
    A lock may not be seen on another host; there, the text counts."""
    owner = _text(file)
    if owner and not owner.startswith(_here()):
        raise RunAlive(
            f"a run on another host may be alive in {folder} ({owner}{_submitted(owner, folder)}); wait for it, or end "
            f"it there; if it was killed, remove {folder / LOCK} and try again"
        )
    if _is_locked(file, kind):
        raise RunAlive(
            f"a run is alive in {folder} ({owner}{_submitted(owner, folder)}); wait for it, or end it and try again"
        )
    return owner


def _submitted(owner: str, folder: Path) -> str:
    """The ids of the jobs that a run has in Slurm now, behind its text."""
    if not owner.endswith(ON_CLUSTER):
        return ""
    with suppress(SlurmSilent):
        return " " + " ".join(jobs_of(folder) or ["none"])
    return ""


def check_alone(folder: Path) -> None:
    """Raise RunAlive where a run is alive in a folder, or may be on another host; the message says which."""
    with suppress(FileNotFoundError), open(folder / LOCK) as file:
        _lock(file.fileno(), fcntl.LOCK_SH, folder)


def hold(folder: Path, cluster: bool = False) -> None:
    """Be the run of a folder, until this process ends; what it starts from now on are jobs of it.

    Parameters
    ----------
    folder : where results are written.
    cluster : whether its jobs go to Slurm; then, and after a run whose jobs did, what is left there is ended first.

    Raises
    ------
    RunAlive
        If another run is alive there, or may be on another host.
    SlurmSilent
        If jobs of an earlier run may be alive in Slurm.
    """
    file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    killed = _lock(file, fcntl.LOCK_EX, folder)
    if cluster or killed.endswith(ON_CLUSTER):
        cancel_jobs(folder)
    job = os.environ.get("SLURM_JOB_ID")
    slurm = (f", Slurm job {job}" if job else "") + (ON_CLUSTER if cluster else "")
    owner = f"{_here()}process {os.getpid()}, since {time.strftime('%Y-%m-%d %H:%M:%S %z')}{slurm}"
    os.truncate(file, 0)
    os.write(file, owner.encode())
    atexit.register(os.truncate, file, 0)
    os.environ[RUN] = owner
    if killed:
        time.sleep(2 * LOOK_EVERY_SECONDS)  # until its jobs have looked


def _is_over(run: str) -> bool:
    """Whether a run holds the lock of this folder no longer. On another host than its own its text counts."""
    try:
        file = os.open(LOCK, os.O_RDONLY)  # anew, or a shared disk would show an old text
    except FileNotFoundError:
        return True
    try:
        return _text(file) != run or (run.startswith(_here()) and not _is_locked(file, fcntl.LOCK_SH))
    finally:
        os.close(file)


def _watch(run: str) -> None:
    while not _is_over(run):
        time.sleep(LOOK_EVERY_SECONDS)
    os._exit(1)


def _own_run() -> str:
    """The text of the run that this process is a job of, empty where it is none."""
    run = os.environ.get(RUN, "")
    return run if run.startswith("host ") else ""


def check_job() -> None:
    """Raise RunOver where this process is a job of a run that is over: it would remove what the next run made."""
    if (run := _own_run()) and _is_over(run):
        raise RunOver(f"the run of this job is over ({run})")


def end_with_run() -> None:
    """Let this process end when the run that it is a job of is over; where it is no job, it goes on."""
    if run := _own_run():
        threading.Thread(target=_watch, args=(run,), daemon=True).start()
