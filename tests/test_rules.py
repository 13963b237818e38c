"""No rule, window or exclusion changes without its row and its reason in tests/reference/rules.csv."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from workflow_helpers import ROOT

from privrep.evidence import intervals, scaling
from privrep.report import rule_list as listing
from privrep.report.rule_list import COMMAND, REMOVED, RULE_COLUMNS, RulesError, differences, rules, updated
from privrep.run.csv_tables import read_rows, write_rows

LISTED = ROOT / "tests" / "reference" / "rules.csv"


@pytest.fixture(scope="module")
def current() -> list[dict]:
    return rules()


def test_rules_are_as_listed(current):
    """A rule that changed is named, with the command that lists it."""
    lines = differences(read_rows(LISTED), current)
    shown = "\n".join(lines[:30])
    assert not lines, f"{len(lines)} rules are not as listed:\n{shown}\nIf that is wanted: {COMMAND}"


def test_every_listed_rule_has_its_reason():
    assert [row for row in read_rows(LISTED) if not row["reason"].strip()] == []


def test_list_covers_claims_fits_series_and_constants(current):
    """As many quantities as claims.csv has rows by name, and every kind of rule."""
    names = {(row["kind"], row["where"], row["name"]) for row in current}
    judged = {(f"{row['paper']} {row['id']}", row["quantity"]) for row in read_rows(ROOT / "docs" / "claims.csv")}
    quantities = {(where, name) for kind, where, name in names if kind == "quantity"}
    assert len(quantities) > 200 and len(quantities & judged) > 100
    fits = {(where, name) for kind, where, name in names if kind == "fit"}
    assert len(fits) > 100
    keys = {(row["kind"], row["key"]) for row in current}
    window = {("fit", key) for key in ("series", "axis", "response", *scaling.Window().__dict__)}
    assert keys >= window | {
        ("series", "repetitions"),
        ("quantity", "tolerance"),
        ("quantity", "rule"),
        ("claim", "kind"),
    }
    constants = {(row["where"], row["name"]) for row in current if row["kind"] == "constant"}
    assert {("privrep.evidence.intervals", "FEWEST"), ("privrep.evidence.intervals", "LEVEL")} <= constants


def copied_config(tmp_path, file: str, old: str, new: str):
    """The configuration with one piece of text replaced, where it stands first."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    path = tmp_path / "config" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return tmp_path


@pytest.mark.parametrize(
    ("file", "old", "new", "kind", "line"),
    [
        (
            "studies/init_rates.yaml",
            "tolerance: 0.15",
            "tolerance: 0.5",
            "quantity",
            "/ tolerance: listed 0.15, now 0.5",
        ),
        (
            "studies/centaur_rates.yaml",
            "saturation: 0.4",
            "saturation: 0.9",
            "fit",
            "/ saturation: listed 0.4, now 0.9",
        ),
    ],
)
def test_a_widened_rule_is_found(tmp_path, current, file, old, new, kind, line):
    """A tolerance widened from 0.15 to 0.5, and a window opened from 0.4 to 0.9."""
    lines = differences(current, rules(copied_config(tmp_path, file, old, new)))
    assert lines and all(found.startswith(f"{kind} / ") and found.endswith(line) for found in lines)


def test_a_dropped_claim_and_another_grid_are_found(tmp_path, current):
    """Repetitions taken away, and a quantity that is judged no more."""
    file, name = "studies/centaur_rates.yaml", "noise_multiplier: [1, 2, 4, 8], seed: 5}"
    moved = copied_config(tmp_path, file, name, "noise_multiplier: [1, 2, 4, 8], seed: 2}")
    lines = differences(current, rules(moved))
    assert lines == ["series / centaur_rates / sigma / repetitions: listed 5, now 2"]
    fewer = [row for row in current if row["where"] != "jain2021 A-L4.3"]
    lines = differences(current, fewer)
    assert len(lines) > 10 and all(line.endswith(f"now {REMOVED}") for line in lines)


def test_a_constant_of_the_code_is_found(monkeypatch, current):
    monkeypatch.setattr(intervals, "LEVEL", 0.5)
    assert differences(current, rules()) == ["constant / privrep.evidence.intervals / LEVEL: listed 0.95, now 0.5"]


def row(name: str, value: str, reason: str = "") -> dict:
    return dict(zip(RULE_COLUMNS, ("fit", "risk", name, "span", value, reason), strict=True))


def test_reasons_stay_until_the_value_changes():
    """New, changed and removed rows take the new reason, and are refused without one."""
    listed = [row("a", "1", "first"), row("b", "2", "first"), row("c", "3", "first")]
    now = [row("a", "1"), row("b", "9"), row("d", "4")]
    found = updated(listed, now, "wider grid")
    assert [(one["name"], one["value"], one["reason"]) for one in found] == [
        ("a", "1", "first"),
        ("b", "9", "wider grid"),
        ("d", "4", "wider grid"),
        ("c", REMOVED, "wider grid"),
    ]
    assert differences(found, now) == [] and updated(found, now) == found
    new, changed, removed = [*listed, row("d", "4")], [*listed[:2], row("c", "9")], listed[:2]
    for other in (new, changed, removed):
        with pytest.raises(RulesError, match="need a reason"):
            updated(listed, other)


def test_reasons_can_be_given_one_by_one():
    """What the words of --where do not name stays as listed, and stays to be found."""
    listed, now = [row("a", "1", "first"), row("b", "2", "first")], [row("a", "5"), row("b", "6")]
    found = updated(listed, now, "only a", where="risk a")
    assert [one["reason"] for one in found] == ["only a", "first"]
    assert differences(found, now) == ["fit / risk / b / span: listed 2, now 6"]


def test_two_rules_of_one_name_are_refused():
    with pytest.raises(RulesError, match="two rules have this name"):
        listing.differences([row("a", "1"), row("a", "2")], [])


def test_command_line_refuses_a_change_without_a_reason(tmp_path):
    """The list stays as it was; with a reason it is brought up to date."""
    path = tmp_path / "rules.csv"
    listed = read_rows(LISTED)
    write_rows(path, [dict(listed[0], value="changed"), *listed[1:]], RULE_COLUMNS)
    before = path.read_text()
    command = [sys.executable, str(ROOT / "workflow" / "scripts" / "list_rules.py"), "--write", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "need a reason" in done.stderr and path.read_text() == before
    assert subprocess.run([*command, "--reason", "a test"], capture_output=True).returncode == 0
    assert read_rows(path)[0]["reason"] == "a test"
