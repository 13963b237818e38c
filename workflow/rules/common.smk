# Helpers of all rules: settings, checked before any job starts, and the code that each script depends on.
import ast
import json
from pathlib import Path

from snakemake.exceptions import WorkflowError

from privrep import grids
from privrep.task import ROOMS
from privrep.config import ConfigError, check_config, read_study, run_name

try:
    check_config(config)
    STUDIES = {name: read_study(config, name) for name in config["studies"]}
    for study in STUDIES.values():
        grids.expand(study)
    RUN = run_name(config)
except ConfigError as error:
    raise WorkflowError(str(error)) from None

RESULTS = f"results/{RUN}"
# The default run owns figures/ and reports/; any other writes beside its results.
FIGURES = "figures" if RUN == "default" else f"{RESULTS}/figures"
REPORTS = "reports" if RUN == "default" else f"{RESULTS}/reports"
# What a command needs to reach this run again.
RUN_OPTIONS = (
    ""
    if config["scale"] == "default"
    else f"--configfile config/scales/{config['scale']}.yaml"
)
if "-seed" in RUN:
    RUN_OPTIONS += f" --config master_seed={config['master_seed']}"
SIMULATED = [name for name, study in STUDIES.items() if "series" in study]
STUDIES_OF_PAPER = {}
for name, study in STUDIES.items():
    STUDIES_OF_PAPER.setdefault(study["paper"], []).append(name)


wildcard_constraints:
    study="|".join(STUDIES),
    shard=r"\d+",


def study_settings(wildcards):
    """What the jobs of a study need to know, as the JSON text of its settings file."""
    study = {
        key: value
        for key, value in STUDIES[wildcards.study].items()
        if key not in ("figures", "fits", "window")
    }
    chosen = {key: config[key] for key in ("master_seed", "memory_budget_mb")}
    return json.dumps({"study": study, **chosen})


def shard_files(suffix):
    """Input function: the given file of every shard of a study."""

    def files(wildcards):
        shards = range(STUDIES[wildcards.study]["shards"])
        return [
            f"{RESULTS}/{wildcards.study}/shards/{shard}.{suffix}" for shard in shards
        ]

    return files


def fits_of(study):
    """The files that say what is fitted and what the papers claim: nothing for a study without exponents."""
    if "fits" not in STUDIES[study]:
        return []
    return [
        f"config/studies/{study}.yaml",
        f"config/claims/{STUDIES[study]['paper']}.yaml",
    ]


def cells_of(study):
    """The results table of a study; nothing for a study of arithmetic."""
    return [f"{RESULTS}/{study}/cells.csv"] if study in SIMULATED else []


def figure_files(*studies):
    """Picture, print version and numbers of every figure of the given studies."""
    figures = [figure for study in studies for figure in STUDIES[study]["figures"]]
    return [
        f"{FIGURES}/{figure}.{kind}"
        for figure in figures
        for kind in ("svg", "pdf", "csv")
    ]


def job_benchmarks():
    """The benchmark files of the jobs that this run consists of, shards of an earlier division left out."""
    shards = [
        f"run_shard/{study}-{shard}"
        for study in SIMULATED
        for shard in range(STUDIES[study]["shards"])
    ]
    whole = [
        f"{rule}/{study}"
        for study in SIMULATED
        for rule in ("resolve_study", "merge_cells")
    ]
    steps = [f"{rule}_{study}" for study in STUDIES for rule in ("measure", "plot")]
    names = [*shards, *whole, *steps, "check_errata", "judge_claims"]
    return [f"benchmarks/{RUN}/{name}.tsv" for name in names]


def imported_modules(path):
    """Files of privrep that a Python file imports, by reading its import statements."""
    for node in ast.walk(ast.parse(Path(path).read_text())):
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.startswith("privrep")
        ):
            base = node.module.replace(".", "/")
            for candidate in [base, *(f"{base}/{alias.name}" for alias in node.names)]:
                if Path(f"src/{candidate}.py").exists():
                    yield f"src/{candidate}.py"


def code_of(script, *modules):
    """The script, the given modules, and all that they import from privrep: the code a rule must rerun for."""
    todo, seen = [f"workflow/scripts/{script}.py", *modules], []
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.append(path)
            todo += imported_modules(path)
    return sorted(seen)


def code_of_algorithm(name):
    """The file of an algorithm or an instrument."""
    rooms = (f"src/privrep/{room}/{name}.py" for room in ROOMS)
    return next(path for path in rooms if Path(path).exists())


def simulation_code(wildcards):
    """Input function: the code behind the cells of a study, its algorithms included."""
    algorithms = {
        series["algorithm"] for series in STUDIES[wildcards.study]["series"].values()
    }
    return code_of(
        "run_shard",
        *(code_of_algorithm(name) for name in sorted(algorithms)),
    )
