"""After a kill the jobs of the run are ended, and nothing else: not an editor, not another run, not another folder's
jobs."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
import pytest
from patience import patience
from workflow_helpers import copy_project, environment, unlock_folder

from privrep.run import unlock

SCRIPT = "workflow/scripts/run_shard.py"


@pytest.fixture
def start(tmp_path):
    """Start a sleeping Python process that names a script, as an editor would: `start(folder, mark)`.
    All are ended after the test."""
    started = []

    def run(folder=tmp_path, mark: str | None = None) -> subprocess.Popen:
        surroundings = {name: value for name, value in os.environ.items() if name != unlock.MARK}
        surroundings |= {} if mark is None else {unlock.MARK: mark}
        command = [sys.executable, "-c", "import time; time.sleep(86400)", SCRIPT]
        started.append(subprocess.Popen(command, cwd=folder, env=surroundings))
        # Only a while after its start does the system show a process's words and surroundings.
        seen = psutil.Process(started[-1].pid)
        while SCRIPT not in seen.cmdline() or seen.environ() != surroundings:
            time.sleep(0.01)
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def locked(tmp_path, monkeypatch):
    """A folder with the lock of a killed run; Snakemake itself is left out."""
    (tmp_path / ".snakemake" / "locks").mkdir(parents=True)
    (tmp_path / ".snakemake" / "locks" / "0.input.lock").touch()
    monkeypatch.setattr(unlock.subprocess, "run", lambda *words, **options: None)
    return tmp_path


def dead_mark(start) -> str:
    """The mark of a run that is over."""
    run = start()
    mark = unlock.mark_of(psutil.Process(run.pid))
    run.kill()
    run.wait()
    return mark


def test_orphan_is_ended_and_editor_survives(start, locked):
    """Both name a script of the workflow in the folder; the first alone was started by a run, which is gone."""
    orphan, editor = start(mark=dead_mark(start)), start()
    assert unlock.unlock(locked)
    assert orphan.poll() is not None
    assert editor.poll() is None


def test_process_with_the_id_of_a_dead_run_is_no_run(start, locked):
    """The id has passed to another process: the job is an orphan all the same, and the other process is left alone."""
    other = start()
    pid, began = unlock.mark_of(psutil.Process(other.pid)).split(":")
    orphan = start(mark=f"{pid}:{float(began) - 3600:.2f}")
    assert unlock.unlock(locked)
    assert orphan.poll() is not None
    assert other.poll() is None


def test_job_of_a_live_run_is_left_alone(start, locked):
    """Its run is named, and nothing is unlocked."""
    run = start()
    job = start(mark=unlock.mark_of(psutil.Process(run.pid)))
    with pytest.raises(unlock.RunAlive, match=f"process {run.pid}"):
        unlock.unlock(locked)
    assert job.poll() is None


def test_other_folder_is_left_alone(start, locked, tmp_path_factory):
    """A job of a dead run in another folder is not ours to end; a value that is no mark counts as none."""
    elsewhere, odd = start(tmp_path_factory.mktemp("other"), dead_mark(start)), start(mark="yes")
    assert unlock.unlock(locked)
    assert elsewhere.poll() is None and odd.poll() is None


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["/usr/bin/python3", "/usr/bin/snakemake", "-j8"], True),
        (["python", "-m", "snakemake"], True),
        (["vim", "snakemake"], False),
        ([], False),
        (None, False),
    ],
)
def test_snakemake_is_recognised(words, found):
    """By its command line, an editor of a file of that name excepted."""
    assert unlock.is_snakemake(words) == found


def test_jobs_of_snakemake_itself_are_marked(tmp_path):
    """Started by hand as `snakemake`, killed with a job under way: the job carries the mark, and is ended."""
    folder = copy_project(tmp_path / "copy")
    command = ["snakemake", "-j1", "results/tiny/figure2/cells.csv", "--configfile", "config/scales/tiny.yaml"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = subprocess.Popen(command, cwd=folder, env=environment(folder), **quiet)
    mark = unlock.read_mark({unlock.MARK: unlock.mark_of(psutil.Process(run.pid))})

    def jobs() -> list[psutil.Process]:
        found = psutil.process_iter(["environ"])
        return [process for process in found if unlock.read_mark(process.info["environ"]) == mark]

    deadline = time.monotonic() + patience()
    while not jobs() and time.monotonic() < deadline:
        time.sleep(0.2)
    for job in jobs():
        job.suspend()  # so that it cannot be over too early
    run.kill()
    run.wait()
    assert jobs(), "no job was under way"
    unlock_folder(folder, check=True)
    assert not jobs()
