# Helpers of all rules: settings, checked before any job starts, and the code that each script depends on.
import ast
import functools
import json
import math
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from privrep.evidence import catalogue, quantities
from privrep.run.config import (
    ConfigError,
    check_config,
    layers,
    read_study,
    read_yaml,
    run_name,
)
from privrep.run import checksums
from privrep.run.clone import check_clone
from privrep.run.costs import bundles, estimated
from privrep.run.csv_tables import write_rows
from privrep.run.lock import RunAlive, RunOver, check_alone, check_job, hold
from privrep.run.resolved import as_json, write_if_changed, write_resolved
from privrep.run.registry import method_files
from privrep.run.slurm_jobs import SlurmSilent

# Calls of Snakemake that make nothing.
IDLE = {
    *("-n", "--dry-run", "--dryrun", "--unlock", "--lint", "--report"),
    *("--dag", "--rulegraph", "--filegraph", "--d3dag", "--summary", "-S"),
    *("--detailed-summary", "-D", "--list-rules", "-l", "--list-target-rules"),
    *("--lt", "--archive", "--cleanup-metadata", "--cm", "--print-compilation"),
    *("--delete-all-output", "--delete-temp-output"),
}
WORDS = {word.split("=")[0] for word in sys.argv[1:]}
# Jobs go to a cluster: Snakemake counts them instead of cores. (Of a plan, -n with -j looks the same.)
CLUSTER = workflow.resource_settings.nodes is not None

try:
    check_clone(Path.cwd())
    if not workflow.is_main_process:
        check_job()
    elif WORDS & IDLE:
        check_alone(Path.cwd())
    else:
        hold(Path.cwd(), CLUSTER)
    for path in workflow.configfiles:
        read_yaml(path)  # Snakemake lets a key stand twice
    CONFIG = check_config(config)
    OVERLAYS = [Path(path) for path in workflow.configfiles]
    STUDIES = {
        name: read_study(CONFIG, name, overlays=OVERLAYS) for name in CONFIG.studies
    }
    for study in STUDIES.values():
        quantities.check_fits(study)
    CLAIMS = quantities.checked_claims()
    catalogue.check_errata([claim.id for claims in CLAIMS.values() for claim in claims])
    RUN = run_name(CONFIG)
    for name, study in STUDIES.items():
        write_resolved(
            Path("results", RUN, name),
            study,
            CONFIG,
            quantities.measured(study),
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
except (ConfigError, RunAlive, RunOver, SlurmSilent) as error:
    raise WorkflowError(str(error)) from None

try:
    CORES = workflow.cores
except WorkflowError:  # nothing is to be run
    CORES = 1
if CORES < 1:
    raise WorkflowError(
        f"-j is {CORES}; it must be the number of jobs at once, at least 1"
    )

RESULTS = f"results/{RUN}"
# The default run owns figures/ and reports/; any other writes beside its results.
FIGURES = "figures" if RUN == "default" else f"{RESULTS}/figures"
REPORTS = "reports" if RUN == "default" else f"{RESULTS}/reports"
# What a command needs to reach this run again.
RUN_OPTIONS = (
    ""
    if CONFIG.scale == "default"
    else f"--configfile config/scales/{CONFIG.scale}.yaml"
)
if "-seed" in RUN:
    RUN_OPTIONS += f" --config master_seed={CONFIG.master_seed}"
SIMULATED = [name for name, study in STUDIES.items() if study.series]
STUDIES_OF_PAPER = {}
for name, study in STUDIES.items():
    STUDIES_OF_PAPER.setdefault(study.paper, []).append(name)


# Jobs wait until there is memory for them; --resources mem_mb=... says otherwise. A cluster has its own.
MEMORY_MB = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
if "mem_mb" not in workflow.global_resources and not CLUSTER:
    workflow.register_resource("mem_mb", MEMORY_MB)


def memory(peak_mb):
    """What a job asks for: its peak, or all there is."""
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
    """Rows and run times of every shard of a study; nothing for a study of arithmetic."""
    shards = range(STUDIES[study].shards if study in SIMULATED else 0)
    return [
        f"{RESULTS}/{study}/shards/{shard}.{kind}"
        for shard in shards
        for kind in ("csv", "timings.csv")
    ]


def tables_of(study):
    """Tables of a study: what the page says of it, and where it has cells these and their run times."""
    of_cells = ("cells", "timings") if study in SIMULATED else ()
    return [
        *page_tables(study),
        *(f"{RESULTS}/{study}/{name}.csv" for name in of_cells),
    ]


def page_tables(study):
    """Its quantities and facts, and where it has cells their sizes."""
    names = (
        "measures.csv",
        "facts.json",
        *(["sizes.csv"] if study in SIMULATED else []),
    )
    return [f"{RESULTS}/{study}/{name}" for name in names]


def figure_files(*studies, kinds=("svg", "csv")):
    """Picture and numbers of every figure of the given studies, or its print version."""
    figures = [figure for study in studies for figure in STUDIES[study].figures]
    return [f"{FIGURES}/{figure}.{kind}" for figure in figures for kind in kinds]


def own_drawing(study):
    """The file in which a study draws what is no figure of sweeps, if it has any."""
    path = Path("src/privrep/studies", study, "figures.py")
    return [str(path)] if path.exists() else []


# The checksums of outputs are written when their job is done (privrep.run.checksums).
CHECKSUMS = f"{RESULTS}/checksums"
Path(CHECKSUMS, "run_shard").mkdir(parents=True, exist_ok=True)


def promised():
    """All that a run makes: tables, figures, for print too where that was asked for, and reports,
    and the shards that it makes them from."""
    shards = [shard for study in SIMULATED for shard in shards_of(study)]
    figures = figure_files(*STUDIES, kinds=("svg", "csv", "pdf"))
    return [*shards, *kept_tables(), *figures, *reports()]


def kept_tables():
    """Tables of all studies."""
    return [table for study in STUDIES for table in tables_of(study)]


def reports():
    """What a run ends with."""
    names = (
        "index.html",
        "tour.ipynb",
        "claims.csv",
        "errata.csv",
        "provenance.json",
    )
    return [f"{REPORTS}/{name}" for name in names]


def check_checksums():
    """Remove what is not as its job left it; say so. Nothing is removed where nothing would be made."""
    if WORDS & {"--touch", "-t"}:
        checksums.renew(promised(), Path(CHECKSUMS))
    elif not WORDS & IDLE:
        for line in checksums.remove_broken(promised(), Path(CHECKSUMS)):
            print(line, file=sys.stderr)


if workflow.is_main_process:
    check_checksums()


def job_benchmarks():
    """The benchmark files of the jobs that this run consists of, shards of an earlier division left out."""
    shards = [
        f"run_shard/{study}-{shard}"
        for study in SIMULATED
        for shard in range(STUDIES[study].shards)
    ]
    steps = [f"{rule}_{study}" for study in STUDIES for rule in ("measure", "plot")]
    jobs = [*shards, *steps, "check_errata", "judge_claims"]
    return [f"benchmarks/{RUN}/{job}.tsv" for job in jobs]


# Rules have their cost as priority: the longest jobs start first, so that none runs alone at the end.
LAST_STEPS = [
    f"benchmarks/{RUN}/{rule}.tsv" for rule in ("write_provenance", "render_report")
]
COSTS = estimated([*job_benchmarks(), *LAST_STEPS], CONFIG.scale)


def cost(job):
    """Estimated CPU seconds of a job, by the name of its benchmark file."""
    return COSTS.get(f"benchmarks/{RUN}/{job}.tsv", 0.0)


def cost_of_shard(wildcards):
    """Input function: what a shard costs, and what waits for it."""
    study = wildcards.study
    step = max(cost(f"measure_{study}"), cost(f"plot_{study}"))
    return cost(f"run_shard/{study}-{wildcards.shard}") + step


# On a cluster no submission is shorter than a minute, as far as there is work for one.
BUNDLES = bundles(
    {
        (study, shard): cost(f"run_shard/{study}-{shard}")
        for study in SIMULATED
        for shard in range(STUDIES[study].shards)
    },
    least=60.0,
)


def bundle(wildcards):
    """Group of the shards that a cluster runs in one submission. How many may be in any of these groups stands in
    profiles/slurm under one name."""
    name = f"shards{BUNDLES[wildcards.study, int(wildcards.shard)]}"
    workflow.parent_groupids[name] = "shards"
    return name


def shard_memory(wildcards, attempt):
    """Input function: more after each failure."""
    return memory(SHARD_MB * attempt)


def shard_minutes(wildcards, attempt):
    """Input function: five times what a shard cost on the machine that measured it, and some minutes."""
    seconds = cost(f"run_shard/{wildcards.study}-{wildcards.shard}")
    return attempt * math.ceil(5 + 5 * seconds / 60)


def write_plan(dag):
    """Jobs that are to be run, with their costs, for who shows how long it takes (workflow/scripts/run_all.py)."""

    @functools.cache
    def seconds(job):
        return COSTS.get(str(job.benchmark), 0.0)

    @functools.cache
    def chain(job):
        return seconds(job) + max(map(chain, dag.depending[job]), default=0.0)

    rows = [
        {
            "jobid": job.jobid,
            "log": str(job.log),
            "cpu_seconds": seconds(job),
            "chain": chain(job),
        }
        for job in dag.needrun_jobs()
    ]
    write_rows(
        Path(f"logs/{RUN}/plan.csv"), rows, ("jobid", "log", "cpu_seconds", "chain")
    )


@functools.cache
def imported_modules(path):
    """Files of privrep that a Python file imports, at its top or inside a function, by reading its
    import statements."""
    text, found = Path(path).read_text(), []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "privrep"
        ):
            base = node.module.replace(".", "/")
            candidates = [base, *(f"{base}/{alias.name}" for alias in node.names)]
            files = [f"src/{candidate}.py" for candidate in candidates]
            found += [file for file in files if Path(file).exists()]
    return found


@functools.cache
def code_of(script, *modules):
    """The script, the given modules, and all that they import from privrep: the code a rule must rerun for."""
    todo, seen = [f"workflow/scripts/{script}.py", *modules], []
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.append(path)
            todo += imported_modules(path)
    return sorted(seen)


def simulation_code(wildcards):
    """Input function: the code behind the cells of a study, its algorithms included."""
    algorithms = {
        series.algorithm for series in STUDIES[wildcards.study].series.values()
    }
    return code_of(
        "run_shard",
        *(str(method_files()[name]) for name in sorted(algorithms)),
    )


# What the page is made of beside the tables: its texts, and the code that counts for them.
TEXTS = sorted(
    str(path)
    for pattern in ("report/texts/*.md", "studies/*/chapter.md")
    for path in Path("src/privrep").glob(pattern)
)
PAGE_FILES = sorted(
    str(path)
    for folder in ("workflow/page", "src/privrep/report/templates")
    for path in Path(folder).iterdir()
)
PAGE_CODE = code_of(
    "render_report",
    *sorted(str(path) for path in Path("src/privrep").glob("studies/*/analysis.py")),
)


onstart:
    # With a limit of jobs per second, which Snakemake has by default, each job leaves a timer that wakes the scheduler
    # every second until the end of the run. A cluster has its limit.
    if not CLUSTER:
        workflow.scheduler.job_rate_limiter = None
    write_plan(workflow.dag)
