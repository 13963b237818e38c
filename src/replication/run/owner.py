"""The run that owns a folder. Snakemake locks the folder; a file beside its lock names the process, for the error
message of a second run, and so that the lock of a run that was killed on this host is removed without asking."""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from signal import SIGINT, SIGKILL

import psutil

from privrep.users.whole_files import write_whole

FILE, LOCKS = Path(".snakemake/owner.json"), Path(".snakemake/locks")
VARIABLE = "PRIVREP_RUN"
"""Environment variable of all processes that a run starts; its value is the content of `FILE`."""


class RunAlive(RuntimeError):
    """Another run is active in this folder, or may be active where this process cannot see it."""


def _recorded() -> tuple[str, dict]:
    """Return the content of `FILE` and the run that it names; nothing where it is missing or damaged."""
    with suppress(FileNotFoundError, ValueError, TypeError, KeyError):
        text = FILE.read_text()
        owner = json.loads(text)
        return text, {key: owner[key] for key in ("host", "process", "since", "created", "cluster")}
    return "", {}


def record(cluster: bool) -> None:
    """Write that this process runs in the present folder, and whether its jobs go to a cluster."""
    owner = {"host": socket.gethostname(), "process": os.getpid(), "since": time.strftime("%Y-%m-%d %H:%M:%S %z")}
    owner |= {"created": psutil.Process().create_time(), "cluster": cluster}
    os.environ[VARIABLE] = json.dumps(owner)
    write_whole(FILE, os.environ[VARIABLE])


def _alive(owner: dict) -> bool:
    """Return whether the process of a run on this host is alive, and not a later process with its number."""
    try:
        process = psutil.Process(owner["process"])
        same = abs(process.create_time() - owner["created"]) < 10
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def check() -> None:
    """Raise RunAlive where a run holds Snakemake's lock of the present folder, unless it was killed on this host."""
    if not any(LOCKS.glob("*.lock")):
        return
    owner = _recorded()[1]
    who = "host {host}, process {process}, since {since}".format(**owner) if owner else "which one is not known"
    if not owner or owner["host"] != socket.gethostname():
        raise RunAlive(f"a run may be alive in {Path.cwd()} ({who}); if it is over, type: snakemake --unlock")
    if _alive(owner):
        raise RunAlive(f"a run is alive in {Path.cwd()} ({who}); wait for it, or end it and try again")
    if owner["cluster"]:
        then = "end them (squeue --me, scancel), then type: snakemake --unlock"
        raise RunAlive(f"a run in {Path.cwd()} was killed ({who}) and its jobs may go on; {then}")


def end(run: psutil.Process | None = None) -> None:
    """End the run in the present folder, and all that it started, and remove its lock: by SIGINT, and by SIGKILL what
    is there after a second or two, or a minute if jobs are on a cluster.

    run : its main process, None if that is dead. A run that does not own the folder ends alone.
    """
    text, owner = _recorded()
    if run and owner.get("process") != run.pid:
        text, owner = "", {}
    for signal in (SIGINT, SIGKILL):
        every = psutil.process_iter(["environ"]) if text else ()
        left = [process for process in every if (process.info["environ"] or {}).get(VARIABLE) == text]
        left += [run] if run else []
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal)
        psutil.wait_procs(left, 60 if owner.get("cluster") else 1.5)
    for lock in LOCKS.glob("*.lock") if text else ():
        lock.unlink()


def recover() -> None:
    """Check that no run is alive in the present folder; where one was killed, end its last processes and unlock."""
    check()
    if any(LOCKS.glob("*.lock")):
        end()
