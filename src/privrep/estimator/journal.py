"""A local journal of privacy spent, so that repeated fits of the same users add up.

A line for each fit: when, mu^2, and the smallest of hashes of the users' ids and of the labels. Two fits share people
where such hashes meet: those of ids, or, where rows are people of their own and have no ids, those of labels, which
no choice of features and ranges changes. With half in common this fails with probability below 1e-9, with one in a
hundred about every second time; labels of few values make other tables look the same, which counts too much. The file
is as private as ids and labels, and stays where it is.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import warnings
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
from platformdirs import user_state_dir

from privrep.users.identity import sketch, spelled

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
        if not 0 <= float(fit["mu_squared"]) < math.inf:
            raise ValueError("no mu has this square")
        return {
            "mu_squared": float(fit["mu_squared"]),
            "users": set(fit["users"]),
            "labels": set(fit.get("labels", ())),
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        if line.strip():
            warnings.warn(f"the journal of fits {place()} has a broken line, which does not count", stacklevel=2)
        return None


def same_people(one: dict, other: dict) -> bool:
    """Whether two fits share people, as far as their hashes say."""
    by = "users" if one["users"] and other["users"] else "labels"
    return not set(one[by]).isdisjoint(other[by])


def entered(ids: np.ndarray | None, labels: np.ndarray, mu_squared: float) -> tuple[int, float]:
    """Record a fit by its users' ids, None where rows are people of their own, and a sketch of the labels; return how
    many recorded fits share people with it, and the sum of their mu^2, this one included."""
    users = [] if ids is None else sketch(pd.util.hash_array(spelled(ids)))
    fit = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "mu_squared": mu_squared,
        "users": [f"{one:016x}" for one in users],
        "labels": [f"{one:016x}" for one in labels],
    }
    earlier = []
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
    shared = [one["mu_squared"] for one in [*earlier, fit] if same_people(one, fit)]
    return len(shared), float(sum(shared))
