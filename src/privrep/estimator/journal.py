"""A local journal of privacy spent, so that repeated fits of the same users add up.

One line for each fit: time, mu^2, and the smallest hashes of the users' ids and of the labels. Two fits count as
fits of the same people if they share such hashes: of ids, or, if each row is a person without an id, of labels, which
do not depend on the choice of features and ranges. Two fits with half of their people in common are not recognised with
probability below 1e-9, with one in a hundred about every second time; labels of few values make tables of others look
alike: too much counts. File and numbers are as private as ids and labels, and stay local, since no release covers them.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd

from privrep.estimator.statement import upward
from privrep.privacy.accounting import gdp_epsilon
from privrep.users.identity import sketch, spelled

PLACE = "PRIVREP_JOURNAL"
"""Environment variable: path of the journal, in place of the one in the user's state folder."""
PAUSE, SOON, PATIENCE = 0.05, 40, 1200
"""Seconds between two tries to lock the file; number of tries before a warning, and before an error."""
KNOWN = (
    "People are recognised by their ids; equal ids of other people, such as 1, 2, 3, count as well, unless "
    f"{PLACE} names another file for these. If each row is a person, people are recognised by labels alone: "
    "fits of the same people with another label do not count"
)
_unwritten: list[dict] = []
"""Fits of this process that could not be written to the file."""


def place() -> Path:
    """Return the path of the journal; raise RuntimeError where there is no home folder for it."""
    states = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(states):
        states = "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/state"
    return Path(os.environ.get(PLACE) or Path(states, "privrep/journal.jsonl").expanduser())


def read(line: bytes, number: int) -> dict:
    """Read the fit of a line; raise ValueError for an invalid line, since its spent budget is unknown."""
    try:
        fit = {"labels": (), **json.loads(line)}
        if not 0 <= fit["mu_squared"] < math.inf:
            raise ValueError("no mu has this square")
        return fit | {name: {int(hashed, 16) for hashed in fit[name]} for name in ("users", "labels")}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        what = f"the journal of fits {place()} has no fit in line {number}, so its spent budget is unknown"
        raise ValueError(f"{what}: correct or remove the line, or name another file by {PLACE}") from None


def same_people(first: dict, other: dict) -> bool:
    """Whether two fits share people, as far as their hashes say."""
    by = "users" if first["users"] and other["users"] else "labels"
    return not first[by].isdisjoint(other[by])


def lock(file: IO[bytes]) -> None:
    """Lock the journal, so that of two simultaneous fits the later sees the earlier; raise ValueError after a minute,
    and ImportError where a system has no such locks."""
    import fcntl

    held = f"the journal of fits {file.name} is locked by another process"
    for tries in range(PATIENCE):
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if tries == SOON:
                warnings.warn(f"{held}; this fit waits for {PATIENCE * PAUSE:.0f} seconds at most", stacklevel=2)
            time.sleep(PAUSE)
    raise ValueError(f"{held}: end it, or name another file by {PLACE}")


def entered(ids: np.ndarray | None, labels: np.ndarray, mu_squared: float, delta: float) -> dict:
    """Record a fit by its users' ids, None if each row is a person, and a sketch of the labels.

    Return how many fits on record may be of the same people, this one included, mu of these together, its epsilon
    at delta, and a text, none of which may be published; raise ValueError if spent budget might not be counted."""
    users = [] if ids is None else sketch(pd.util.hash_array(spelled(ids)))
    fit: dict = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "mu_squared": mu_squared,
        "users": [f"{hashed:016x}" for hashed in users],
        "labels": [f"{hashed:016x}" for hashed in labels],
    }
    line, earlier, known = json.dumps(fit).encode(), [], KNOWN
    fit = read(line, 0)
    try:
        place().parent.mkdir(parents=True, exist_ok=True)
        with open(place(), "ab+", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            lock(file)
            file.seek(0)
            text = file.read()
            earlier = [read(row, 1 + at) for at, row in enumerate(text.splitlines()) if row.strip()]
            file.write(b"\n" * (text[-1:] not in (b"", b"\n")) + line + b"\n")
    except (OSError, RuntimeError, ImportError) as error:
        unused = f"the journal of fits cannot be used ({error}), and counts fits of this process alone"
        warnings.warn(f"{unused}; {PLACE} names another file", stacklevel=2)
        known = f"{KNOWN}; {unused}"
        earlier += _unwritten
        _unwritten.append(fit)
    else:
        earlier += _unwritten
    shared = [record["mu_squared"] for record in [*earlier, fit] if same_people(record, fit)]
    mu = math.sqrt(sum(shared))
    epsilon = gdp_epsilon(mu, delta)
    text = (
        f"Not to be published. Fits on record that may be of these people, with this one: {len(shared)}, together "
        f"{upward(mu, 4)}-GDP, ({upward(epsilon, 4)}, {upward(delta, 3)})-differentially private. {known}."
    )
    return {"fits": len(shared), "mu": mu, "epsilon": epsilon, "text": text}
