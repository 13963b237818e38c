"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def in_one_move(path: Path) -> Iterator[Path]:
    """Write to a file beside `path` that takes its place at the end; nothing of it is left where writing fails.
    Folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def folder_in_one_move(path: Path) -> Iterator[Path]:
    """Fill a folder beside `path` that takes its place at the end; nothing of it is left where that fails. Raise
    OSError at once if none can be made there."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.mkdir()
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text in one move."""
    with in_one_move(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
