"""Checksums of what jobs wrote: each rule ends with `sha256sum` of its outputs into a file beside its log, and a file
that differs later was cut or edited, and is made again."""

from __future__ import annotations

import hashlib
from pathlib import Path


def changed(folder: Path) -> list[Path]:
    """Return the files that are there and differ from what their job left, by the lists below a folder."""
    found = []
    for listed in sorted(folder.rglob("*.sha256")):
        for line in listed.read_text(errors="replace").splitlines():
            checksum, _, name = line.partition("  ")
            path = Path(name)
            if len(checksum) == 64 and path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() != checksum:
                found.append(path)
    return found
