"""Options of a command, and its errors: one line without a traceback."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from replication.run.models import ConfigError
from replication.run.owner import RunAlive

ROOM = "make room and run the same command again, what is finished is kept"
REMEDIES = {
    errno.ENOSPC: f"the disk is full; {ROOM}",
    errno.EDQUOT: f"the quota of the disk is used up; {ROOM}",
    errno.EROFS: "the folder can only be read; work in one that can be written",
    errno.EACCES: "this may not be written or read; see its permissions and those of its folder",
    errno.EPERM: "this may not be written or read; see its permissions and those of its folder",
    errno.EFBIG: "a file may not grow so large here; see `ulimit -f`",
}

INTERRUPTED = "interrupted; what is finished is kept, and the same command again goes on from there"
INTERRUPT_STATUS = 130
"""Exit status of a command that Ctrl-C ends."""


class Unreadable(ValueError):
    """A file that was damaged since a job wrote it; the message names it, and the place in it."""


def error_line(error: Exception) -> str:
    """Return an error of the system or of the configuration in one sentence, with what to do about it."""
    if isinstance(error, OSError) and error.errno in REMEDIES:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{REMEDIES[error.errno]}"
    if isinstance(error, FileNotFoundError):
        return f"{error.filename}: there is no such file"
    if isinstance(error, MemoryError):
        return "there is not enough memory; run fewer jobs at once (-j), or with a smaller memory_budget_mb"
    return str(error)


def one_line_errors(main: Callable[[], None]) -> Callable[[], None]:
    """Wrap a command: expected failures end in one line and exit status 1, Ctrl-C in one line and status 130; a fault
    of the code keeps its traceback."""

    @wraps(main)
    def command() -> None:
        try:
            main()
        except KeyboardInterrupt:
            print(f"\n{Path(sys.argv[0]).name}: {INTERRUPTED}", file=sys.stderr)
            sys.exit(INTERRUPT_STATUS)
        except (ConfigError, RunAlive, Unreadable, OSError, MemoryError) as error:
            sys.exit(f"{Path(sys.argv[0]).name}: {error_line(error)}")

    return command


def arguments(about: str | None, **kinds: Any) -> argparse.Namespace:
    """Return the options of a job's command, none of which may be missing: name -> type, [type] for several values."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, kind in kinds.items():
        several = {"type": kind[0], "nargs": "*"} if isinstance(kind, list) else {"type": kind}
        parser.add_argument(f"--{name}", required=True, **several)
    return parser.parse_args()


def at_least_one(text: str) -> int:
    """Parse an argument of a command that must be an integer of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be an integer of at least 1")
    return int(text)
