"""The confirmation: which seeds and runs it takes, what it counts, and that document and page follow the table."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from workflow_helpers import ROOT

from privrep.evidence import confirmation
from privrep.evidence.catalogue import read_deviations
from privrep.evidence.claims import CLAIM_COLUMNS
from privrep.evidence.confirmation import (
    COLUMNS,
    ConfirmationError,
    agreement,
    check_same,
    check_seed,
    compared,
    document,
    revised_since,
)
from privrep.evidence.scaling import student
from privrep.report.confirmation import section
from privrep.run.csv_tables import read_rows, write_rows

spec = importlib.util.spec_from_file_location("confirm", ROOT / "workflow" / "scripts" / "confirm.py")
confirm = importlib.util.module_from_spec(spec)
spec.loader.exec_module(confirm)

FACTS = {"seed": 20211206, "confirmed_seed": 31, "commit": "c" * 40, "committed": "2026-11-21", "config": "f" * 40}


CHANCES = {("A-1", "of A-1"): 0.25, ("A-3", "of A-3"): 0.5, ("A-5", "of A-5"): 0.125}
BEFORE = [("A-1", "of A-1"), ("A-3", "of A-3")]


def claim(name: str, verdict: str, measured: float | str, half: float = 0.0, rule: str = "at_most", **values) -> dict:
    """A row of claims.csv as text."""
    ends = (measured, measured) if measured == "" else (measured - half, measured + half)
    row = dict.fromkeys(CLAIM_COLUMNS, "") | {
        "id": name,
        "quantity": f"of {name}",
        "verdict": verdict,
        "rule": rule,
        "seeds": "8",
    }
    numbers = dict(zip(("measured", "ci_low", "ci_high"), map(str, (measured, *ends)), strict=True))
    return row | numbers | {key: str(value) for key, value in values.items()}


def first() -> list[dict]:
    return [
        claim("A-1", "RATE-EXACT", 1.1, 0.1, "rate", corrected=1.0),
        claim("A-2", "RATE-EXACT", -1.0, 0.05, "rate", corrected=-1.0),
        claim("A-3", "HOLDS", 0.5, 0.1),
        claim("A-4", "HOLDS", 2.0, seeds=0),
        claim("A-5", "NOT-TESTED", "", seeds=""),
        claim("A-6", "HOLDS", 0.3, seeds=0),
    ]


def second() -> list[dict]:
    return [
        claim("A-1", "RATE-EXACT", 1.15, 0.1, "rate", corrected=1.05),
        claim("A-2", "LOOSE", -1.3, 0.05, "rate", corrected=-1.3),
        claim("A-3", "INCONCLUSIVE", 0.9, 0.2),
        claim("A-4", "HOLDS", 2.0, seeds=0),
        claim("A-5", "NOT-TESTED", "", seeds=""),
        claim("A-6", "HOLDS", 0.4, seeds=0),
    ]


@pytest.fixture
def rows() -> list[dict]:
    return [{name: str(row[name]) for name in COLUMNS} for row in compared(first(), second(), FACTS, CHANCES, BEFORE)]


@pytest.mark.parametrize(
    ("seed", "written", "word"),
    [(20211206, "", "default"), (7, "", "used before"), (31, "with master seed `31`, on", "used before")],
)
def test_a_seed_that_was_seen_is_refused(seed, written, word):
    with pytest.raises(ConfirmationError, match=word):
        check_seed(seed, 20211206, written)


def test_a_fresh_seed_is_taken():
    """The document of another confirmation does not matter."""
    check_seed(31, 20211206, "with master seed `32`, on")


def test_the_document_spends_its_seeds(rows):
    """What the document says is what the check of the seed reads."""
    for seed in (20211206, 31):
        with pytest.raises(ConfirmationError, match="used before"):
            check_seed(seed, 0, document(rows))


def record(**values) -> dict:
    config = {"scale": "default", "master_seed": values.pop("master_seed", 31), "studies": ["risk"]} | values.pop(
        "config", {}
    )
    return {"commit": "c" * 40, "dirty": False, "config": config} | values


@pytest.mark.parametrize(
    ("changes", "same_code", "word"),
    [
        ({"dirty": True}, True, "uncommitted"),
        ({"commit": ""}, True, "uncommitted"),
        ({"config": {"scale": "quick"}}, True, "scale quick"),
        ({"config": {"studies": ["figure2"]}}, True, "more than their seed: studies"),
        ({"config": {"overrides": {}}}, True, "more than their seed: overrides"),
        ({"master_seed": 1}, True, "same master seed"),
        ({}, False, "different code"),
    ],
)
def test_runs_that_differ_in_more_than_their_seed_are_refused(changes, same_code, word):
    check_same(record(master_seed=1), record(), True)
    with pytest.raises(ConfirmationError, match=word):
        check_same(record(master_seed=1), record(**changes), same_code)


def test_rows_that_cannot_differ_are_not_counted(rows):
    """Exact numbers that are the same, and what was not tested; an exact number that moved counts."""
    assert [row["counted"] for row in rows] == ["yes", "yes", "yes", "arithmetic", "not tested", "yes"]
    lost = [claim("A-3", "NOT-TESTED", "")]
    (row,) = compared(first()[2:3], lost, FACTS, {})
    assert row["counted"] == "not tested" and confirmation.changed([row]) == []
    computed = [claim("A-1", "HOLDS", 1.0, basis="computed")]
    assert compared(computed, computed, FACTS, {})[0]["counted"] == "arithmetic"


def test_exponents_are_compared_without_the_share_of_the_grid(rows):
    """The second corrected exponent against the first one's interval about its corrected exponent."""
    assert [row["inside"] for row in rows] == ["yes", "no", "", "", "", ""]
    moved = second()
    moved[0]["corrected"] = "1.15"  # outside 1.0 +- 0.1, inside 1.1 +- 0.1
    assert compared(first(), moved, FACTS, {})[0]["inside"] == "no"


def test_an_exponent_without_repetitions_is_in_no_interval():
    """Arithmetic, one repetition, and an exponent that could not be had."""
    for changes in ({"seeds": 0}, {"seeds": 1}, {"half": 0.0}):
        half = changes.pop("half", 0.1)
        one = [claim("A-1", "RATE-EXACT", 1.1, half, "rate", corrected=1.0, **changes)]
        assert compared(one, one, FACTS, {})[0]["inside"] == ""
    lost = [claim("A-1", "INCONCLUSIVE", float("nan"), rule="rate")]
    assert compared(first()[:1], lost, FACTS, {})[0]["inside"] == ""


def test_agreement_counts(rows):
    text = agreement(rows)
    assert "Of 4 quantities" in text and "otherwise 2 have the same verdict" in text and "(50.0 %)" in text
    assert "2 more are not counted" in text
    assert "2 another one; the intervals of the first run let 0.8 be expected" in text
    assert "Of 2 exponents 1 of the second run" in text and "(50 %)" in text
    assert (
        "Of 1 exponents that an earlier confirmation had 1 of" in text and "Of 1 exponents that none had 0 of" in text
    )
    assert "earlier" not in agreement([row | {"before": "no"} for row in rows])


@pytest.mark.parametrize("repetitions", [5, 8, 24])
def test_expected_share_inside(repetitions):
    """Against simulation; false alarm 1e-6 for 200,000 draws."""
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(2, 200_000))
    error = np.sqrt(rng.chisquare(repetitions - 1, size=200_000) / (repetitions - 1))
    share = np.mean(np.abs(one - two) <= student(repetitions) * error)
    assert abs(share - confirmation.expected_inside(repetitions)) < 4.9 * 0.5 / np.sqrt(200_000)
    assert abs(share - 0.83) > 0.01 or repetitions > 20


def test_document_has_every_changed_row(rows):
    """Both numbers, both verdicts; commit, seeds and configuration; no row that agrees."""
    text = document(rows)
    assert "| A-2 | of A-2 | -1 [-1.05, -0.95] | RATE-EXACT | -1.3 [-1.35, -1.25] | LOOSE | 0 % |" in text
    assert "| A-3 | of A-3 | 0.5 [0.4, 0.6] | HOLDS | 0.9 [0.7, 1.1] | INCONCLUSIVE | 50 % |" in text
    assert "of A-1" not in text and "A-4 (1)." in text
    assert all(f"`{FACTS[name]}`" in text for name in ("seed", "confirmed_seed", "commit", "config"))
    assert "| HOLDS | 3 | 2 |" in text and "| LOOSE | 0 | 1 |" in text
    whose = document([dict(row, whose="paper" if row["id"] == "A-1" else "ours") for row in rows])
    assert "Whose statement: paper." in whose and "Whose statement: ours." in whose
    same = document([{name: str(row[name]) for name in COLUMNS} for row in compared(first(), first(), FACTS, {})])
    assert "## Quantities whose verdict differs" in same and same.count("None.") == 1


def test_tables_with_other_rows_are_refused():
    with pytest.raises(ConfirmationError, match="1 rows stand in one run only"):
        compared(first(), second()[:-1], FACTS, {})


def test_a_row_says_whether_it_was_confirmed():
    """By the verdicts of both runs; a row under another rule than then, one that is not tested and one that is new are
    not confirmed."""
    known = {"id": "A", "quantity": "q", "verdict": "HOLDS", "confirmed_verdict": "HOLDS", "counted": "yes"}
    row = {"id": "A", "quantity": "q", "verdict": "HOLDS"}
    assert confirmation.confirmed(row, [known]) == "yes"
    assert confirmation.confirmed(row, [known | {"confirmed_verdict": "INCONCLUSIVE"}]) == "no"
    for other in ({"verdict": "LIMIT"}, {"quantity": "r"}, {"id": "B"}):
        assert confirmation.confirmed(row | other, [known]) == "not run"
    untested = {"verdict": "NOT-TESTED", "confirmed_verdict": "NOT-TESTED", "counted": "not tested"}
    for one in (untested, {"confirmed_verdict": "NOT-TESTED", "counted": "not tested"}):
        assert confirmation.confirmed(row | one, [known | one]) == "not run" == confirmation.confirmed(row, [])


NOW = pd.DataFrame({"confirmed": ["yes", "yes", "no", "not run"]})


def test_page_says_that_there_is_none(tmp_path):
    text = section(NOW, tmp_path)
    assert "No confirmation was run" in text and "make confirmation" in text


def test_page_shows_the_confirmation(tmp_path, rows):
    """The same numbers as the document, with the labels of verdicts."""
    path = tmp_path / "confirmation.csv"
    write_rows(path, rows, COLUMNS)
    assert read_rows(path) == rows
    content = section(NOW, tmp_path)
    assert "Of 4 rows of this run 2 have the verdict that was confirmed, 1 another one; 1 were not" in content
    assert "Of 4 quantities" in content and "of A-2" in content and "of A-1" not in content
    assert "Quantities whose verdict differs" in content and ">31<" in content
    write_rows(path, compared(first(), first(), FACTS, {}), COLUMNS)
    assert "Quantities whose verdict differs" not in section(NOW, tmp_path)


def test_a_row_that_is_gone_was_revised(rows):
    assert revised_since(rows, first()) == ""
    assert "A-1 (1);" in revised_since(rows, first()[1:])


@pytest.mark.skipif(not (ROOT / "docs" / "confirmation.csv").exists(), reason="no confirmation was run")
def test_what_was_changed_after_the_confirmation_is_listed():
    """The document is that of its table, and a claim with another verdict in docs/default.csv stands among the
    revisions."""
    found = read_rows(ROOT / "docs" / "confirmation.csv")
    assert (ROOT / "docs" / "confirmation.md").read_text() == document(found)
    moved = set(re.findall(r"[:,] ([^:,]+) \(\d+\)", revised_since(found, read_rows(ROOT / "docs" / "default.csv"))))
    listed = {
        where
        for entry in read_deviations(ROOT / "config" / "deviations.yaml")
        if entry["kind"] == "revised-after-confirmation"
        for where in entry["where"]
    }
    assert moved <= listed, f"{sorted(moved - listed)} changed without an entry in config/deviations.yaml"


# The command, in a throw-away repository


def repository(folder: Path) -> str:
    """A repository with one commit that has what the command reads; its commit."""
    (folder / "config").mkdir()
    (folder / "docs").mkdir()
    (folder / "config" / "config.yaml").write_text("scale: default\n")
    (folder / ".gitignore").write_text("/reports/\n/results/\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return git(folder, "rev-parse", "HEAD")


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    return subprocess.run(
        ["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def write_run(reports: Path, table: list[dict], **values) -> None:
    reports.mkdir(parents=True)
    write_rows(reports / "claims.csv", table, CLAIM_COLUMNS)
    (reports / "provenance.json").write_text(json.dumps(record(**values)))


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs the command in the repository; returns its message, empty where it succeeds."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["confirm.py", *words])
        try:
            confirm.main()
        except SystemExit as stop:
            return str(stop)
        return ""

    return run


def test_command_writes_the_document_from_tables(tmp_path, command):
    """Without a run; the facts come from the provenance and from git."""
    commit = repository(tmp_path)
    write_run(tmp_path / "reports", first(), master_seed=20211206, commit=commit)
    write_run(tmp_path / "results" / "default-seed31" / "reports", second(), commit=commit)
    assert command("--seed", "31", "--no-run") == ""
    found = read_rows(tmp_path / "docs" / "confirmation.csv")
    assert (tmp_path / "docs" / "confirmation.md").read_text() == document(found)
    assert found[0]["commit"] == commit and found[0]["config"] == git(tmp_path, "rev-parse", "HEAD:config")
    assert "used before" in command("--seed", "31")


def test_command_refuses_other_code_and_a_dirty_tree(tmp_path, command):
    """A commit to the documents alone is the same code."""
    commit = repository(tmp_path)
    write_run(tmp_path / "reports", first(), master_seed=20211206, commit=commit)
    write_run(tmp_path / "results" / "default-seed31" / "reports", second(), commit=commit)
    (tmp_path / "docs" / "note.md").write_text("a note\n")
    assert "uncommitted changes" in command("--seed", "31")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "note")
    assert confirm.same_code(commit, "HEAD")
    (tmp_path / "config" / "config.yaml").write_text("scale: quick\n")
    git(tmp_path, "commit", "-qam", "scale")
    assert not confirm.same_code(commit, "HEAD")
    assert "make all first" in command("--seed", "31")


def test_command_refuses_a_seen_seed_and_a_missing_run(tmp_path, command):
    repository(tmp_path)
    assert "provenance.json is missing" in command("--seed", "31")
    assert "used before" in command("--seed", "7")
    assert "used before" in command("--seed", "7", "--no-run")


def test_command_runs_the_default_scale_on_the_seed(tmp_path, command, monkeypatch):
    """What is run, and that a run that fails writes nothing."""
    commit = repository(tmp_path)
    write_run(tmp_path / "reports", first(), master_seed=20211206, commit=commit)
    started = []

    def run(words, **options):
        if "run_all.py" not in " ".join(words):
            return started_run(words, **options)
        started.append(words[2:])
        return subprocess.CompletedProcess(words, 3)

    started_run = subprocess.run
    monkeypatch.setattr(subprocess, "run", run)
    assert command("--seed", "31", "--jobs", "2") == "3"
    assert started == [["--jobs", "2", "--master-seed", "31"]]
    assert not (tmp_path / "docs" / "confirmation.md").exists()
