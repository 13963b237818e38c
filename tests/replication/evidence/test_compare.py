"""Comparison of two runs: of the default run with its confirmation, and of any run with the run of record."""

import hashlib
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_up_cells import analyse, made_up
from stub_page import write_differences
from workflow_helpers import PARTS, ROOT, called, copy_run, script

from replication.evidence.cells import read_cells
from replication.evidence.claims import CLAIM_COLUMNS, Claim
from replication.evidence.compare import (
    CONFIRMATION_COLUMNS,
    SHOWN,
    both_tested,
    changed,
    confirmation_pairs,
    confirmed,
    coverage,
    every_seed,
    number_text,
    paired,
    pooled,
    summary,
    table,
    unrepeated,
)
from replication.evidence.intervals import LEVEL, student
from replication.evidence.measured import MEASURE_COLUMNS, Measured
from replication.evidence.quantities import checked_claims
from replication.report.claims_table import CLAIMS
from replication.report.documents import confirmation_page, explained
from replication.report.record import DOCS, confirmation
from replication.run.config import ConfigError, study_names
from replication.run.csv_tables import read_rows, write_rows

confirm = script("confirm")
RECORD = DOCS / "record"


def claim(name: str, verdict: str, measured: float | str = "", half: float = 0.0, corrected: float | str = "") -> dict:
    """A row of claims.csv as text."""
    ends = ("", "") if measured == "" else (measured - half, measured + half)
    shown = dict(zip(SHOWN, map(str, (verdict, measured, *ends, corrected)), strict=True))
    return dict.fromkeys(CLAIM_COLUMNS, "") | {"id": name, "quantity": f"of {name}"} | shown


FIRST = [
    claim("A-1", "RATE-AGREES", 1.1, 0.1, corrected=1.0),
    claim("A-2", "RATE-AGREES", -1.0, 0.05, corrected=-1.0),
    claim("A-3", "HOLDS", 0.5, 0.1),
    claim("A-4", "HOLDS", 2.0, corrected=2.0),
    claim("A-5", "HOLDS", 0.5, 0.1),
]
SECOND = [
    claim("A-1", "RATE-AGREES", 1.2, 0.1, corrected=1.05),
    claim("A-2", "LOOSE", -1.3, 0.05, corrected=-1.3),
    claim("A-3", "INCONCLUSIVE", 0.9, 0.2),
    claim("A-4", "HOLDS", 2.0, corrected=2.0),
    claim("A-5", "NOT-TESTED"),
]


def test_a_number_is_told_with_its_interval_where_there_is_one():
    assert [*map(number_text, FIRST[2:4]), number_text(SECOND[4])] == ["0.5 [0.4, 0.6]", "2", "none"]


def test_pairs_and_their_changes():
    """A row of one run alone has no pair; one that a run did not test has not changed."""
    pairs = paired(FIRST, SECOND[::-1])
    assert [row["id"] for row, _ in pairs] == [row["id"] for row in FIRST] and paired(FIRST, SECOND[:2]) == pairs[:2]
    assert [row["id"] for row, _ in changed(both_tested(pairs))] == ["A-2", "A-3"]
    assert summary(pairs) == (
        "Of 4 rows that both runs tested 2 have the same verdict. 2 have another one, 1 of them to or from "
        "INCONCLUSIVE."
    )
    assert summary(paired(FIRST, FIRST)) == "Of 5 rows that both runs tested 5 have the same verdict."
    assert table(changed(both_tested(pairs))) == [
        ["A-2", "of A-2", "-1 [-1.05, -0.95], RATE-AGREES", "-1.3 [-1.35, -1.25], LOOSE"],
        ["A-3", "of A-3", "0.5 [0.4, 0.6], HOLDS", "0.9 [0.7, 1.1], INCONCLUSIVE"],
    ]


def test_exponents_are_compared_without_the_share_of_the_grid():
    """The corrected exponent of the second run against the first one's interval about its own; arithmetic has none."""
    assert coverage(paired(FIRST, SECOND)).startswith("Of 2 exponents 1 of the second run lie in the 95 % interval")
    moved = [SECOND[0] | {"corrected": "1.15"}]  # outside 1.0 +- 0.1, inside 1.1 +- 0.1
    assert coverage(paired(FIRST, moved)).startswith("Of 1 exponents 0 of")


def confirmation_rows() -> list[dict]:
    """Rows of docs/confirmation.csv."""
    return [
        {name: row[name] for name in ("id", "quantity", *SHOWN)}
        | {f"confirmed_{name}": other[name] for name in SHOWN}
        | {"seed": "20211206", "confirmed_seed": "31", "commit": "c" * 40}
        for row, other in paired(FIRST, SECOND)
    ]


def test_a_row_says_whether_it_was_confirmed():
    """A row under another rule than then, one that was not tested and one that is new are not confirmed."""
    pairs = confirmation_pairs(confirmation_rows())
    assert [confirmed(row, pairs) for row in FIRST] == ["yes", "no", "no", "yes", "not run"]
    for other in ({"verdict": "LIMIT"}, {"quantity": "r"}, {"id": "B"}):
        assert confirmed(FIRST[0] | other, pairs) == "not run" == confirmed(FIRST[0], [])


def earlier(seed: str, *second: dict) -> list[dict]:
    """Rows of an earlier confirmation."""
    pairs = paired(FIRST, second)
    rows = [{name: row[name] for name in ("id", "quantity", *SHOWN)} for row, _ in pairs]
    other = [{f"confirmed_{name}": one[name] for name in SHOWN} for _, one in pairs]
    about = {"seed": "20211206", "confirmed_seed": seed, "commit": "b" * 40}
    return [row | one | about for row, one in zip(rows, other, strict=True)]


def test_every_seed_that_confirmed_is_shown():
    """The newest alone makes pairs; a row is told where any seed gave another verdict, and how many did."""
    rows = confirmation_rows() + earlier("30", claim("A-1", "INCONCLUSIVE", 1.4, 0.1, corrected=1.3), SECOND[2])
    assert len(confirmation_pairs(rows)) == len(FIRST)
    assert unrepeated(rows) == {
        ("A-1", "of A-1"): "undecided on 1 of 2 other seeds",
        ("A-2", "of A-2"): "another verdict on 1 of 1 other seed",
        ("A-3", "of A-3"): "undecided on 2 of 2 other seeds",
    }
    seeds, table = every_seed(rows)
    assert seeds == ["31", "30"] and {row[0] for row in table} == {"A-1", "A-2", "A-3"}
    first = next(row for row in table if row[0] == "A-1")
    assert first[3:5] == ["1.05 [0.95, 1.15], RATE-AGREES", "1.3 [1.2, 1.4], INCONCLUSIVE"]
    assert next(row for row in table if row[0] == "A-2")[4] == "not run"


def test_exponents_are_pooled_by_the_weight_of_their_intervals():
    """Four times the weight for half the width, corrected for the grid; nothing for numbers without an interval."""
    wide, narrow = claim("A", "HOLDS", 1.2, 0.2, corrected=1.0), claim("A", "HOLDS", 2.0, 0.1, corrected=2.0)
    assert pooled([wide, narrow]) == f"1.8 [{1.8 - 0.2 / 5**0.5:.3g}, {1.8 + 0.2 / 5**0.5:.3g}]"
    assert pooled([]) == pooled([claim("A", "HOLDS", 1.0, corrected=1.0)]) == ""


def test_document_and_page_show_every_changed_row(tmp_path):
    text = confirmation_page(confirmation_rows())
    assert "| A-3 | of A-3 | 0.5 [0.4, 0.6], HOLDS | 0.9 [0.7, 1.1], INCONCLUSIVE |" in text and "of A-1" not in text
    assert "1 have one number in both" in text
    assert all(f"`{word}`" in text for word in ("20211206", "31", "c" * 40))
    write_rows(tmp_path / "confirmation.csv", confirmation_rows(), CONFIRMATION_COLUMNS)
    content = confirmation(pd.DataFrame({"confirmed": ["yes", "yes", "no", "not run"]}), tmp_path)
    assert "Of 4 rows of this run 2 have the verdict that was confirmed, 1 another one; 1 were not" in content
    assert summary(paired(FIRST, SECOND)) in content and "of A-2" in content and "of A-1" not in content


# The command, in a throw-away repository


def git(folder: Path, *words: str) -> str:
    words = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org", *words]
    return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def write_tables(reports: Path, rows: list[dict], seed: int, **changes) -> None:
    """The tables of a run of the present commit, which is clean and at the default scale but for changes."""
    config = {"scale": "default", "master_seed": seed} | changes.pop("config", {})
    about = {"commit": git(Path(), "rev-parse", "HEAD"), "dirty": False} | changes
    reports.mkdir(parents=True, exist_ok=True)
    write_rows(reports / "claims.csv", rows, CLAIM_COLUMNS)
    (reports / "provenance.json").write_text(json.dumps(about | {"config": config}))


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs the command where two runs are there; returns its message, empty where it succeeds."""
    monkeypatch.chdir(tmp_path)
    for name in ("config", "docs"):
        (tmp_path / name).mkdir()
    (tmp_path / "config" / "config.yaml").write_text("scale: default\n")
    (tmp_path / ".gitignore").write_text("/reports/\n/results/\n")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        git(tmp_path, *words)
    write_tables(Path("reports"), FIRST, 20211206)
    write_tables(Path("results/default-seed31/reports"), SECOND, 31)

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["confirm.py", *words])
        try:
            confirm.main()
        except SystemExit as stop:
            return str(stop)
        return ""

    return run


def test_command_writes_table_and_document(command):
    """A seed is spent then; the default one and others on which results were seen are spent from the beginning."""
    assert command("--seed", "31", "--no-run") == ""
    rows = read_rows(Path("docs/confirmation.csv"))
    assert rows == [row | {"commit": git(Path(), "rev-parse", "HEAD")} for row in confirmation_rows()]
    assert Path("docs/confirmation.md").read_text() == confirmation_page(rows)
    for seed in ("31", "7", "20211206"):
        assert f"seed {seed} was used before" in command("--seed", seed)
    old = earlier("30", SECOND[1])
    write_rows(Path("docs/confirmation.csv"), rows + old, CONFIRMATION_COLUMNS)
    assert command("--seed", "31", "--no-run") == "" and read_rows(Path("docs/confirmation.csv")) == rows + old
    assert "seed 30 was used before" in command("--seed", "30")


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"dirty": True}, "uncommitted"),
        ({"commit": "unknown"}, "unknown commit"),
        ({"dirty": "unknown"}, "unknown commit"),
        ({"config": {"scale": "quick"}}, "more than their seed: scale"),
        ({"config": {"studies": ["figure2"]}}, "more than their seed: studies"),
    ],
)
def test_runs_that_differ_in_more_than_their_seed_are_refused(command, changes, word):
    write_tables(Path("results/default-seed31/reports"), SECOND, 31, **changes)
    assert word in command("--seed", "31", "--no-run")


def test_runs_with_other_rows_and_of_another_scale_are_refused(command):
    write_tables(Path("results/default-seed31/reports"), SECOND[:-1], 31)
    assert "do not have the same rows" in command("--seed", "31", "--no-run")
    assert "provenance.json is missing" in command("--seed", "32", "--no-run")
    for path, rows in (("reports", FIRST), ("results/default-seed31/reports", SECOND)):
        write_tables(Path(path), rows, 31, config={"scale": "quick"})
    assert "scale quick" in command("--seed", "31", "--no-run")


def test_a_run_needs_the_present_code_and_a_clean_tree(command, monkeypatch):
    """A commit to documents or profiles alone is the same code; a run that fails writes nothing."""
    started, started_run = [], subprocess.run

    def run(words, **options):
        if "run_all.py" not in " ".join(words):
            return started_run(words, **options)
        started.append(words[2:])
        return subprocess.CompletedProcess(words, 3)

    monkeypatch.setattr(subprocess, "run", run)
    Path("docs/note.md").write_text("a note\n")
    assert "uncommitted changes" in command("--seed", "31")
    git(Path(), "add", "-A")
    git(Path(), "commit", "-qm", "note")
    assert command("--seed", "31", "--jobs", "2") == "3"
    assert started == [["--jobs", "2", "--master-seed", "31"]] and not Path("docs/confirmation.md").exists()
    for name in (*PARTS, "requirements.lock"):
        path = Path(name, "other") if (ROOT / name).is_dir() else Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("other\n")
        git(Path(), "add", "-A")
        git(Path(), "commit", "-qm", "other")
        assert confirm.same_code("HEAD~1", "HEAD") == name.startswith(("docs", "profiles")), name
    assert "make all first" in command("--seed", "31")
    write_tables(Path("results/default-seed31/reports"), SECOND, 31)
    assert "different code" in command("--seed", "31", "--no-run")


# The run of record


def sums(folder: Path) -> dict[str, str]:
    """File -> checksum, as SHA256SUMS has them."""
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


def test_what_is_committed_is_whole():
    """Every table has its checksum, and every row of the claims the scale of the run."""
    tables = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in RECORD.glob("*.[cj]s*")}
    assert tables.pop("images.csv")  # it grows by itself, and its lines have checksums of their own
    assert tables.pop("discrepancies.csv")  # it is written by hand, and each line leads to what it rests on
    assert sums(RECORD) == tables
    assert tables.keys() == {f"{name}.csv" for name in ("audits", "claims", "errata", "measures")} | {"provenance.json"}
    about = json.loads((RECORD / "provenance.json").read_text())
    assert about["commit"] and not about["dirty"]
    assert {row["scale"] for row in read_rows(RECORD / "claims.csv")} == {about["config"]["scale"]}


@pytest.fixture
def judged(tmp_path, monkeypatch):
    """What a run judges claims with, of each paper, by measures of each study: the rows of its claims.csv."""

    def judge(claims: dict[str, list[Claim]], measures: dict[str, list[dict]]) -> list[dict]:
        for study, rows in measures.items():
            write_rows(tmp_path / study / "measures.csv", rows, ("study", *MEASURE_COLUMNS))
        stated = {paper: [claim.model_dump(exclude_unset=True) for claim in some] for paper, some in claims.items()}
        (tmp_path / "claims.json").write_text(json.dumps(stated))
        words = f"--claims {tmp_path}/claims.json --confirmation {DOCS}/confirmation.csv --output {tmp_path}/claims.csv"
        words += " --scale record --figures figures --options= --measures"
        monkeypatch.setattr(sys, "argv", ["", *words.split(), *map(str, tmp_path.glob("*/measures.csv"))])
        script("judge_claims").main()
        return read_rows(tmp_path / "claims.csv")

    return judge


def test_an_exponent_is_judged_with_those_of_all_papers(judged):
    """Beside one of another paper it has to lie further beyond the claimed one than alone."""
    rate = {"quantity": "a", "measured": "a", "rule": "rate", "value": 1.0, "tolerance": 0.125}
    about = dict.fromkeys(("id", "place", "statement", "figure"), "a") | {"whose": "paper", "kind": "identity"}
    claim = Claim.model_validate(about | {"study": "one", "quantities": [rate]})
    slope = 1.125 + np.mean([student(8), student(8, 1 - (1 - LEVEL) / 2)])
    measures = {"one": [vars(Measured("a", slope, slope, slope, 8, "", 1.0))]}
    assert [row["verdict"] for row in judged({"first": [claim]}, measures)] == ["VIOLATED"]
    assert [row["verdict"] for row in judged({"first": [claim], "second": [claim]}, measures)] == 2 * ["INCONCLUSIVE"]


NUMBERS = ("measured", "ci_low", "ci_high", "seeds")


def test_the_tables_of_record_follow_from_each_other(judged):
    """Measures of images and audits from their runs, verdicts from all measures, and what was confirmed from the
    default run: an edit of a number by hand in one table alone is seen, though its checksum may be renewed."""
    rows = read_rows(RECORD / "measures.csv")
    measures = {study: {row["quantity"]: row for row in rows if row["study"] == study} for study in study_names()}
    for study, cells in (("images", made_up("images")), ("audits", read_cells(RECORD / "audits.csv"))):
        found = {one.quantity: one for one in analyse(study, cells).quantities}
        # The table of image runs grows by itself; what has other seeds now waits for the next run of record.
        of = {name: row["seeds"] for name, row in measures[study].items() if not name.startswith("digits")}
        shared = [name for name in of if name in found and (study != "images" or found[name].seeds == int(of[name]))]
        assert len(shared) > (50 if study == "audits" else 0)
        for name in shared:
            numbers = [float(measures[study][name][part]) for part in NUMBERS]
            assert numbers == pytest.approx([getattr(found[name], part) for part in NUMBERS], rel=1e-9, nan_ok=True)
    again = judged(checked_claims(), {study: list(of_study.values()) for study, of_study in measures.items()})
    for row, known in paired(again, read_rows(RECORD / "claims.csv")):
        says = {name: row[name] for name in (*SHOWN, "raw_verdict", "seeds", "confirmed")}
        assert says.items() <= known.items()


def test_accuracies_of_the_image_runs_are_those_of_their_clients():
    """Of all clients where all are listed, in thousandths; else within five standard errors of those listed."""
    for row in read_rows(RECORD / "images.csv"):
        clients, tested = np.array(row["by_client"].split(), float) / 1000, int(row["tested"])
        near = 1e-4 if tested == len(clients) else 5 * clients.std() / math.sqrt(len(clients))
        assert float(row["accuracy"]) == pytest.approx(clients.mean(), abs=near), row["key"]
        assert float(row["accuracy_sd"]) == pytest.approx(clients.std(), abs=4e-4 if near == 1e-4 else 0.12), row["key"]


def test_the_page_of_record_is_of_this_run_and_small():
    """It says which run it is, has its rows, its numbers, what was confirmed and what the image runs give, stands
    alone, and is not heavy."""
    page = (DOCS / "index.html").read_text(encoding="utf-8")
    about = json.loads((RECORD / "provenance.json").read_text())
    assert len(page.encode()) < 5_500_000  # 1 MB as a server sends it
    assert f"<code>{about['commit'][:10]}</code>" in page and "This is the run of record" in page
    texts, *lines = json.loads(re.search(r'id="rows">(.*?)</script>', page, flags=re.DOTALL)[1])
    fields, *rows = ([texts[place] for place in line] for line in lines)
    claims = read_rows(RECORD / "claims.csv")
    assert [dict(zip(fields, row, strict=True)) for row in rows] == claims
    assert str(confirmation(pd.DataFrame(claims))) in page
    measures = str(CLAIMS.others([row | {"anchor": "number-1"} for row in read_rows(RECORD / "measures.csv")]))
    shown = re.findall(r'<tr id="number-\d+"(>.*?</tr>)', page)
    assert shown and set(shown) <= set(re.findall(r'<tr id="number-1"(>.*?</tr>)', measures))
    assert not re.search(r'href="(?!#|data:)', page)


def test_every_difference_is_explained_and_nothing_else(tmp_path):
    pairs = changed(paired(FIRST[2:3], SECOND))
    write_differences(tmp_path, {"id": "A-3", "quantity": "of A-3", "why": "Eight seeds decided nothing."})
    assert explained(pairs, tmp_path)[0][-1] == "Eight seeds decided nothing."
    with pytest.raises(ConfigError, match="A-3 of A-3 has the same verdict in both runs"):
        explained([], tmp_path)
    write_differences(tmp_path)
    with pytest.raises(ConfigError, match=r"record/differences\.yaml: A-3 of A-3 is not explained"):
        explained(pairs, tmp_path)


def updated(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return called(folder, [sys.executable, "workflow/scripts/update_docs.py", *words])


def test_a_finished_run_becomes_the_run_of_record(quick_run, tmp_path):
    """Its tables with their checksums, its page, the findings in the README; a run with changes is refused.
    The quick run has no pictures, errata and provenance: others stand in for them."""
    folder = copy_run(quick_run, tmp_path / "run")
    results = folder / "results" / "quick"
    reports, promise = results / "reports", results / "figures" / "comparison" / "promise.svg"
    promise.parent.mkdir(parents=True, exist_ok=True)
    for source, target in (("README.md", folder), ("docs/record/errata.csv", reports), ("docs/promise.svg", promise)):
        shutil.copy(ROOT / source, target)
    rows = [row | {f"confirmed_{name}": row[name] for name in SHOWN} for row in read_rows(reports / "claims.csv")]
    kept = [{name: row.get(name, "") for name in CONFIRMATION_COLUMNS} for row in rows]
    write_rows(folder / "docs" / "confirmation.csv", kept, CONFIRMATION_COLUMNS)
    write_differences(folder / "docs")
    assert "results/quick/reports/provenance.json is missing" in updated(folder, "--record", "quick").stderr
    about = json.loads((RECORD / "provenance.json").read_text())
    about |= {"config": about["config"] | {"scale": "quick"}, "commit": "c" * 40}
    for dirty in (True, False):
        (reports / "provenance.json").write_text(json.dumps(about | {"dirty": dirty}))
        if dirty:
            assert "uncommitted changes; commit, and run again" in updated(folder, "--record", "quick").stderr
    full = about | {"dirty": False, "config": about["config"] | {"scale": "record"}}
    (reports / "provenance.json").write_text(json.dumps(full))
    assert "statements of chapters fail in the run of record" in updated(folder, "--record", "quick").stderr
    (reports / "provenance.json").write_text(json.dumps(about | {"dirty": False}))
    done = updated(folder, "--record", "quick")
    assert done.returncode == 0, done.stderr
    record = folder / "docs" / "record"
    assert sums(record)["claims.csv"] == hashlib.sha256((reports / "claims.csv").read_bytes()).hexdigest()
    page = (folder / "docs" / "index.html").read_text(encoding="utf-8")
    assert "This is the run of record" in page and "Scale quick" in page
    assert (folder / "README.md").read_text() != (ROOT / "README.md").read_text()
