"""Run the listed image experiments that a table lacks, on the device that JAX finds; see docs/images.md.

It can be ended at any time, and the same command resumes it. Several processes may share the work: each takes rows that
no other process has taken. It needs numpy, scipy, JAX and privrep's privacy core, nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

from images.table import SETTINGS, listed, read_table, run_rows  # noqa: E402


def spelled(value: object) -> str:
    """Return a setting as a person types it: 1 and not 1.0."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--rows", type=Path, default=ROOT / "src/images/runs.toml", help="the list")
    parser.add_argument("--only", nargs="*", default=[], metavar="KEY=VALUE", help="rows with these settings")
    parser.add_argument("--table", type=Path, default=ROOT / "docs/record/images.csv", help="table to add lines to")
    parser.add_argument("--data", type=Path, default=ROOT / "data", help="folder with a folder for each image set")
    parser.add_argument("--states", type=Path, default=ROOT / "results/images", help="folder for states of runs")
    parser.add_argument("--commit", help="commit of this code, where it is no git repository")
    parser.add_argument("--list", action="store_true", help="show the rows that the table lacks, and run nothing")
    args = parser.parse_args()
    for pair in args.only:
        if "=" not in pair or pair.split("=")[0] not in SETTINGS:
            parser.error(f"--only {pair}: it must be KEY=VALUE, with one of the keys {', '.join(SETTINGS)}")
    wanted = dict(pair.split("=", 1) for pair in args.only)
    try:
        rows = [row for row in listed(args.rows) if all(spelled(row.settings[k]) == v for k, v in wanted.items())]
        have = read_table(args.table)
    except FileNotFoundError as error:
        parser.error(f"{error.filename}: no such file")
    except (ValueError, OSError) as error:
        parser.error(str(error))
    missing = [row for row in rows if row.key not in have]
    print(f"{len(rows)} rows, {len(missing)} of them not in {args.table}", file=sys.stderr)
    if args.list:
        print("\n".join(map(str, missing)))
        return 0
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    commit = args.commit or subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    try:
        return 1 if run_rows(rows, args.table, args.data, args.states, commit[:12] or "unknown") else 0
    except KeyboardInterrupt:
        print("ended; the same command resumes", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
