"""Run the frozen configuration once more on a master seed never used, and write how the two runs compare.

    make confirmation SEED=...
    python workflow/scripts/confirm.py --seed ... --no-run

Needs the default run (`make all`) of the present commit and a clean tree. Results go to results/default-seed<SEED>,
the comparison to docs/confirmation.csv and docs/confirmation.md. --no-run writes both from tables that exist.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from privrep.evidence.claims import exponents_judged
from privrep.evidence.confirmation import (
    CODE,
    COLUMNS,
    ConfirmationError,
    agreement,
    check_record,
    check_same,
    check_seed,
    compared,
    document,
    known_before,
)
from privrep.evidence.quantities import checked_claims
from privrep.evidence.stability import chances
from privrep.run.cli_errors import one_line_errors
from privrep.run.config import read_config
from privrep.run.csv_tables import read_rows, write_rows

DOCUMENT, TABLE = Path("docs/confirmation.md"), Path("docs/confirmation.csv")


def git(*words: str) -> str:
    """Output of a git command in this folder."""
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()


def same_code(one: str, two: str) -> bool:
    """Whether two commits agree in all that decides a run."""
    return one == two or not git("diff", "--name-only", one, two, "--", *CODE)


def read_record(reports: Path) -> dict:
    """The provenance of a run.

    Raises
    ------
    ConfirmationError
        If the run is not there.
    """
    path = reports / "provenance.json"
    if not path.exists():
        raise ConfirmationError(f"{path} is missing; run it first")
    return json.loads(path.read_text())


def check_start(first: dict) -> None:
    """Raise ConfirmationError unless the default run is of the present code, and the tree is clean."""
    check_record(first, "the default run")
    if git("status", "--porcelain"):
        raise ConfirmationError("the tree has uncommitted changes; commit or remove them first")
    if not same_code(first["commit"], "HEAD"):
        raise ConfirmationError(
            f"the default run is of commit {first['commit'][:10]}, whose code is not the present one; make all first"
        )


def compare(first: Path, second: Path) -> list[dict]:
    """The comparison of two runs, from their folders of reports."""
    one, two = read_record(first), read_record(second)
    check_same(one, two, same_code(one["commit"], two["commit"]))
    facts = {
        "seed": one["config"]["master_seed"],
        "confirmed_seed": two["config"]["master_seed"],
        "commit": two["commit"],
        "committed": git("show", "-s", "--format=%cs", two["commit"]),
        "config": git("rev-parse", f"{two['commit']}:config"),
    }
    claims = [claim for claims in checked_claims().values() for claim in claims]
    tables = Path("results/default").glob("*/measures.csv")
    measures = {path.parent.name: {row["quantity"]: row for row in read_rows(path)} for path in tables}
    judged = exponents_judged(claims, measures, "default")
    earlier = read_rows(TABLE) if TABLE.exists() else []
    return compared(
        read_rows(first / "claims.csv"),
        read_rows(second / "claims.csv"),
        facts,
        chances(claims, measures, "default", judged),
        known_before(earlier, facts["confirmed_seed"]),
    )


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True, help="a master seed never used")
    parser.add_argument("--no-run", action="store_true", help="write the document from tables that exist")
    parser.add_argument("--jobs", type=int, default=8)
    args = parser.parse_args()
    first, second = Path("reports"), Path("results") / f"default-seed{args.seed}" / "reports"
    try:
        if not args.no_run:
            written = DOCUMENT.read_text() if DOCUMENT.exists() else ""
            check_seed(args.seed, read_config().master_seed, written)
            check_start(read_record(first))
            run = [sys.executable, str(Path(__file__).with_name("run_all.py"))]
            status = subprocess.run([*run, "--jobs", str(args.jobs), "--master-seed", str(args.seed)]).returncode
            if status:
                sys.exit(status)
        else:
            check_seed(args.seed, read_config().master_seed)
        rows = compare(first, second)
    except ConfirmationError as error:
        sys.exit(f"confirm.py: {error}")
    write_rows(TABLE, rows, COLUMNS)
    DOCUMENT.write_text(document(rows))
    print(agreement(rows))
    print(f"Written: {DOCUMENT}, {TABLE}")


if __name__ == "__main__":
    main()
