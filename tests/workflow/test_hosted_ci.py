"""The hosted CI runs targets of the Makefile, on each Python that the project names, and releases tags alone. No CI
passes over tests."""

import re
import subprocess
import tomllib
from types import SimpleNamespace

import conftest
import pytest
import yaml
from workflow_helpers import ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
JOBS = WORKFLOW["jobs"]
MATRIX = JOBS["library"]["strategy"]["matrix"]


def test_each_command_is_a_target_of_the_makefile():
    """Make plans it for each resolution, and hands Python and resolution on to uv."""
    for resolution, asked in zip(MATRIX["resolution"], ("lowest-direct", "highest"), strict=True):
        for command in (step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step):
            command = command.replace("${{ matrix.python }}", "3.12").replace("${{ matrix.resolution }}", resolution)
            assert command.startswith("make ") and "$" not in command
            plan = subprocess.run(["make", "-n", *command.split()[1:]], cwd=ROOT, capture_output=True, text=True)
            assert not plan.returncode, plan.stderr
            assert "test-library" not in command or f"--python 3.12 --resolution {asked} " in plan.stdout


def test_pythons_are_those_of_the_project_and_the_release_waits_for_a_tag():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [line.rpartition(" ")[2] for line in project["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert MATRIX["python"] == named and project["requires-python"] == f">={named[0]}"
    assert JOBS["release"]["if"] == "startsWith(github.ref, 'refs/tags/v')"
    assert {*JOBS["release"]["needs"], "release"} == set(JOBS)
    assert not any("make dist" in str(job) for name, job in JOBS.items() if name != "release")


@pytest.mark.parametrize(
    ("reason", "count", "fails"), [("no Docker answers here", 1, 0), ("no Docker answers here", 2, 1), ("x", 1, 1)]
)
def test_ci_fails_where_more_tests_are_skipped_than_is_listed(monkeypatch, reason, count, fails):
    monkeypatch.setenv("CI", "true")
    said, reports = [], [SimpleNamespace(longrepr=("file", 1, f"Skipped: {reason}"))] * count
    reporter = SimpleNamespace(getreports=lambda kind: reports, write_line=lambda line, red: said.append(line))
    manager = SimpleNamespace(get_plugin=lambda name: reporter)
    session = SimpleNamespace(config=SimpleNamespace(pluginmanager=manager), exitstatus=0)
    conftest.pytest_sessionfinish(session)
    assert session.exitstatus == len(said) == fails and all(reason in line for line in said)
