"""Run the frozen configuration once more on an unused master seed, and write a comparison of the two runs.

    make confirmation SEED=...
    python workflow/scripts/confirm.py --seed ... --no-run

Needs the default run (`make all`) of the present commit and a clean tree. Results go to results/default-seed<SEED>,
the comparison to docs/confirmation.csv and docs/confirmation.md. --no-run writes both from tables that exist.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from replication.evidence.compare import CONFIRMATION_COLUMNS, SHOWN, confirmation_pairs, paired, summary
from replication.report.documents import confirmation_page
from replication.run.cli_errors import one_line_errors
from replication.run.config import read_config
from replication.run.csv_tables import read_rows, write_rows
from replication.run.models import ConfigError
from replication.run.provenance import clean_record

DOCUMENT, TABLE = Path("docs/confirmation.md"), Path("docs/confirmation.csv")
USED_SEEDS = (20211206, 7)
"""Master seeds with known results besides those of confirmations: the default one, and that of `make all SEED=7`."""
CODE = ("src", "workflow", "config", "Snakefile", "requirements.lock")
"""Files that determine a run: two commits that agree in these have the same code."""


def git(*words: str) -> str:
    """Return the output of a git command in this folder."""
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()


def same_code(first: str, second: str) -> bool:
    """Return whether two commits agree in all files that determine a run."""
    return first == second or not git("diff", "--name-only", first, second, "--", *CODE)


def check_start(first: dict) -> None:
    """Raise ConfigError unless the default run is of the present code, and the tree is clean."""
    if git("status", "--porcelain"):
        raise ConfigError("the tree has uncommitted changes; commit or remove them first")
    if not same_code(first["commit"], "HEAD"):
        raise ConfigError(f"the default run has other code, of commit {first['commit'][:10]}; make all first")


def check_same(first: dict, second: dict) -> None:
    """Raise ConfigError unless two runs at the default scale differ, by their provenance, in their seed alone."""
    here, there = ({**record["config"], "master_seed": None} for record in (first, second))
    if here["scale"] != "default":
        raise ConfigError(f"the first run has scale {here['scale']}; a confirmation compares runs at the default scale")
    differing = sorted(key for key in here.keys() | there.keys() if here.get(key) != there.get(key))
    if differing:
        raise ConfigError(f"the two runs differ in more than their seed: {', '.join(differing)}")
    if not same_code(first["commit"], second["commit"]):
        raise ConfigError(f"the runs have different code: commits {first['commit'][:10]} and {second['commit'][:10]}")


def compare(first: Path, second: Path) -> list[dict]:
    """Return the rows of docs/confirmation.csv, from the folders of reports of two runs."""
    record, other = clean_record(first), clean_record(second)
    check_same(record, other)
    tables = [read_rows(folder / "claims.csv") for folder in (first, second)]
    pairs = paired(*tables)
    if not len(pairs) == len(tables[0]) == len(tables[1]):
        raise ConfigError("the two runs do not have the same rows")
    seeds = {"seed": record["config"]["master_seed"], "confirmed_seed": other["config"]["master_seed"]}
    about = seeds | {"commit": other["commit"]}
    return [
        {name: row[name] for name in ("id", "quantity", *SHOWN)}
        | {f"confirmed_{name}": other[name] for name in SHOWN}
        | about
        for row, other in pairs
    ]


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True, help="a master seed never used")
    parser.add_argument("--no-run", action="store_true", help="write the document from tables that exist")
    parser.add_argument("--jobs", type=int, default=8)
    args = parser.parse_args()
    first, second = Path("reports"), Path("results") / f"default-seed{args.seed}" / "reports"
    earlier = read_rows(TABLE) if TABLE.exists() else []
    if args.no_run:
        earlier = [row for row in earlier if row["confirmed_seed"] != str(args.seed)]
    if args.seed in {read_config().master_seed, *USED_SEEDS, *(int(row["confirmed_seed"]) for row in earlier)}:
        raise ConfigError(f"seed {args.seed} was used before; a confirmation needs a seed never used")
    if not args.no_run:
        check_start(clean_record(first))
        run = [sys.executable, str(Path(__file__).with_name("run_all.py"))]
        status = subprocess.run([*run, "--jobs", str(args.jobs), "--master-seed", str(args.seed)]).returncode
        if status:
            sys.exit(status)
    write_rows(TABLE, compare(first, second) + earlier, CONFIRMATION_COLUMNS)
    rows = read_rows(TABLE)
    DOCUMENT.write_text(confirmation_page(rows))
    print(summary(confirmation_pairs(rows)))
    print(f"Written: {DOCUMENT}, {TABLE}")


if __name__ == "__main__":
    main()
