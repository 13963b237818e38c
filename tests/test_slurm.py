"""A run on a real Slurm that this test starts: each fault ends, after the same command again at most, in the bytes of a
run without it, with so many submissions and no more.

What happens to a shard is a piece of Python that it runs, once, before its work.
"""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import patience
from slurm_cluster import Cluster, cluster, missing
from test_faults import damage, mounted
from test_workflow import at_tiny
from workflow_helpers import copy_project, environment, snakemake

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"no Slurm here ({', '.join(missing())}): see .ci/run")

STUDY, CLAIMS = "results/tiny/figure2", "results/tiny/reports/claims.csv"
SHARDS = 4
# The executor looks at the queue less and less often, up to minutes.
OFTEN = """\
from snakemake.cli import main
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
RemoteExecutor.next_seconds_between_status_checks = property(lambda self: 2, lambda self, seconds: None)
main()
"""
# One shard a submission
RUN = [sys.executable, "-c", OFTEN, CLAIMS, "--profile", "profiles/slurm", "--configfile", "config/scales/tiny.yaml"]
RUN += ["--group-components", "shards=1"]

ONCE = """\
import os, sys
fault = f"fault-{sys.argv[sys.argv.index('--shard') + 1]}.py" if "--shard" in sys.argv else ""
if os.path.exists(fault):
    code = open(fault).read()
    os.remove(fault)
    exec(code)
"""
BLOCKED = """\
import time
open(f"{fault}.runs", "w").close()
while not os.path.exists("go"):
    time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def slurm():
    with cluster() as one:
        yield one


def project(folder: Path, faults: dict[int, str]) -> Path:
    """A copy whose run is one small study. faults : what happens to a shard before its work, once."""
    copy_project(folder)
    (folder / "config/scales/tiny.yaml").write_text("scale: tiny\nstudies: [figure2]\n")
    at_tiny(folder, "shards: 3", f"shards: {SHARDS}")
    script = folder / "workflow/scripts/run_shard.py"
    script.write_text(ONCE + script.read_text())
    for shard, code in faults.items():
        (folder / f"fault-{shard}.py").write_text(code)
    return folder


@pytest.fixture
def start(slurm):
    """Start the run of a copy on the cluster; what it says is in `said`. After the test nothing of it is left."""
    runs = []

    def start_one(folder: Path, *words: str) -> subprocess.Popen:
        own = environment(folder)
        own |= slurm.environment | {"PATH": f"{own['PATH'].partition(':')[0]}:{slurm.environment['PATH']}"}
        with open(folder / "said", "a") as said:
            runs.append(subprocess.Popen([*RUN, *words], cwd=folder, env=own, stdout=said, stderr=said))
        return runs[-1]

    yield start_one
    for run in runs:
        run.kill()
        run.wait()
    slurm.call("scancel", "--me")


def status(start, *words: object) -> int:
    """The exit status of the run of a copy."""
    return start(*words).wait(timeout=patience())


def said(folder: Path) -> str:
    return (folder / "said").read_text()


def kept(folder: Path) -> tuple[bytes, bytes]:
    return (folder / CLAIMS).read_bytes(), (folder / STUDY / "cells.csv").read_bytes()


def until(condition, folder: Path) -> None:
    """Wait for a state of a run."""
    deadline = time.monotonic() + patience()
    while not condition():
        assert time.monotonic() < deadline, said(folder)
        time.sleep(0.1)


def states(slurm: Cluster, folder: Path) -> list[str]:
    """How the jobs of a folder ended, in alphabetical order."""
    return sorted(job["state"] for job in slurm.jobs(folder))


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> tuple[bytes, bytes]:
    """The bytes of a run on this machine without a fault."""
    folder = project(tmp_path_factory.mktemp("local") / "copy", {})
    snakemake(folder, CLAIMS, "-j2")
    return kept(folder)


def test_a_job_that_fails_is_submitted_again_by_itself(slurm, start, expected, tmp_path):
    """After kill -9, too much memory, scancel and the time limit; with twice the memory, and in the same run."""
    faults = {
        0: "os.kill(os.getpid(), 9)",
        1: "import time; hog = bytearray(2 * 10**9); time.sleep(900)",
        2: "import subprocess, time; subprocess.run(['scancel', os.environ['SLURM_JOB_ID']]); time.sleep(900)",
        3: "import time; time.sleep(900)",
    }
    folder = project(tmp_path / "copy", faults)
    assert not status(start, folder, "--set-resources", "run_shard:runtime=1"), said(folder)
    assert kept(folder) == expected
    jobs = slurm.jobs(folder)
    assert len(jobs) == 2 * SHARDS
    assert states(slurm, folder) == ["CANCELLED"] + 4 * ["COMPLETED"] + ["FAILED", "FAILED", "TIMEOUT"]
    assert {job["memory"] for job in jobs[:SHARDS]} == {"900M"} and {job["memory"] for job in jobs[SHARDS:]} == {
        "1800M"
    }


def test_daemons_that_end_and_a_node_that_vanishes(slurm, start, expected, tmp_path):
    """Jobs survive kill -9 of the daemon of their node and of slurmctld, which are started again. Those of a node that
    vanishes are submitted once more."""
    folder = project(tmp_path / "copy", dict.fromkeys(range(SHARDS), BLOCKED))
    run = start(folder)
    until(lambda: len(list(folder.glob("fault-*.runs"))) == SHARDS, folder)
    slurm.kill("n1")
    slurm.start("n1")
    slurm.kill("slurmctld")
    time.sleep(5)  # a look at the queue fails
    slurm.start("slurmctld")
    slurm.wait("2 ", "sinfo", "--noheader", "--states=mixed,allocated", "--format=%D %T")
    on_n2 = [job["id"] for job in slurm.jobs(folder) if job["node"] == "n2"]
    slurm.lose("n2")
    (folder / "go").touch()
    assert not run.wait(timeout=patience()), said(folder)
    assert kept(folder) == expected
    assert states(slurm, folder) == 4 * ["COMPLETED"] + len(on_n2) * ["NODE_FAIL"]
    assert len(on_n2) == 2
    slurm.start("n2")
    slurm.wait("2 idle", "sinfo", "--noheader", "--format=%D %T")


def test_snakemake_is_killed(slurm, start, expected, tmp_path):
    """A second run is told whose run is alive, and its jobs. After kill -9 the jobs on other hosts go on, and others
    wait in the queue; the same command again ends them before it submits anything."""
    elsewhere = f"import socket; socket.gethostname = lambda: 'elsewhere'\n{BLOCKED}"
    folder = project(tmp_path / "copy", dict.fromkeys(range(SHARDS), elsewhere))
    slurm.call("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")  # two jobs at once
    run = start(folder)
    until(lambda: len(list(folder.glob("fault-*.runs"))) == 2, folder)
    until(lambda: len(slurm.jobs(folder)) == SHARDS, folder)
    jobs = [job["id"] for job in slurm.jobs(folder)]
    assert status(start, folder)
    named = rf"\(host {socket.gethostname()}, process {run.pid}, since .*, jobs in Slurm {' '.join(jobs)}\)"
    assert re.search(f"a run is alive in {folder} {named}", said(folder)), said(folder)
    run.send_signal(signal.SIGKILL)
    run.wait()
    time.sleep(3)  # jobs on this host would have ended
    assert states(slurm, folder) == ["PENDING", "PENDING", "RUNNING", "RUNNING"]
    slurm.call("scontrol", "update", "NodeName=n2", "State=RESUME")
    for fault in folder.glob("fault-*.py"):
        fault.unlink()
    assert not status(start, folder), said(folder)
    assert kept(folder) == expected
    assert states(slurm, folder) == SHARDS * ["CANCELLED"] + SHARDS * ["COMPLETED"]


def test_a_full_disk_and_a_shard_that_was_cut_short(slurm, start, expected, tmp_path):
    """The run ends red; with room, the same command goes on. A shard that is cut short afterwards is
    made again, and no other."""
    folder = project(tmp_path / "copy", {})
    shards = folder / STUDY / "shards"
    shards.parent.mkdir(parents=True)
    if not mounted("size=8k", shards):
        pytest.skip("mounting is not allowed here")
    try:
        assert status(start, folder, "--retries", "0")
    finally:
        subprocess.run(["umount", str(shards)], check=True)
    assert "the disk is full" in said(folder)
    assert len(slurm.jobs(folder)) == SHARDS
    assert not status(start, folder), said(folder)
    before = len(slurm.jobs(folder))
    assert kept(folder) == expected and before <= 2 * SHARDS
    damage(shards / "1.csv", "halved")
    for made_of_it in (CLAIMS, f"{STUDY}/cells.csv", f"{STUDY}/measures.csv"):
        (folder / made_of_it).unlink()
    assert not status(start, folder), said(folder)
    assert kept(folder) == expected and len(slurm.jobs(folder)) == before + 1
