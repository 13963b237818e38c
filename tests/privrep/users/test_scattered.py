"""Users of a table on disk whose rows stand in any order."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from decimal import Decimal
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import make_task
from workflow_helpers import ROOT, environment

from privrep.methods.running.registry import load_options
from privrep.methods.running.runner import scored
from privrep.privacy.accounting import Budget
from privrep.users import blocks, scattered, table_files
from privrep.users.given_users import GivenUsers
from privrep.users.passes import rows as rows_of
from privrep.users.passes import total
from privrep.users.scattered import ScatteredUsers
from privrep.users.schema import Category, Flag, Number, Schema
from privrep.users.simulated import Problem, Users

SCHEMA = Schema({"age": Number(0, 90), "paid": Flag(0.2), "kind": Category(("a", "b", "c"))}, Number(1, 5))
pytestmark = pytest.mark.filterwarnings("ignore:column 'kind'.*not listed")
COLUMNS = {"user": "who", "label": "y", "schema": SCHEMA}


def people(users: int = 50, most: int = 9, seed: int = 0) -> pd.DataFrame:
    """Rows in the order of users, of which some are equal; one column belongs to nothing."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(users), rng.integers(1, most + 1, users))
    size = len(who)
    return pd.DataFrame(
        {
            "other": "text",
            "who": who,
            "y": rng.integers(1, 6, size).astype(float),
            "age": rng.integers(0, 4, size) * 30.0,
            "paid": rng.integers(0, 2, size).astype(bool),
            "kind": rng.choice(["a", "b", "c", "d"], size),
        }
    )


def written(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path, index=False)
    return path


def gathered(users: ScatteredUsers) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, m, d) and labels (n, m)."""
    return rows_of(users, lambda block: (block.features.swapaxes(0, 1), block.labels.T))


def same_users(one: ScatteredUsers, other: ScatteredUsers) -> bool:
    """To the last byte."""
    ids = one.ids.cast(pa.string()).equals(other.ids.cast(pa.string()))
    pairs = zip((one.counts, *gathered(one)), (other.counts, *gathered(other)), strict=True)
    return one.known == other.known and ids and all(np.array_equal(*pair) for pair in pairs)


def moments(block) -> tuple[np.ndarray, ...]:
    features, labels = (array.astype(np.float64) for array in (block.features, block.labels))
    return (
        np.einsum("mbi,mbj->ij", features, features),
        np.einsum("mbi,mb->i", features, labels),
        np.einsum("mb,mb->", labels, labels),
    )


@pytest.fixture
def small_pieces(monkeypatch):
    """Several batches, and several blocks of several users."""
    monkeypatch.setattr(table_files, "ROWS", 40)
    monkeypatch.setattr(blocks, "FLOATS_PER_STREAM", 4 * 9 * SCHEMA.dim)


@pytest.mark.parametrize("name", ["people.parquet", "people.csv"])
def test_sums_are_those_of_the_same_rows_in_memory(tmp_path, small_pieces, name):
    frame = people()
    users = ScatteredUsers.of(written(frame.sample(frac=1, random_state=0), tmp_path / name), max_samples=9, **COLUMNS)
    scaled = SCHEMA.scaled_labels(frame["y"]), SCHEMA.scaled(frame)
    in_memory = GivenUsers.capped(*scaled, frame["who"].to_numpy(), 50, 9, SCHEMA.dim)
    assert users.known == in_memory.known
    assert len(list(users.blocks())) > 1
    for found, expected in zip(total(users, moments), total(in_memory, moments), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    by_id = users.counts[np.argsort(users.ids.cast(pa.int64()).to_numpy())]
    np.testing.assert_array_equal(by_id, np.bincount(frame["who"]))


@pytest.mark.filterwarnings("ignore:label. .* lie beyond")
@pytest.mark.parametrize("cap", [9, 4, 1])
def test_no_order_and_no_kind_of_file_matters(tmp_path, small_pieces, cap):
    """Sorted or not, in one file or several, as integers or text, at ends of ranges or beyond: the same users to the
    last byte, also under a cap."""
    frame = people()
    shuffled = frame.sample(frac=1, random_state=1)
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        written(shuffled.iloc[part], tmp_path / "parts" / f"{number}.parquet")
    sources = [
        written(frame, tmp_path / "sorted.parquet"),
        written(shuffled, tmp_path / "people.csv"),
        written(shuffled.astype({"who": str}), tmp_path / "text.parquet"),
        written(shuffled.astype({"who": "category", "kind": "category", "paid": float}), tmp_path / "entries.parquet"),
        written(shuffled.replace({"y": {1: -400, 5: 1e300}, "age": {0: -1e9}}), tmp_path / "beyond.parquet"),
        tmp_path / "parts",
    ]
    first, *others = (ScatteredUsers.of(source, max_samples=cap, **COLUMNS) for source in sources)
    assert [same_users(first, other) for other in others] == [True] * 5
    assert [users.ids.type for users in (first, *others)] == [pa.int64(), pa.string()] + [
        users.ids.type for users in others[1:]
    ]
    assert first.counts.max() == cap


def test_users_stand_where_they_stood():
    """The hash of an id is the same everywhere, and in every version of what computes it."""
    assert scattered.hashes(pa.array(["p1", "7"])).tolist() == [11407646959027041377, 639464881952108352]


def test_the_choice_of_rows_is_random(tmp_path):
    """Of 8 rows, 4 that are equal and 4 that are not, each user keeps 3: the equal ones as often as the others, and as
    independently, and not the same in all users; another seed chooses others."""
    values = np.array([10.0, 10, 10, 10, 20, 30, 40, 50])
    frame = pd.DataFrame({"who": np.repeat(np.arange(4000), 8), "y": 3.0, "age": np.tile(values, 4000)})
    schema = Schema({"age": Number(0, 90)}, Number(1, 5))
    path = written(frame, tmp_path / "people.parquet")
    equal = []
    for seed in (0, 1):
        users = ScatteredUsers.of(path, user="who", label="y", schema=schema, max_samples=3, seed=seed)
        kept = gathered(users)[0][:, :, 1]
        found = kept == schema.scaled(frame[:1])[0, 1]
        equal.append(found)
        # Hypergeometric: mean 3/2 and variance 15/28 a user; half at each place.
        assert abs(found.sum(axis=1).mean() - 1.5) < 5 * (15 / 28 / 4000) ** 0.5
        assert abs(found.sum(axis=1).var() - 15 / 28) < 0.06
        assert np.abs(found.mean(axis=0) - 0.5).max() < 5 * 0.5 / 4000**0.5
    assert 0.4 < (equal[0] == equal[1]).mean() < 0.6


def test_rows_without_a_label_are_dropped_and_their_user_counts(tmp_path):
    frame = people(6, 4)
    frame.loc[frame["who"] == 2, "y"] = np.nan
    frame.loc[frame.index[frame["who"] == 3][:1], "y"] = None
    counts = {}
    for name in ("people.parquet", "people.csv"):
        with pytest.warns(UserWarning, match="rows have no label and are dropped"):
            users = ScatteredUsers.of(written(frame, tmp_path / name), **COLUMNS)
        counts[name] = dict(zip(users.ids.cast(pa.int64()).to_pylist(), users.counts.tolist(), strict=True))
    expected = frame.assign(there=frame["y"].notna()).groupby("who")["there"].sum().to_dict()
    assert counts == dict.fromkeys(counts, expected)
    assert expected[2] == 0 and users.known.users == 6
    np.testing.assert_array_equal(np.concatenate([block.counts for block in users.blocks()]), users.counts)


def test_ids_in_csv_are_text(tmp_path):
    """007 is not 7, and what the first rows look like does not decide."""
    (tmp_path / "people.csv").write_text("who,y,age\n007,1,2\n7,2,\nNAN,3,0.5\n")
    schema = Schema({"age": Number(0, 90)}, Number(1, 5))
    users = ScatteredUsers.of(tmp_path / "people.csv", user="who", label="y", schema=schema, max_samples=1)
    assert sorted(users.ids.to_pylist()) == ["007", "7", "NAN"]
    ages = dict(zip(users.ids.to_pylist(), gathered(users)[0][:, 0, 1], strict=True))
    assert ages["7"] == 0  # the middle


@pytest.mark.parametrize(
    "kind",
    [
        lambda who: who.astype("float32"),
        lambda who: who.astype(str) + ".0",
        lambda who: who.map(Decimal),
        lambda who: who.astype(str).astype("category"),
        lambda who: who.astype(str).astype("string[pyarrow]"),
        lambda who: who.astype("uint8"),
    ],
)
def test_ids_of_all_kinds_are_the_same_users(tmp_path, kind):
    """Also where the parts of a folder spell them in different ways."""
    frame = people()
    first = ScatteredUsers.of(written(frame, tmp_path / "a.parquet"), **COLUMNS)
    other = frame.assign(who=kind(frame["who"]))
    assert same_users(first, ScatteredUsers.of(written(other, tmp_path / "b.parquet"), **COLUMNS))
    (tmp_path / "parts").mkdir()
    written(frame[:99], tmp_path / "parts" / "1.parquet")
    written(other[99:], tmp_path / "parts" / "2.parquet")
    assert same_users(first, ScatteredUsers.of(tmp_path / "parts", **COLUMNS))


def test_parts_of_the_users(tmp_path, small_pieces):
    users = ScatteredUsers.of(written(people(), tmp_path / "people.parquet"), max_samples=9, **COLUMNS)
    features, _ = gathered(users)
    some = list(users.blocks(11, 39))
    assert some[0].start == 11 and len(some) > 1
    np.testing.assert_array_equal(
        np.concatenate([block.features for block in some], axis=1), features[11:39].swapaxes(0, 1)
    )
    for source, start, stop in product((users, Users(Problem(50, 4, 6, 2))), (-1, 5, 0), (3, 4, 51)):
        if start < 0 or start > stop or stop > 50:
            with pytest.raises(ValueError, match=f"^users {start} to {stop} are asked for; there are 50"):
                list(source.blocks(start, stop))


@pytest.mark.parametrize("algorithm", ["full_prior", "unit_steps", "mixed_model", "centaur"])
def test_a_fit_is_that_of_the_same_users_in_memory(tmp_path, small_pieces, algorithm):
    """But for the order of sums."""
    path = written(people(300, 8).sample(frac=1, random_state=0), tmp_path / "people.parquet")
    users = ScatteredUsers.of(path, max_samples=8, rank=2, label_noise_sd=0.3, **COLUMNS)
    features, labels = gathered(users)
    in_memory = GivenUsers(users.known, features.swapaxes(0, 1), labels.T)
    options = {"init": "random", "rounds": 2, "clip": 0.5, "batch_samples": 2} if algorithm == "centaur" else {}
    models = []
    for source in (users, in_memory):
        chosen, task = load_options(algorithm, options), make_task(source, Budget(8.0, 1e-6, "exact"))
        outcome = scored(chosen.build(source.known), chosen.scores, task)
        models.append(np.concatenate([outcome.personal.models(block) for block in source.blocks()]))
    np.testing.assert_allclose(*models, atol=1e-4 * np.abs(models[0]).max())
    assert np.abs(models[0]).max() > 0


def cut(path: Path, bytes_left: int) -> Path:
    path.write_bytes(path.read_bytes()[:bytes_left])
    return path


def changed(name: str, **columns) -> Callable[[Path], Path]:
    return lambda folder: written(people().assign(**columns), folder / name)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda folder: written(people().drop(columns="y"), folder / "a.csv"), r"a\.csv has no column 'y'; it has 'o"),
        (lambda folder: written(people().drop(columns="age"), folder / "a.parquet"), r"a\.parquet has no column 'age'"),
        (changed("a.parquet", who=pd.Timestamp("2020-01-01")), "timestamp.* in column 'who'.*numbers or text"),
        (changed("a.csv", age=[30.0] * 99 + ["old"] * 132), r"a\.csv: column 'age' has .* in row 100$"),
        (changed("a.csv", paid="maybe"), r"a\.csv: column 'paid' has something else than a number in row 1$"),
        (changed("a.csv", who=None), r"a\.csv: column 'who' has a missing value in row 1; each row needs a user"),
        (lambda folder: written(people()[:0], folder / "a.csv"), r"a\.csv has no row"),
        (lambda folder: cut(written(people(), folder / "a.parquet"), 2000), r"a\.parquet cannot be read"),
        (lambda folder: cut(written(people(), folder / "a.csv"), 3003), r"a\.csv cannot be read"),
        (lambda folder: cut(written(people(), folder / "a.csv"), 0), r"a\.csv cannot be read"),
        (lambda folder: folder / "none.csv", r"none\.csv cannot be read"),
        (lambda folder: folder / "a.txt", r"a\.txt must end in \.parquet or \.csv, or be a folder"),
        (lambda folder: folder / "room", "must have some that end in"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_left(tmp_path, monkeypatch, broken, message):
    """In a folder for temporary files that others may use."""
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    path = broken(tmp_path)
    with pytest.raises(ValueError, match=message):
        ScatteredUsers.of(path, **COLUMNS)
    assert list(room.iterdir()) == []


def test_a_part_cut_short_is_named(tmp_path):
    """Also where another part is whole, and only its data are wrong."""
    written(people(), tmp_path / "1.parquet")
    path = written(people(2000), tmp_path / "2.parquet")
    data = bytearray(path.read_bytes())
    data[40:4000] = bytes(3960)
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"2\.parquet cannot be read"):
        ScatteredUsers.of(tmp_path, **COLUMNS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "age"}, "user, label and features are 'who', 'age', 'age', .*must all differ"),
        ({"max_samples": 0}, "max_samples is 0; it must be an integer of at least 1"),
    ],
)
def test_arguments_that_cannot_be(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        ScatteredUsers.of(written(people(), tmp_path / "people.parquet"), **COLUMNS | change)


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    """Neither while the users are in use, since their file has no name, nor when their bucket cannot be sorted."""
    room = tmp_path / "room"
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    room.mkdir()
    path = written(people(), tmp_path / "people.parquet")
    users = ScatteredUsers.of(path, **COLUMNS)
    assert list(room.iterdir()) == []
    file = users.file
    del users
    assert file.closed

    def fails(*_):
        assert list(room.iterdir()) == []
        raise KeyboardInterrupt

    monkeypatch.setattr(scattered, "sorted_rows", fails)
    with pytest.raises(KeyboardInterrupt):
        ScatteredUsers.of(path, **COLUMNS)
    assert list(room.iterdir()) == []


def test_what_a_killed_process_has_left_is_deleted_by_the_next(tmp_path, monkeypatch):
    """Where other processes read the rows, their file has a name; those of processes that run stay."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = written(people(), tmp_path / "people.parquet")
    running = ScatteredUsers.of(path, elsewhere=True, **COLUMNS)
    (tmp_path / f"{scattered.ROWS_PREFIX}left").write_text("rows")
    other = ScatteredUsers.of(path, elsewhere=True, **COLUMNS)
    names = {Path(users.file.name) for users in (running, other)}
    assert set(tmp_path.iterdir()) == {path, *names}


def test_a_temporary_folder_that_does_not_exist_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    with pytest.raises(ValueError, match=r"TMPDIR is '.*none'; it must be a folder"):
        ScatteredUsers.of(written(people(), tmp_path / "people.parquet"), **COLUMNS)


@pytest.mark.parametrize("name", ["part=1/b.parquet", "b.csv", "b.pq", "b.parquet.gz", "note.txt"])
def test_no_part_of_a_folder_is_passed_over(tmp_path, name):
    """All rows or a refusal; marks of other programs are no rows."""
    folder = tmp_path / "people"
    folder.mkdir()
    written(people(), folder / "a.PARQUET")
    (folder / "_SUCCESS").write_text("")
    assert ScatteredUsers.of(folder, **COLUMNS).known.users == 50
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("rows")
    with pytest.raises(ValueError, match=f"{folder} has '{name.split('/')[0]}'; all in a folder must be"):
        ScatteredUsers.of(folder, **COLUMNS)


def test_levels_that_are_not_listed_are_counted(tmp_path):
    """In one number for the whole table."""
    frame = people()
    path, count = written(frame, tmp_path / "people.parquet"), (frame["kind"] == "d").sum()
    with pytest.warns(
        UserWarning, match=f"column 'kind': {count} of {len(frame)} rows have a level that is not"
    ) as told:
        ScatteredUsers.of(path, **COLUMNS)
    assert len(told) == 1


PEAK = r"""
import re, sys
from pathlib import Path
from privrep.users.scattered import ScatteredUsers
from privrep.users.schema import Number, Schema
schema = Schema({f"x{number}": Number(-3, 3) for number in range(10)}, Number(-4, 4))
users = ScatteredUsers.of(sys.argv[1], user="who", label="y", schema=schema)
assert sum(block.users for block in users.blocks()) == users.known.users
print(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_memory_does_not_grow_with_the_rows(tmp_path):
    """Ten times the rows, in one group: in memory, 10^6 of them would have 96 MB."""
    rng = np.random.default_rng(0)
    peaks = []
    for rows in (10**5, 10**6):
        columns = {f"x{number}": rng.standard_normal(rows) for number in range(10)}
        frame = pd.DataFrame({"who": rng.integers(0, 5000, rows), "y": rng.standard_normal(rows), **columns})
        frame.to_parquet(tmp_path / "people.parquet", index=False, row_group_size=rows)
        command = [sys.executable, "-c", PEAK, str(tmp_path / "people.parquet")]
        peaks.append(int(subprocess.run(command, env=environment(ROOT), capture_output=True, check=True).stdout))
    assert peaks[1] - peaks[0] < 48 * 1024


def test_rows_that_are_gone_are_not_made_up(tmp_path):
    """The memory that a block is read into has anything in it before."""
    users = ScatteredUsers.of(written(people(), tmp_path / "people.parquet"), **COLUMNS)
    os.truncate(users.file.fileno(), 40)
    with pytest.raises(OSError, match="ends after 40 of"):
        list(users.blocks())
