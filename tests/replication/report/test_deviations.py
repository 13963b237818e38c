"""The table of deviations: complete entries that name what exists, all of them on the page."""

import subprocess

import pytest
import yaml
from workflow_helpers import ROOT

from replication.evidence.catalogue import read_deviations
from replication.report.summary import ERRATA
from replication.run.config import read_papers, study_names
from replication.run.models import ConfigError

LISTED = ROOT / "src/replication/studies/deviations.yaml"


def entry(**values) -> dict:
    texts = {"what": "The mark went from 0.1 to 2.", "why": "No reason was recorded.", "effect": "The row holds."}
    return {"id": "D1", "kind": "fallback", "where": ["risk"], **texts, **values}


def test_deviations_name_claims_and_studies():
    """Every kind has entries, and every place is a claim or a study."""
    known = {claim for paper in read_papers().values() for claim in paper.claims}
    known |= set(study_names())
    found = read_deviations(LISTED)
    assert {one["kind"] for one in found} == set(ERRATA.kinds)
    assert [place for one in found for place in one["where"] if place not in known] == []


def test_commits_of_revisions_exist():
    """In a clone with its history; every revision names at least one."""
    found = [one for one in read_deviations(LISTED) if one["kind"] == "revised-after-results"]
    assert [one["id"] for one in found if not one.get("commits")] == []
    git = ["git", "-C", str(ROOT)]
    shallow = subprocess.run([*git, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True)
    if shallow.stdout.strip() != "false":
        pytest.skip("no history")
    for commit in {commit for one in found for commit in one.get("commits", [])}:
        assert subprocess.run([*git, "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True).returncode == 0


def test_every_deviation_is_in_the_table():
    found = read_deviations(LISTED)
    content = ERRATA.deviations(found)
    for one in found:
        assert f'<span class="id">{one["id"]}</span>' in content
        assert all(f"<code>{commit}</code>" in content for commit in one.get("commits", []))
    assert all(caption in content for caption in ERRATA.kinds.values())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"id": "X1"}, ["X1"]),
        ({"kind": "guess"}, ["'guess'", "left-open"]),
        ({"where": []}, ["where", "empty"]),
        ({"commits": ["main"]}, ["main"]),
        ({"how": "text"}, ["'how'", "what"]),
        ({"id": "D0"}, ["'D0' appears twice"]),
    ],
)
def test_bad_entry_is_named(tmp_path, changes, words):
    """The second of two."""
    path = tmp_path / "deviations.yaml"
    path.write_text(yaml.safe_dump({"deviations": [entry(id="D0"), entry(**changes)]}))
    with pytest.raises(ConfigError) as caught:
        read_deviations(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert all(word in str(caught.value) for word in words)
