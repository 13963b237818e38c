"""Run one shard of a study, or one of its cells by key.

    python workflow/scripts/run_shard.py --study figure2 --shard 3 --output cells.csv --timings timings.csv
    python workflow/scripts/run_shard.py --study figure2 --cell 0123456789ab

The second form prints the row and the ledger of a cell at the default scale, or of a run at any scale in this folder.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from threadpoolctl import threadpool_info, threadpool_limits
from tqdm import tqdm

from privrep.simulate import run_cell
from privrep.users.engines import running_on
from privrep.users.simulated import Users
from replication.run.cli_errors import one_line_errors
from replication.run.columns import TIMING_COLUMNS, study_columns
from replication.run.config import read_config, read_study
from replication.run.csv_tables import write_rows
from replication.run.grids import expand, shards
from replication.run.memory import keep_freed_memory
from replication.run.settings import RunSettings, ShardSettings, read_settings


def settings(args: argparse.Namespace) -> ShardSettings:
    """Return the resolved study and the two settings of the run that a shard needs."""
    if args.settings:
        return read_settings(ShardSettings, args.settings)
    config = read_config(args.configfile, args.master_seed)
    study = read_study(config, args.study, overlays=args.configfile)
    return ShardSettings(study=study, **{key: getattr(config, key) for key in RunSettings.model_fields})


def runs_here(args: argparse.Namespace) -> Iterator[ShardSettings]:
    """Yield the requested settings, and then, if none are named, those of earlier runs at any scale."""
    yield settings(args)
    if not (args.settings or args.configfile or args.master_seed is not None):
        for path in sorted(Path("results").glob(f"*/{args.study}/shards.json")):
            yield read_settings(ShardSettings, path)


def show(args: argparse.Namespace) -> None:
    """Run one cell and print its row and its ledger."""
    for chosen in runs_here(args):
        for cell in expand(chosen.study):
            if cell.key == args.cell:
                users = Users(cell.problem, chosen.master_seed, chosen.memory_budget_mb * 2**20)
                with running_on(chosen.study.engine, chosen.study.scheduler):
                    row, _, ledger = run_cell(cell, users)
                print("\n".join(f"{name:<18} {value}" for name, value in row.items()))
                print(f"\nLedger\n{ledger}")
                return
    sys.exit(f"run_shard.py: study {args.study} has no cell {args.cell}; keys are in its cells.csv")


def assert_one_thread() -> None:
    """Limit BLAS to one thread, since the last bits of results depend on their number; RuntimeError if that fails."""
    threadpool_limits(1)
    threads = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    if threads - {1}:
        raise RuntimeError(f"BLAS runs on {max(threads)} threads; it must run on one")


@one_line_errors
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", required=True)
    parser.add_argument("--settings", type=Path, help="shards.json of the study; default: read config/")
    parser.add_argument("--configfile", type=Path, nargs="*", default=[], help="scale overlays, when reading config/")
    parser.add_argument("--master-seed", type=int, help="draw everything anew from this number")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--shard", type=int, help="number of the shard")
    what.add_argument("--cell", metavar="KEY", help="key of one cell, from cells.csv")
    parser.add_argument("--output", type=Path, help="rows of the shard")
    parser.add_argument("--timings", type=Path, help="run times of the shard")
    args = parser.parse_args()
    assert_one_thread()
    keep_freed_memory()
    if args.cell:
        show(args)
        return

    if not (args.output and args.timings):
        parser.error("--shard needs --output and --timings")
    chosen = settings(args)
    parts = shards(chosen.study)
    if not 0 <= args.shard < len(parts):
        parser.error(f"--shard is {args.shard}; study {args.study} has shards 0 to {len(parts) - 1}")
    cells = [cell for group in parts[args.shard] for cell in group]
    rows, timings, data = [], [], None
    with running_on(chosen.study.engine, chosen.study.scheduler):
        for cell in tqdm(cells, f"{args.study} shard {args.shard}", unit="cell", mininterval=5):
            if data is None or data.problem != cell.problem:
                data = Users(cell.problem, chosen.master_seed, chosen.memory_budget_mb * 2**20)
            row, timing, _ = run_cell(cell, data)
            rows.append(row)
            timings.append({"series": cell.series} | timing)
    write_rows(args.timings, timings, TIMING_COLUMNS)
    write_rows(args.output, rows, study_columns(chosen.study))


if __name__ == "__main__":
    main()
