"""Pages made from docstrings: formulas stand as they are written, parameters by their names, examples apart."""

from __future__ import annotations

import subprocess
import sys

import pytest
from workflow_helpers import ROOT, environment


def test_the_pages_are_built(tmp_path):
    """Of all modules but those of single studies, with links between them, examples, formulas, and names apart."""
    pytest.importorskip("pdoc")
    command = [sys.executable, "workflow/scripts/build_api.py", f"--output={tmp_path}"]
    subprocess.run(command, cwd=ROOT, env=environment(ROOT), capture_output=True, check=True)
    pages = {path.relative_to(tmp_path).with_suffix("") for path in tmp_path.rglob("*.html")}
    packages = [path.parent for path in (ROOT / "src/privrep").rglob("__init__.py")]
    modules = {path for package in packages for path in (package, *package.glob("[!_]*.py"))}
    assert {path.relative_to(ROOT / "src").with_suffix("") for path in modules} <= pages
    page = (tmp_path / "privrep/algorithms/unit_steps.html").read_text()
    assert '<a href="parts/whitening.html">' in page and '<span class="gp">&gt;&gt;&gt; </span>' in page
    assert "&lt;\u200bB (w + v), x> predicts" in (tmp_path / "privrep/algorithms/dp_fedavg.html").read_text()
    page = (tmp_path / "privrep/privacy/accounting.html").read_text()
    assert "<li><strong>epsilon</strong>: at least 0.</li>" in page
    assert (
        "<li><strong>run_tables</strong>: the tables of a run.</li>" in (tmp_path / "privrep/report.html").read_text()
    )
