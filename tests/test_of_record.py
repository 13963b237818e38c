"""The run of record: what is committed of it is whole and of one run, and pages and documents are held against it."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from patience import patience
from stub_page import write_run
from workflow_helpers import ROOT, copy_run, environment

from privrep.report.documents import DEFAULT_COLUMNS, explained
from privrep.report.of_record import DOCS, agreement, both_tested, differing
from privrep.report.run_tables import Run, read_text
from privrep.run.config import ConfigError
from privrep.run.csv_tables import read_rows, write_rows

PAGE = DOCS / "index.html"
FOLDER = DOCS / "record"
MOST_BYTES = 3_000_000
BESIDE = "default run kept beside it."


def sums(folder: Path) -> dict[str, str]:
    """File -> checksum, as SHA256SUMS has them."""
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


def test_what_is_committed_is_whole():
    """Every table has its checksum, and every row of the claims the scale of the run."""
    tables = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in FOLDER.glob("*.[cj]s*")}
    assert tables.pop("images.csv")  # it grows by itself, and its lines have checksums of their own
    assert sums(FOLDER) == tables
    assert tables.keys() == {f"{name}.csv" for name in ("audits", "claims", "errata", "measures")} | {"provenance.json"}
    about = json.loads((FOLDER / "provenance.json").read_text())
    assert about["commit"] and not about["dirty"]
    assert {row["scale"] for row in read_rows(FOLDER / "claims.csv")} == {about["config"]["scale"]}


def test_the_page_of_record_is_of_this_run_and_small():
    """It says which run it is, has its rows, stands alone, and is not heavy."""
    page, about = PAGE.read_text(encoding="utf-8"), json.loads((FOLDER / "provenance.json").read_text())
    assert len(page.encode()) < MOST_BYTES
    assert f"<code>{about['commit'][:10]}</code>" in page and "This is the run of record" in page
    fields, *rows = json.loads(re.search(r'id="rows">(.*?)</script>', page, flags=re.DOTALL)[1])
    found = {tuple(row[fields.index(name)] for name in ("id", "quantity", "verdict", "measured")) for row in rows}
    wanted = read_rows(FOLDER / "claims.csv")
    assert found == {tuple(row[name] for name in ("id", "quantity", "verdict", "measured")) for row in wanted}
    assert not re.search(r'href="(?!#|data:)', page)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    folder = write_run(tmp_path_factory.mktemp("run"))
    files = [folder / name for name in ("claims.csv", "errata.csv", "provenance.json")]
    return Run.read(*files, [], ROOT / "config/deviations.yaml", folder / "results", folder / "figures")


def write_differences(docs: Path, *entries: dict) -> None:
    (docs / "record").mkdir(parents=True, exist_ok=True)
    (docs / "record" / "differences.yaml").write_text(yaml.safe_dump({"differences": list(entries)}))


def held_against(docs: Path, run: Run, *why: dict, **changes: str) -> str:
    """What the page of a run says of a record with the same rows but for the verdicts of some claims.
    The default run beside that has all verdicts of this run."""
    own = run.claims.to_dict("records")
    rows = [row | ({"verdict": changes[row["id"]]} if row["id"] in changes else {}) for row in own]
    write_differences(docs, *why)
    write_rows(docs / "default.csv", [{name: row[name] for name in DEFAULT_COLUMNS} for row in own], DEFAULT_COLUMNS)
    write_rows(docs / "record" / "claims.csv", rows, tuple(rows[0]))
    record = {"scale": "record", "master_seed": 5}
    about = {"commit": "abcdef0123456789", "config": record, "cell_cpu_seconds": 7200, "cpu": "abacus"}
    (docs / "record" / "provenance.json").write_text(json.dumps(about))
    return said_of(docs, run)


def said_of(docs: Path, run: Run) -> str:
    return re.sub(r"<[^>]+>|\s+", " ", agreement(run, docs)).strip()


def test_a_page_says_whether_it_agrees(run, tmp_path):
    tested = run.claims[run.claims["verdict"] != "NOT-TESTED"]
    named, count = tested["id"].iloc[0], len(tested)
    said = "run of record (scale record, seed 5, commit abcdef0123) tested"
    assert held_against(tmp_path, run) == f"Each of {count} rows that both this run and the {said} agrees."
    many = int((tested["id"] == named).sum())
    text = held_against(tmp_path, run, **{named: "LIMIT"})
    assert text.startswith(f"Of {count} rows that both this run and the {said} {count - many} agree; {many} do")
    assert text.count("LIMIT") == many == text.count(" here, there ") and BESIDE not in text
    untested = dict.fromkeys(run.claims["id"].unique(), "NOT-TESTED")
    assert (
        held_against(tmp_path, run, **untested)
        == f"No row of this run was tested by the {said[: said.rindex(' ')]} too."
    )


def test_a_row_that_differs_as_the_default_run_does_says_why(run, tmp_path):
    """A third verdict is not explained by why the default run has another one."""
    tested = run.claims[run.claims["verdict"] != "NOT-TESTED"]
    first, second = tested.iloc[0], tested[tested["id"] != tested["id"].iloc[0]].iloc[0]
    why = [
        {"id": row["id"], "quantity": row["quantity"], "why": f"Seeds of {row['id']}."} for _, row in tested.iterrows()
    ]
    for known, said in ((why, f"do not, as in the {BESIDE}"), (why[:1], f"do not, 1 of them as in the {BESIDE}")):
        text = held_against(tmp_path, run, *known, **{first["id"]: "LIMIT", second["id"]: "LIMIT"})
        assert said in text and f"Seeds of {first['id']}." in text
    default = read_rows(tmp_path / "default.csv")
    others = [row | {"verdict": "PARTIAL"} for row in default]
    write_rows(tmp_path / "default.csv", others, DEFAULT_COLUMNS)
    assert "Seeds of" not in said_of(tmp_path, run) and BESIDE not in said_of(tmp_path, run)


def test_the_run_of_record_knows_itself(run, tmp_path):
    held_against(tmp_path, run)
    about = run.provenance | {"cell_cpu_seconds": 7200}
    (tmp_path / "record" / "provenance.json").write_text(json.dumps(about))
    run.provenance["cell_cpu_seconds"] = 7200
    assert "This is the run of record: 2 CPU hours on abacus" in agreement(run, tmp_path)
    del run.provenance["cell_cpu_seconds"]


def test_every_difference_is_explained_and_nothing_else(tmp_path):
    numbers = {"measured": "1.0", "ci_low": "0.5", "ci_high": "1.5", "corrected": ""}
    row = {"id": "A-1", "quantity": "q", "verdict": "HOLDS"} | numbers
    pairs = both_tested([row], [row | {"verdict": "INCONCLUSIVE"}])
    assert differing(both_tested([row], [row])) == []
    why = {"id": "A-1", "quantity": "q", "why": "Eight seeds decided nothing."}
    write_differences(tmp_path, why)
    assert explained(differing(pairs), tmp_path)[0][-1] == why["why"]
    with pytest.raises(ConfigError, match="A-1 q has the same verdict in both runs"):
        explained([], tmp_path)
    write_differences(tmp_path)
    with pytest.raises(ConfigError, match=r"record/differences\.yaml: A-1 q is not explained"):
        explained(differing(pairs), tmp_path)


def updated(folder: Path, *words: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "workflow/scripts/update_docs.py", *words]
    return subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=patience()
    )


def test_a_finished_run_becomes_the_run_of_record(quick_run, tmp_path):
    """Its tables with their checksums, its page, the findings in the README; a run with changes is refused.
    The quick run has no pictures, errata and provenance: others stand in for them."""
    folder = copy_run(quick_run, tmp_path / "run")
    results = folder / "results" / "quick"
    reports, promise = results / "reports", results / "figures" / "comparison" / "promise.svg"
    promise.parent.mkdir(parents=True, exist_ok=True)
    for source, target in (("README.md", folder), ("docs/record/errata.csv", reports), ("docs/promise.svg", promise)):
        shutil.copy(ROOT / source, target)
    read_text(reports / "claims.csv")[list(DEFAULT_COLUMNS)].to_csv(folder / "docs" / "default.csv", index=False)
    write_differences(folder / "docs")
    assert "results/quick/reports/provenance.json is missing" in updated(folder, "--record", "quick").stderr
    about = json.loads((FOLDER / "provenance.json").read_text())
    about |= {"config": about["config"] | {"scale": "quick"}, "commit": "c" * 40}
    for dirty in (True, False):
        (reports / "provenance.json").write_text(json.dumps(about | {"dirty": dirty}))
        if dirty:
            assert "uncommitted changes; commit, and run again" in updated(folder, "--record", "quick").stderr
    done = updated(folder, "--record", "quick")
    assert done.returncode == 0, done.stderr
    record = folder / "docs" / "record"
    assert sums(record)["claims.csv"] == hashlib.sha256((reports / "claims.csv").read_bytes()).hexdigest()
    page = (folder / "docs" / "index.html").read_text(encoding="utf-8")
    assert "This is the run of record" in page and "Scale quick" in page
    assert (folder / "README.md").read_text() != (ROOT / "README.md").read_text()
