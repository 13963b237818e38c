"""The hosted CI runs targets of the Makefile, on each Python that the project names, and releases tags alone."""

from __future__ import annotations

import re
import subprocess
import tomllib

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
