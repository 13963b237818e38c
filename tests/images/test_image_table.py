"""The table of long image runs: its list, its lines, and runs that are killed and go on; on digits of scikit-learn."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import Recorder
from workflow_helpers import ROOT

from images.sets import SETS, read
from images.table import COLUMNS, SETTINGS, Row, StateFile, add_line, listed, locked, read_table, run_row, run_rows
from privrep.users.rng import stream

PROGRAM = ROOT / "workflow" / "scripts" / "run_images.py"
LIST = """
[defaults.digits]
clients = 40
samples = 20
rank = 2
epsilon = 1.0
batch = 18
local_epochs = 1
rounds = 8
head_epochs = 2

[[rows]]
images = "digits"
seed = 0
method = ["centaur", {method = "stand_alone", epsilon = inf, rounds = 0, batch = 9}]
"""


@pytest.fixture
def rows(tmp_path):
    """One of CENTAUR, and one of clients alone."""
    (tmp_path / "list.toml").write_text(LIST)
    return listed(tmp_path / "list.toml")


# The list


def test_a_block_is_the_product_of_its_axes(tmp_path):
    """The first varies slowest; tables vary together; a block has its own values before the defaults of its set; a row
    that was there is not listed again."""
    (tmp_path / "list.toml").write_text(
        LIST
        + """
[[rows]]
images = "digits"
seed = [1, 0]
clip = 0.5
pairs = [{method = "fedavg", rounds = 4}, {method = "pmtl", rank = 5}]

[[rows]]
images = "digits"
seed = 0
method = ["centaur", "ppsgd"]
"""
    )
    found = listed(tmp_path / "list.toml")
    named = [(row.options.method, row.seed, row.rank, row.options.rounds, row.options.clip) for row in found]
    assert named[:2] == [("centaur", 0, 2, 8, 1.0), ("stand_alone", 0, 2, 0, 1.0)]
    assert named[2:] == [
        ("fedavg", 1, 2, 4, 0.5),
        ("pmtl", 1, 5, 8, 0.5),
        ("fedavg", 0, 2, 4, 0.5),
        ("pmtl", 0, 5, 8, 0.5),
        ("ppsgd", 0, 2, 8, 1.0),
    ]
    assert all(tuple(row.settings) == SETTINGS and Row.of(row.settings) == row for row in found)
    assert len({row.key for row in found}) == 7
    moved = replace(found[0], options=replace(found[0].options, shift=4))
    assert str(found[0]) == "digits, 40 x 20, S = 2, centaur, epsilon 1, clip 1, 8 rounds, seed 0"
    assert str(moved) == str(found[0]).replace("rounds", "rounds, images moved by 4")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("seed = 0", "seed = 0\ncolour = 3"), ", block 1 of [[rows]]: colour is no option of a row; the nearest is "),
        (("seed = 0", ""), ", block 1 of [[rows]]: seed is missing"),
        (('images = "digits"', 'images = "mnist"'), ", block 1 of [[rows]]: batch is missing; a row needs "),
        (("batch = 18", "batch = 19"), ", block 1 of [[rows]]: batch is 19; a client trains on 18 images"),
        (("rank = 2", "rank = 11"), ", block 1 of [[rows]]: rank is 11; digits has 10 classes"),
        (("epsilon = 1.0", "epsilon = 0"), ", block 1 of [[rows]]: epsilon is 0; it must be positive"),
        (("epsilon = 1.0", 'epsilon = "1"'), ", block 1 of [[rows]]: "),
        (("rounds = 8", "rounds = 0"), ", block 1 of [[rows]]: rounds is 0; centaur needs at least 1"),
        (("[[rows]]", "[rows]"), ", block 1 of [[rows]]: "),
        (("[[rows]]", "[[lines]]"), ": not a list of [[rows]] in TOML: 'rows'"),
        (("rank = 2", "rank ="), ": not a list of [[rows]] in TOML: Invalid value"),
    ],
)
def test_a_wrong_list_is_refused_with_file_and_block(tmp_path, change, words):
    (tmp_path / "list.toml").write_text(LIST.replace(*change))
    with pytest.raises(ValueError, match=f"^{re.escape(f'{tmp_path}/list.toml{words}')}") as error:
        listed(tmp_path / "list.toml")
    assert "\n" not in str(error.value)


def test_the_list_of_the_project_can_be_read():
    """It has each row once, and no runs on digits."""
    found = listed(ROOT / "src/images/runs.toml")
    assert {"mnist", "cifar10"} <= {row.options.images for row in found} <= set(SETS) - {"digits"}
    assert len({row.key for row in found}) == len({str(row.settings) for row in found}) == len(found)


# The table


def test_lines_are_added_and_other_columns_refused(tmp_path):
    """What is no line leaves the table as it was."""
    path = tmp_path / "table.csv"
    assert read_table(path) == {}
    add_line(path, {"key": "a", "device": 'CPU, "fast"', "accuracy": 0.5})
    add_line(path, {"key": "b"})
    found = read_table(path)
    assert list(found) == ["a", "b"] and tuple(found["a"]) == COLUMNS
    assert (found["a"]["device"], found["a"]["accuracy"], found["b"]["accuracy"]) == ('CPU, "fast"', "0.5", "")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="colour"):
        add_line(path, {"key": "c", "colour": 3})
    assert path.read_bytes() == before
    path.write_text("key,accuracy\na,0.5\n")
    for use in (read_table, lambda path: add_line(path, {"key": "c"})):
        with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: its columns are not"):
            use(path)


def test_no_two_processes_run_one_row(tmp_path, rows, monkeypatch):
    """Who comes second takes the others, and nothing is run that the table has."""
    ran = []
    monkeypatch.setattr("images.table.run_row", lambda row, *_: ran.append(row) or line(row))

    def line(row):
        return {"key": row.key, "accuracy": 0.5, "seconds": 1.0}

    given = rows, tmp_path / "made" / "table.csv", tmp_path, tmp_path / "states", "test"
    (tmp_path / "states").mkdir()
    with locked(tmp_path / "states" / f"{rows[0].key}.lock") as mine:
        assert mine and run_rows(*given) == 0
    assert ran == rows[1:] and list(read_table(given[1])) == [rows[1].key]
    assert run_rows(*given) == 0 and ran == [rows[1], rows[0]]
    assert run_rows(*given) == 0 and len(ran) == 2


def test_no_two_rows_share_noise(rows, tmp_path, monkeypatch):
    """Rows that differ in any one setting draw their own noise in each round, while starts and mini-batches follow from
    the clients alone."""
    small = pytest.importorskip("images.small", reason="the image experiments need JAX")
    numbers, seeds = [], []

    class Noted(Recorder):
        def normal(self, loc, scale, size):
            drawn = super().normal(loc, scale, size)
            numbers.append(float(np.ravel(drawn)[0] / scale))
            return drawn

    def trained(federation, options, release, seed, *_):
        seeds.append(seed)
        people = np.zeros((len(release.users), 2, 3, 1, 1), np.uint8)
        list(small.small_rounds(people, people[:, :, 0, 0, 0], 3, 1.0, release))
        return SimpleNamespace(numbers={}, by_client=np.zeros(1))

    stub = SimpleNamespace(federation=lambda *_: SimpleNamespace(checksum=""), device=str, train_together=trained)
    monkeypatch.setattr("images.table.experiments", lambda: stub)
    monkeypatch.setattr("images.table.stream", lambda *what, **axes: Noted(stream(*what, **axes)))
    first, others = rows[0].settings | {"batch": 9}, {"images": "emnist", "method": "pmtl", "momentum": 0.25}
    several = [first, *(first | {name: others.get(name) or first[name] + 1} for name in SETTINGS)]
    for row in several:
        line = run_row(Row.of(row), tmp_path, tmp_path, "test")
        assert (line["device"], line["commit"], line["checksum"]) == (row["images"], "test", "")
        assert row.items() <= line.items() and line["epsilon_add_remove"] < row["epsilon"]
    assert len(set(numbers)) == len(numbers) == 3 * len(several)
    for row, seed in zip(several, seeds, strict=True):
        alike = all(row[name] == first[name] for name in ("images", "clients", "samples", "rank", "seed"))
        assert (seed == seeds[0]) == alike, row


# States


def state(path, about, every=0.0):
    """A state that was just written."""
    file = StateFile(path, about, every)
    content = {"number": 1, "along": [0.1], "flat": np.arange(3.0), "own": [np.ones(2), np.zeros((2, 1))]}
    file.save(1, 8, 0.5, lambda: dict(content))
    return file, content


def test_a_state_comes_back_and_is_not_written_too_often(tmp_path, capsys):
    """Beside it a line says how far the run is."""
    file, content = state(tmp_path / "a.npz", {"epsilon": np.inf, "seed": 0})
    found = file.load()
    assert found.keys() == content.keys() and (found["number"], found["along"]) == (1, [0.1])
    for one, other in zip([found["flat"], *found["own"]], [content["flat"], *content["own"]], strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    assert re.fullmatch(r"  1 of 8 done, 0 min left, accuracy 0\.5000\n", capsys.readouterr().err)
    assert state(tmp_path / "b.npz", {}, every=60.0)[0].load() is None and not list(tmp_path.glob("b*"))


def test_a_run_that_goes_on_elsewhere_names_both_machines(tmp_path):
    """Each once, in order; a state of an older version does not say where it was."""
    for number, device in enumerate(("a GPU", "a processor", "a GPU"), 1):
        file = StateFile(tmp_path / "a.npz", {}, 0.0, (device,))
        file.load()
        file.save(number, 8, None, lambda number=number: {"number": number})
    assert file.devices == ("a GPU", "a processor")
    np.savez(tmp_path / "a.npz", meta=json.dumps({"about": {}, "arrays": []}))
    file.load()
    assert file.devices == ("unknown", "a GPU", "a processor")


def test_no_damage_of_a_state_goes_unseen(tmp_path):
    """Wherever a bit of it is turned or its end is missing: one line that names the file, or the state as it was."""
    file, _ = state(tmp_path / "a.npz", {"seed": 0})
    whole, good, refused = file.path.read_bytes(), str(file.load()), 0
    damaged = [whole[:place] for place in range(0, len(whole), 50)]
    for place in range(0, len(whole), 3):
        damaged.append(whole[:place] + bytes([whole[place] ^ (1 << place % 8)]) + whole[place + 1 :])
    for content in damaged:
        file.path.write_bytes(content)
        try:
            assert str(file.load()) == good
        except ValueError as error:
            refused += 1
            assert str(error).startswith(f"{file.path}: the state of a run is damaged (")
            assert str(error).endswith("; remove it to begin anew") and "\n" not in str(error)
    assert refused > len(damaged) / 2


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"seed": 7}, "the state of a run with other seed; remove it, or name another folder"),
        ({"checksum": "0"}, "the state of a run with other checksum; remove it, or name another folder"),
        (None, "the state of a run is damaged (File is not a zip file); remove it to begin anew"),
    ],
)
@pytest.mark.parametrize("which", [0, 1])
def test_a_state_that_is_not_of_the_row_is_refused(tmp_path, rows, capsys, which, other, words):
    """Of another row, of other image files, or cut short: the row is not run, and the table keeps its lines."""
    row, table, path = rows[which], tmp_path / "table.csv", tmp_path / "states" / f"{rows[which].key}.npz"
    path.parent.mkdir()
    state(path, row.settings | {"checksum": read("digits", tmp_path)[2]} | (other or {}))
    if other is None:
        path.write_bytes(path.read_bytes()[:-9])
    add_line(table, {"key": rows[1 - which].key, "accuracy": 0.5})
    before, content = table.read_bytes(), path.read_bytes()
    capsys.readouterr()
    assert run_rows(rows, table, tmp_path, path.parent, "test") == 1
    assert capsys.readouterr().err == f"{row}\nnot run: {path}: {words}\n"
    assert (table.read_bytes(), path.read_bytes()) == (before, content)


def test_a_row_without_its_files_is_not_run(tmp_path, rows, capsys):
    """The others are."""
    missing = replace(rows[1], options=replace(rows[1].options, images="mnist"))
    assert run_rows([missing], tmp_path / "table.csv", tmp_path, tmp_path / "states", "test") == 1
    assert f"not run: {tmp_path}/mnist/train-images-idx3-ubyte: no such file" in capsys.readouterr().err


# The program


def program(tmp_path, *words, script=PROGRAM, table="table.csv", **variables):
    command = [sys.executable, str(script), "--rows", "list.toml", "--table", table, "--states", f"{table}.states"]
    given = os.environ | {"PYTHONPATH": str(ROOT / "src")} | variables
    return subprocess.run([*command, *words], cwd=tmp_path, env=given, capture_output=True, text=True)


KILLED = f"""
import os, runpy, signal
from images import table

class Killed(table.StateFile):
    def save(self, done, *rest):
        self.every = 0.0
        super().save(done, *rest)
        if done == int(os.environ["AT"]):
            os.kill(os.getpid(), signal.SIGKILL)

table.StateFile = Killed
runpy.run_path({str(PROGRAM)!r}, run_name="__main__")
"""


def test_a_run_that_is_killed_goes_on_to_the_same_line(tmp_path, rows):
    """CENTAUR after the third round, clients alone after the first twenty. Nothing but the time that it took tells the
    table from one of runs that nobody stopped."""
    pytest.importorskip("jax", reason="the image experiments need JAX")
    (tmp_path / "killed.py").write_text(KILLED)
    for at, row in ((3, rows[0]), (20, rows[1])):
        ended = program(tmp_path, "--commit", "test", script="killed.py", AT=str(at))
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        assert [path.stem for path in (tmp_path / "table.csv.states").glob("*.npz")] == [row.key]
        assert row.key not in read_table(tmp_path / "table.csv")
    for table in ("table.csv", "whole.csv"):
        ended = program(tmp_path, "--commit", "test", table=table)
        assert ended.returncode == 0, ended.stderr
        assert not list((tmp_path / f"{table}.states").glob("*.npz"))
    killed, whole = (
        re.sub(r",[\d.]+$", "", (tmp_path / table).read_text(), flags=re.MULTILINE)
        for table in ("table.csv", "whole.csv")
    )
    assert killed == whole and whole.count("\n") == 3 and "nan" not in whole
    for line in read_table(tmp_path / "whole.csv").values():
        assert 0 < float(line["accuracy"]) < 1 and len(line["by_client"].split()) == int(line["tested"]) == 40
        assert (line["commit"], line["checksum"]) == ("test", read("digits", tmp_path)[2])
        for name in ("epsilon_add_remove", "accuracy_moved_last"):
            assert (line[name] != "") == (line["method"] == "centaur")


def test_the_program_lists_what_is_missing(tmp_path, rows):
    """Rows can be chosen by their settings; a key that no row has, or no key, is told in one line."""
    add_line(tmp_path / "table.csv", {"key": rows[1].key})
    shown = program(tmp_path, "--list")
    assert (shown.returncode, shown.stdout) == (0, f"{rows[0]}\n") and shown.stderr.startswith("2 rows, 1 of them not")
    assert program(tmp_path, "--list", "--only", "method=stand_alone", "seed=0").stderr.startswith("1 rows, 0 of them")
    for word in ("colour=3", "seed"):
        wrong = program(tmp_path, "--list", "--only", "seed=0", word)
        assert wrong.returncode == 2 and "Traceback" not in wrong.stderr
        assert wrong.stderr.splitlines()[-1].startswith(
            f"run_images.py: error: --only {word}: it must be KEY=VALUE, with one of the keys images, clients"
        )


def test_the_program_needs_few_packages(tmp_path):
    """With numpy, scipy, JAX and what JAX needs it lists its rows, and all that runs them is imported."""
    pytest.importorskip("jax", reason="the image experiments need JAX")
    for name in ("numpy", "scipy", "jax", "jaxlib", "ml_dtypes", "opt_einsum"):
        package = Path(importlib.util.find_spec(name).origin).parent
        (tmp_path / name).symlink_to(package)
        (tmp_path / f"{name}.libs").symlink_to(package.with_suffix(".libs"))
    (tmp_path / "list.toml").write_text(LIST)
    text = f"import runpy, images.experiment; runpy.run_path({str(PROGRAM)!r}, run_name='__main__')"
    # Without site-packages.
    command = [sys.executable, "-S", "-c", text, "--rows", "list.toml", "--table", "none.csv", "--list"]
    path = f"{tmp_path}:{ROOT / 'src'}"
    ended = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": path}, capture_output=True, text=True)
    assert ended.returncode == 0 and ended.stdout.count("\n") == 2, ended.stderr
