"""A local journal of privacy spent, so that repeated fits of the same users add up.

A line for each fit: when, mu^2, and the smallest of hashes of the users' ids. Two fits share users where such
hashes meet; with half the users in common this fails with probability below 1e-9, with one in a hundred about every
second time. The file is as private as the list of ids, and stays where it is.
"""

from __future__ import annotations

import fcntl
import json
import os
import warnings
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
from platformdirs import user_state_dir

HASHES = 64
"""Of a fit."""
PLACE = "PRIVREP_JOURNAL"
"""Environment variable: the journal's file, in place of that in the user's folder of states."""
_unwritten: list[dict] = []
"""Fits of this process where the file cannot be written."""


def place() -> Path:
    """Return the path of the journal."""
    return Path(os.environ.get(PLACE) or Path(user_state_dir("privrep")) / "journal.jsonl")


def read(line: str) -> dict | None:
    """Read the fit of a line; warn about a broken one, whose fit is lost."""
    try:
        fit = json.loads(line)
        return {"mu_squared": float(fit["mu_squared"]), "users": list(fit["users"])}
    except (ValueError, KeyError, TypeError):
        if line.strip():
            warnings.warn(f"the journal of fits {place()} has a broken line, which does not count", stacklevel=2)
        return None


def entered(ids: np.ndarray, mu_squared: float) -> tuple[int, float]:
    """Record a fit; return how many recorded fits share users with it, and the sum of their mu^2, this one included."""
    hashed = pd.util.hash_array(np.array([str(one) for one in pd.unique(pd.Series(ids))], object))
    smallest = [f"{one:016x}" for one in np.sort(hashed)[:HASHES]]
    fit = {"when": datetime.now(UTC).isoformat(timespec="seconds"), "mu_squared": mu_squared, "users": smallest}
    mine, earlier = set(smallest), []
    try:
        place().parent.mkdir(parents=True, exist_ok=True)
        with open(place(), "a+", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # of two fits at once, the later one sees the earlier
            file.seek(0)
            text = file.read()
            earlier = [one for one in map(read, text.splitlines()) if one]
            file.write("\n" * (text[-1:] not in ("", "\n")) + json.dumps(fit) + "\n")
    except OSError as error:
        warnings.warn(
            f"the journal of fits {place()} cannot be written ({error}); it ends with this process", stacklevel=2
        )
        earlier += _unwritten
        _unwritten.append(fit)
    else:
        earlier += _unwritten
    shared = [one["mu_squared"] for one in [*earlier, fit] if mine & set(one["users"])]
    return len(shared), float(sum(shared))
