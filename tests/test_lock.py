"""One run at a time in a folder. After a kill the jobs of the run end, and nothing else: not an editor, not another
run, not another folder's jobs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from patience import patience
from test_faults import started, workers
from workflow_helpers import copy_project, snakemake

from privrep.run.lock import LOCK, LOOK_EVERY_SECONDS, RUN, RunAlive, RunOver, check_alone, check_job
from privrep.run.slurm_jobs import SlurmSilent, jobs_of

HOLD = "from pathlib import Path; from privrep.run.lock import hold; hold(Path.cwd())"
JOB = "from privrep.run.lock import end_with_run; end_with_run()"
EDITOR = "'workflow/scripts/run_shard.py'"
HERE = f"host {socket.gethostname()}, "


@pytest.fixture
def start(tmp_path):
    """Start a Python process that says when it is ready, and then sleeps: `start(what, folder, run)`.
    run : what is in its environment. All are ended after the test."""
    processes = []

    def start_one(what: str, folder: Path = tmp_path, run: str | None = None) -> subprocess.Popen:
        surroundings = {name: value for name, value in os.environ.items() if name != RUN}
        surroundings |= {} if run is None else {RUN: run}
        command = [sys.executable, "-c", f"{what}; print('ready', flush=True); import time; time.sleep(86400)"]
        processes.append(subprocess.Popen(command, cwd=folder, env=surroundings, stdout=subprocess.PIPE, text=True))
        assert processes[-1].stdout.readline() == "ready\n"
        return processes[-1]

    yield start_one
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def kill(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()


def owner(folder: Path) -> str:
    """What the lock says of its run."""
    return (folder / LOCK).read_text()


def goes_on(*processes: subprocess.Popen) -> bool:
    """Whether processes are there when all jobs have looked at the lock."""
    time.sleep(2 * LOOK_EVERY_SECONDS)
    return all(process.poll() is None for process in processes)


def test_a_live_run_is_named(start, tmp_path, monkeypatch):
    """Also while it is stopped; not after a kill, and an orderly end leaves no name."""
    check_alone(tmp_path)
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    run = start(HOLD)
    named = rf"a run is alive in {tmp_path} \({HERE}process {run.pid}, since 20.*, Slurm job 77\)"
    with pytest.raises(RunAlive, match=named):
        check_alone(tmp_path)
    run.send_signal(signal.SIGSTOP)
    second = subprocess.run([sys.executable, "-c", HOLD], cwd=tmp_path, capture_output=True, text=True)
    assert second.returncode and f"process {run.pid}" in second.stderr
    assert f"process {run.pid}" in owner(tmp_path)
    kill(run)
    check_alone(tmp_path)
    assert not subprocess.run([sys.executable, "-c", HOLD], cwd=tmp_path).returncode
    assert owner(tmp_path) == ""


def test_orphan_ends_and_editor_survives(start, tmp_path):
    """Both were started in the folder; the first alone is a job, and its run is gone."""
    run = start(HOLD)
    orphan, editor = start(JOB, run=owner(tmp_path)), start(EDITOR)
    kill(run)
    assert orphan.wait(timeout=patience()) == 1
    assert goes_on(editor)


def test_orphan_that_was_stopped_ends_under_the_next_run(start, tmp_path):
    """Which holds the lock when the orphan looks again."""
    run = start(HOLD)
    orphan = start(JOB, run=owner(tmp_path))
    orphan.send_signal(signal.SIGSTOP)
    kill(run)
    second = start(HOLD)
    job = start(JOB, run=owner(tmp_path))
    orphan.send_signal(signal.SIGCONT)
    assert orphan.wait(timeout=patience()) == 1
    assert goes_on(second, job)


def test_no_orphan_is_left_when_the_next_run_begins(start, tmp_path):
    """A run waits until the jobs of one that was killed have looked."""
    run = start(HOLD)
    orphans = [start(JOB, run=owner(tmp_path)) for _ in range(3)]
    kill(run)
    start(HOLD)
    assert [orphan.poll() for orphan in orphans] == [1, 1, 1]


def test_process_with_the_id_of_a_dead_run_is_no_run(tmp_path):
    """The id has passed to another process, which holds no lock."""
    (tmp_path / LOCK).write_text(f"{HERE}process {os.getpid()}, since yesterday")
    check_alone(tmp_path)


def test_other_folder_is_left_alone(start, tmp_path, tmp_path_factory):
    """Its run and its jobs go on beside a run of ours and its end; so does what is no job, whatever it was given."""
    elsewhere = tmp_path_factory.mktemp("other")
    other = start(HOLD, elsewhere)
    job, odd = start(JOB, elsewhere, owner(elsewhere)), start(JOB, run="yes")
    check_alone(tmp_path)
    kill(start(HOLD))
    assert goes_on(other, job, odd)


def test_a_run_on_another_host_is_not_broken(start, tmp_path):
    """Whether it is alive cannot be seen here: it is named, with the file and what to do. Its jobs here go on."""
    there = "host elsewhere, process 7, since 2026-01-01 00:00:00 +0000, Slurm job 8"
    (tmp_path / LOCK).write_text(there)
    job = start(JOB, run=there)
    with pytest.raises(RunAlive) as caught:
        check_alone(tmp_path)
    assert f"({there})" in str(caught.value) and f"remove {tmp_path / LOCK} and try again" in str(caught.value)
    second = subprocess.run([sys.executable, "-c", HOLD], cwd=tmp_path, capture_output=True, text=True)
    assert second.returncode and f"({there})" in second.stderr
    assert owner(tmp_path) == there and goes_on(job)


@pytest.mark.parametrize("next_text", ["host elsewhere, process 9, since today", "", None])
def test_a_job_on_another_host_than_its_run_ends_with_its_text(start, tmp_path, monkeypatch, next_text):
    """Where the lock may not be seen: another run's text, that of a run that ended, or a file that somebody removed.
    What is started by such a job does not begin."""
    there = "host elsewhere, process 7, since 2026-01-01 00:00:00 +0000, jobs in Slurm"
    (tmp_path / LOCK).write_text(there)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(RUN, there)
    job = start(JOB, run=there)
    check_job()
    (tmp_path / LOCK).unlink() if next_text is None else (tmp_path / LOCK).write_text(next_text)
    assert job.wait(timeout=patience()) == 1
    with pytest.raises(RunOver, match="the run of this job is over"):
        check_job()


def test_jobs_of_snakemake_itself_end_with_it(tmp_path):
    """Started by hand as `snakemake`, killed with a job under way: the job does not finish."""
    folder = copy_project(tmp_path / "copy")
    run = started(folder, shards=1)
    left = workers(folder)
    for pid in left:
        os.kill(pid, signal.SIGSTOP)  # so that it cannot be over too early
    kill(run)
    assert left and workers(folder) == left
    time.sleep(LOOK_EVERY_SECONDS)  # so that its next look is due when it is continued
    for pid in left:
        os.kill(pid, signal.SIGCONT)
    deadline = time.monotonic() + patience()
    while workers(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert (folder / "results/tiny/figure2/shards/0.checkpoint").exists()


def test_a_job_of_a_run_that_is_over_touches_nothing(tmp_path, monkeypatch):
    """One that waited in a queue: Snakemake would begin by removing the shard that the next run made."""
    folder = copy_project(tmp_path / "copy")
    shard = "results/tiny/figure2/shards/0.csv"
    (folder / shard).parent.mkdir(parents=True)
    (folder / shard).write_text("of the next run")
    (folder / LOCK).write_text("host elsewhere, process 9, since today")
    monkeypatch.setenv(RUN, "host elsewhere, process 7, since yesterday")
    done = snakemake(folder, shard, "--mode", "remote", "--force", "--cores", "1", check=False)
    assert done.returncode and "the run of this job is over" in done.stdout + done.stderr
    assert (folder / shard).read_text() == "of the next run"


def test_jobs_of_other_folders_are_left_alone(tmp_path, monkeypatch):
    """And other jobs of this one: they are somebody's work."""
    run = "privrep_01234567-89ab-cdef-0123-456789abcdef"
    lines = [
        f"1|{run}|{tmp_path}",
        f"2|{run}|{tmp_path}/copy",
        f"3|{run}|/",
        f"4|mine|{tmp_path}",
        f"5|{run}x|{tmp_path}",
    ]
    squeue = tmp_path / "squeue"
    squeue.write_text("#!/bin/sh\ncat << EOF\n" + "\n".join(lines) + "\nEOF\n")
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert jobs_of(tmp_path) == ["1"]
    squeue.write_text("#!/bin/sh\necho away >&2; exit 1\n")
    with pytest.raises(SlurmSilent, match="away"):
        jobs_of(tmp_path)
