"""The pipeline as a whole, at scale tiny: same bytes however the work is cut, and what a change makes again."""

import functools
import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from workflow_helpers import ROOT, at_tiny, called, copy_project, copy_run, snakemake

from replication.run.config import read_config
from replication.run.rivals import BY_TRIALS

CELLS = "results/tiny/figure2/cells.csv"
INIT = "src/replication/studies/init_rates/settings.yaml"


def run_script(folder: Path, name: str, *words: str) -> str:
    """What a script of the workflow prints in a copy, without Snakemake."""
    done = called(folder, [sys.executable, f"workflow/scripts/{name}.py", *words])
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def reference(tiny_run) -> bytes:
    """cells.csv of two jobs at a time, in the shards that the scale has."""
    return (tiny_run / CELLS).read_bytes()


def test_the_number_of_jobs_and_of_shards_changes_no_byte(reference, tmp_path):
    """Nothing is keyed on order, job, shard or -j."""
    folder = copy_project(tmp_path / "copy")
    at_tiny(folder, "shards: 3", "shards: 5, cells_per_draw: 17")
    snakemake(folder, CELLS, "-j8")
    assert (folder / CELLS).read_bytes() == reference


def test_new_grid_value_moves_no_other_cell(reference, tmp_path):
    """Rows of the old grid are the same bytes after a value is added."""
    folder = copy_project(tmp_path / "copy")
    at_tiny(
        folder, "epsilon: [1, 2, 5, 10], epochs: [1, 2], seed: 2", "epsilon: [1, 2, 4, 5, 10], epochs: [1, 2], seed: 2"
    )
    at_tiny(folder, "shards: 3", "shards: 1")
    words = ["--study", "figure2", "--shard", "0", "--configfile", "config/scales/tiny.yaml"]
    files = ["--output", "cells.csv", "--timings", "timings.csv"]
    run_script(folder, "run_shard", *words, *files)
    found = set((folder / "cells.csv").read_bytes().splitlines())
    assert set(reference.splitlines()) < found


@pytest.mark.parametrize(("word", "says"), [("--rulegraph", "digraph snakemake_dag {"), ("--lint", "Congratulations")])
def test_snakemake_forms_work_on_a_fresh_copy(word, says, tmp_path):
    """Graph and lint need no results; lint is clean."""
    done = snakemake(copy_project(tmp_path / "copy"), word)
    assert says in done.stdout + done.stderr


def test_shards_hang_on_the_methods_that_they_run(tmp_path):
    """On no other method's file; and audits, which load methods by name, on all that they name."""
    folder = copy_project(tmp_path / "copy")
    called(folder, ["snakemake", "-n", "init_rates", "audits"])
    texts = [(folder / f"results/default/{study}/code.json").read_text() for study in ("init_rates", "audits")]
    init_rates, audits = (set(re.findall(r"/methods/(\w+?)(?:/method)?\.py", text)) for text in texts)
    assert "spectral_init" in init_rates and not init_rates & {"altmin", "power_method", "centaur", "unit_steps"}
    assert {"altmin", "power_method", "centaur", "unit_steps", "exponential_staged"} <= audits


OPENED = """
import importlib, json, pathlib, sys
from replication.run.config import study_names
opened, src, found = [], pathlib.Path("src").absolute(), {}
sys.addaudithook(lambda event, about: event == "open" and opened.append(pathlib.Path(str(about[0]))))
for study in study_names():
    opened.clear()
    importlib.import_module(f"replication.studies.{study}.analysis")
    tables = [file for file in opened if src in file.parents and file.suffix not in ("", ".py", ".pyc")]
    found[study] = [str(file) for file in tables]
print(json.dumps(found))
"""
"""What the analysis of each study opens first, besides modules."""


def test_measures_hang_on_the_tables_that_an_analysis_opens():
    rules = (ROOT / "workflow/rules/common.smk").read_text()
    names = {"HERE": ROOT, "Path": Path, "functools": functools, "re": re}
    exec(rules[rules.index("IMPORT = ") : rules.index("METHOD_FILES = ")], names)
    found = json.loads(called(ROOT, [sys.executable, "-c", OPENED]).stdout)
    assert found["figure2"]
    found["unit_map"].append(str(ROOT / BY_TRIALS))  # opened later
    for study, tables in found.items():
        code = names["code_of"]("measure_study", ROOT / f"src/replication/studies/{study}/analysis.py")
        assert set(tables) <= set(code)


def test_the_longest_shards_start_first(tiny_run):
    """By the seconds that the studies' files say; two start at once, in either order."""
    (log,) = (tiny_run / ".snakemake" / "log").glob("*.log")
    free = re.findall(
        r"^(?:local)?rule (?:run_shard|check_errata):\n(?:    .*\n)*?    priority: ([\d.]+)$",
        log.read_text(),
        re.MULTILINE,
    )
    costs = [float(cost) for cost in free]
    assert sorted(costs) == [15, 48, 48, 60, 60, 60]
    assert all(cost >= later for i, cost in enumerate(costs) for later in costs[i + 2 :]), costs


def test_one_cell_reruns_by_key(reference, tiny_run):
    """--cell prints the row of cells.csv and the ledger of the cell."""
    header, row = (line.split(",") for line in reference.decode().splitlines()[:2])
    cell = dict(zip(header, row, strict=True))
    words = ["--study", "figure2", "--cell", cell["key"], "--configfile", "config/scales/tiny.yaml"]
    said = run_script(tiny_run, "run_shard", *words)
    assert cell["excess_risk"] in said
    assert "moment_step" in said


@pytest.fixture(scope="module")
def finished(tiny_run, tmp_path_factory):
    """A copy of the finished run, for dry runs after a change; each test undoes its own."""
    return copy_run(tiny_run, tmp_path_factory.mktemp("finished") / "copy")


def planned(folder, path: str, old: str, new: str) -> set[str]:
    """The rules that would run again after a piece of text is replaced, where it stands first."""
    file = folder / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    plan = snakemake(folder, "-n", "all").stdout
    file.write_text(text)
    return set(re.findall(r"^(?:local)?rule (\w+):", plan, flags=re.MULTILINE)) - {"all"}


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [("style.mplstyle", "grid.color: 0.92", "grid.color: 0.9"), ("panels.py", "elinewidth=1", "elinewidth=2")],
)
def test_style_change_reruns_no_simulation(finished, module, old, new):
    """After an edit of the plotting style only plots and the page are made again, also where the package imports it."""
    again = planned(finished, f"src/replication/drawing/{module}", old, new)
    assert "plot_figure2" in again
    assert not again & {"run_shard", "measure_figure2", "judge_claims"}


def test_algorithm_change_reruns_the_shards(finished):
    """The code of a study's algorithms is an input of its shards, although they are imported by name."""
    path, line = "src/privrep/methods/steps/moment_step.py", "import numpy as np\n"
    assert "run_shard" in planned(finished, path, line, f"{line}# changed\n")


JUDGED = {"judge_claims", "write_provenance", "render_report", "execute_tour"}


def test_nothing_runs_again_without_a_change(finished):
    assert planned(finished, "config/scales/tiny.yaml", "scale: tiny", "scale: tiny") == set()


def test_no_job_takes_more_memory_than_it_says(finished):
    """What Snakemake sampled, against the two sizes of jobs."""
    asked = {"run_shard": read_config().memory_budget_mb + 300}
    for path in (finished / "benchmarks" / "tiny").rglob("*.tsv"):
        header, row = (line.split("\t") for line in path.read_text().splitlines()[:2])
        peak = row[header.index("max_rss")]
        assert peak in ("-", "NA") or float(peak) < asked.get(path.parent.name, 500), path


def test_a_caption_reruns_no_measure_and_no_figure(finished):
    """The page alone reads it. An advice or a tolerance is read by the verdicts, too."""
    old = "dotted: the law F2."
    assert planned(finished, INIT, old, f"{old} A comma, more.") == {"render_report"}
    assert planned(finished, INIT, "tolerance: 0.15", "tolerance: 0.14") == JUDGED


def test_a_claimed_exponent_reruns_its_figures_alone(finished):
    """It is drawn, and decides no number."""
    assert planned(finished, INIT, "claimed: -1", "claimed: -0.9") == JUDGED | {"plot_init_rates"}


def test_a_window_of_the_scale_reruns_measures_and_figures_and_no_cell(tiny_run, tmp_path):
    """And changes the measures: the fits of a run are those that it resolved, not those of the study's file."""
    folder = copy_run(tiny_run, tmp_path / "copy")
    scale, window = "tiny: {problem", "tiny: {window: {points: 2, span: 2}, problem"
    again = planned(folder, INIT, scale, window)
    assert {"measure_init_rates", "plot_init_rates"} <= again <= JUDGED | {"measure_init_rates", "plot_init_rates"}
    measures, settings = folder / "results/tiny/init_rates/measures.csv", folder / INIT
    before = measures.read_text()
    settings.write_text(settings.read_text().replace(scale, window))
    snakemake(folder, "-j1", str(measures.relative_to(folder)))
    rows = [{line.split(",")[0]: line for line in table.splitlines()} for table in (before, measures.read_text())]
    assert rows[0].keys() == rows[1].keys()
    assert rows[0]["exponent privacy n dist2"] != rows[1]["exponent privacy n dist2"]


def refusal(folder: Path, *words: str) -> str:
    """What a run says that stops, without a traceback."""
    done = snakemake(folder, *words, check=False)
    said = done.stdout + done.stderr
    assert done.returncode and "Traceback" not in said
    return said


def test_a_name_of_nothing_stops_before_any_job(tmp_path):
    """Also in a study that the scale leaves out; a key that stands twice in a scale; and two scales."""
    risk, tiny = "src/replication/studies/risk/settings.yaml", "config/scales/tiny.yaml"
    for path, old, new, message in (
        (risk, 'measured: "heads', 'measured: "no heads', "is not measured by study risk; the nearest is"),
        (tiny, "scale: tiny", "scale: tiny\nscale: tiny", "the key 'scale' stands twice"),
    ):
        folder = copy_project(tmp_path / Path(path).stem)
        file = folder / path
        file.write_text(file.read_text().replace(old, new, 1))
        said = refusal(folder, "-j1")
        assert path in said and message in said and not (folder / "results").exists()
    two = called(tmp_path / "settings", ["snakemake", "-n", "--configfile", "config/scales/quick.yaml", tiny])
    assert "quick.yaml names a scale, too" in two.stdout + two.stderr


def test_a_shard_that_fails_is_named_with_what_to_do(tmp_path):
    """Whatever ends its worker: an error, one of its arguments, a limit of time, no memory, a signal, Ctrl-C; and where
    there is none. The worker here is a shell script that ends as its shard says."""
    folder, python = copy_project(tmp_path / "copy"), tmp_path / "python"
    statuses = {0: 1, 1: 2, 2: 124, 3: 126, 4: 127, 5: 129, 6: 137, 7: 139, 8: 143, 9: 255, 10: 130}
    cases = " ".join(f"*shard\\ {shard}\\ *) exit {status};;" for shard, status in statuses.items())
    python.write_text(f"""#!/bin/sh\necho why\ncase "$*" in {cases} esac\n""")
    python.chmod(0o755)
    at_tiny(folder, "shards: 3", f"shards: {len(statuses)}")
    words = ["-k", "-j1", "--retries=0", *(f"results/tiny/figure2/shards/{shard}.csv" for shard in statuses)]
    line = shlex.join(["snakemake", *words, "--configfile", "config/scales/tiny.yaml"])
    called(folder, ["sh", "-c", f"PATH={tmp_path}:$PATH {line}"])
    for shard, status in statuses.items():
        said = (folder / f"logs/tiny/run_shard/figure2-{shard}.log").read_text().splitlines()
        what = "failed with exit status" if status < 126 else "did not start" if status < 128 else "was killed"
        assert said[0] == "why" and len(said) == 1 + (status != 130), status
        assert status == 130 or re.match(f"Shard {shard} of figure2 {what}.* run the same command again", said[1])


def test_a_cell_that_cannot_be_stops_before_any_job(tmp_path):
    """When simulations are new and when they have changed; what was written before stays."""
    folder = copy_project(tmp_path / "copy")
    scale = folder / "src/replication/studies/figure2/settings.yaml"
    text, settings = scale.read_text(), folder / "results/tiny/figure2/shards.json"
    broken = text.replace("tiny: {grid: {penalty: [1]", "tiny: {grid: {penalty: [-1]")
    assert broken != text
    for kept in (False, True):
        scale.write_text(broken)
        assert "series.own-ridge: penalty is -1; it must be at least 0" in refusal(folder, "-n")
        assert settings.exists() == kept
        if not kept:
            scale.write_text(text)
            snakemake(folder, "-n")
        assert "-1" not in settings.read_text()


def test_a_chapter_that_names_nothing_is_named_by_the_page(tiny_run, tmp_path):
    """In one line; all that the run had made stays."""
    folder = copy_run(tiny_run, tmp_path / "copy")
    chapter = folder / "src" / "replication" / "studies" / "init_rates" / "chapter.md"
    text = chapter.read_text()
    assert 'n("davis-kahan printed")' in text
    chapter.write_text(text.replace('n("davis-kahan printed")', 'n("davis-kahan print")'))
    said = refusal(folder, "-j2", "all")
    message = "'davis-kahan print' is not measured by this study; the nearest is 'davis-kahan printed'"
    assert f"init_rates/chapter.md: {message}" in said
    assert (folder / "results/tiny/reports/claims.csv").exists()
