"""Run one shard of a study, or one of its cells by key.

    python workflow/scripts/run_shard.py --study figure2 --shard 3 --output cells.csv --timings timings.csv
    python workflow/scripts/run_shard.py --study figure2 --cell 0123456789ab

The second form prints the row and the ledger of the cell.
"""

import argparse
import sys
from pathlib import Path

from threadpoolctl import threadpool_info, threadpool_limits

from privrep.data.problem import Users
from privrep.run.columns import study_columns
from privrep.run.config import read_config, read_study
from privrep.run.csv_tables import write_rows
from privrep.run.grids import expand, shard
from privrep.run.progress import track
from privrep.run.results import TIMING_COLUMNS, run_cell
from privrep.run.settings import ConfigError, RunSettings, ShardSettings, read_settings


def settings(args: argparse.Namespace) -> ShardSettings:
    """The resolved study and the two settings of the run that a shard needs."""
    if args.settings:
        return read_settings(ShardSettings, args.settings)
    config = read_config(args.configfile, args.master_seed)
    return ShardSettings(
        study=read_study(config, args.study), **{key: getattr(config, key) for key in RunSettings.model_fields}
    )


def assert_one_thread() -> None:
    """Results depend on the number of BLAS threads in their last bits: use one, and make sure of it."""
    threadpool_limits(1)
    threads = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    if threads - {1}:
        raise RuntimeError(f"BLAS runs on {max(threads)} threads; it must run on one")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", required=True)
    parser.add_argument(
        "--settings", type=Path, help="shards.json of the study, see privrep.run.resolved; default: read config/"
    )
    parser.add_argument("--configfile", type=Path, nargs="*", default=[], help="scale overlays, when reading config/")
    parser.add_argument("--master-seed", type=int, help="draw everything anew from this number")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--shard", type=int, help="number of the shard")
    what.add_argument("--cell", metavar="KEY", help="key of one cell, from cells.csv")
    parser.add_argument("--output", type=Path, help="rows of the shard")
    parser.add_argument("--timings", type=Path, help="run times of the shard")
    args = parser.parse_args()
    assert_one_thread()
    try:
        chosen = settings(args)
    except ConfigError as error:
        sys.exit(f"run_shard.py: {error}")

    def users(problem) -> Users:
        return Users(problem, chosen.master_seed, chosen.memory_budget_mb * 2**20)

    if args.cell:
        cells = [cell for cell in expand(chosen.study) if cell.key == args.cell]
        if not cells:
            sys.exit(f"run_shard.py: study {args.study} has no cell {args.cell}; keys stand in its cells.csv")
        row, _, ledger = run_cell(cells[0], users(cells[0].problem))
        print("\n".join(f"{name:<18} {value}" for name, value in row.items()))
        print(f"\nLedger\n{ledger}")
        return

    if not (args.output and args.timings):
        parser.error("--shard needs --output and --timings")
    groups = shard(chosen.study, args.shard)
    rows, timings, data = [], [], None
    for cell in track([cell for group in groups for cell in group], f"{args.study} shard {args.shard}"):
        if data is None or data.problem != cell.problem:
            data = users(cell.problem)
        row, timing, _ = run_cell(cell, data)
        rows.append(row)
        timings.append(timing)
    write_rows(args.timings, timings, TIMING_COLUMNS)
    write_rows(args.output, rows, study_columns(chosen.study))


if __name__ == "__main__":
    main()
