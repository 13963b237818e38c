"""Nothing wrong ends green: damaged files, a full disk, killed runs, two runs at once.

A run ends with the bytes of a run without the fault, or red with one clear message.
"""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from workflow_helpers import ROOT, called, copy_project, copy_run, environment, patience, run_all_at_tiny, snakemake

from replication.evidence.cells import read_cells
from replication.run import owner
from replication.run.cli_errors import Unreadable, at_least_one, error_line
from replication.run.config import ConfigError
from replication.run.csv_tables import read_rows, write_rows
from replication.run.provenance import changed

RESULTS = Path("results/tiny")
CELLS = RESULTS / "figure2/cells.csv"
RUN, SHARD = (f"workflow/scripts/{name}.py" for name in ("run_all", "run_shard"))
FIGURE2 = (SHARD, "--study", "figure2")

MISUSED = [
    ((RUN, "--jobs", "0"), "'0' must be an integer of at least 1"),
    ((RUN, "--configfile", "config/scales/quik.yaml"), "config/scales/quik.yaml: there is no such file"),
    ((RUN, "--configfile", "picture.png"), "byte 0 is no UTF-8 text"),
    ((*FIGURE2, "--shard", "99", "--output", "a", "--timings", "b"), "study figure2 has shards 0 to 15"),
    ((*FIGURE2, "--cell", "0123456789ab"), "study figure2 has no cell 0123456789ab; keys are in its cells.csv"),
]


@pytest.mark.parametrize(("words", "says"), MISUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_fault_in_a_command_is_named(words, says, tmp_path):
    """Exit status not 0, one line beside the usage, no traceback, and nothing left behind."""
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n")
    done = subprocess.run(
        [sys.executable, str(ROOT / words[0]), *words[1:]], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode and "Traceback" not in done.stderr
    assert says in done.stderr.strip().splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace(b"a,1,5,", b"a,1,abc,"), "row 2, column users: 'abc' is no number"),
        (lambda text: text[:-3], "the file ends within row 3"),
        (lambda text: text.replace(b"a,1,5,0.25\n", b"a,1\n"), "row 2 has 2 of 4 columns"),
        (lambda text: text.replace(b"a,1,5", b"a,\xff,5"), "is no text"),
        (lambda text: b"", "the file ends within row 0"),
    ],
)
def test_a_table_that_cannot_be_read_is_named(change, says, tmp_path):
    """With file, row and column, and what to do."""
    path = tmp_path / "cells.csv"
    rows = [{"series": "a", "key": str(i), "users": 5, "excess_risk": 0.25} for i in range(3)]
    write_rows(path, rows, ("series", "key", "users", "excess_risk"))
    assert len(read_cells(path)) == 3 == len(read_rows(path))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(Unreadable) as caught:
        read_cells(path)
    assert str(caught.value).startswith(f"{path}: ") and says in str(caught.value)
    assert "remove the file and run again" in str(caught.value)


def test_words_for_errors_of_the_system():
    assert error_line(FileNotFoundError(2, "No such file", "a.csv")) == "a.csv: there is no such file"
    assert error_line(OSError(28, "No space", "a.csv")).startswith("a.csv: the disk is full")
    assert "not enough memory" in error_line(MemoryError())
    assert error_line(ConfigError("x")) == "x"
    for text in ("0", "-1", "x"):
        with pytest.raises(ArgumentTypeError, match=f"'{text}' must be an integer of at least 1"):
            at_least_one(text)


def one_shard(folder: Path, *before: str) -> subprocess.CompletedProcess:
    """Run a shard of the study figure2 at scale tiny into a folder `out`, behind another command."""
    words = ["--shard", "1", "--configfile", "config/scales/tiny.yaml"]
    files = ["--output", "out/1.csv", "--timings", "out/1.timings.csv"]
    return called(folder, [*before, sys.executable, *FIGURE2, *words, *files])


def test_a_full_disk_is_said_and_leaves_nothing_half_written(tmp_path):
    """Then, with room, the shard is made."""
    folder = copy_project(tmp_path / "copy")
    done = one_shard(folder, "bash", "-c", "trap '' XFSZ; ulimit -f 4; exec \"$@\"", "bash")
    assert done.returncode and "Traceback" not in done.stderr
    assert "a file may not grow so large here" in done.stderr.strip().splitlines()[-1]
    assert {path.name for path in (folder / "out").iterdir()} <= {"1.timings.csv"}
    assert not one_shard(folder).returncode and read_rows(folder / "out/1.csv")


@pytest.mark.parametrize(
    ("differs", "says"),
    [
        ({}, "a run is alive in .* process \\d+, since now\\); wait for it"),
        ({"host": "elsewhere"}, "a run may be alive in .*host elsewhere, .*; if it is over, type: snakemake --unlock"),
        ({"process": 2**22, "cluster": True}, "its jobs may go on; end them .* type: snakemake --unlock"),
        ({"process": 2**22}, ""),
        ({"created": 0.0}, ""),
        *((damaged, "which one is not known.*snakemake --unlock") for damaged in (b"", b'{"a": "', b"{}", b"[\x80]")),
    ],
    ids=lambda value: str(value)[:9],
)
def test_the_owner_of_a_lock_is_named(differs, says, tmp_path, monkeypatch):
    """Where no lock is held nobody is; the lock of a run that was killed on this host stops no other. A damaged file
    names nobody."""
    monkeypatch.chdir(tmp_path)
    owner.LOCKS.mkdir(parents=True)
    known = {"host": socket.gethostname(), "process": os.getpid(), "created": psutil.Process().create_time()}
    known |= {"since": "now", "cluster": False}
    whole = isinstance(differs, dict)
    owner.FILE.write_bytes(json.dumps(known | differs).encode() if whole else differs)
    owner.check()
    (owner.LOCKS / "0.input.lock").touch()
    if says:
        with pytest.raises(owner.RunAlive, match=says):
            owner.check()
    else:
        owner.recover()
        assert not any(owner.LOCKS.iterdir())


def test_a_run_that_does_not_own_the_folder_ends_alone(tmp_path, monkeypatch):
    """The jobs of the owner go on behind its lock; at its own end nothing of it is left."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(owner.VARIABLE, "")
    owner.LOCKS.mkdir(parents=True)
    (owner.LOCKS / "0.input.lock").touch()
    second = subprocess.Popen(["sleep", "60"])
    owner.record(cluster=False)
    job = subprocess.Popen(["sleep", "60"])
    owner.end(psutil.Process(second.pid))
    assert second.poll() is not None and job.poll() is None and any(owner.LOCKS.iterdir())
    owner.end()
    assert job.poll() is not None and not any(owner.LOCKS.iterdir())


# Whole runs


def run_all(folder: Path) -> subprocess.CompletedProcess:
    """Run `make tiny`."""
    return called(folder, run_all_at_tiny(2))


def kept(folder: Path) -> dict[str, bytes]:
    """Tables, figures and verdicts of a run: what does not hold times."""
    paths = [*(folder / RESULTS).glob("*/*.csv"), *(folder / RESULTS / "figures").rglob("*.*")]
    paths.append(folder / RESULTS / "reports" / "claims.csv")
    return {str(path): path.read_bytes() for path in paths if path.name != "timings.csv"}


def test_a_run_says_little(tiny_run):
    """What it is about to do, how far it is now and then, the first figure to look at, and where the report is."""
    lines = (tiny_run / "said").read_text().splitlines()
    (first,) = (line for line in lines if line.startswith("The first figure"))
    assert (tiny_run / first.partition(": ")[2]).exists() and lines.index(first) < 8
    lines = [line for line in lines if line not in ("", first)]
    assert lines[0].startswith("Reading the configuration") and lines[-1].startswith("Report: ")
    assert len(lines) < 100
    for line in lines[1:-2]:
        assert re.fullmatch(r"\d+%, \d+ of \d+ jobs, \d+ (s|min), about \d+ (s|min) left", line)


def test_what_is_damaged_is_made_again(tiny_run, tmp_path):
    """A byte is turned, with time and size as they were, in one file of each kind and depth that a run writes. The run
    says so of each output, ends green, and all tables and figures have the bytes that they had; what else there is is
    written anew by each run, or decides nothing."""
    folder, kinds = copy_run(tiny_run, tmp_path / "copy"), {}
    expected, given = kept(folder), {path.name for path in copy_project(tmp_path / "new").iterdir()}
    lists = [path.read_text() for path in (folder / "logs").rglob("*.sha256")]
    outputs = {line.split()[1] for text in lists for line in text.splitlines()}
    for path in sorted(folder.glob("[!.]*/**/*")):  # what Snakemake keeps for itself begins with a dot
        name = path.relative_to(folder)
        if path.is_file() and path.stat().st_size and name.parts[0] not in given:
            kinds.setdefault((name.parts[0], len(name.parts), *name.suffixes, str(name) in outputs), name)
    whole = {name: (folder / name).read_bytes() for name in kinds.values()}
    for name, content in whole.items():
        times, place = (folder / name).stat(), min(40, len(content) - 1)
        (folder / name).write_bytes(content[:place] + bytes([content[place] ^ 128]) + content[place + 1 :])
        os.utime(folder / name, ns=(times.st_atime_ns, times.st_mtime_ns))
    done = run_all(folder)
    assert not done.returncode, done.stderr
    assert kept(folder) == expected and len(kinds) > 15
    for name, content in whole.items():
        named = f"{name} was changed after its job wrote it; it is removed, and built again if needed"
        assert (named in done.stdout) == (str(name) in outputs), name
        decides_nothing = name.parts[0] != "results" or {".timings", ".html"} & {*name.suffixes}
        not_needed = name.parent.name == "shards" and not (folder / name).exists()
        assert decides_nothing or not_needed or (folder / name).read_bytes() == content, name


def test_checksums_find_what_was_changed(tmp_path, monkeypatch):
    """By lists at any depth of a folder; and not what is gone, nor a line that is cut."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        Path(name).write_text(name)
    Path("logs/of/rule").mkdir(parents=True)
    made = "sha256sum a > logs/of/rule/x.sha256; sha256sum b c > x.sha256; head -c 20 x.sha256 > y.sha256"
    subprocess.run(made, shell=True, check=True)
    assert not changed(Path())
    Path("a").write_text("A")
    Path("b").unlink()
    assert changed(Path()) == [Path("a")]


def workers(folder: Path) -> list[psutil.Process]:
    """Processes of the shards of a folder."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "cwd"])
        if process.info["cwd"] == str(folder) and SHARD in (process.info["cmdline"] or [])[1:2]
    ]


@pytest.fixture
def started(tmp_path):
    """Start a run of one study, stop its first shard: folder -> process and worker. After the test nothing is left."""
    runs = []

    def start(folder: Path, command: Sequence[str] = run_all_at_tiny(1)) -> tuple[subprocess.Popen, psutil.Process]:
        command = ["env", "--default-signal=INT", *command]  # tests that run in the background ignore it
        before = workers(folder)
        with open(folder / "said", "w") as said:
            runs.append(
                subprocess.Popen(
                    command, cwd=folder, env=environment(folder), stdout=said, stderr=said, start_new_session=True
                )
            )
        deadline = time.monotonic() + patience()
        while not (found := [one for one in workers(folder) if one not in before]):
            assert time.monotonic() < deadline and runs[-1].poll() is None, (folder / "said").read_text()
            time.sleep(0.02)
        found[0].suspend()
        return runs[-1], found[0]

    yield start
    for run in runs:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        run.wait()


def test_a_run_that_is_killed_or_interrupted_says_so_and_the_same_command_goes_on(started, tiny_run, tmp_path):
    """A worker is killed; a lock is left by nobody known; a second run begins; the run is killed and its shard is not;
    somebody types Ctrl-C; a signal reaches the command or make alone; Snakemake alone is killed. What comes out in
    the end are the bytes of a run that nothing happens to."""
    folder = copy_project(tmp_path.resolve() / "copy")
    (folder / "config/scales/tiny.yaml").write_text("scale: tiny\nstudies: [figure2]\n")

    run, worker = started(folder)
    worker.kill()
    assert run.wait(timeout=patience())
    said = (folder / "said").read_text()
    assert re.search(r"Shard \d of figure2 was killed from outside.* it asked for \d+ MB", said)

    (folder / owner.LOCKS).mkdir()
    (folder / owner.LOCKS / "0.input.lock").touch()
    (folder / owner.FILE).unlink()
    assert "type: snakemake --unlock" in run_all(folder).stderr
    snakemake(folder, "--unlock")

    run, left = started(folder)
    (main,) = psutil.Process(run.pid).children()
    for second in (run_all(folder), snakemake(folder, "-n", check=False)):
        assert second.returncode
        named = f"a run is alive in {folder} (host {socket.gethostname()}, process {main.pid}, since "
        assert named in second.stdout + second.stderr
    run.kill()
    run.wait()
    main.kill()
    assert left.is_running()

    run, worker = started(folder)
    assert not left.is_running()
    worker.resume()
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    assert run.wait(timeout=patience()) == 130
    assert not workers(folder)
    lines = [line for line in (folder / "said").read_text().splitlines() if line]
    assert lines[-1] == (
        "run_all.py: interrupted; what is finished is kept, and the same command again goes on from there"
    )
    assert len(lines) < 5

    made = ["make", f"COMMAND={shlex.join(run_all_at_tiny(1))}", "x"]
    (folder / "Makefile").write_text("x:\n\t@$(COMMAND)\n")
    for number, command in ((signal.SIGTERM, run_all_at_tiny(1)), (signal.SIGTERM, made), (signal.SIGINT, made)):
        run, worker = started(folder, command)
        begun = time.monotonic()
        os.kill(run.pid, number)
        assert run.wait(timeout=patience())
        assert time.monotonic() - begun < patience(10, least=5) and not workers(folder)
        assert not any((folder / owner.LOCKS).glob("*")) and "interrupted; what is" in (folder / "said").read_text()

    run, worker = started(folder)
    (main,) = psutil.Process(run.pid).children()
    main.kill()
    assert run.wait(timeout=patience()) and not workers(folder)

    done = run_all(folder)
    assert not done.returncode, done.stderr
    assert (folder / CELLS).read_bytes() == (tiny_run / CELLS).read_bytes()
