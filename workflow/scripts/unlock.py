"""Clear the way for a run after one was killed.

A killed run leaves Snakemake's lock and perhaps jobs without a parent. If no run of this folder is alive, end such jobs
(their output is written in one move, so none is half done) and unlock. If one is alive, say so and stop.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import psutil


def processes_here(folder: Path) -> list[psutil.Process]:
    """Processes of this project: working in `folder` and running snakemake or one of its scripts."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = process.info["cmdline"] or []
        ours = any(Path(word).name == "snakemake" or "workflow/scripts/" in word for word in words)
        if ours and process.info["cwd"] == str(folder) and process.pid != psutil.Process().pid:
            found.append(process)
    return found


def is_snakemake(process: psutil.Process) -> bool:
    """Whether the process is Snakemake itself, not a job of it."""
    return any(Path(word).name == "snakemake" for word in process.cmdline()[:3])


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    folder = Path.cwd()
    if not any(Path(".snakemake/locks").glob("*")):
        return
    found = processes_here(folder)
    alive = [process for process in found if is_snakemake(process)]
    if alive:
        sys.exit(f"A run is alive in {folder} (process {alive[0].pid}). Wait for it, or end it and try again.")
    for orphan in found:
        orphan.terminate()
    psutil.wait_procs(found, timeout=10)
    subprocess.run(["snakemake", "--unlock"], check=True, capture_output=True)
    print("Unlocked the folder after a run that was killed; finished work is kept.")


if __name__ == "__main__":
    main()
