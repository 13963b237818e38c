"""Checksums of what the jobs of a run wrote, so that a file that was cut, edited or removed is made again.

Every rule ends with `sha256sum` of its outputs into a file below results/<run>/checksums. Before a run, each output is
compared with its checksum; one that differs is removed, so that Snakemake makes it again. `snakemake --touch` accepts
files as they are and renews the checksums.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

MADE_AGAIN = ": it is removed, and made again where it is needed\n"
"""The end of a line that says so."""


def checksums_of(folder: Path) -> dict[Path, str]:
    """File -> checksum, from all lists of a run. A line that is cut counts for nothing."""
    found = {}
    # The newest last: files that were touched may have been made again since.
    for listed in sorted(folder.glob("**/*.sha256"), key=lambda path: path.stat().st_mtime_ns):
        for line in listed.read_text(errors="replace").splitlines():
            checksum, _, name = line.partition("  ")
            if len(checksum) == 64 and name:
                found[Path(name)] = checksum
    return found


def broken(promised: Iterable[str], folder: Path) -> dict[Path, str]:
    """Promised files that exist and are not as a job left them -> what is wrong with them."""
    checksums, found = checksums_of(folder), {}
    for path in map(Path, promised):
        if not path.exists():
            continue
        if path not in checksums:
            found[path] = "has no checksum of the job that writes it"
        elif hashlib.sha256(path.read_bytes()).hexdigest() != checksums[path]:
            found[path] = "is not as its job left it"
    return found


def remove_broken(promised: Iterable[str], folder: Path) -> list[str]:
    """Remove promised files that are not as a job left them; a line for each."""
    lines = []
    for path, why in broken(promised, folder).items():
        path.unlink()
        lines.append(f"{path} {why}{MADE_AGAIN.rstrip()}")
    return lines


def renew(promised: Iterable[str], folder: Path) -> None:
    """New checksums of all promised files as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    there = [path for path in promised if Path(path).exists()]
    lines = [f"{hashlib.sha256(Path(path).read_bytes()).hexdigest()}  {path}\n" for path in there]
    for listed in folder.glob("**/*.sha256"):
        listed.unlink()
    (folder / "touched.sha256").write_text("".join(lines))
