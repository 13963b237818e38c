"""Run the cells that a study's table of record has series of, and write the table:
what they gave, with commit, master seed and machine.

    make record
    python workflow/scripts/update_record.py --study images --jobs 2

Needs a clean tree. The table is written as cells end; a run that was interrupted starts anew.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context

from run_shard import assert_one_thread

from privrep.data.problem import Users
from privrep.run.cli_errors import at_least_one, one_line_errors
from privrep.run.columns import study_columns
from privrep.run.config import ROOT, read_config, read_study
from privrep.run.csv_tables import write_rows
from privrep.run.grids import Cell, expand
from privrep.run.progress import track
from privrep.run.provenance import provenance
from privrep.run.record import ABOUT, read_record
from privrep.run.results import run_cell


def row_of(cell: Cell, master_seed: int, memory_budget_mb: int) -> dict:
    """What one cell gives."""
    assert_one_thread()
    return run_cell(cell, Users(cell.problem, master_seed, memory_budget_mb * 2**20))[0]


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", required=True)
    parser.add_argument("--jobs", type=at_least_one, default=1, help="cells at once")
    args = parser.parse_args()
    config = read_config()
    study = read_study(config, args.study)
    here = provenance({})
    if here["dirty"]:
        sys.exit(
            "update_record.py: the tree has changes that are not committed; a table of record names the commit that "
            "made it"
        )
    about = dict(zip(ABOUT, (here["commit"][:7], config.master_seed, here["cpu"]), strict=True))
    series = {name for name, _ in read_record(study.record)}
    cells = [cell for cell in expand(study) if cell.series in series]
    rows = []
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
        found = pool.map(row_of, cells, repeat(config.master_seed), repeat(config.memory_budget_mb))
        for _ in track(cells, study.record):
            rows.append(next(found) | about)
            write_rows(ROOT / study.record, rows, (*study_columns(study), *ABOUT))


if __name__ == "__main__":
    main()
