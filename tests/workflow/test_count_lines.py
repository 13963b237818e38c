"""The limits on lines of Python in pyproject.toml are held and set."""

from __future__ import annotations

import subprocess
import sys

from workflow_helpers import ROOT

SOURCE = '"""Text."""\n\nimport os  # a comment\n\nHELD = """two\nlines"""\n'


def test_a_folder_beyond_its_limit_is_named(tmp_path):
    """Docstrings, imports and blank lines are no code lines; a package without a limit may hold none."""

    def count(*words: str) -> str:
        command = [sys.executable, str(ROOT / "workflow/scripts/count_lines.py"), *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stderr.strip()

    package = tmp_path / "src" / "privrep" / "users"
    package.mkdir(parents=True)
    (package / "a.py").write_text(SOURCE)
    project = tmp_path / "pyproject.toml"
    project.write_text('[tool.privrep.lines]\n"tests" = [9, 9]\n\n[tool.other]\n')
    assert count().startswith("src/privrep/users: 2 code lines of Python, limit 0 ")
    assert count("--write") == count() == ""
    assert '"src/privrep/users" = [3, 7]\n' in project.read_text() and project.read_text().endswith("\n[tool.other]\n")
    (package / "a.py").write_text(2 * SOURCE)
    assert count().startswith("src/privrep/users: 4 code lines of Python, limit 3 ")
