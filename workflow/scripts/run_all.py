"""What `make all` runs: unlock after a kill, run Snakemake, say where the report is.

On a terminal a bar shows the jobs done, the time left and the cell under way; elsewhere Snakemake's own lines are shown.
"""

import argparse
import re
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from pathlib import Path

from tqdm import tqdm

from privrep.run.config import ConfigError, read_config, run_name
from privrep.run.csv_tables import read_rows
from privrep.run.unlock import RunAlive, unlock


def current_cell(logs: Path, since: float) -> str:
    """The last progress line of the shard that reported last in this run."""
    fresh = [(path.stat().st_mtime, path) for path in logs.glob("*.log")]
    fresh = [pair for pair in fresh if pair[0] >= since]
    lines = max(fresh)[1].read_text().splitlines() if fresh else []
    return lines[-1] if lines else ""


def run_with_bar(command: list[str], logs: Path) -> int:
    """Run Snakemake behind a bar; its last lines are shown if it fails."""
    start, last, over = time.time(), deque(maxlen=60), threading.Event()

    def refresh() -> None:
        while not over.wait(1.0):
            bar.set_postfix_str(current_cell(logs, start)[:80])

    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with tqdm(unit="job", dynamic_ncols=True) as bar:
        threading.Thread(target=refresh, daemon=True).start()
        for line in run.stdout:
            last.append(line)
            step = re.match(r"(\d+) of (\d+) steps", line)
            if step:
                bar.total = int(step[2])
                bar.update(int(step[1]) - bar.n)
        over.set()
    if run.wait():
        print("".join(last), file=sys.stderr)
    return run.returncode


def not_run(results: Path) -> list[str]:
    """A line for each study and reason for which cells were not run: files or a package that are not on this machine."""
    reasons = Counter(
        (path.parent.name, row["reason"].splitlines()[0])
        for path in sorted(results.glob("*/cells.csv"))
        for row in read_rows(path)
        if row["status"] == "not run"
    )
    return [f"Not run, {count} cells of {study}: {reason}" for (study, reason), count in reasons.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configfile", type=Path, nargs="*", default=[], help="scale overlays")
    parser.add_argument("--master-seed", type=int, help="draw everything anew from this number")
    parser.add_argument("--jobs", type=int, default=8)
    args = parser.parse_args()
    command = ["snakemake", f"-j{args.jobs}", "all"]
    if args.configfile:
        command += ["--configfile", *map(str, args.configfile)]
    if args.master_seed is not None:
        command += ["--config", f"master_seed={args.master_seed}"]
    try:
        run = run_name(read_config(args.configfile, args.master_seed))
        if unlock(Path.cwd()):
            print("Unlocked the folder after a run that was killed; finished work is kept.")
    except (ConfigError, RunAlive) as error:
        sys.exit(f"run_all.py: {error}")
    logs = Path("logs") / run / "run_shard"
    status = run_with_bar(command, logs) if sys.stderr.isatty() else subprocess.run(command).returncode
    if status:
        sys.exit(status)
    reports = Path("reports") if run == "default" else Path("results") / run / "reports"
    for line in not_run(Path("results") / run):
        print(line)
    verdicts = Counter(row["verdict"] for row in read_rows(reports / "claims.csv"))
    print("Verdicts: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    print(f"Report: {reports / 'index.html'}")


if __name__ == "__main__":
    main()
