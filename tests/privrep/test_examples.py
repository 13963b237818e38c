"""Examples in docstrings run, and show what stands below them. Each method's docstring ends with one."""

from __future__ import annotations

import doctest
import importlib
import re

import pytest
from workflow_helpers import ROOT

from replication.run.registry import method_files

METHODS = [path for path in method_files().values() if path.parent.name == "methods"]
SHOWN = [path.relative_to(ROOT) for path in (ROOT / "src").rglob("*.py") if re.search(r"\n *>>> ", path.read_text())]


@pytest.mark.parametrize("path", sorted({*METHODS, *SHOWN}), ids=lambda path: path.stem)
def test_an_example_runs(path):
    """That of a method fits it."""
    module = importlib.import_module(".".join(path.with_suffix("").parts[1:]))
    assert path not in METHODS or f'= fit("{path.stem}", ' in module.__doc__
    found = doctest.testmod(module)
    assert found.attempted and not found.failed
