"""The benchmark program writes a complete record; its timings are not judged here."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "workflow" / "scripts" / "bench.py"

BROWSERS = ("chromium", "chromium-browser", "google-chrome")

NAMES = [
    "statistics_over_drawing",
    "speedup_over_loop_over_samples",
    "speedup_over_loop_over_users",
    "gram_rate_over_sgemm",
    "moments_rate_over_sgemm",
    "score_over_drawing",
    "fit_over_drawing",
    "peak_rss_paper",
    "peak_rss_many",
    "slope_kept",
    "slope_redrawn",
    "centaur_round_kept_over_drawing",
    "centaur_round_redrawn_over_drawing",
    "power_method_over_drawing",
    "power_method_together",
]


def test_quick_run_writes_every_record(tmp_path):
    output, page = tmp_path / "reports" / "benchmarks.json", tmp_path / "page.html"
    page.write_text("<!doctype html><main><input id=query><p>One of one rows</p></main>")
    run = subprocess.run(
        [sys.executable, PROGRAM, "--quick", "--output", output, "--page", page], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert [path.name for path in output.parent.iterdir()] == ["benchmarks.json"]
    content = json.loads(output.read_text())
    assert content["quick"] is True
    assert {library["num_threads"] for library in content["host"]["blas"]} == {1}
    assert all(content["host"][fact] for fact in ("cpu", "cores", "numpy"))
    names = [record["name"] for record in content["records"]]
    assert names == [*NAMES, "page_over_text"] if any(map(shutil.which, BROWSERS)) else names == NAMES
    assert ("page_over_text: skipped" in run.stdout) == (names == NAMES)
    for record in content["records"]:
        assert set(record) == {"name", "value", "unit", "limit", "holds", "how"}
        assert math.isfinite(record["value"])
        assert isinstance(record["holds"], bool)
        assert record["limit"] and record["unit"] and record["how"].endswith(".")
        assert record["name"] in run.stdout
    assert all(math.isfinite(seconds) and seconds >= 0 for seconds in content["cpu_seconds"].values())
