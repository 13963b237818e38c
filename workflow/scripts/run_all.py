"""Command of `make all`: run Snakemake, show its progress, and print the path of the report.

A file that was cut or edited since its job wrote it is removed first, so that Snakemake makes it again. Snakemake's
output is shown if it fails, and is kept below .snakemake/log.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path

import psutil

from replication.run import owner
from replication.run.cli_errors import at_least_one, one_line_errors
from replication.run.config import read_config, run_name
from replication.run.csv_tables import read_rows
from replication.run.provenance import changed

LINE_EVERY_SECONDS = 10.0


def duration(seconds: float) -> str:
    """Return a time in few words."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def progress(seconds: dict[str, float], finished: set[str], elapsed: float) -> str:
    """Return one line: share of finished work by the cost of jobs, number of finished jobs, and time left."""
    share = sum(seconds[job] for job in finished) / sum(seconds.values())
    times = f"{duration(elapsed)}, about {duration(elapsed * (1 - share) / share)} left"
    return f"{share:.0%}, {len(finished)} of {len(seconds)} jobs, {times}"


def interrupted(process: Path) -> bool:
    """Return whether a process is a make in its handler of SIGINT, where it waits for its children and tells them
    nothing. process : its folder in /proc, which Linux alone has."""
    status = process / "status"
    about = dict(re.findall(r"^(\w+):\s*(\S+)", status.read_text() if status.exists() else "", re.MULTILINE))
    bits = [int(about.get(name, "0"), 16) >> signal.SIGINT - 1 & 1 for name in ("SigBlk", "SigCgt")]
    return about.get("Name") in ("make", "gmake") and bits == [1, 0]


def lines_of(run: psutil.Popen, path: Path) -> Iterator[str]:
    """Yield the lines that a process writes to a file, until it ends; KeyboardInterrupt if make was interrupted."""
    parent, rest, over = Path("/proc", str(os.getppid())), "", False
    with open(path) as file:
        while not over:
            over = run.poll() is not None
            *lines, rest = (rest + file.read()).split("\n")
            yield from lines
            if interrupted(parent):
                raise KeyboardInterrupt
            time.sleep(0 if over else 0.2)


def follow(command: list[str], logs: Path, figures: Path, last: deque[str], failed: list[str]) -> int:
    """Run Snakemake, show its progress and the first figure that is drawn, and return its exit status. However this
    ends, nothing of the run is left.

    last : its last lines of output. failed : its output on failed jobs, including their logs.
    """
    inside, finished, shown, begun = False, set(), 0.0, time.time()
    plan, said = logs / "plan.json", logs / "snakemake.log"
    logs.mkdir(parents=True, exist_ok=True)
    with open(said, "w") as file:
        run = psutil.Popen(command, stdout=file, stderr=subprocess.STDOUT)
    try:
        for line in lines_of(run, said):
            last.append(line)
            inside = (inside or line.startswith("Error in rule")) and not line.startswith(("Select jobs", "["))
            if inside and not line.startswith(("    input:", "    message:", "    jobid:", "        ")):
                failed.append(line)
            if job := re.match(r"Finished jobid: (\d+)", line):
                finished.add(job[1])
                drawn = [path for path in figures.rglob("*.svg") if path.stat().st_mtime > begun] if begun else []
                if drawn:
                    print(f"\nThe first figure to look at: {min(drawn)}", flush=True)
                    begun = 0.0
                seconds, elapsed = json.loads(plan.read_text()), time.time() - plan.stat().st_mtime
                if sys.stdout.isatty():  # overwrites the line before
                    print(f"\r\033[K{progress(seconds, finished, elapsed)}", end="", flush=True)
                elif time.monotonic() - shown > LINE_EVERY_SECONDS:
                    print(progress(seconds, finished, elapsed), flush=True)
                    shown = time.monotonic()
        return run.wait()
    finally:
        owner.end(run)
        if finished and sys.stdout.isatty():
            print()


def not_run(results: Path) -> list[str]:
    """Return a line for each study and reason why cells were not run: files or a package that are missing on this
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
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    print("Reading the configuration, and planning the jobs", flush=True)
    command = ["snakemake", f"-j{args.jobs}", "all"]
    command += ["--configfile", *map(str, args.configfile)] if args.configfile else []
    if args.master_seed is not None:
        command += ["--config", f"master_seed={args.master_seed}"]
    run = run_name(read_config(args.configfile, args.master_seed))
    os.environ.setdefault("XDG_CACHE_HOME", str(Path(".snakemake/cache").absolute()))  # no home is needed
    owner.recover()
    logs, results = Path("logs", run), Path("results", run)
    for path in changed(logs):
        path.unlink()
        print(f"{path} was changed after its job wrote it; it is removed, and built again if needed")
    last, failed = deque(maxlen=60), []
    figures, reports = (Path(name) if run == "default" else results / name for name in ("figures", "reports"))
    status = follow(command, logs, figures, last, failed)
    if status:
        owner.check()  # another run may have begun meanwhile
        sys.exit("\n".join(failed or last).rstrip())
    for line in not_run(results):
        print(line)
    verdicts = Counter(row["verdict"] for row in read_rows(reports / "claims.csv"))
    print("Verdicts: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    print(f"Report: {reports / 'index.html'}")


if __name__ == "__main__":
    main()
