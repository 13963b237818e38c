"""No rule, window or exclusion changes without its text and its reason in tests/reference."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from workflow_helpers import ROOT

from privrep.evidence import intervals
from privrep.report import rule_list as listing
from privrep.report.rule_list import REMOVED, differences, read_text, rules, text_of, updated
from privrep.run.config import read_yaml
from privrep.run.csv_tables import read_rows, write_rows
from privrep.run.settings import Window

TABLE = ROOT / "tests" / "reference" / "rules.csv"
TEXT = TABLE.with_suffix(".txt")


@pytest.fixture(scope="module")
def current() -> listing.Rules:
    return rules()


def test_rules_are_as_listed(current):
    """A rule that changed is named, with the command that lists it; nothing else stands in the two files,
    each rule with its reason."""
    rows, text = read_rows(TABLE), TEXT.read_text()
    lines = differences(rows, read_text(text.splitlines()), current)
    shown = "\n".join(lines[:30])
    assert not lines, f"Rules are not as listed:\n{shown}\nIf that is wanted: {listing.COMMAND}"
    assert text == text_of(current) and rows == updated(rows, current)
    assert [row for row in rows if not row["reason"].strip()] == []


def test_text_covers_claims_fits_series_and_constants(current):
    """As many rules and parts as the configuration has by name, and the quantities that claims.csv has rows of."""
    studies = [read_yaml(path) for path in (ROOT / "config" / "studies").glob("*.yaml")]
    lines = text_of(current).splitlines()
    for start, key in (("  fit ", "fits"), ("  series ", "series"), ("grid ", "grids"), ("study ", "study")):
        named = sum(1 if key == "study" else len(study.get(key, {})) for study in studies)
        assert sum(line.startswith(start) for line in lines) == named, key
    judged = {
        (f"claim {row['paper']} {row['id']}", row["quantity"])
        for row in read_rows(ROOT / "docs" / "record" / "claims.csv")
    }
    judged = {(title, quantity) for title, quantity in judged if title in current}  # the record may be older
    assert sum(quantity in " ".join(current[title]) for title, quantity in judged) > 0.9 * len(judged)
    assert {"  LEVEL: 0.95", "  FEWEST: 5"} <= {*current["constants evidence.intervals"]}
    assert all(f"{name}: " in "".join(current["constants run.settings"]) for name in Window.model_fields)


def test_changed_rules_are_found(tmp_path, current):
    """A tolerance, a severity, a window, repetitions and a chosen option: the old and the new line of each."""
    edits = (
        ("studies/init_rates.yaml", "tolerance: 0.15", "tolerance: 0.5", "claim jain2021 A-L4.6", "  exponent of n: "),
        ("errata.yaml", "severity: R", "severity: L", "erratum jain2021 E2", "erratum "),
        ("studies/centaur_rates.yaml", "span: 3.0", "span: 2.0", "grid centaur_rates kappa-low", "  fit "),
        ("studies/centaur_rates.yaml", "2, 4, 8], seed: 5", "2, 4, 8], seed: 2", "grid centaur_rates sigma", "grid "),
        ("rivals.csv", "clip_label: 0.0625", "clip_label: 0.5", "grid unit_figure2 published", "  tuned altmin: "),
    )
    shutil.copytree(ROOT / "config", tmp_path / "config")
    for file, old, new, _, _ in edits:
        path = tmp_path / "config" / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
    lines = differences(read_rows(TABLE), current, rules(tmp_path))
    assert lines[::3] == [title for *_, title, _ in edits]
    for (file, old, new, _, part), before, after in zip(edits, lines[1::3], lines[2::3], strict=True):
        assert before.startswith(f"- {part}") and after.startswith(f"+ {part}")
        assert file == "rivals.csv" or (old in before and new in after)


def test_a_constant_of_the_code_is_found(monkeypatch, current):
    monkeypatch.setattr(intervals, "LEVEL", 0.5)
    lines = differences(read_rows(TABLE), current, rules())
    assert lines == ["constants evidence.intervals", "-   LEVEL: 0.95", "+   LEVEL: 0.5"]


LISTED = {"fit a": ["fit a: 1"], "fit b": ["fit b: 2"], "fit c": ["fit c: 3", "  at: 4"]}
GONE = ["fit c", "- fit c: 3", "-   at: 4"]
ROWS = updated([], LISTED, "first")


def test_reasons_stay_until_the_text_changes():
    """New, changed, renamed and removed rules take the new reason, and are refused without one."""
    now = {"fit a": ["fit a: 1"], "fit b": ["fit b: 9"], "fit d": ["fit d: 3", "  at: 4"]}
    found = updated(ROWS, now, "wider grid")
    assert [(row["rule"], row["hash"] == REMOVED, row["reason"]) for row in found] == [
        ("fit a", False, "first"),
        ("fit b", False, "wider grid"),
        ("fit c", True, "wider grid"),
        ("fit d", False, "wider grid"),
    ]
    assert differences(found, now, now) == [] and updated(found, now) == found
    lines = differences(ROWS, LISTED, now)
    assert lines == ["fit b", "- fit b: 2", "+ fit b: 9", *GONE, "fit d", "+ fit d: 3", "+   at: 4"]
    for changed in (LISTED | {"fit d": ["fit d:"]}, LISTED | {"fit c": ["fit c: 3"]}, {"fit a": ["fit a: 1"]}):
        with pytest.raises(listing.RulesError, match="need a reason"):
            updated(ROWS, changed)


def test_a_text_that_changes_without_its_row_is_found():
    now = LISTED | {"fit b": ["fit b: 9"]}
    assert differences(ROWS, now, now) == ["fit b: its row has the hash of another text"]


def test_reasons_can_be_given_one_by_one():
    """What the words of --where do not name stays as listed, and stays to be found."""
    now = {"fit a": ["fit a: 5"], "fit b": ["fit b: 6"]}
    part = listing.partly(LISTED, now, "fit a")
    found = updated(ROWS, part, "only a")
    assert [row["reason"] for row in found] == ["only a", "first", "first"]
    assert differences(found, part, now) == ["fit b", "- fit b: 2", "+ fit b: 6", *GONE]


def test_two_rules_of_one_name_are_both_listed():
    twice = read_text(["fit a: 1", "  at: 2", "fit a: 3"])
    assert twice == {"fit a": ["fit a: 1", "  at: 2", "fit a: 3"]}
    assert listing.mark(twice["fit a"]) != listing.mark(["fit a: 1", "  at: 2"])


def test_command_line_refuses_a_change_without_a_reason(tmp_path):
    """Table and text stay as they were; with a reason both are brought up to date."""
    path, rows = tmp_path / "rules.csv", read_rows(TABLE)
    write_rows(path, [dict(rows[0], hash="changed"), *rows[1:]], listing.RULE_COLUMNS)
    before = path.read_text()
    command = [sys.executable, str(ROOT / "workflow" / "scripts" / "list_rules.py"), "--write", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "need a reason" in done.stderr
    assert path.read_text() == before and [file.name for file in tmp_path.iterdir()] == ["rules.csv"]
    assert subprocess.run([*command, "--reason", "a test"], capture_output=True).returncode == 0
    assert read_rows(path) == [dict(rows[0], reason="a test"), *rows[1:]]
    assert path.with_suffix(".txt").read_text() == TEXT.read_text()
