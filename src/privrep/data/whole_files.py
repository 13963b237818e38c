"""Files that are whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def in_one_move(path: Path) -> Iterator[Path]:
    """A file beside `path` to write to, which takes its place at the end; nothing of it is left where writing fails.
    Folders are made.

    Parameters
    ----------
    path : of the file.

    Yields
    ------
    The file to write to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text in one move.

    Parameters
    ----------
    path : of the file.
    text : its content.
    """
    with in_one_move(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
