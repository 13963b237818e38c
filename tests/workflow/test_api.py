"""Pages made from docstrings: formulas stand as they are written, parameters by their names, examples apart."""

from __future__ import annotations

import subprocess
import sys

import pytest
from workflow_helpers import ROOT, environment


def test_the_pages_are_built(tmp_path):
    """With links between them, examples, formulas, and names apart."""
    pytest.importorskip("pdoc")
    names = ("methods.unit_steps", "methods.steps.whitening", "methods.dp_fedavg", "privacy.accounting")
    command = [
        sys.executable,
        "workflow/scripts/build_api.py",
        f"--output={tmp_path}",
        *(f"privrep.{name}" for name in names),
    ]
    subprocess.run(command, cwd=ROOT, env=environment(ROOT), capture_output=True, check=True)
    page = (tmp_path / "privrep/methods/unit_steps.html").read_text()
    assert '<a href="steps/whitening.html">' in page and '<span class="gp">&gt;&gt;&gt; </span>' in page
    assert "&lt;\u200bB (w + v), x> predicts" in (tmp_path / "privrep/methods/dp_fedavg.html").read_text()
    page = (tmp_path / "privrep/privacy/accounting.html").read_text()
    assert "<li><strong>epsilon</strong>: at least 0.</li>" in page
