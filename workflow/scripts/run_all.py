"""What `make all` runs: unlock after a kill, run Snakemake, say where the report is.

On a terminal a bar shows the jobs done, the time left and the cell under way, elsewhere a line now and then. What Snakemake says is shown
where it fails, and is kept below .snakemake/log.
"""

import argparse
import re
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm

from privrep.run.config import read_config, run_name
from privrep.run.csv_tables import read_rows
from privrep.run.plainly import at_least_one, plainly
from privrep.run.seals import MADE_AGAIN
from privrep.run.unlock import RunAlive, unlock

LINE_EVERY_SECONDS = 10.0


def current_cell(logs: Path, since: float) -> str:
    """The last progress line of the shard that reported last in this run."""
    fresh = [(path.stat().st_mtime, path) for path in logs.glob("*.log")]
    fresh = [pair for pair in fresh if pair[0] >= since]
    lines = max(fresh)[1].read_text().splitlines() if fresh else []
    return lines[-1] if lines else ""


def steps(command: list[str], last: deque[str], failed: list[str]) -> Iterator[tuple[int, int]]:
    """Run Snakemake; jobs done and in all, whenever one is done. Its exit status is the value of the iterator.

    last : its last lines. failed : all that it says of jobs that failed, their logs included.
    """
    inside = False
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in run.stdout:
        last.append(line)
        inside = (inside or line.startswith("Error in rule")) and not line.startswith(("Select jobs", "["))
        if inside and not line.startswith(("    input:", "    message:", "    jobid:", "        ")):
            failed.append(line)
        step = re.match(r"(\d+) of (\d+) steps", line)
        if step:
            yield int(step[1]), int(step[2])
        elif line.endswith(MADE_AGAIN):
            print(line, end="", flush=True)
    return run.wait()


def with_bar(progress: Iterator[tuple[int, int]], logs: Path) -> int:
    """Show a bar on a terminal."""
    start, over = time.time(), threading.Event()

    def refresh() -> None:
        while not over.wait(1.0):
            bar.set_postfix_str(current_cell(logs, start)[:80])

    with tqdm(unit="job", dynamic_ncols=True) as bar:
        threading.Thread(target=refresh, daemon=True).start()
        try:
            while True:
                done, bar.total = next(progress)
                bar.update(done - bar.n)
        except StopIteration as end:
            return end.value
        finally:
            over.set()


def with_lines(progress: Iterator[tuple[int, int]], logs: Path) -> int:
    """Show a line now and then where there is no terminal."""
    start = shown = time.time()
    try:
        while True:
            done, total = next(progress)
            if done == total or time.time() - shown >= LINE_EVERY_SECONDS:
                shown = time.time()
                print(f"{done} of {total} jobs, {shown - start:.0f} s; {current_cell(logs, start)[:100]}", flush=True)
    except StopIteration as end:
        return end.value


def explained(last: deque[str], failed: list[str]) -> str:
    """What Snakemake said of jobs that failed, and its end; of a folder that another run has locked, whose run that is."""
    if any("LockException" in line for line in last):
        try:
            unlock(Path.cwd())
        except RunAlive as error:
            return f"run_all.py: {error}\n"
    return "".join(failed or last)


def not_run(results: Path) -> list[str]:
    """A line for each study and reason for which cells were not run: files or a package that are not on this machine."""
    reasons = Counter(
        (path.parent.name, row["reason"].splitlines()[0])
        for path in sorted(results.glob("*/cells.csv"))
        for row in read_rows(path)
        if row["status"] == "not run"
    )
    return [f"Not run, {count} cells of {study}: {reason}" for (study, reason), count in reasons.items()]


@plainly
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configfile", type=Path, nargs="*", default=[], help="scale overlays")
    parser.add_argument("--master-seed", type=int, help="draw everything anew from this number")
    parser.add_argument("--jobs", type=at_least_one, default=8, help="jobs at once")
    args = parser.parse_args()
    print("Reading the configuration, and planning what is to be done", flush=True)
    command = ["snakemake", f"-j{args.jobs}", "all"]
    if args.configfile:
        command += ["--configfile", *map(str, args.configfile)]
    if args.master_seed is not None:
        command += ["--config", f"master_seed={args.master_seed}"]
    try:
        run = run_name(read_config(args.configfile, args.master_seed))
        if unlock(Path.cwd()):
            print("Unlocked the folder after a run that was killed; finished work is kept.")
    except RunAlive as error:
        sys.exit(f"run_all.py: {error}")
    logs = Path("logs") / run / "run_shard"
    last, failed = deque(maxlen=60), []
    status = (with_bar if sys.stderr.isatty() else with_lines)(steps(command, last, failed), logs)
    if status:
        sys.stderr.write(explained(last, failed))
        sys.exit(status)
    reports = Path("reports") if run == "default" else Path("results") / run / "reports"
    for line in not_run(Path("results") / run):
        print(line)
    verdicts = Counter(row["verdict"] for row in read_rows(reports / "claims.csv"))
    print("Verdicts: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    print(f"Report: {reports / 'index.html'}")


if __name__ == "__main__":
    main()
