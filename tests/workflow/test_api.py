"""Pages made from docstrings: formulas stand as they are written, parameters by their names, examples apart."""

import subprocess
import sys

from workflow_helpers import ROOT, environment

import privrep


def test_the_pages_are_built(tmp_path):
    """With links between them, examples, formulas, and names apart."""
    names = ("methods.unit_steps.method", "methods.unit_steps.whitening", "methods.dp_fedavg", "privacy.accounting")
    command = [
        sys.executable,
        "workflow/scripts/build_api.py",
        f"--output={tmp_path}",
        *(f"privrep.{name}" for name in names),
    ]
    subprocess.run(command, cwd=ROOT, env=environment(ROOT), capture_output=True, check=True)
    page = (tmp_path / "privrep/methods/unit_steps/method.html").read_text()
    assert '<a href="whitening.html">' in page and '<span class="gp">&gt;&gt;&gt; </span>' in page
    assert "&lt;\u200bB (w + v), x> predicts" in (tmp_path / "privrep/methods/dp_fedavg.html").read_text()
    page = (tmp_path / "privrep/privacy/accounting.html").read_text()
    assert "<li><strong>epsilon</strong>: at least 0.</li>" in page and f"privrep {privrep.__version__}" in page


C_SOURCE = "#include <math.h>\n/* two\nlines */\nint one;  // a comment\n\n"
SOURCE = '"""Text."""\n\nimport os  # a comment\n\nHELD = """two\nlines"""\n'


def test_a_folder_beyond_its_limit_is_named(tmp_path):
    """Docstrings, imports and blank lines are no code lines; a package without a limit may hold none."""

    def count(*words: str) -> str:
        command = [sys.executable, str(ROOT / "workflow/scripts/count_lines.py"), *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stderr.strip()

    package = tmp_path / "src" / "privrep" / "users"
    package.mkdir(parents=True)
    (package / "a.py").write_text(SOURCE)
    (package / "a.c").write_text(C_SOURCE)
    project = tmp_path / "pyproject.toml"
    project.write_text('[tool.privrep.lines]\n"tests" = [9, 9]\n\n[tool.other]\n')
    assert count().startswith("src/privrep/users: 3 code lines of Python and C, limit 0 ")
    assert count("--write") == count() == ""
    assert '"src/privrep/users" = [4, 12]\n' in project.read_text() and project.read_text().endswith("\n[tool.other]\n")
    (package / "a.py").write_text(2 * SOURCE)
    assert count().startswith("src/privrep/users: 5 code lines of Python and C, limit 4 ")
