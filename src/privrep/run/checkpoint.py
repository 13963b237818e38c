"""Checkpoint of a shard: a run that was killed goes on from the last cell that it finished.

One line of JSON for each cell, after a line that says what the cells were run from, settings and code.
A checkpoint of something else counts for nothing, and so does a last line that was cut.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from privrep.data.whole_files import in_one_move
from privrep.run.csv_tables import serialised

Done = tuple[dict[str, str], dict[str, str]]
"""Row and timing of a cell, as they are written to CSV."""


def fingerprint(settings: bytes, code: Iterable[Path]) -> str:
    """Of the settings of a shard and of the files of code that its cells are run by, in whatever order."""
    whole = hashlib.sha256(settings)
    for path in sorted(code):
        whole.update(f"{path}\0".encode())
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


class Checkpoint:
    """The cells of one shard that are done.

    Parameters
    ----------
    path : of the file; one that is there is read. origin : what the cells are run from, see `fingerprint`.
    """

    def __init__(self, path: Path, origin: str):
        self.path, self._origin = path, origin
        self.done: dict[tuple[str, str], Done] = {}
        lines = path.read_text(errors="replace").split("\n")[:-1] if path.exists() else []
        if lines and lines[0] == origin:
            for line in lines[1:]:
                try:
                    row, timing = json.loads(line)
                except ValueError:
                    break
                self.done[row["series"], row["key"]] = row, timing
        self._write_again()

    def _write_again(self) -> None:
        """Begin the file with what is known to be whole."""
        with in_one_move(self.path) as temporary, open(temporary, "w") as file:
            file.write(self._origin + "\n")
            file.writelines(json.dumps(one) + "\n" for one in self.done.values())

    def add(self, row: dict, timing: dict) -> None:
        """A cell is done: on disk before the next one starts."""
        entry = serialised(row), serialised(timing)
        self.done[row["series"], row["key"]] = entry
        with open(self.path, "a") as file:
            file.write(json.dumps(entry) + "\n")

    def remove(self) -> None:
        """The shard is written; its checkpoint is removed."""
        self.path.unlink()
