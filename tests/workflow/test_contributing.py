"""What CONTRIBUTING says of adding an algorithm, and a study with figures, done in a copy: one file, and a name in a
study; four files and a place in a paper."""

import csv
import re
import sys
import textwrap
from pathlib import Path

from workflow_helpers import ROOT, called, copy_project, snakemake

ALGORITHM = textwrap.dedent(re.search(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)[1])
STUDY = """
figures:
  jain2021/toy: {label: Made up, caption: "Made up, at d = {n.dim}.", ylabel: dist2}
  jain2021/drawn: {label: Made up, caption: "Made up, once more."}
problem: {users: 400, samples: 2, dim: 5, rank: 1, head_law: sphere, head_bias: 1.0}
delta: 1.0e-6
shards: 1
cells_per_draw: 10
algorithm: direction
options:
  direction: {toy_clip: 3.0}
series:
  n: {grid: {users: [200, 400, 800, 1600], noise_multiplier: [0.5], seed: 5}}
every_fit: {response: dist2, tolerance: 0.3}
fits:
  toy n: {series: n, axis: users, figure: jain2021/toy, panel: n, claim: A-TOY, quantity: exponent of n, claimed: -0.5}
window: {saturation: 1.0}
quantities: [mean length]
claims:
  - id: A-TOY
    whose: paper
    place: nowhere
    statement: "The error falls as 1 / sqrt(n)."
    scales: [tiny]
    quantities:
      - {quantity: length, measured: mean length, rule: at_least, value: 0.5}
"""
ANALYSIS = '''"""Made up."""

from replication.evidence.cells import resampled
from replication.evidence.findings import Findings
from replication.evidence.intervals import series_measures
from replication.evidence.scaling import fit_all


def length(cells, indices):
    return {"mean length": float(resampled(cells, indices)["length"].mean())}


def analyse(cells, study):
    numbers = {"jain2021/drawn": cells[["users", "length"]]}
    return Findings(series_measures(cells, "n", length), numbers, fit_all(study, cells))
'''
DRAWING = '''"""Made up."""

from replication.drawing import look


def draw_drawn(figure, numbers, study):
    figure.panel(3, 3).series(numbers, "users", "length", look("unit"))
'''
CHAPTER = """---
rests:
  A stub finding:
  - [A-TOY, HOLDS, length]
---
## A stub study

- **Claimed.** Nothing.
- **Found.** An exponent of {{ e("toy n") }}.
- **Use.** None.

**A stub finding.** The mean is {{ q("mean length") }}
long, as claimed.
"""


def put(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1, (path, old)
    path.write_text(text.replace(old, new))


def test_an_algorithm_and_a_study_are_added_as_the_guide_says(tmp_path):
    """The run has the algorithm's own columns, the claim its verdict, the page both figures, of fits and drawn;
    no file of another study was touched."""
    folder = copy_project(tmp_path / "copy")
    new = {
        "src/privrep/methods/direction.py": ALGORITHM,
        "src/replication/studies/toy/settings.yaml": STUDY,
        "src/replication/studies/toy/analysis.py": ANALYSIS,
        "src/replication/studies/toy/figures.py": DRAWING,
        "src/replication/studies/toy/chapter.md": CHAPTER,
    }
    (folder / "src/replication/studies/toy").mkdir()
    for path, text in new.items():
        (folder / path).write_text(text)
    paper = folder / "config/papers/jain2021.yaml"
    put(paper, "\nchapters:\n", "\nchapters:\n  - toy\n")
    put(paper, "\nclaims:\n", "\nclaims:\n  - A-TOY\n")
    (folder / "config/scales/tiny.yaml").write_text("scale: tiny\nstudies: [toy]\n")

    snakemake(folder, "-j2", "all")
    with open(folder / "results/tiny/toy/cells.csv") as file:
        cells = list(csv.DictReader(file))
    assert len(cells) == 20
    assert {row["status"] for row in cells} == {"ok"}
    assert {row["toy_clip"] for row in cells} == {"3.0"}
    assert all(float(row["length"]) > 0 and float(row["epsilon_exact"]) > 0 for row in cells)
    assert "clip_feature" not in cells[0]
    with open(folder / "results/tiny/reports/claims.csv") as file:
        verdicts = {row["quantity"]: row["verdict"] for row in csv.DictReader(file) if row["id"] == "A-TOY"}
    assert verdicts == {"exponent of n": "RATE-AGREES", "length": "HOLDS"}
    page = (folder / "results/tiny/reports/index.html").read_text()
    assert "A stub finding." in page and 'class="differs"' not in page
    assert re.search(r"Made up, at d\s=\s5\.", page)
    assert page.count('<figure id="fig-jain2021-drawn"') == 1 and "Made up, once more." in page
    assert (folder / "results/tiny/figures/jain2021/drawn.svg").exists()


def test_an_algorithm_in_one_file_is_tested_with_the_others(tmp_path):
    """By the example in its docstring: its interface, its ledger, and what its releases let through. Its name in the
    study of audits is all that an audit needs; without it a test says so."""
    folder = copy_project(tmp_path / "copy")
    (folder / "src/privrep/methods/direction.py").write_text(ALGORITHM)
    cases = ("privrep/methods/test_algorithms_conformance.py", "replication/experiments/test_replay.py")
    test = "replication/experiments/test_audit.py::test_every_private_mechanism_is_audited_or_says_why_not"

    def tested(*files: str) -> str:
        """What pytest says of the copy."""
        command = [sys.executable, "-m", "pytest", "-q", "-n0", "-o", f"pythonpath={folder}/src {ROOT}/tests"]
        # Its numbers have no reference yet.
        command += ["-p", "no:cacheprovider", "-k", "(direction or private_mechanism) and not same_result"]
        command += [str(ROOT / "tests" / file) for file in files]
        return called(folder, command).stdout

    found = tested(*cases)
    assert int(re.search(r"(\d+) passed", found)[1]) >= 15 and "failed" not in found, found
    assert "1 failed" in tested(test)
    put(
        folder / "src/replication/studies/audits/settings.yaml",
        "[unit_steps, mixed_model, rounds",
        "[unit_steps, direction, rounds",
    )
    assert "1 passed" in tested(test)


def test_an_undescribed_column_stops_the_shard(tmp_path):
    """At its first cell, with the name of the algorithm and of the column."""
    folder = copy_project(tmp_path / "copy")
    path = folder / "src/privrep/methods/spectral_init.py"
    put(path, 'log={"zeta": self.label_clip}', 'log={"zeta": self.label_clip, "odd": 1.0}')
    command = [sys.executable, "workflow/scripts/run_shard.py", "--study", "init_rates", "--shard", "0"]
    command += ["--output", "cells.csv", "--timings", "timings.csv", "--configfile", "config/scales/tiny.yaml"]
    done = called(folder, command)
    assert done.returncode
    assert "spectral_init writes 'odd'; its options must describe this column" in done.stderr
