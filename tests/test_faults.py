"""Nothing wrong ends green: damaged files, typos, a full disk, killed runs.
The cases stand in `faults`, and in docs/faults.md.

A run ends with the bytes of a run without the fault, or red with one clear message.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from faults import (
    DAMAGED,
    DOCUMENT,
    EDITORS,
    MISCONFIGURED,
    MISFITTED,
    MISPLACED,
    MISUSED,
    ON_CLUSTER,
    RESULTS,
    document,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import patience
from test_workflow import at_tiny
from workflow_helpers import ROOT, copy_project, copy_run, environment, run_all_at_tiny, snakemake

from privrep.evidence import quantities
from privrep.evidence.catalogue import check_errata
from privrep.evidence.cells import read_cells
from privrep.run.checkpoint import Checkpoint, fingerprint
from privrep.run.checksums import broken, checksums_of, renew
from privrep.run.cli_errors import Unreadable, error_line
from privrep.run.config import ConfigError, layers, read_config, read_study, study_names
from privrep.run.csv_tables import read_rows, write_rows
from privrep.run.grids import expand
from privrep.run.shell import fit

CELLS = f"{RESULTS}/figure2/cells.csv"
STUDIES = ("figure2", "init_rates")


def test_the_table_of_faults_is_up_to_date():
    """`python tests/faults.py` writes it."""
    assert DOCUMENT.read_text() == document()


def test_each_fault_on_a_cluster_names_its_test():
    """And no test there is without a row."""
    tests = re.findall(r"^def test_(\w+)", (ROOT / "tests/test_slurm.py").read_text(), flags=re.MULTILINE)
    assert {case.test for case in ON_CLUSTER} == set(tests)


# The configuration


def configured(root: Path, overlays: list[Path]) -> None:
    """What a run checks before any job, of the studies that the cases change."""
    config = read_config(overlays, root=root)
    for name in STUDIES:
        study = read_study(config, name, root, overlays)
        quantities.check_fits(study)
        expand(study, layers(config, name, overlays, root))
    claims = quantities.checked_claims(root)
    check_errata([claim.id for paper in claims.values() for claim in paper], root)


@pytest.fixture(scope="module")
def settings_folder(tmp_path_factory):
    """A copy of config/."""
    folder = tmp_path_factory.mktemp("settings")
    shutil.copytree(ROOT / "config", folder / "config")
    return folder


@pytest.mark.parametrize("case", MISCONFIGURED, ids=lambda case: case.what)
def test_a_fault_in_the_configuration_is_named(case, settings_folder, monkeypatch):
    """In one line, with file and value, before any job. Without the fault nothing is said."""
    path = settings_folder / case.path
    text = path.read_text()
    assert case.old in text
    overlays = [settings_folder / "config/scales/quick.yaml"]
    monkeypatch.setattr("privrep.run.config.ROOT", settings_folder)
    path.write_text(text.replace(case.old, case.new, 1))
    try:
        with pytest.raises(ConfigError) as caught:
            configured(settings_folder, overlays)
        assert case.says in str(caught.value)
        assert "\n" not in str(caught.value)
        assert Path(case.path).name in str(caught.value) or case.path == "config/scales/quick.yaml"
    finally:
        path.write_text(text)


@pytest.mark.parametrize("case", MISPLACED, ids=lambda case: case.what)
def test_a_file_that_is_a_copy_is_named(case, settings_folder):
    """It would be a study of its own, or a second one of the same name."""
    path = settings_folder / case.path
    source = {"studies": "figure2", "papers": "jain2021"}[path.parent.name]
    shutil.copy(path.with_name(f"{source}.yaml"), path)
    try:
        with pytest.raises(ConfigError) as caught:
            read_config(root=settings_folder)
        assert case.says in str(caught.value) and "\n" not in str(caught.value)
    finally:
        path.unlink()


def test_what_editors_leave_is_not_read(settings_folder):
    for name in EDITORS:
        (settings_folder / "config/studies" / name).write_text("no: study")
    assert study_names(settings_folder) == study_names()


FIT = {"samples": 8, "dim": 6, "rank": 2, "epsilon": 2.0, "rounds": 2, "clip": 0.5, "batch_samples": 2}


@pytest.mark.parametrize("case", MISFITTED, ids=lambda case: case.what)
def test_a_fault_in_a_fit_from_a_shell_is_named(case):
    """In one line, before anything is drawn."""
    with pytest.raises(ValueError) as caught:
        fit("centaur", **{"users": 60} | FIT | case.arguments)
    assert case.says in str(caught.value) and "\n" not in str(caught.value)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 100_000), st.floats(), st.text(max_size=5), st.just([]), st.just({})
)


def entries(content: object, keys: tuple = ()) -> list[tuple]:
    """The keys of all single values in a mapping."""
    if isinstance(content, dict):
        return [place for key, value in content.items() for place in entries(value, (*keys, key))]
    return [keys]


SMALL = {
    "study": "figure2",
    "delta": 1.0e-6,
    "shards": 2,
    "cells_per_draw": 8,
    "problem": {"users": 60, "samples": 8, "dim": 6, "rank": 2, "label_noise_sd": 0.1},
    "grids": {"one": {"epsilon": [1.0], "seed": 1}},
    "series": {
        "a": {
            "algorithm": "altmin",
            "grid": "one",
            "options": {
                "init": "random",
                "split": "halves-then-all",
                "clip_feature": 1.0,
                "clip_label": 1.0,
                "epochs": 1,
            },
        }
    },
}


@settings(max_examples=300)
@given(st.sampled_from(entries(SMALL)), VALUES)
def test_a_changed_setting_is_refused_or_runs_as_it_says(place, value):
    """Any value in the place of any other: one message, or cells that have it."""
    from privrep.run.settings import Simulation, checked

    changed = json.loads(json.dumps(SMALL))
    inside = changed
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    try:
        study = checked(Simulation, changed, "config/studies/figure2.yaml")
        cells = expand(study)
    except ConfigError as error:
        assert "\n" not in str(error) and len(str(error)) < 700
        return
    assert cells or place[0] == "series"
    for cell in cells:
        if place[0] == "problem":
            assert getattr(cell.problem, place[1]) == value
        if place[:3] == ("series", "a", "options"):
            assert getattr(cell.chosen, place[3]) == value
        if place[0] == "delta":
            assert cell.budget.delta == value


@settings(max_examples=60)
@given(st.sampled_from(["grids", "series", "problem", "shards", "delta"]), st.integers(0, 6), st.sampled_from("xyz"))
def test_a_misspelt_key_is_refused(key, at, letter):
    """At the top of a study, in its problem, or in a series."""
    from privrep.run.settings import Simulation, checked

    wrong = key[:at] + letter + key[at:]
    changed = {wrong if name == key else name: value for name, value in SMALL.items()}
    with pytest.raises(ConfigError, match=f"'{wrong}' is not a known key; the nearest is '"):
        checked(Simulation, changed, "config/studies/figure2.yaml")


# Commands


@pytest.mark.parametrize("case", MISUSED, ids=lambda case: case.what)
def test_a_fault_in_a_command_is_named(case, tmp_path):
    """Exit status not 0, one line beside the usage, no traceback, and nothing left behind."""
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n")
    script, *words = case.words
    done = subprocess.run(
        [sys.executable, str(ROOT / script), *words], cwd=tmp_path, capture_output=True, text=True, timeout=patience()
    )
    assert done.returncode
    lines = done.stderr.strip().splitlines()
    assert case.says in lines[-1]
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]


def table(path: Path) -> Path:
    """A table of three rows."""
    rows = [{"series": "a", "key": str(i), "users": 5, "excess_risk": 0.25} for i in range(3)]
    write_rows(path, rows, ("series", "key", "users", "excess_risk"))
    return path


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
    path = table(tmp_path / "cells.csv")
    assert len(read_cells(path)) == 3 == len(read_rows(path))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(Unreadable) as caught:
        read_cells(path)
    assert str(caught.value).startswith(f"{path}: ") and says in str(caught.value)
    assert "remove the file and run again" in str(caught.value)


# Checkpoints and checksums


def test_a_checkpoint_keeps_what_is_whole(tmp_path):
    """Of the same origin, up to a line that is cut; numbers keep every bit."""
    path = tmp_path / "0.checkpoint"
    checkpoint = Checkpoint(path, "origin")
    rows = [{"series": "a", "key": str(i), "risk": 0.1 + i / 3, "status": "ok"} for i in range(3)]
    for row in rows:
        checkpoint.add(row, {"series": "a", "key": row["key"], "cpu_seconds": 1.5})
    again = Checkpoint(path, "origin")
    assert [float(row["risk"]) for row, _ in again.done.values()] == [row["risk"] for row in rows]
    for cut in (3, 40):
        text = path.read_text()
        path.write_text(text[:-cut])
        assert list(Checkpoint(path, "origin").done) == [("a", "0"), ("a", "1")]
        path.write_text(text)
    assert not Checkpoint(path, "another").done
    assert not Checkpoint(path, "origin").done, "what is of another origin is gone"
    checkpoint = Checkpoint(path, "origin")
    checkpoint.remove()
    assert not path.exists()


def test_a_checkpoint_is_of_the_code_of_its_cells(tmp_path):
    """Another text or another name of a file that cells are run by is another origin, and a file beside them is none of
    it."""
    used = [tmp_path / name for name in ("method.py", "step.py")]
    for path in used:
        path.write_text(f"# {path.name}\n")
    known = fingerprint(b"settings", used)
    (tmp_path / "figures.py").write_text("# drawn\n")
    assert fingerprint(b"settings", reversed(used)) == known
    assert fingerprint(b"others", used) != known
    assert fingerprint(b"settings", used[:1]) != known
    moved = used[1].rename(tmp_path / "renamed.py")
    assert fingerprint(b"settings", [used[0], moved]) != known
    moved.rename(used[1]).write_text("# step.py, changed\n")
    assert fingerprint(b"settings", used) != known


def test_checksums_tell_what_is_not_as_it_was_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["a.csv", "b.csv", "c.csv", "d.csv"]
    for name in names:
        Path(name).write_text(name)
    renew(names, Path("checksums"))
    assert set(map(str, checksums_of(Path("checksums")))) == set(names) and not broken(names, Path("checksums"))
    Path("a.csv").write_text("A.csv")
    Path("b.csv").unlink()
    Path("e.csv").write_text("new")
    assert set(map(str, broken([*names, "e.csv"], Path("checksums")))) == {"a.csv", "e.csv"}


# Files that grow no further


def one_shard(folder: Path, where: Path, kilobytes: int | None = None) -> subprocess.CompletedProcess:
    """A shard of the study figure2 at scale tiny, into a folder.
    kilobytes : beyond which no file may grow, as on a full disk."""
    command = [sys.executable, "workflow/scripts/run_shard.py", "--study", "figure2", "--shard", "1"]
    command += ["--configfile", "config/scales/tiny.yaml", "--output", str(where / "1.csv")]
    command += ["--timings", str(where / "1.timings.csv")]
    if kilobytes:
        command = ["bash", "-c", f"trap '' XFSZ; ulimit -f {kilobytes}; exec \"$@\"", "bash", *command]
    return subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=patience()
    )


def test_a_full_disk_is_said_and_leaves_nothing_half_written(tmp_path):
    """Then, with room, the shard goes on, to the same bytes."""
    folder, where = copy_project(tmp_path / "copy"), tmp_path / "out"
    where.mkdir()
    whole = one_shard(folder, where)
    expected = (where / "1.csv").read_bytes()
    (where / "1.csv").unlink()
    assert not whole.returncode and not (where / "1.checkpoint").exists()
    done = one_shard(folder, where, kilobytes=4)
    assert done.returncode and "Traceback" not in done.stderr
    assert "a file may not grow so large here" in done.stderr.strip().splitlines()[-1]
    assert {path.name for path in where.iterdir()} <= {"1.checkpoint", "1.timings.csv"}
    assert not one_shard(folder, where).returncode
    assert (where / "1.csv").read_bytes() == expected


def mounted(options: str, path: Path) -> bool:
    """Whether a small disk could be mounted here, which needs the right to."""
    path.mkdir()
    return not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], capture_output=True
    ).returncode


@pytest.mark.parametrize(("options", "says"), [("size=8k", "the disk is full"), ("ro", "the folder can only be read")])
def test_a_small_disk_and_one_that_can_only_be_read(options, says, tmp_path):
    """Real ones, where this machine lets tests mount them."""
    folder, where = copy_project(tmp_path / "copy"), tmp_path / "disk"
    if not mounted(options, where):
        pytest.skip("mounting is not allowed here; a limit on files stands in above")
    try:
        done = one_shard(folder, where)
        left = {path.name for path in where.iterdir()}
    finally:
        subprocess.run(["umount", str(where)], check=True)
    assert done.returncode and "Traceback" not in done.stderr
    assert says in done.stderr.strip().splitlines()[-1]
    assert left <= {"1.checkpoint", "1.timings.csv"}


def test_words_for_errors_of_the_system():
    assert error_line(FileNotFoundError(2, "No such file", "a.csv")) == "a.csv: there is no such file"
    assert "not enough memory" in error_line(MemoryError())
    assert error_line(ConfigError("x")) == "x"


# Whole runs


def run_all(folder: Path) -> subprocess.CompletedProcess:
    """`make tiny`."""
    command = run_all_at_tiny(2)
    return subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=600)


def kept(folder: Path) -> dict[str, bytes]:
    """Tables, figures and verdicts of a run: what does not hold times."""
    paths = [*(folder / RESULTS).glob("*/*.csv"), *(folder / RESULTS / "figures").rglob("*.*")]
    paths.append(folder / RESULTS / "reports" / "claims.csv")
    return {str(path): path.read_bytes() for path in paths if path.name != "timings.csv"}


@pytest.fixture(scope="module")
def finished(tiny_run, tmp_path_factory):
    """A finished run, and its bytes."""
    folder = copy_run(tiny_run, tmp_path_factory.mktemp("faults") / "copy")
    return folder, kept(folder)


def test_a_run_says_little(tiny_run):
    """What it is about to do, a line now and then, and where the report is."""
    lines = (tiny_run / "said").read_text().splitlines()
    assert lines[0].startswith("Reading the configuration") and lines[-1].startswith("Report: ")
    assert len(lines) < 40


def damage(path: Path, how: str) -> None:
    """Do to a file what happened to it."""
    content = path.read_bytes()
    if how == "removed":
        path.unlink()
    elif how == "edited":
        path.write_bytes(content.replace(b"0.1", b"0.2", 1))
        assert path.read_bytes() != content
    else:
        path.write_bytes({"halved": content[: len(content) // 2], "cut": content[:-7], "emptied": b""}[how])


TOGETHER = 5
"""Cases that are tried in one run: every third of the list, so that they are of different kinds."""


@pytest.mark.parametrize("first", range(3))
def test_what_is_damaged_is_made_again(first, finished):
    """The run says so, ends green, and everything has the bytes that it had."""
    folder, expected = finished
    cases = DAMAGED[first::3]
    assert len(cases) <= TOGETHER and len({path for case in cases for path in case.path.split("|")}) >= len(cases)
    for case in cases:
        for path in case.path.split("|"):
            damage(folder / path, case.how)
    done = run_all(folder)
    assert not done.returncode, done.stderr
    assert kept(folder) == expected
    for case in cases:
        path = case.path.split("|")[-1]
        assert "shards" in path or (folder / path).exists(), (
            case.what
        )  # a shard is needed where its table is to be made
        if case.how != "removed":
            assert (
                f"{case.path} is not as its job left it: it is removed, and made again where it is needed"
                in done.stdout
            ), case.what


def test_a_figure_for_print_is_held_against_its_checksum(finished):
    """Also where no print is asked for: half a picture of an earlier run does not stay."""
    folder, expected = finished
    path = folder / RESULTS / "figures/jain2021/figure2.pdf"
    path.write_bytes(b"%PDF-1.4 half")
    done = run_all(folder)
    assert (
        not done.returncode and f"{path.relative_to(folder)} has no checksum of the job that writes it" in done.stdout
    )
    assert not path.exists() and kept(folder) == expected


@pytest.mark.parametrize("words", [("-n",), ("--dag",), ("--summary",), ("--lint",)])
def test_a_look_at_the_plan_removes_nothing(words, finished):
    """What is damaged stays as it is until a run can make it again."""
    folder, expected = finished
    path = folder / RESULTS / "figures/jain2021/figure2.svg"
    whole = path.read_bytes()
    damage(path, "halved")
    half = path.read_bytes()
    snakemake(folder, *words)
    assert path.read_bytes() == half
    path.write_bytes(whole)
    assert kept(folder) == expected


def test_a_clock_that_jumps_changes_no_byte(finished):
    """Files from tomorrow and from last year."""
    folder, expected = finished
    for study, offset in (("figure2", 86_400), ("init_rates", -365 * 86_400)):
        for path in (folder / RESULTS / study).rglob("*.csv"):
            os.utime(path, (time.time() + offset,) * 2)
    done = run_all(folder)
    assert not done.returncode, done.stderr
    assert kept(folder) == expected


def started(folder: Path, shards: int = 3) -> subprocess.Popen:
    """A run under way in a copy, in a session of its own, once a shard writes its checkpoint."""
    at_tiny(folder, "shards: 3", f"shards: {shards}")
    command = ["snakemake", CELLS, "-j1", "--configfile", "config/scales/tiny.yaml"]
    with open(folder / "said", "w") as said_:
        run = subprocess.Popen(
            command, cwd=folder, env=environment(folder), stdout=said_, stderr=said_, start_new_session=True
        )
    deadline = time.monotonic() + patience()
    while time.monotonic() < deadline and run.poll() is None:
        if any(
            len(checkpoint.read_bytes().splitlines()) > 2
            for checkpoint in folder.glob(f"{RESULTS}/figure2/shards/*.checkpoint")
        ):
            return run
        time.sleep(0.01)
    raise AssertionError(f"no checkpoint was seen:\n{(folder / 'said').read_text()}")


def workers(folder: Path) -> list[int]:
    """Process ids of the shards under way."""
    found = subprocess.run(
        ["pgrep", "-f", "run_shard.py --study figure2"], capture_output=True, text=True
    ).stdout.split()
    pids = []
    for pid in map(int, found):
        with suppress(FileNotFoundError):  # it is over since
            pids += [pid] if os.readlink(f"/proc/{pid}/cwd") == str(folder.resolve()) else []
    return pids


@pytest.fixture(scope="module")
def reference(tiny_run) -> bytes:
    """cells.csv of a run that nothing happens to."""
    return (tiny_run / CELLS).read_bytes()


@pytest.mark.parametrize("whom", ["worker", "snakemake", "both"])
def test_what_was_finished_before_a_kill_is_kept(whom, reference, tmp_path):
    """A shard goes on after its last cell; a worker that is killed is named, with what to do;
    the bytes are the same."""
    folder = copy_project(tmp_path / "copy")
    run = started(folder, shards=1)
    if whom in ("snakemake", "both"):
        os.kill(run.pid, signal.SIGKILL)
    if whom in ("worker", "both"):
        for pid in workers(folder):
            os.kill(pid, signal.SIGKILL)
    run.wait(timeout=patience())
    assert run.returncode
    if whom == "worker":
        text = (folder / "said").read_text()
        assert "Shard 0 of figure2 was killed from outside" in text and "it asked for" in text and " MB" in text
    checkpoint = folder / RESULTS / "figure2/shards/0.checkpoint"
    done = len(checkpoint.read_bytes().splitlines()) - 1 if checkpoint.exists() else 0
    snakemake(folder, CELLS, "-j1")
    assert (folder / CELLS).read_bytes() == reference
    log = (folder / "logs/tiny/run_shard/figure2-0.log").read_text()
    cells = len(reference.splitlines()) - 1
    assert whom != "worker" or (done > 0 and f"{cells - done} of {cells - done} done" in log)
    assert not checkpoint.exists()


def test_a_second_run_is_told_whose_run_is_alive(tmp_path):
    """By `make` and by Snakemake itself; nobody is told to unlock."""
    folder = copy_project(tmp_path / "copy")
    run = started(folder)
    for pid in workers(folder):
        os.kill(pid, signal.SIGSTOP)  # or it would be over too soon
    try:
        second = run_all(folder)
        third = snakemake(folder, CELLS, "-j1", check=False)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    named = f"a run is alive in {folder} (host {socket.gethostname()}, process {run.pid}, since "
    for done in (second, third):
        assert done.returncode
        assert named in done.stdout + done.stderr
        assert "--unlock" not in done.stdout + done.stderr


def test_ctrl_c_says_what_is_kept_and_the_next_run_goes_on(reference, tmp_path):
    """In one line, with its own exit status, and no job is left."""
    folder = copy_project(tmp_path / "copy")
    (folder / "config/scales/tiny.yaml").write_text("scale: tiny\nstudies: [figure2]\n")
    with open(folder / "said", "w") as said_:
        run = subprocess.Popen(
            ["env", "--default-signal=INT", *run_all_at_tiny(2)],  # tests that run in the background ignore it
            cwd=folder,
            env=environment(folder),
            stdout=said_,
            stderr=said_,
            start_new_session=True,
        )
    deadline = time.monotonic() + patience()
    while not workers(folder) and time.monotonic() < deadline:
        time.sleep(0.01)
    left = workers(folder)
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does
    assert left and run.wait(timeout=patience()) == 130
    assert not workers(folder)
    lines = (folder / "said").read_text().split("\n")
    said = [line for line in lines if line and not line.startswith(("Reading ", *"0123456789"))]
    assert said == ["run_all.py: interrupted; what is finished is kept, and the same command again goes on from there"]
    assert "killed from outside" not in "".join(path.read_text() for path in folder.glob("logs/tiny/run_shard/*.log"))
    snakemake(folder, CELLS, "-j2")
    assert (folder / CELLS).read_bytes() == reference


def test_a_home_that_can_only_be_read_is_not_needed(finished):
    """The cache of Snakemake stands in the folder then."""
    folder, expected = finished
    home = folder / "home"
    home.write_text("no folder: nobody can write below it, root included")
    surroundings = {name: value for name, value in environment(folder).items() if name != "XDG_CACHE_HOME"}
    done = subprocess.run(
        run_all_at_tiny(2), cwd=folder, env=surroundings | {"HOME": str(home)}, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    assert kept(folder) == expected
