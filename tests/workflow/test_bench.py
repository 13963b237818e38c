"""The benchmarks write a complete record, and fail beyond a limit; their timings are not judged here."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from workflow_helpers import ROOT

BENCH = ROOT / "bench"

NAMES = re.findall(r"^def (test_\w+)", (BENCH / "test_library.py").read_text(), flags=re.MULTILINE)

JUDGED = """
import pytest

@pytest.mark.parametrize("limits", [{"least": 1, "most": 3}, {"most": 1}, {"least": 3}])
def test_two(in_turn, judge, limits):
    "Two things."
    calls = []
    in_turn(lambda: calls.append("work"), lambda: calls.append("other"))
    assert calls == ["other", "work"] * 8
    judge(2, "things", **limits)
"""
"""A value within its limits, one above and one below."""


def bench(cwd: Path, *words: object) -> tuple[subprocess.CompletedProcess, list[dict]]:
    """Run benchmarks, as on their own although a worker of this test-suite starts them."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", *words, "-v", "-p", "no:cacheprovider", "--benchmark-json=out.json"]
    done = subprocess.run(command, cwd=cwd, env=alone, capture_output=True, text=True)
    return done, json.loads((cwd / "out.json").read_text())


def test_small_run_writes_every_record(tmp_path):
    done, content = bench(tmp_path, BENCH, "--small")
    assert done.returncode == 0, done.stdout + done.stderr
    threads = [library["num_threads"] for library in content["machine_info"]["threads"]]
    assert threads and set(threads) == {1}
    assert content["machine_info"]["cpu"]["brand_raw"] and content["machine_info"]["numpy"]
    assert list(dict.fromkeys(record["name"].partition("[")[0] for record in content["benchmarks"])) == NAMES
    for record in content["benchmarks"]:
        measured = record["extra_info"]
        assert measured["small"] and measured["unit"] and measured["limits"] and measured["how"].endswith(".")
        assert math.isfinite(measured["value"]) and f"{measured['value']:.4g} {measured['unit']}" in done.stdout
        assert all(math.isfinite(seconds) and seconds >= 0 for seconds in measured.get("seconds", []))


def test_a_value_beyond_a_limit_fails_and_is_kept(tmp_path):
    """Works run in turn, the first time uncounted."""
    shutil.copy(BENCH / "conftest.py", tmp_path)
    (tmp_path / "test_judged.py").write_text(JUDGED)
    done, content = bench(tmp_path, ".")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED and "2 failed, 1 passed" in done.stdout, done.stdout
    assert [record["extra_info"]["limits"] for record in content["benchmarks"]] == ["1 .. 3", "0 .. 1", "3 .. inf"]
    assert all(
        record["extra_info"]["value"] == 2 and record["stats"]["rounds"] == 7 for record in content["benchmarks"]
    )
