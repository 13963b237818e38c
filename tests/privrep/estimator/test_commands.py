"""The command `privrep`: what it writes, what it leaves out, and how it ends."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from typer.testing import CliRunner

import privrep
from privrep.estimator import journal
from privrep.estimator.commands import main, release
from privrep.estimator.commands.main import app
from privrep.estimator.stated import from_toml
from privrep.estimator.statement import NOT_COVERED

RUN = CliRunner()
pytestmark = pytest.mark.filterwarnings("ignore:random_state is")
BOUNDS = """
[label]
low = -4
high = 4
[features.x]
low = -1
high = 1
[features.z]
kind = "category"
levels = ["a", "b"]
"""


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(journal.PLACE, str(tmp_path / "journal.jsonl"))
    Path("bounds.toml").write_text(BOUNDS)
    rng = np.random.default_rng(0)
    who = rng.permutation(np.repeat(np.arange(1000, 1300), 6))
    x, slopes = rng.uniform(-1, 1, len(who)), rng.standard_normal(300)
    table = pd.DataFrame({"who": who, "x": x, "z": rng.choice(["a", "b"], len(who))})
    table["y"] = slopes[who - 1000] * x + 0.3 * rng.standard_normal(len(who))
    table.to_parquet("table.parquet", index=False)
    table.to_csv("table.csv", index=False)


def run(*words: str, status: int = 0) -> str:
    found = RUN.invoke(app, list(words))
    assert found.exit_code == status, found.output
    assert status == 0 or found.output == found.stderr, "an error stands elsewhere than in stderr"
    return found.output


def fit(*words: str, table: str = "table.parquet", status: int = 0) -> str:
    settings = ("--user", "who", "--label", "y", "--bounds", "bounds.toml", "--epsilon", "4", "--seed", "1", *words)
    return run("fit", table, *settings, status=status)


def test_from_a_table_to_heads():
    """Files, their modes, and the same from CSV, although the journal knows another fit then; heads are found again."""
    said = fit("--max-samples", "3")
    assert re.match(r"What is shared is \(4, .*Advice: .*public may be published; private may not", said, re.S)
    assert os.stat("release/private/heads.parquet").st_mode & 0o777 == 0o600
    assert "do not publish" in Path("release/private/README").read_text()
    assert sorted(one.name for one in Path("release").iterdir()) == ["private", "public"]
    assert os.stat("release/private").st_mode & 0o077 == 0
    fit("--max-samples", "3", "--out", "other", table="table.csv")
    first, second = ([*map(Path.read_bytes, sorted(Path(one, "public").iterdir()))] for one in ("release", "other"))
    assert first == second and len(first) == 3
    personalise = ("personalise", "release/public/release.json", "table.parquet", "--user", "who", "--label", "y")
    run(*personalise, "--out", "again.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet("again.parquet"), pd.read_parquet("release/private/heads.parquet"))
    shown = run("show", "release/public/release.json")
    assert "Spectrum of the prior" in shown and "z[b]" in shown
    for printed in (said, shown, Path("release/public/report.html").read_text()):
        assert all(one in printed for one in NOT_COVERED)


def test_a_template_has_no_number_of_the_data():
    Path("bounds.toml").unlink()
    pd.read_parquet("table.parquet").assign(f=True, **{'q"\\ o': True}).to_parquet("flag.parquet")
    run("bounds", "flag.parquet", "--user", "who", "--label", "y")
    template = Path("bounds.toml").read_text()
    assert '[features.f]\nkind = "flag"\n' in template
    assert "[features.x]" in template and "[features.z]" in template and "who" not in template
    assert not re.search(r"\d\.\d\d", template)
    for empty, filled in (("low =", "low = -4"), ("high =", "high = 4"), ("levels =", 'levels = ["a", "b"]')):
        template = template.replace(f"# {empty}", filled)
    Path("bounds.toml").write_text(template)
    assert list(from_toml(Path("bounds.toml")).features) == ["x", "z", "f", 'q"\\ o']
    assert "bounds.toml is there already" in run("bounds", "table.csv", "--user", "who", "--label", "y", status=2)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("fit", "none.parquet"), "none.parquet"),
        (("fit", "table.txt"), "table.txt"),
        (("fit", "table.parquet", "--user", "whom", "--out", "full"), "table.parquet has no column 'whom'"),
        (("fit", "table.parquet", "--label", "z"), "z"),
        (("fit", "table.parquet", "--epsilon", "0"), "epsilon is 0.0; it must be a number from"),
        (("fit", "table.parquet", "--bounds", "none.toml"), "none.toml: No such file"),
        (("show", "table.csv"), "table.csv is no release of privrep fit"),
        (("fit", "table.parquet", "--bounds", "other.toml"), "other.toml: features: 'w' is no column of the table"),
        (("fit", "table.parquet", "--bounds", "other.toml", "--out", "full"), "other.toml: features: 'w' is no column"),
        (("fit", "twice.parquet"), "twice.parquet has the column 'x' twice"),
        (("fit", "twice.csv"), "twice.csv has the column 'x' twice"),
        (("bounds", "table.csv", "--together", "item_*"), "--together: 'item_*' is no column of the table"),
        (("bounds", "table.csv", "--together", "*"), "--together *: its columns are of different kinds"),
        (("fit", "table.parquet", "--bounds", "number.toml"), "number.toml: [features] is 3; it must be a table"),
        (("fit", "table.parquet", "--bounds", "levels.toml"), "levels.toml: features.z: levels is 3; it must be a"),
        (("fit", "table.parquet", "--seed", "-1"), "random_state is -1"),
        (("fit", "table.parquet", "--out", "table.csv/release"), "table.csv"),
        (("fit", "nobody.parquet"), "nobody.parquet: column 'who' has a missing value in row 4"),
        (("fit", "nobody.csv"), "nobody.csv: column 'who' has a missing value in row 4"),
        (("bounds", "table.csv", "--user", "whom"), "table.csv has no column 'whom'"),
        (("bounds", "broken.parquet"), "broken.parquet cannot be read"),
        (("bounds", "broken.csv"), "broken.csv cannot be read"),
        (("predict", "part.json", "table.csv", "--user", "who", "--out", "table.csv"), "table.csv is there already"),
        (("show", "part.json"), "part.json is no release of privrep fit, or was edited: it has no 'privacy'"),
        (("show", "old.json"), "or was edited: version is 1; this privrep reads 5"),
    ],
)
def test_wrong_input_ends_in_one_line(words, line):
    """With status 2, nothing written, and nothing spent."""
    Path("other.toml").write_text(BOUNDS.replace("features.x", "features.w"))
    Path("number.toml").write_text("features = 3\n[label]\nlow = 1\nhigh = 2\n")
    Path("levels.toml").write_text(BOUNDS.replace('["a", "b"]', "3"))
    Path("part.json").write_text('{"shared": []}')
    Path("old.json").write_text('{"privacy": {}, "advice": {}, "files": {}, "shared": {"version": 1}}')
    nobody = pd.read_parquet("table.parquet").astype({"who": "Int64"})
    nobody.loc[3, "who"] = pd.NA
    nobody.to_parquet("nobody.parquet", index=False)
    nobody.to_csv("nobody.csv", index=False)
    Path("broken.parquet").write_bytes(b"PAR1")
    Path("broken.csv").write_bytes(b"\xff\xfe,who,y\n1,2,3\n")
    twice = pa.Table.from_pandas(pd.read_parquet("table.parquet"), preserve_index=False)
    parquet.write_table(twice.append_column("x", twice["x"]), "twice.parquet")
    csv.write_csv(twice.append_column("x", twice["x"]), "twice.csv")
    Path("full").mkdir(exist_ok=True)
    Path("full/file").write_text("")
    before = sorted(Path().iterdir())
    usual = {"--user": "who", "--label": "y", "--bounds": "bounds.toml", "--epsilon": "1"}
    given = set(words)
    needed = {"fit": usual, "bounds": {"--user": "who", "--label": "y"}}.get(words[0], {})
    added = [word for name, value in needed.items() if name not in given for word in (name, value)]
    said = run(*words, *added, status=2)
    assert said.count("\n") == 1 and said.startswith("privrep: ") and line in said and "secret" not in said
    assert sorted(Path().iterdir()) == before and not journal.place().exists()


def test_what_is_missing_is_named_and_words_of_arrow_are_not_shown(monkeypatch):
    for module in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "privrep.estimator.commands.curves", raising=False)
    said = run("advise", "--dim", "9", "--rank", "2", "--plot", "curves.svg", status=2)
    assert "--plot needs the package matplotlib" in said

    def read(path):
        raise pa.ArrowInvalid("secret")

    monkeypatch.setattr(main, "files_of", read)
    said = run("bounds", "table.csv", "--user", "who", "--label", "y", status=2)
    assert said == "privrep: ArrowInvalid of Arrow, which may quote rows and is not shown\n"


def test_no_release_is_overwritten_and_an_interrupt_leaves_none(monkeypatch):
    """Where it comes in the midst of the writing, too."""
    fit()
    assert "release is there already" in fit(status=2)
    personalise = ("personalise", "release/public/release.json", "table.csv", "--user", "who", "--label", "y")
    assert "table.csv is there already" in run(*personalise, "--out", "table.csv", status=2)
    before = sorted(Path().iterdir())

    for ended in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ended) == signal.SIG_IGN:  # under nohup
            continue
        monkeypatch.setattr(release, "page", lambda _, ended=ended: os.kill(os.getpid(), ended) or time.sleep(60))
        said = fit("--out", "third", status=130)
        assert said.startswith("privrep: interrupted") and said.count("\n") == 1
        assert sorted(Path().iterdir()) == before


def test_a_system_that_cannot_read_a_table_is_told_before_it_spends(monkeypatch):
    monkeypatch.delattr(os, "preadv")
    monkeypatch.delattr(signal, "SIGHUP")
    said = fit(status=2)
    assert said.endswith("privrep: this system reads no tables on disk (it has no preadv); fit them in memory\n")
    assert not journal.place().exists()


def test_a_warning_is_a_line():
    words = ("--user", "who", "--label", "y", "--bounds", "bounds.toml", "--epsilon", "4", "--seed", "1")
    with warnings.catch_warnings(action="always"):
        found = RUN.invoke(app, ["fit", "table.parquet", *words, "--delta", "0.01"])
    assert found.exit_code == 0
    lines = found.stderr.splitlines()
    assert len(lines) == 2 and all(line.startswith("privrep: ") for line in lines) and "delta is 0.01" in lines[0]


def test_advice_names_a_method_and_solves_for_what_is_left_out():
    sizes = ("--samples", "20", "--dim", "20", "--rank", "2")
    said = run("advise", "--users", "5000", *sizes, "--epsilon", "1", "--plot", "curves.svg")
    assert said.startswith("label noise: 1.414, for a signal of 0.5, which is assumed\ndelta: 4e-08, which is 1/n^2")
    assert "target: " in said and "fit('unit_steps', " in said and "study" not in said and "none below 1" not in said
    line = "privrep fit TABLE --user USER --label LABEL --bounds bounds.toml --epsilon 1.0 --delta 4e-08"
    assert said.endswith(f"{line} --method unit_steps --rank 2\n")
    said = run("advise", *sizes, "--epsilon", "1", "--target", "0.3", "--label-noise", "1")
    assert re.match(r"label noise: 1\ndelta: .*\nusers: \d", said)
    said = run("advise", "--users", "150", *sizes, "--epsilon", "0.1", "--label-noise", "1000")
    assert "target: none below 1;" in said and "\nUse own data." in said
    both = run("advise", *sizes, "--label-noise", "1", status=2)
    assert (
        both
        == "privrep: users and epsilon and target are left out; at most one of users, samples, epsilon, target may be\n"
    )


def test_the_command_is_installed():
    """And ends without a word where its reader has seen enough."""
    command = f"{sys.executable} -m privrep advise --users 5000 --samples 20 --dim 50 --rank 2 --epsilon 1 | true"
    assert not subprocess.run(command, shell=True, capture_output=True).stderr
    found = subprocess.run([sys.executable, "-m", "privrep", "--help"], capture_output=True, text=True)
    order = [
        found.stdout.index(f"privrep {one}") for one in ("bounds", "fit", "show", "predict", "personalise", "audit")
    ]
    assert found.returncode == 0 and order == sorted(order) and "differential privacy" in found.stdout
    for command in ("bounds", "fit", "show", "predict", "personalise", "audit", "advise"):
        said = run(command, "--help")
        assert f"  Example: privrep {command} " in said and "\\b" not in said
    assert "1. privrep bounds" in RUN.invoke(app, []).output and "completion" not in found.stdout
    assert run("--version") == f"privrep {privrep.__version__}\n"


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize(("family", "low", "high"), [("gaussian", -4, 4), ("binary", 0, 1)])
def test_rows_are_predicted_by_the_heads_of_a_fit(family, low, high):
    """By the heads of those who have one, in the order of the rows; ids of any type; calibrated as well."""
    Path("bounds.toml").write_text(BOUNDS.replace("low = -4", f"low = {low}").replace("high = 4", f"high = {high}"))
    fit("--family", family)
    table = pd.read_parquet("table.parquet")
    shared, _ = release.read_release(Path("release/public/release.json"))
    heads = pd.read_parquet("release/private/heads.parquet").drop(columns="check").set_index("user").loc[table.who]
    scaled, (vectors, doubts) = shared.schema.scaled(table), np.split(heads.to_numpy(), [shared.schema.dim], axis=1)
    expected = shared.labels((scaled * vectors).sum(axis=1))
    Path("heads.parquet").write_bytes(Path("release/private/heads.parquet").read_bytes())
    words = ("predict", "release/public/release.json", "--user", "who")
    for number, more in enumerate((("table.csv",), ("table.parquet", "--heads", "heads.parquet"))):
        run(*words, *more, "--out", f"{number}.parquet")
        found = pd.read_parquet(f"{number}.parquet")
        assert found.user.astype(int).tolist() == table.who.tolist()
        np.testing.assert_allclose(found.prediction, expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.sd, shared.sd(scaled, doubts), rtol=1e-4)
        assert os.stat(f"{number}.parquet").st_mode & 0o777 == 0o600
    table.assign(who=range(len(table))).to_csv("strangers.csv", index=False)
    said = run(*words, "strangers.csv", "--out", "strangers.parquet")
    assert "privrep: users: 1,500 of 1,800 rows are of users without a head" in said
    assert "other columns than heads" in run(*words, "table.csv", "--heads", "table.parquet", status=2)


def test_bounds_for_many_columns_are_stated_once():
    """By a pattern, of which the first that fits counts; a name goes before it."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1, 1, (9, 12)), columns=[f"item_{one}" for one in range(12)])
    frame.assign(who=range(9), y=0.5, when=pd.Timestamp("2020-01-01")).to_parquet("wide.parquet", index=False)
    words = ("bounds", "wide.parquet", "--user", "who", "--label", "y", "--together", "item_*", "--out", "wide.toml")
    run(*words)
    template = Path("wide.toml").read_text()
    assert template.count("[features.") == 1 and '[features."item_*"]' in template
    assert "\n# 'when' is left out: it has dates or times; give numbers" in template
    stated = '[label]\nlow = 0\nhigh = 1\n[features."item_*"]\nlow = -1\nhigh = 1\n[features.item_3]\nkind = "flag"\n'
    stated += '[features."item_?"]\nlow = -2\nhigh = 2\n'
    Path("wide.toml").write_text(stated)
    features = from_toml(Path("wide.toml"), list(frame)).features
    assert list(features) == list(frame)
    assert features["item_3"].__class__.__name__ == "Flag" and features["item_4"].low == -1


def edits(part: object) -> Iterator[tuple[list, object]]:
    """Keys of each place in dicts, and at both ends of lists, and what may stand there in place of what does; None to
    remove it."""
    for key, one in part.items() if isinstance(part, dict) else [*enumerate(part)][:: max(len(part) - 1, 1)]:
        if isinstance(one, dict | list):
            yield from (([key, *rest], change) for rest, change in edits(one))
            changes = ["text", [], 7]
        else:
            with contextlib.suppress(ValueError):
                number = float(one)
                yield from (([key], type(one)(change)) for change in (-number, 100 * number) if change != number)
                yield from (([key], type(one)(change)) for change in ("nan", "inf") if not isinstance(one, int))
            changes = ["text", -7, [one], 2.7]
        yield from (([key], change) for change in [None, *changes])


@pytest.mark.parametrize("family", ["gaussian", "binary"])
def test_a_release_that_was_edited_is_told_in_one_line(family):
    """Wherever it was: the line names the file and, of an entry, its key; all commands read it so. Where its hashes
    were made anew, an audit refuses what does not follow from the releases; commands print what does."""
    pd.read_parquet("table.parquet").eval("y = y > 0").to_parquet("table.parquet", index=False)
    Path("bounds.toml").write_text(BOUNDS.replace("-4", "0", 1).replace("4", "1", 1))
    fit("--family", family)
    path, stated = Path("release/public/release.json"), {"assumed_public", "implementation"}
    whole = path.read_text()
    for keys, change in edits(json.loads(whole)):
        edited = json.loads(whole)
        *above, last = keys
        place = reduce(getitem, above, edited)
        if change == place[last]:
            continue
        if change is None:
            del place[last]
        else:
            place[last] = change
        path.write_text(json.dumps(edited))
        with pytest.raises(ValueError, match=rf"^{path} is no release of privrep fit, or was edited: ") as error:
            release.read_release(path)
        named = [one for one in keys if isinstance(one, str)][:2]
        assert "\n" not in str(error.value), (keys, change)
        assert named[-1] in str(error.value) or keys == ["sha256"], (keys, change, error.value)
        if keys[0] == "privacy" and len(keys) > 1 and not stated & {*keys}:
            path.write_text(json.dumps(edited | {"sha256": release.hashes(edited)}))
            words = rf"^({path} is no release|{path}: '\w+' is not what|release/public/ledger.csv is no file)"
            with pytest.raises(ValueError, match=words) as error:
                release.audited(Path("release"))
            assert "\n" not in str(error.value), (keys, change)
    (edited := json.loads(whole))["privacy"] |= {"statement": "All is well.", "not_covered": []}
    path.write_text(json.dumps(edited | {"sha256": release.hashes(edited)}))
    assert "What is shared is (4, " in (said := run("show", str(path))) and "All is well" not in said
    assert all(one in said for one in NOT_COVERED)
    path.write_text("[" * 100_000)
    for words in (["show"], ["predict", "table.csv", "--user", "who"], ["personalise", "table.csv", "--user", "who"]):
        more = ["--label", "y"] if words[0] == "personalise" else []
        said = run(words[0], str(path), *words[1:], *more, status=2)
        assert said.startswith(f"privrep: {path} is no release") and said.count("\n") == 1


def test_an_audit_names_the_file_that_is_not_of_the_fit():
    """One that is gone, cut, has another byte or is of another fit, or lies there besides; of the private files only
    heads are read, and only where they are."""
    fit()
    fit("--seed", "2", "--out", "other")
    Path("other/public/notes.txt").write_text("It went well.")
    usual = run("audit", "release")
    assert "of the 22 releases" in usual and "so are 300 heads" in usual and all(one in usual for one in NOT_COVERED)
    for file in filter(Path.is_file, Path("other").rglob("*")):
        mine, other = Path("release", *file.parts[1:]), file.read_bytes()
        whole = mine.read_bytes() if mine.exists() else None
        at = len(whole or other) // 2
        cut = [] if whole is None else [b"", whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]]
        for change in (None, other, *cut):
            mine.unlink(missing_ok=True)
            if change is not None:
                mine.write_bytes(change)
            if change == whole or ("private" in file.parts and (change is None or file.name == "README")):
                heads = 0 if file.name == release.HEADS else 300
                assert run("audit", "release") == usual.replace("are 300 heads", f"are {heads} heads")
            else:
                said = run("audit", "release", status=2)
                named = Path("release/public/ledger.csv") if (file.name, change) == (release.RELEASE, other) else mine
                assert said.startswith(f"privrep: {named}") and said.count("\n") == 1
        mine.unlink(missing_ok=True)
        if whole is not None:
            mine.write_bytes(whole)


@pytest.mark.filterwarnings("always")
def test_heads_belong_to_their_release():
    """Rows may be parted, and joined with those of others; none may be edited, of another fit, missing or there
    twice."""
    fit()
    fit("--seed", "2", "--out", "other")
    words = ("release/public/release.json", "table.csv", "--user", "who")
    table = pd.read_csv("table.csv")
    table.assign(who=table.who + 300).to_csv("others.csv", index=False)
    run("personalise", words[0], "others.csv", *words[2:], "--label", "y", "--out", "others.parquet")
    mine, others = (pd.read_parquet(one) for one in ("release/private/heads.parquet", "others.parquet"))
    pd.concat([mine[7:].astype({"user": str}), others]).to_parquet("joined.parquet", index=False)
    said = run("predict", *words, "--heads", "joined.parquet", "--out", "joined")
    assert "privrep: users: 42 of 1,800 rows are of users without a head" in said
    first = mine.index == 0
    for name in mine:
        changes = [
            mine.drop(columns=name),
            mine.assign(**{name: "text"}),
            mine.assign(**{name: mine[name].mask(first)}),
        ]
        if name != "check":
            changes += [mine.assign(**{name: mine[name].mask(first, part * mine[name])}) for part in (-1, 100)]
        for edited in changes:
            edited.to_parquet("edited.parquet", index=False)
            said = run("predict", *words, "--heads", "edited.parquet", status=2)
            assert said.startswith("privrep: edited.parquet") and said.count("\n") == 1
    pd.concat([mine, mine[:1]]).to_parquet("edited.parquet", index=False)
    assert "edited.parquet has a user twice" in run("predict", *words, "--heads", "edited.parquet", status=2)
    said = run("predict", *words, "--heads", "other/private/heads.parquet", status=2)
    assert "other/private/heads.parquet: row 1 belongs to another release, or was edited" in said
