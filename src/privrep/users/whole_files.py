"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def in_one_move(path: Path, folder: bool = False) -> Iterator[Path]:
    """Yield a temporary file or folder next to `path` that replaces `path` at the end; nothing is left on failure."""
    path = path.resolve() if folder else path
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    if folder:
        temporary.mkdir()
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True) if folder else temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with in_one_move(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
