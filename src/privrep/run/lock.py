"""One run at a time in a folder: a lock file that a run holds, and whose text says who it is.

The kernel takes the lock from a process that ends, however it ends, so nothing has to be unlocked after a kill. Jobs
look at the lock and end when it is no longer their run's. They write their output in one move, so none is half done.
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

LOCK = ".privrep.lock"
"""Name of the file; it is empty where no run is alive or was killed."""
RUN = "PRIVREP_RUN"
"""Environment variable of all jobs: the text of the lock of the run they belong to."""
LOOK_EVERY_SECONDS = 1.0


class RunAlive(RuntimeError):
    """Another run works in this folder, or may do so on another host."""


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
            f"a run on another host may be alive in {folder} ({owner}); wait for it, or end it there; if it was "
            f"killed, remove {folder / LOCK} and try again"
        )
    if _is_locked(file, kind):
        raise RunAlive(f"a run is alive in {folder} ({owner}); wait for it, or end it and try again")
    return owner


def check_alone(folder: Path) -> None:
    """Raise RunAlive where a run is alive in a folder, or may be on another host; the message says which."""
    with suppress(FileNotFoundError), open(folder / LOCK) as file:
        _lock(file.fileno(), fcntl.LOCK_SH, folder)


def hold(folder: Path) -> None:
    """Be the run of a folder, until this process ends; what it starts from now on are jobs of it.

    Raises
    ------
    RunAlive
        If another run is alive there, or may be on another host.
    """
    file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    killed = _lock(file, fcntl.LOCK_EX, folder)
    job = os.environ.get("SLURM_JOB_ID")
    slurm = f", Slurm job {job}" if job else ""
    owner = f"{_here()}process {os.getpid()}, since {time.strftime('%Y-%m-%d %H:%M:%S %z')}{slurm}"
    os.truncate(file, 0)
    os.write(file, owner.encode())
    atexit.register(os.truncate, file, 0)
    os.environ[RUN] = owner
    if killed:
        time.sleep(2 * LOOK_EVERY_SECONDS)  # until its jobs have looked


def _watch(file: int, run: str) -> None:
    while _text(file) == run and _is_locked(file, fcntl.LOCK_SH):
        time.sleep(LOOK_EVERY_SECONDS)
    os.close(file)  # before the memory of this process is freed, which takes longer
    os._exit(1)


def end_with_run() -> None:
    """Let this process end when the run that it is a job of is over. On another host than its run's, where the lock may
    not be seen, and where it is no job, it goes on."""
    run = os.environ.get(RUN, "")
    if run.startswith(_here()):
        threading.Thread(target=_watch, args=(os.open(LOCK, os.O_RDONLY), run), daemon=True).start()
