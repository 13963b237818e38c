"""How long a test waits for a state before it gives up: so many times a piece of work as this machine does it now,
and never less than minutes."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import cache


@cache
def unit_seconds() -> float:
    """Seconds in which a new Python has imported pandas: about half a second alone on a core."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import pandas"], check=True)
    return time.perf_counter() - start


def patience(units: float = 1000, least: float = 600) -> float:
    """Seconds after which something hangs, and is not slow. A test passes or fails by a state; this only ends it."""
    return max(least, units * unit_seconds())
