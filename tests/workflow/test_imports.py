"""What is imported where: a library that takes a second to load is loaded by who uses it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"
CONFIGURATION = """
from replication.evidence import catalogue, quantities
from replication.run.config import read_config, read_study
config = read_config()
for name in config.studies:
    quantities.check_columns(read_study(config, name))
claims = quantities.checked_claims()
catalogue.check_errata([claim.id for some in claims.values() for claim in some])
"""
"""What each run reads and checks first."""
MEASURES = """
import importlib, measure_study
from replication.run.config import study_names
for study in study_names():
    importlib.import_module(f"replication.studies.{study}.analysis")
"""
HEAVY = ("scipy.stats", "matplotlib", "seaborn", "jax", "sklearn", "dp_accounting")


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        (CONFIGURATION, ("pandas", *HEAVY)),
        ("import run_shard, privrep.methods.altmin, replication.experiments.audit", ("pandas", *HEAVY)),
        (MEASURES, HEAVY[1:]),
        ("import measure_study, replication.studies.unit_map.analysis", HEAVY),
        ("import run_all", ("pandas", "scipy", *HEAVY)),
    ],
    ids=["configuration", "shard", "measuring", "measuring a comparison", "run_all"],
)
def test_libraries_that_are_not_used_are_not_loaded(code, absent):
    words = f"import sys\nsys.path.insert(0, {str(SCRIPTS)!r})\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "privrep" in loaded and not loaded & set(absent)


def test_no_analysis_draws():
    """Not inside of a function, either: a change of a picture makes no measure again."""
    files = list(SCRIPTS.parents[1].glob("src/replication/studies/*/analysis.py"))
    drawn = r"^\s*(?:from|import) (?:matplotlib|seaborn|replication\.drawing|replication import drawing)"
    assert files and not [path for path in files if re.search(drawn, path.read_text(), re.MULTILINE)]
