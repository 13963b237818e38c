"""Faults that a user can meet, and what is said of them: cases of `test_faults`, and the table docs/faults.md.

python tests/faults.py     writes the table
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "faults.md"


@dataclass(frozen=True)
class Misconfigured:
    """A text in a configuration file, what is put in its place, and what the message says."""

    what: str
    path: str
    old: str
    new: str
    says: str


FIGURE2, QUICK, CONFIG = "config/studies/figure2.yaml", "config/scales/quick.yaml", "config/config.yaml"
INIT = "config/studies/init_rates.yaml"
MISCONFIGURED = [
    Misconfigured(
        "a number in a form that YAML reads as text",
        FIGURE2,
        "clip_label: 1.0e-4",
        "clip_label: 1e-4",
        "clip_label is '1e-4', a text; it must be a number; YAML reads 1e-4 as text, write 1.0e-4",
    ),
    Misconfigured(
        "the same for delta",
        FIGURE2,
        "delta: 1.0e-6",
        "delta: 1e-6",
        "delta: '1e-6' is a str, it must be a number; YAML reads 1e-6 as text, write 1.0e-6",
    ),
    Misconfigured(
        "a misspelt key", FIGURE2, "  rank: 2 ", "  rnak: 2 ", "'rnak' is not a known key; the nearest is 'rank'"
    ),
    Misconfigured("a missing key", FIGURE2, "  rank: 2 ", "  # ", "the key 'rank' is missing"),
    Misconfigured(
        "a key that stands twice",
        FIGURE2,
        "delta: 1.0e-6",
        "delta: 1.0e-5\ndelta: 1.0e-6",
        "the key 'delta' stands twice",
    ),
    Misconfigured(
        "a second problem",
        FIGURE2,
        "delta: 1.0e-6",
        "problem: {users: 7, samples: 10, dim: 5, rank: 2}\ndelta: 1.0e-6",
        "the key 'problem' stands twice",
    ),
    Misconfigured("no users", FIGURE2, "users: 50000", "users: 0", "problem.users: 0 must be at least 1"),
    Misconfigured("a negative size", FIGURE2, "users: 50000", "users: -5", "problem.users: -5 must be at least 1"),
    Misconfigured(
        "a size that is no integer",
        FIGURE2,
        "users: 50000",
        "users: 50000.5",
        "problem.users: 50000.5 is a float, it must be an integer",
    ),
    Misconfigured(
        "a size that is a text",
        FIGURE2,
        "users: 50000",
        "users: many",
        "problem.users: 'many' is a str, it must be an integer",
    ),
    Misconfigured(
        "a rank beyond the dimension",
        FIGURE2,
        "  rank: 2 ",
        "  rank: 51 ",
        "rank is 51; it must not exceed dim, which is 50",
    ),
    Misconfigured("delta of 1", FIGURE2, "delta: 1.0e-6", "delta: 1.0", "delta: 1.0 must be less than 1"),
    Misconfigured("no shards", FIGURE2, "shards: 16", "shards: 0", "shards: 0 must be at least 1"),
    Misconfigured(
        "an algorithm that does not exist",
        INIT,
        "algorithm: spectral_init",
        "algorithm: spectral_inti",
        "algorithm is 'spectral_inti'; there is no file src/privrep/algorithms/spectral_inti.py, the nearest is "
        "spectral_init",
    ),
    Misconfigured(
        "an option that does not exist",
        INIT,
        "options: {init_label_clip:",
        "options: {init_lable_clip:",
        "init_lable_clip is no option of spectral_init; the nearest is init_label_clip",
    ),
    Misconfigured(
        "a list where one value stands",
        FIGURE2,
        "clip_label: 1.0e-4",
        "clip_label: [1.0e-4]",
        "must be a number or a text",
    ),
    Misconfigured("a grid that does not exist", INIT, "grid: n,", "grid: nn,", "'nn' is no grid; the nearest is 'n'"),
    Misconfigured(
        "a study that does not exist, in a scale",
        QUICK,
        "scale: quick\n",
        "scale: quick\noverrides: {init_rate: {shards: 1}}\n",
        "overrides: 'init_rate' is no file of config/studies; the nearest is 'init_rates'",
    ),
    Misconfigured(
        "a grid that does not exist, in a scale",
        QUICK,
        "scale: quick\n",
        "scale: quick\noverrides: {figure2: {grids: {decidng: {seed: 1}}}}\n",
        "'decidng' is not in grids of config/studies/figure2.yaml; the nearest is 'deciding'",
    ),
    Misconfigured(
        "a value in a scale",
        QUICK,
        "scale: quick\n",
        "scale: quick\noverrides:\n  figure2:\n    problem: {users: x}\n",
        "config/scales/quick.yaml, line 5: problem.users: 'x' is a str",
    ),
    Misconfigured(
        "a scale that does not exist",
        QUICK,
        "scale: quick\n",
        "scale: quik\n",
        "scale: 'quik' must be one of default, tiny, quick, record",
    ),
    Misconfigured(
        "a master seed that is a text",
        CONFIG,
        "master_seed: 20211206",
        "master_seed: zero",
        "master_seed: 'zero' is a str, it must be an integer",
    ),
    Misconfigured(
        "a negative master seed",
        CONFIG,
        "master_seed: 20211206",
        "master_seed: -1",
        "master_seed: -1 must be at least 0",
    ),
    Misconfigured(
        "an unknown setting of the run",
        CONFIG,
        "master_seed: 20211206",
        "master_sede: 0",
        "'master_sede' is not a known key; the nearest is 'master_seed'",
    ),
    Misconfigured(
        "another study's name in a file",
        FIGURE2,
        "study: figure2",
        "study: risk",
        "config/studies/figure2.yaml: study: 'risk' must be 'figure2', the name of its file",
    ),
    Misconfigured(
        "nothing where scales stand",
        INIT,
        "scales:\n  tiny:",
        "scales: null\nothers:\n  tiny:",
        "scales: None is a NoneType, it must be a mapping",
    ),
    Misconfigured(
        "a number where what a scale changes stands",
        FIGURE2,
        "scales:\n  tiny:",
        "scales:\n  tiny: 3\nothers:\n  tiny:",
        "scales.tiny: 3 is a int, it must be a mapping",
    ),
    Misconfigured(
        "a number that YAML reads in base 8",
        FIGURE2,
        "users: 50000",
        "users: 050000",
        "YAML reads 050000 as 20480; write 20480, or '050000' for a text",
    ),
    Misconfigured(
        "a number that YAML reads in base 60",
        FIGURE2,
        "shards: 16",
        "shards: 1:30",
        "YAML reads 1:30 as 90; write 90, or '1:30' for a text",
    ),
    Misconfigured(
        "more users than there will ever be",
        FIGURE2,
        "users: 10000",
        f"users: {10**30}",
        f"users is {10**30}; it must be at most {10**12}",
    ),
    Misconfigured("a million shards", FIGURE2, "shards: 16", "shards: 1000000", "shards: 1000000 must be at most 1000"),
    Misconfigured("no YAML", FIGURE2, "delta: 1.0e-6", "delta: [1.0e-6", "this is not valid YAML"),
    Misconfigured(
        "a rule of judging that does not exist", INIT, "rule: rate", "rule: rtae", "rule: 'rtae' must be one of"
    ),
    Misconfigured(
        "a claim on a quantity that is not measured",
        INIT,
        "measured: exponent privacy n dist2",
        "measured: exponent privacy nn dist2",
        "'exponent privacy nn dist2' is not measured by study init_rates; the nearest is 'exponent privacy n dist2'",
    ),
    Misconfigured(
        "an erratum that touches a claim that does not exist",
        "config/errata.yaml",
        "claims: [A-T5.1, A-T5.2]",
        "claims: [A-T5.1, A-T5.3]",
        "errata.E1.claims: 'A-T5.3' is no claim; the nearest is 'A-T5.2'",
    ),
]


@dataclass(frozen=True)
class Misplaced:
    """A copy of a study's file under another name, and what the message says."""

    what: str
    path: str
    says: str


MISPLACED = [
    Misplaced("a backup", "config/studies/figure2~.yaml", "figure2~.yaml: this is no name of a file that is read here"),
    Misplaced("a copy", "config/studies/figure2 (copy).yaml", "figure2 (copy).yaml: this is no name of a file"),
    Misplaced("a copy with another ending", "config/studies/figure2.yml", "figure2.yml: this is no name of a file"),
    Misplaced(
        "two files of one study",
        "config/studies/figure2_old.yaml",
        "figure2_old.yaml: study: 'figure2' must be 'figure2_old', the name of its file",
    ),
    Misplaced("a backup of a paper", "config/papers/jain2021~.yaml", "jain2021~.yaml: this is no name of a file"),
]
EDITORS = [".#figure2.yaml", "figure2.yaml~", "#figure2.yaml#", ".figure2.yaml.swp"]
"""Files of editors beside a study's, which are not read."""


@dataclass(frozen=True)
class Misfitted:
    """Arguments of a fit from a Python shell, and what the message says."""

    what: str
    arguments: dict[str, object]
    says: str


MISFITTED = [
    Misfitted("a size that is a text", {"users": "2000"}, "users: '2000' is a str, it must be an integer"),
    Misfitted("a text for epsilon", {"epsilon": "1"}, "epsilon: '1' is a str, it must be a number"),
    Misfitted("a list for epsilon", {"epsilon": [1.0, 2.0]}, "epsilon: [1.0, 2.0] is a list, it must be a number"),
    Misfitted(
        "no epsilon",
        {"epsilon": None},
        "epsilon is None, not a number greater than 0; centaur is private and needs one",
    ),
    Misfitted("no seed", {"seed": None}, "seed: None is a NoneType, it must be an integer"),
    Misfitted("a negative seed", {"seed": -1}, "seed: -1 must be at least 0"),
    Misfitted("a negative master seed", {"master_seed": -1}, "master_seed: -1 must be at least 0"),
    Misfitted(
        "the paper's letter for a size", {"n": 2000}, "n is 2000; fit has no argument of this name, write users="
    ),
    Misfitted("an array for an option", {"clip": np.ones(2)}, "clip is array([1., 1.]); it must be one value"),
    Misfitted("more users than there will ever be", {"users": 10**30}, f"it must be at most {10**12}"),
    Misfitted(
        "samples that no memory holds",
        {"samples": 10**12},
        "samples is 1000000000000 and dim is 6; 4 users at once take 2.6e+14 bytes, and this machine has",
    ),
]


@dataclass(frozen=True)
class Misused:
    """Words of a command, and what it says in one line."""

    what: str
    words: tuple[str, ...]
    says: str


RUN, SHARD = (f"workflow/scripts/{name}.py" for name in ("run_all", "run_shard"))
FILES = ("--output", "cells.csv", "--timings", "timings.csv")
MISUSED = [
    Misused("no jobs at once", (RUN, "--jobs", "0"), "'0' must be an integer of at least 1"),
    Misused("a negative number of jobs", (RUN, "--jobs=-1"), "'-1' must be an integer of at least 1"),
    Misused("a number of jobs that is a text", (RUN, "--jobs", "many"), "'many' must be an integer of at least 1"),
    Misused("an unknown flag", (RUN, "--jbos", "2"), "unrecognized arguments: --jbos 2"),
    Misused(
        "a missing configuration file",
        (RUN, "--configfile", "config/scales/quik.yaml"),
        "config/scales/quik.yaml: there is no such file",
    ),
    Misused("a picture for a configuration file", (RUN, "--configfile", "picture.png"), "byte 0 is no UTF-8 text"),
    Misused(
        "a shard that does not exist",
        (SHARD, "--study", "figure2", "--shard", "99", *FILES),
        "--shard is 99; study figure2 has shards 0 to 15",
    ),
    Misused(
        "a negative shard",
        (SHARD, "--study", "figure2", "--shard=-1", *FILES),
        "--shard is -1; study figure2 has shards 0 to 15",
    ),
    Misused(
        "a study that does not exist",
        (SHARD, "--study", "figur2", "--shard", "0", *FILES),
        "figur2.yaml: there is no such file",
    ),
    Misused(
        "a cell that does not exist",
        (SHARD, "--study", "figure2", "--cell", "0123456789ab"),
        "study figure2 has no cell 0123456789ab; keys stand in its cells.csv",
    ),
]


@dataclass(frozen=True)
class Damaged:
    """A file of a finished run, and what happens to it from outside."""

    what: str
    path: str
    how: str


RESULTS = "results/tiny"
DAMAGED = [
    Damaged("a shard is cut in half", f"{RESULTS}/figure2/shards/1.csv", "halved"),
    Damaged("a shard is cut inside its last row", f"{RESULTS}/init_rates/shards/0.csv", "cut"),
    Damaged(
        "a shard and the table made of it are gone",
        f"{RESULTS}/figure2/shards/0.csv|{RESULTS}/figure2/cells.csv",
        "removed",
    ),
    Damaged("a table of cells is cut", f"{RESULTS}/init_rates/cells.csv", "cut"),
    Damaged("a number in a table is another", f"{RESULTS}/figure2/cells.csv", "edited"),
    Damaged("a table of measures is empty", f"{RESULTS}/figure2/measures.csv", "emptied"),
    Damaged("a table of measures is gone", f"{RESULTS}/init_rates/measures.csv", "removed"),
    Damaged("a figure is gone", f"{RESULTS}/figures/jain2021/figure2.svg", "removed"),
    Damaged("a figure is cut", f"{RESULTS}/figures/jain2021/figure2.svg", "halved"),
    Damaged("the numbers of a figure are gone", f"{RESULTS}/figures/jain2021/figure2.csv", "removed"),
    Damaged("the verdicts are cut", f"{RESULTS}/reports/claims.csv", "halved"),
    Damaged("the report is gone", f"{RESULTS}/reports/index.html", "removed"),
    Damaged("the report is cut", f"{RESULTS}/reports/index.html", "halved"),
    Damaged("the checksums are gone", f"{RESULTS}/checksums/plot_figure2.sha256", "removed"),
]

SET_UP = [
    ("a clone finds the environment of another", "ends red in one line that names both, as it does in pytest"),
    ("a folder is moved after it was set up", "the next `make` sets it up anew"),
    ("a set-up is interrupted, or cut short in another way", "the same command begins it anew"),
    ("the Python of the environment is gone", "the next `make` sets it up anew"),
    ("another Python is asked for than the environment has", "`make PYTHON=...` sets it up anew"),
    ("the Python that is asked for does not exist", "ends red in one line; the environment stays"),
    ("`.venv` is a link to the environment of another clone", "the link is replaced; the other stays as it is"),
]

KILLED = [
    (
        "Ctrl-C",
        "ends in one line that says what is kept and how to go on, with exit status 130; no job is left; the next run "
        "goes on, with the same bytes",
    ),
    ("a home folder that can only be read", "Snakemake keeps its cache below .snakemake"),
    (
        "a worker is killed from outside",
        "ends red, says which shard, its memory and how to go on; the next run goes on after its last cell, with the "
        "same bytes",
    ),
    ("Snakemake is killed", "its jobs end, too; the next run goes on, with the same bytes"),
    ("Snakemake and its workers are killed", "the same"),
    (
        "a checkpoint is cut, or of other settings or code",
        "what is whole and of the same origin is kept; the same bytes",
    ),
    ("a second run is started", "ends red, says which process on which host is alive"),
    (
        "a run on another host is alive or was killed, in the same folder",
        "ends red, says which process on which host it is, which file holds the lock, and what to do",
    ),
    ("the clock jumps back, or a day ahead", "the same bytes"),
    (
        "a file may grow no further, as on a full disk",
        "ends red in one line, leaves nothing half written; then the same bytes",
    ),
    ("a disk of 2 MB is full", "the same"),
    ("a folder can only be read", "ends red in one line"),
    (
        "a table that a job is given has a text for a number, a row that is cut, or bytes that are no text",
        "ends red, names file, row and column",
    ),
]


@dataclass(frozen=True)
class OnCluster:
    """A fault of a run of four submissions, in which test it is tried, and what happens."""

    what: str
    test: str
    happens: str
    submissions: str


FAILS, DAEMONS = "a_job_that_fails_is_submitted_again_by_itself", "daemons_that_end_and_a_node_that_vanishes"
HEAD, DISK = "snakemake_is_killed", "a_full_disk_and_a_shard_that_was_cut_short"
AGAIN = "ends green: the shard is submitted again with twice the memory"
ON_CLUSTER = [
    OnCluster("kill -9 of the process of a job", FAILS, AGAIN, "1 more"),
    OnCluster("a job takes more memory than it asked for", FAILS, AGAIN, "1 more"),
    OnCluster("scancel of a job", FAILS, AGAIN, "1 more"),
    OnCluster("a job runs into its time limit", FAILS, AGAIN, "1 more"),
    OnCluster("kill -9 of slurmd, which is started again", DAEMONS, "ends green: its jobs go on", "none more"),
    OnCluster("kill -9 of slurmctld, which is started again", DAEMONS, "the same", "none more"),
    OnCluster(
        "a node vanishes with its processes", DAEMONS, "ends green: its jobs are submitted again", "1 more for each job"
    ),
    OnCluster(
        "a second run is started",
        HEAD,
        "ends red, says which process on which host is alive, and its jobs in Slurm",
        "none",
    ),
    OnCluster(
        "kill -9 of Snakemake, with jobs that run on other hosts and jobs in the queue",
        HEAD,
        "they go on; the same command again ends them before it submits anything, and ends green",
        "1 more for each job that was not over",
    ),
    OnCluster(
        "the disk is full",
        DISK,
        "ends red, says so; with room the same command goes on",
        "1 more for each shard that was not whole",
    ),
    OnCluster(
        "a shard is cut short after the run", DISK, "the next run says so, and makes this one again", "1 for the shard"
    ),
]


def document() -> str:
    """docs/faults.md."""
    lines = [
        "# Faults",
        "",
        "Written by `python tests/faults.py` from the cases of `tests/test_faults.py`, which tries each of them "
        "with `tests/test_lock.py` and `tests/test_setup.py`. None ends green and wrong.",
        "",
        "## In the configuration: stopped before any job",
        "",
        "| fault | file | message |",
        "|---|---|---|",
        *(f"| {case.what} | {case.path} | {case.says} |" for case in MISCONFIGURED),
        "",
        "## Files beside those of config/: stopped before any job",
        "",
        "| fault | file | message |",
        "|---|---|---|",
        *(f"| {case.what} | {case.path} | {case.says} |" for case in MISPLACED),
        "",
        f"What editors leave is not read: {', '.join(f'`{name}`' for name in EDITORS)}.",
        "",
        "## In a fit from a Python shell: a ValueError",
        "",
        "| fault | message |",
        "|---|---|",
        *(f"| {case.what} | {case.says} |" for case in MISFITTED),
        "",
        "## In the environment",
        "",
        "| fault | what happens |",
        "|---|---|",
        *(f"| {what} | {happens} |" for what, happens in SET_UP),
        "",
        "## In a command: one line, exit status not 0",
        "",
        "| fault | message |",
        "|---|---|",
        *(f"| {case.what} | {case.says} |" for case in MISUSED),
        "",
        "## In what a run made: the next run says so, and makes again what is needed, with the same bytes",
        "",
        "| fault | file |",
        "|---|---|",
        *(f"| {case.what} | {case.path.replace('|', ' and ')} |" for case in DAMAGED),
        "",
        "## Around a run",
        "",
        "| fault | what happens |",
        "|---|---|",
        *(f"| {what} | {happens} |" for what, happens in KILLED),
        "",
        "## On a cluster (Slurm)",
        "",
        "Tried by `tests/test_slurm.py` on a Slurm of two nodes that it starts, in submissions of one shard. Each ends "
        "in the bytes of",
        "`claims.csv` and `cells.csv` of a run without fault on one machine.",
        "",
        "| fault | what happens | submissions |",
        "|---|---|---|",
        *(f"| {case.what} | {case.happens} | {case.submissions} |" for case in ON_CLUSTER),
        "",
        "What Snakemake reads before this project is asked shows Snakemake's own words: `snakemake --configfile` with "
        "a file that does not exist, or with a",
        "target after it, `--config master_seed` without a value, and a home folder that can only be read end red with "
        "a traceback, and Ctrl-C with the",
        "commands of all jobs under way. `make` and `workflow/scripts/run_all.py` say it in one line.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(document())
