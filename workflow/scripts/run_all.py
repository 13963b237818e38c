"""What `make all` runs: run Snakemake, say where the report is.

One bar shows the share of the work that is done, the time left and the cell under way, elsewhere than on a terminal a
line now and then. Work is measured by what jobs cost (privrep.run.costs). What Snakemake says is shown where it fails,
and is kept below .snakemake/log.
"""

import argparse
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from pathlib import Path

from platformdirs import user_cache_path
from tqdm import tqdm

from privrep.run.checksums import MADE_AGAIN
from privrep.run.cli_errors import at_least_one, one_line_errors
from privrep.run.config import read_config, run_name
from privrep.run.costs import Planned, outlook
from privrep.run.csv_tables import read_rows
from privrep.run.lock import check_alone
from privrep.run.progress import reported

LINE_EVERY_SECONDS, LINE_AT_LEAST_EVERY = 10.0, 60.0


def duration(seconds: float) -> str:
    """A time in few words."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


class Watch:
    """What a run has done and has left.

    plan : table of its jobs, which Snakemake writes as it starts; nothing is known before. jobs : at once.
    finished : their numbers.
    """

    def __init__(self, plan: Path, jobs: int):
        plan.unlink(missing_ok=True)
        self.plan, self.at_once, self.finished = plan, min(jobs, len(os.sched_getaffinity(0))), set()
        self._rows: list[dict[str, str]] = []

    def seen(self) -> tuple[float, str] | None:
        """Share of the work that is done, and the words beside it."""
        if not self._rows:
            if not self.plan.exists():
                return None
            self._rows, self._start = read_rows(self.plan), self.plan.stat().st_mtime
        jobs, latest = [], (0.0, "")
        for row in self._rows:
            log = Path(row["log"])
            share = float(row["jobid"] in self.finished)
            if not share and log.is_file() and (written := log.stat().st_mtime) >= self._start:
                share, current = reported((log.read_text().splitlines() or [""])[-1])
                latest = max(latest, (written, current or log.stem))
            jobs.append(Planned(float(row["cpu_seconds"]), float(row["chain"]), share))
        elapsed = time.time() - self._start
        share, left = outlook(jobs, elapsed, self.at_once)
        done = f"{len(self.finished)} of {len(jobs)} jobs"
        return share, f"{duration(elapsed)}, about {duration(left)} left, {done}; {latest[1]}"


def with_bar(watch: Watch, over: threading.Event) -> None:
    """Show a bar on a terminal."""
    with tqdm(total=1.0, bar_format="{percentage:3.0f}%|{bar:20}| {desc}", dynamic_ncols=True) as bar:
        while not over.wait(1.0):
            if seen := watch.seen():
                bar.n = seen[0]
                bar.set_description_str(seen[1])


def with_lines(watch: Watch, over: threading.Event) -> None:
    """Show a line now and then where there is no terminal: when another per cent is done, or a minute is over."""
    shown, percent = time.monotonic(), -1
    while not over.wait(LINE_EVERY_SECONDS):
        if seen := watch.seen():
            now = int(100 * seen[0])
            if now > percent or time.monotonic() - shown >= LINE_AT_LEAST_EVERY:
                print(f"{now} %, {seen[1]}", flush=True)
                shown, percent = time.monotonic(), now


def follow(command: list[str], watch: Watch, last: deque[str], failed: list[str]) -> int:
    """Run Snakemake, show how far it is, and return its exit status.

    last : its last lines. failed : all that it says of jobs that failed, their logs included.
    """
    inside, over = False, threading.Event()
    show = threading.Thread(target=with_bar if sys.stderr.isatty() else with_lines, args=(watch, over))
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    show.start()
    try:
        for line in run.stdout:
            last.append(line)
            inside = (inside or line.startswith("Error in rule")) and not line.startswith(("Select jobs", "["))
            if inside and not line.startswith(("    input:", "    message:", "    jobid:", "        ")):
                failed.append(line)
            if job := re.match(r"Finished jobid: (\d+)", line):
                watch.finished.add(job[1])
            elif line.endswith(MADE_AGAIN):
                tqdm.write(line, end="")
        return run.wait()
    except KeyboardInterrupt:  # Snakemake has it from the terminal, too, and ends its jobs
        run.wait()
        raise
    finally:
        over.set()
        show.join()


def use_a_cache_that_can_be_written() -> None:
    """Let Snakemake keep its cache in this folder where the home folder can only be read."""
    cache = user_cache_path("snakemake")
    there = next(path for path in (cache, *cache.parents) if path.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        os.environ["XDG_CACHE_HOME"] = str(Path(".snakemake/cache").absolute())


def not_run(results: Path) -> list[str]:
    """A line for each study and reason for which cells were not run: files or a package that are not on this
    machine."""
    reasons = Counter(
        (path.parent.name, row["reason"].splitlines()[0])
        for path in sorted(results.glob("*/cells.csv"))
        for row in read_rows(path)
        if row["status"] == "not run"
    )
    return [f"Not run, {count} cells of {study}: {reason}" for (study, reason), count in reasons.items()]


@one_line_errors
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
    run = run_name(read_config(args.configfile, args.master_seed))
    check_alone(Path.cwd())
    use_a_cache_that_can_be_written()
    last, failed = deque(maxlen=60), []
    status = follow(command, Watch(Path("logs") / run / "plan.csv", args.jobs), last, failed)
    if status:
        sys.stderr.write("".join(failed or last))
        sys.exit(status)
    reports = Path("reports") if run == "default" else Path("results") / run / "reports"
    for line in not_run(Path("results") / run):
        print(line)
    verdicts = Counter(row["verdict"] for row in read_rows(reports / "claims.csv"))
    print("Verdicts: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    print(f"Report: {reports / 'index.html'}")


if __name__ == "__main__":
    main()
