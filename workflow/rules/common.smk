# Helpers of all rules: settings, checked before any job starts, and the code that each script depends on.
import functools
import hashlib
import json
import math
import os
import re
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.io import report as shown

SCRIPTS = shlex.quote(str(HERE / "workflow/scripts"))

# A clone runs its own code, whatever environment is active.
sys.path.insert(0, str(ROOT / "src"))
os.environ.update(
    PYTHONPATH=os.pathsep.join(
        filter(None, [sys.path[0], os.environ.get("PYTHONPATH")])
    )
)

from privrep.users.whole_files import write_whole
from replication.evidence import catalogue, quantities
from replication.run import owner
from replication.run.csv_tables import read_rows
from replication.run.config import (
    ConfigError,
    check_config,
    layers,
    merge,
    read_study,
    read_yaml,
    run_name,
)
from replication.run.memory import machine_mb
from replication.run.registry import method_files
from replication.run.resolved import as_json, write_if_changed, write_resolved

# Whether jobs go to a cluster, for which Snakemake counts them instead of cores. (A plan, -n with -j, looks the same.)
CLUSTER = workflow.resource_settings.nodes is not None

try:
    if workflow.is_main_process and "--unlock" not in sys.argv:
        owner.check()  # also before a plan, which writes settings
    # Snakemake accepts a key twice, and mixes two scales; config/config.yaml is always read and names one.
    scales = [path for path in workflow.configfiles if "scale" in read_yaml(path)]
    if len(scales) > 2:
        raise ConfigError(
            f"{scales[1]}: {scales[0]} names a scale, too; give one of them"
        )
    OVERLAYS = [Path(path) for path in workflow.configfiles]
    CONFIG = check_config(
        merge(read_yaml(ROOT / "config/config.yaml"), config), overlays=OVERLAYS
    )
    STUDIES = {
        name: read_study(CONFIG, name, overlays=OVERLAYS) for name in CONFIG.studies
    }
    for study in STUDIES.values():
        quantities.check_columns(study)
    CLAIMS = quantities.checked_claims()
    catalogue.check_errata([claim.id for claims in CLAIMS.values() for claim in claims])
    RUN = run_name(CONFIG)
    for name, study in STUDIES.items():
        write_resolved(
            Path("results", RUN, name),
            study,
            CONFIG,
            quantities.measured(study),
            quantities.numbers(study),
            layers(CONFIG, name, OVERLAYS),
        )
    write_if_changed(
        Path("results", RUN, "claims.json"),
        as_json(
            {
                paper: [claim.model_dump(exclude_unset=True) for claim in claims]
                for paper, claims in CLAIMS.items()
            }
        ),
    )
except (ConfigError, owner.RunAlive, OSError) as error:
    raise WorkflowError(str(error)) from None

RESULTS = f"results/{RUN}"
# The default run owns figures/ and reports/; any other writes beside its results.
FIGURES = "figures" if RUN == "default" else f"{RESULTS}/figures"
REPORTS = "reports" if RUN == "default" else f"{RESULTS}/reports"
# Options with which a command reaches this run again.
RUN_OPTIONS = (
    ""
    if CONFIG.scale == "default"
    else f"--configfile {HERE / 'config/scales' / CONFIG.scale}.yaml"
)
if "-seed" in RUN:
    RUN_OPTIONS += f" --config master_seed={CONFIG.master_seed}"
SIMULATED = [name for name, study in STUDIES.items() if study.series]
STUDIES_OF_PAPER = {}
for name, study in STUDIES.items():
    STUDIES_OF_PAPER.setdefault(study.paper, []).append(name)


# Jobs wait until there is memory for them; --resources mem_mb=... sets another limit. A cluster has its own.
if "mem_mb" not in workflow.global_resources and not CLUSTER:
    workflow.register_resource("mem_mb", machine_mb())


def memory(peak_mb):
    """Return the MB that a job asks for: its peak, or all there is."""
    if "mem_mb" not in workflow.global_resources:
        return peak_mb
    return min(peak_mb, workflow.global_resources["mem_mb"].value)


# A shard keeps one data set up to the budget, and beside it Python, its libraries and the work on a block.
SHARD_MB = memory(CONFIG.memory_budget_mb + 300)
TABLE_MB = memory(500)


wildcard_constraints:
    study="|".join(STUDIES),
    shard=r"\d+",


def shards_of(study):
    """Return the rows and run times of every shard of a study; nothing for a study of arithmetic."""
    shards = range(STUDIES[study].shards if study in SIMULATED else 0)
    return [
        f"{RESULTS}/{study}/shards/{shard}.{kind}"
        for shard in shards
        for kind in ("csv", "timings.csv")
    ]


def page_tables(study):
    """Return the tables of a study that the page reads: quantities, facts, and where it has cells their sizes."""
    sizes = ["sizes.csv"] if study in SIMULATED else []
    return [
        f"{RESULTS}/{study}/{name}" for name in ("measures.csv", "facts.json", *sizes)
    ]


def tables_of(study):
    """Return the tables of a study: those of the page, and where it has cells these and their run times."""
    of_cells = ("cells", "timings") if study in SIMULATED else ()
    return [
        *page_tables(study),
        *(f"{RESULTS}/{study}/{name}.csv" for name in of_cells),
    ]


def figure_files(*studies, kinds=("svg", "csv")):
    """Return the picture and the numbers of every figure of the given studies, or its print version."""
    figures = [figure for study in studies for figure in STUDIES[study].figures]
    return [f"{FIGURES}/{figure}.{kind}" for figure in figures for kind in kinds]


def captioned(study):
    """Return the pictures of a study's figures with their captions, as `snakemake --report` shows them."""
    return [
        shown(
            f"{FIGURES}/{figure}.svg",
            caption=Path(caption_file(figure)).absolute(),
            category="Figures",
            subcategory=STUDIES[study].paper,
            labels={"study": study, "figure": about.label},
        )
        for figure, about in STUDIES[study].figures.items()
    ]


def caption_file(figure):
    """Return the file in which the page's job writes a figure's caption, with the sizes of the run."""
    return f"{RESULTS}/captions/{figure}.rst"


def own_drawing(study):
    """Return the file with which a study draws figures other than those of sweeps, if there is one."""
    path = HERE / "src/replication/studies" / study / "figures.py"
    return [str(path)] if path.exists() else []


# Benchmark files of the jobs of this run; an earlier division into more shards leaves its own.
JOBS = [
    *(
        f"run_shard/{study}-{i}"
        for study in SIMULATED
        for i in range(STUDIES[study].shards)
    ),
    *(f"measure_{study}" for study in STUDIES),
    *(f"plot_{study}" for study in STUDIES),
    *("check_errata", "judge_claims"),
]

# The longest shards start first, so that none runs alone at the end; jobs that wait for them start as soon as they can.
SOON = 1000


# CPU seconds of each job, for all shards of a study their mean, as `make docs` last measured them at each scale.
TAKEN = {row["job"]: row for row in read_rows(HERE / "workflow/seconds.csv")}


def seconds_of(job):
    """Return the seconds that a job took at this scale or, where none was measured, at the default scale or quick."""
    row = TAKEN.get(job, {})
    scales = (CONFIG.scale, "default", "quick")
    return float(next((row[scale] for scale in scales if row.get(scale)), 30))


def shard_memory(wildcards, attempt):
    """Return the MB that a shard asks for: more after each failure."""
    return memory(SHARD_MB * attempt)


def shard_minutes(wildcards, attempt):
    """Return the time limit of a shard: five times its expected time, and some minutes."""
    seconds = seconds_of(f"run_shard/{wildcards.study}")
    return attempt * math.ceil(5 + 5 * seconds / 60)


IMPORT = re.compile(
    r"^\s*from ((?:privrep|images|replication)[\w.]*) import (\([^)]*\)|.*)",
    re.MULTILINE,
)


@functools.cache
def imported_modules(path):
    """Return the files of src that a Python file imports, at its top or inside a function."""
    found = []
    for base, names in IMPORT.findall(Path(path).read_text()):
        stem = f"{HERE / 'src'}/{base.replace('.', '/')}"
        files = [
            f"{stem}.py",
            f"{stem}/__init__.py",
            *(f"{stem}/{name}.py" for name in re.findall(r"\w+", names)),
        ]
        found += [file for file in files if Path(file).exists()]
    return found


@functools.cache
def code_of(script, *modules):
    """Return a script, the given modules, all that they import from src, and the tables beside these modules, CSV or of
    their name: the code that a rule reruns for."""
    todo, seen = [f"{HERE / 'workflow/scripts' / script}.py", *map(str, modules)], []
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.append(path)
            todo += imported_modules(path)
    kinds = (".toml", ".mplstyle")
    tables = [Path(path).with_suffix(kind) for path in seen for kind in kinds]
    tables += [table for path in seen for table in Path(path).parent.glob("*.csv")]
    return sorted({*seen, *(str(path) for path in tables if path.exists())})


METHOD_FILES = method_files()


@functools.cache
def checksum(path):
    """Return the SHA-256 of a file."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


# One file for the code behind the cells of a study, its algorithms included: with every file as an input of every shard,
# Snakemake takes minutes to look through them.
try:
    for name in SIMULATED:
        algorithms = {one.algorithm for one in STUDIES[name].series.values()}
        # Audits load all methods by their names.
        named = METHOD_FILES if "audit" in algorithms else algorithms
        methods = {str(HERE / METHOD_FILES[method]) for method in named}
        code = code_of("run_shard", *sorted(methods))
        write_if_changed(
            Path(RESULTS, name, "code.json"),
            as_json(
                {str(Path(path).relative_to(HERE)): checksum(path) for path in code}
            ),
        )
except OSError as error:
    raise WorkflowError(str(error)) from None


# Inputs of the page besides the tables: its texts, and its code.
TEXTS = sorted(
    str(path)
    for pattern in ("report/texts/*.md", "studies/*/chapter.md")
    for path in (HERE / "src/replication").glob(pattern)
)
PAGE_FILES = sorted(
    str(path)
    for folder in ("workflow/page", "src/replication/report/templates")
    for path in (HERE / folder).iterdir()
)
PAGE_CODE = code_of(
    "render_report",
    *sorted(
        str(path) for path in (HERE / "src/replication").glob("studies/*/analysis.py")
    ),
)


onstart:
    # Snakemake holds its lock here. Progress follows from the cost of jobs (workflow/scripts/run_all.py).
    owner.record(CLUSTER)
    seconds = {
        job.jobid: seconds_of("/".join([job.rule.name, *job.wildcards[:1]]))
        for job in workflow.dag.needrun_jobs()
    }
    write_whole(Path(f"logs/{RUN}/plan.json"), as_json(seconds))
