"""Pages made from docstrings: formulas stand as they are written, parameters by their names, examples and pseudo-code
apart."""

from __future__ import annotations

import subprocess
import sys

import pytest
from workflow_helpers import ROOT, environment

from privrep.report.docstrings import markdown

DOCSTRING = """What U*^T x and <x, v> are.

    h, s    <- a guess in `code`

* a point with W* in it

Parameters
----------
label_clip : zeta, |y| <= zeta, or
    none. share : of mu^2.
start : U -> its rule.

Returns
-------
A tuple of
two.

Raises
------
ValueError
    If `a*b` is 0.

>>> 1 < 2
True
"""
PAGE = """What U&#42;^T x and &#60;x, v&#62; are.

    h, s    <- a guess in `code`

* a point with W&#42; in it

###### Parameters

- `label_clip`: zeta, &#124;y&#124; &#60;= zeta, or none. `share`: of mu^2.
- `start`: U -&#62; its rule.

###### Returns

- A tuple of two.

###### Raises

- `ValueError`: If `a*b` is 0.

```pycon
>>> 1 < 2
True
```"""


def test_a_docstring_becomes_markdown():
    """Each kind of block."""
    assert markdown(DOCSTRING) == PAGE


def test_the_pages_are_built(tmp_path):
    """Of all modules but those of single studies, with links between them; an example is set as one."""
    pytest.importorskip("pdoc")
    command = [sys.executable, "workflow/scripts/build_api.py", f"--output={tmp_path}"]
    subprocess.run(command, cwd=ROOT, env=environment(ROOT), capture_output=True, check=True)
    pages = {path.relative_to(tmp_path).with_suffix("") for path in tmp_path.rglob("*.html")}
    packages = [path.parent for path in (ROOT / "src/privrep").rglob("__init__.py")]
    modules = {path for package in packages for path in (package, *package.glob("[!_]*.py"))}
    assert {path.relative_to(ROOT / "src").with_suffix("") for path in modules} <= pages
    page = (tmp_path / "privrep/algorithms/unit_steps.html").read_text()
    assert '<a href="parts/whitening.html">' in page and '<span class="gp">&gt;&gt;&gt; </span>' in page
