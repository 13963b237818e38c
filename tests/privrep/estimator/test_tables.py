"""Faults of tables: the same words on disk and in memory, before anything is spent, and no value of a person."""

import re
import subprocess
import sys
import warnings
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner
from workflow_helpers import ROOT, environment

from privrep.estimator import PrivateRepresentation, journal
from privrep.estimator.commands.main import app
from privrep.estimator.stated import stated

pytestmark = pytest.mark.filterwarnings("ignore:users times mu is")
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"who": np.repeat(np.arange(50), 4), "x": RNG.uniform(-1, 1, 200), "y": RNG.uniform(-1, 1, 200)})
BOUNDS = {"feature_bounds": (-1, 1), "label_bounds": (-1, 1)}


def in_memory(frame: pd.DataFrame, **settings) -> None:
    PrivateRepresentation(users="who", **BOUNDS | settings).fit(frame.drop(columns="y"), frame.y)


def on_disk(path: str, **settings) -> None:
    given = {"kinds": None, **BOUNDS} | settings
    PrivateRepresentation().fit_table(path, user="who", label="y", schema=stated(["x"], **given))


def in_csv(frame: pd.DataFrame, **settings) -> None:
    frame.to_csv("table.csv", index=False)
    on_disk("table.csv", **settings)


def in_parquet(frame: pd.DataFrame, **settings) -> None:
    frame.to_parquet("table.parquet", index=False)
    on_disk("table.parquet", **settings)


DOORS = (in_memory, in_csv, in_parquet)


def with_cell(name: str, row: int, value: object) -> pd.DataFrame:
    frame = TABLE.astype({name: object}) if isinstance(value, str) else TABLE.copy()
    frame.loc[row, name] = value
    return frame.astype({name: str}) if isinstance(value, str) else frame


FAULTS = {
    "an infinite label": (with_cell("y", 6, np.inf), {}, "has infinity in row 7; it must be finite, or missing"),
    "digits in Python's way": (with_cell("x", 6, "1_000"), {}, "has something else than a number in row 7"),
    "a text": (with_cell("y", 8, "secret"), {}, "has something else than a number in row 9"),
    "dates": (TABLE.assign(x=pd.Timestamp("2020-01-01")), {}, "has dates or times; give numbers in the unit"),
    "days": (TABLE.assign(y=date(2020, 1, 1)), {}, "has dates or times; give numbers in the unit"),
    "ids merged": (TABLE.assign(who=TABLE.who + 2.0**53), {}, "has a float that may stand for several ids in row 1"),
    "levels": (
        TABLE,
        {"kinds": {"x": (-3, 3)}},
        "200 of 200 rows have a level that is not listed.*go.* feature_bounds",
    ),
    "no label": (TABLE.assign(y=np.nan), {}, "no"),
}
TOLD = {
    "labels beyond": (
        TABLE.assign(y=TABLE.y.where(TABLE.index > 1, 9)),
        r"^label: 2 of 200 rows lie beyond .* \(1 %\)",
    ),
    "labels that lack": (with_cell("y", 6, np.nan), r"^label: 1 of 200 rows have no label and are dropped \(0.5 %\)"),
    "one label beyond": (with_cell("y", 6, 9.0), ""),
    "a feature that lacks": (with_cell("x", 6, np.nan), ""),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("frame", "settings", "words"), FAULTS.values(), ids=FAULTS)
def test_one_fault_has_one_text(tmp_path, monkeypatch, door, frame, settings, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words) as error:
        door(frame, **settings)
    assert "secret" not in str(error.value) and "\n" not in str(error.value) and not journal.place().exists()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("frame", "words"), TOLD.values(), ids=TOLD)
def test_what_rows_count_as_is_told(tmp_path, monkeypatch, door, frame, words):
    """In the same words everywhere; labels from one in a hundred rows on."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        door(frame)
    said = [str(one.message) for one in told if "users times mu" not in str(one.message)]
    assert len(said) == bool(words) and all(re.match(words, one) for one in said)


def test_an_array_lacks_what_a_table_lacks(tmp_path, monkeypatch):
    """A missing feature is the middle, and a row without a label is dropped; float32 merges ids beyond 2^24."""
    monkeypatch.chdir(tmp_path)
    frame = with_cell("x", 6, np.nan)
    settings = BOUNDS | {"random_state": 0}
    with pytest.warns(UserWarning, match="random_state"):
        one = PrivateRepresentation(**settings).fit(frame[["x"]], frame.y, frame.who)
        other = PrivateRepresentation(**settings).fit(frame[["x"]].to_numpy(), frame.y.to_numpy(), frame.who.to_numpy())
    assert one.shared_.mean.tolist() == other.shared_.mean.tolist()
    for door in (in_memory, lambda frame: in_parquet(frame)):
        with pytest.raises(ValueError, match="has a float that may stand for several ids in row 1"):
            door(TABLE.assign(who=(TABLE.who + 2**24).astype(np.float32)))


CSV = TABLE.to_csv(index=False)
LINES = CSV.splitlines()
FILES = {
    "semicolons": (CSV.replace(",", ";").encode(), "columns are separated by ';'; they must be by commas"),
    "ragged": ("\n".join([*LINES[:90], "1,2,3,4", *LINES[90:]]).encode(), "row 90 has 4 values, and the header 3"),
    "comment": (f"# made by R\n{CSV}".encode(), "row 1 has 3 .* header 1; its first line seems to be a comment"),
    "UTF-16": (CSV.encode("utf-16"), "first bytes are those of UTF-16"),
    "UTF-16 without a mark": (CSV.encode("utf-16-le"), "first bytes are those of UTF-16"),
    "Latin-1": ("\n".join([*LINES[:90], "J\xfcrgen,0,0"]).encode("latin-1"), "row 90 is no text in UTF-8"),
    "Excel": (b"PK\x03\x04" + bytes(99), "first bytes are those of Excel"),
    "JSON": (TABLE.to_json().encode(), "first bytes are those of JSON"),
    "Parquet": (TABLE.to_parquet(), "first bytes are those of Parquet"),
    "nothing": (b"", "Empty CSV file"),
}


@pytest.mark.parametrize(("content", "words"), FILES.values(), ids=FILES)
def test_a_file_of_another_format_is_named_with_a_guess(tmp_path, monkeypatch, content, words):
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_bytes(content)
    with pytest.raises(ValueError, match=rf"^table\.csv cannot be read: .*{words}"):
        on_disk("table.csv")
    Path("table.parquet").write_bytes(CSV.encode())
    with pytest.raises(ValueError, match=r"^table\.parquet cannot be read: its first bytes are those of text$"):
        on_disk("table.parquet")


def test_what_the_first_bytes_say_is_no_reason_to_refuse_a_table(tmp_path, monkeypatch):
    """A mark of UTF-8, a name with a semicolon, and numbers that Arrow does not read, in the second block of a file."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{number % 999},0.5,0.25,a\n" for number in range(90_000))
    Path("table.csv").write_text(f'who,x,y,"a;b;c"\n{rows}7,+1,+0.5,b\n', encoding="utf-8-sig")
    on_disk("table.csv")


class Polars:
    """What polars has of a table: it is turned into one of pandas."""

    columns = ("who", "x")

    def to_pandas(self) -> pd.DataFrame:
        return TABLE[["who", "x"]]

    def __len__(self) -> int:
        return len(TABLE)


class Lazy:
    """What lazy frames of polars have, and those of Dask with `compute`."""

    columns = ("who", "x")

    def collect(self) -> None:
        raise AssertionError


def test_tables_of_other_libraries_and_what_pandas_puts_beside_columns():
    model = PrivateRepresentation(users="who", **BOUNDS)
    model.fit(Polars(), TABLE.y)
    assert model.predict(Polars()).shape == (200,) and model.score(Polars(), TABLE.y) < 1
    wide = {"users": "who", "feature_bounds": (-1, 200), "label_bounds": (-1, 1)}
    for X, users, words in (
        (Lazy(), None, "X is a lazy frame; collect"),
        (TABLE.set_index("who")[["x"]], None, "users is 'who', which is the index; X.reset_index"),
        (TABLE.drop(columns="y"), TABLE.who // 2, "users has in row 5 another user than column 'who' of X"),
        *(
            (TABLE.drop(columns="y").assign(**{name: 1}), None, f"^'{name}' is an index that pandas wrote")
            for name in ("Unnamed: 0", "__index_level_0__", "")
        ),
    ):
        with pytest.raises(ValueError, match=words):
            PrivateRepresentation(**wide).fit(X, TABLE.y.to_numpy(), users)
    model.fit(TABLE.drop(columns="y"), TABLE.y, TABLE.who.astype(str))


def command(*words: str) -> str:
    result = CliRunner().invoke(app, [*words, "--user", "who"])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_template_leaves_out_indexes_and_dates(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.assign(born=pd.Timestamp("2020-01-01")).to_csv("table.csv")
    command("bounds", "table.csv", "--label", "y")
    template = Path("bounds.toml").read_text()
    assert template.count("[features.") == 1 and "\n# '' is left out: it is an index of pandas\n" in template
    assert "\n# 'born' is left out: it has dates or times; give numbers in" in template


PEAK = """
import re, sys
from pathlib import Path
from privrep.estimator.commands.main import app
app(sys.argv[1:], standalone_mode=False)
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_predictions_take_no_memory_of_the_rows(tmp_path, monkeypatch):
    """At most 30 MB above those of one row, in the order of the rows; a table without rows is one."""
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("table.csv", index=False)
    Path("bounds.toml").write_text("[label]\nlow = -1\nhigh = 1\n[features.x]\nlow = -1\nhigh = 1\n")
    command("fit", "table.csv", "--label", "y", "--bounds", "bounds.toml", "--epsilon", "1")
    release, peaks = "release/public/release.json", []
    for rows in (0, 1, 10**6):
        many = pd.DataFrame({"who": np.arange(rows) % 70, "x": np.arange(rows) % 7 / 7})
        many.to_parquet("many.parquet", index=False, row_group_size=10**6)
        words = ["predict", release, "many.parquet", "--user", "who", "--out", f"{rows}.parquet"]
        ran = subprocess.run(
            [sys.executable, "-c", PEAK, *words], env=environment(ROOT), capture_output=True, text=True, check=True
        )
        peaks.append(int(ran.stdout.split()[-1]))
        assert ("rows are of users without a head" in ran.stderr) == (rows > 1)
        found = pd.read_parquet(f"{rows}.parquet")
        assert found.columns.tolist() == ["user", "prediction", "sd"] and found.user.astype(int).equals(many.who)
    assert peaks[2] - peaks[1] < 30
    first = found[:490].assign(x=many.x[:490]).groupby(["user", "x"]).prediction.first()
    last = found[-490:].assign(x=many.x[-490:]).groupby(["user", "x"]).prediction.first()
    np.testing.assert_allclose(first, last)
