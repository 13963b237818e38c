"""Jobs that Slurm has of the runs of a folder: those that a killed run left must not write beside the next one."""

from __future__ import annotations

import getpass
import re
import shutil
import subprocess
import time
from pathlib import Path

JOB_NAME = r"privrep_[0-9a-f-]{36}"
"""Of all jobs: the prefix of profiles/slurm, and Snakemake's number of the run."""
WAIT_SECONDS = 120.0


class SlurmSilent(RuntimeError):
    """Slurm does not say which jobs there are, or does not end them."""


def jobs_of(folder: Path) -> list[str]:
    """Ids of the jobs of this user that runs of a folder have submitted and that are not over; none without Slurm.

    Raises
    ------
    SlurmSilent
        If Slurm does not answer.
    """
    if not shutil.which("squeue"):
        return []
    command = ["squeue", "--noheader", f"--user={getpass.getuser()}", "--sort=i", "--format=%A|%j|%Z"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SlurmSilent(f"squeue does not say which jobs are left in {folder}: {done.stderr.strip()}")
    jobs = [line.split("|", 2) for line in done.stdout.splitlines()]
    return [job for job, name, where in jobs if re.fullmatch(JOB_NAME, name) and where == str(folder.resolve())]


def cancel_jobs(folder: Path) -> None:
    """End what killed runs of a folder left in Slurm, and wait until it is over.

    Raises
    ------
    SlurmSilent
        If Slurm does not answer, or a job does not end.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    while left := jobs_of(folder):
        if time.monotonic() > deadline:
            raise SlurmSilent(f"Slurm does not end the jobs {' '.join(left)} of an earlier run in {folder}")
        subprocess.run(["scancel", *left], capture_output=True)
        time.sleep(1.0)
