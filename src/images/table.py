"""Table of the long image runs: its required rows, and how a run is started, stopped, resumed and recorded.

The list of rows is a TOML file of blocks `[[rows]]`; a key with a list of values is an axis, and a block is the product
of its axes; `[defaults.<set>]` has values for all blocks of a set. The table is a CSV file with one line per run: its
settings, its results, and its machine.
"""

from __future__ import annotations

import csv
import fcntl
import itertools
import json
import os
import sys
import time
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from images.federated_images import experiments, spent
from images.options import LAST_SHIFT, STAND_ALONE, ImageOptions
from privrep.options import Declared, build, check_count, check_whole, option, requires
from privrep.privacy.accounting import Budget
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release
from privrep.users.rng import Streams, digest, stream
from privrep.users.whole_files import in_one_move

DELTA = 1e-5
SAVED_EVERY = 60.0
"""Seconds between two saved states of a run, and between two lines of progress."""


@dataclass(frozen=True)
class Row(Declared):
    """Settings of one run. Without noise epsilon is inf; where clients train alone it has no meaning."""

    clients: int = option("number of clients", check_count)
    samples: int = option("images of a client, validation included", check_count)
    rank: int = option("shards of a client, S", check_count)
    epsilon: float = option("budget, for adding or removing a client", requires(lambda value: value > 0, "be positive"))
    seed: int = option("of partition, starts and mini-batches, which rows with the same clients share", check_whole)
    options: ImageOptions = option("method and training of the clients")  # noqa: RUF009 -- a declaration

    @classmethod
    def of(cls, values: dict[str, Any]) -> Row:
        """Read a row from the values of a block or a line; raise ValueError for a missing or unknown key, or a wrong
        value."""
        own = {name: value for name, value in values.items() if name in OWN}
        of_clients = {name: value for name, value in values.items() if name not in OWN}
        row = build(cls, own | {"options": build(ImageOptions, of_clients, "a row")}, "a row")
        row.options.check_clients(row.samples, row.rank)
        return row

    @property
    def settings(self) -> dict[str, Any]:
        """All values by name."""
        return {name: getattr(self if name in OWN else self.options, name) for name in SETTINGS}

    @property
    def key(self) -> str:
        """Name of the row: the sha256 of its settings, shortened."""
        return digest(self.settings)[:16]

    def __str__(self) -> str:
        o = self.options
        what = "" if o.method == STAND_ALONE else f", epsilon {self.epsilon:g}, clip {o.clip:g}, {o.rounds} rounds"
        what += f", images moved by {o.shift}" if o.shift else ""
        return f"{o.images}, {self.clients} x {self.samples}, S = {self.rank}, {o.method}{what}, seed {self.seed}"


OWN = tuple(field.name for field in fields(Row) if field.name != "options")
OPTIONS = tuple(field.name for field in fields(ImageOptions) if field.name not in ("images", "method"))
SETTINGS = ("images", *OWN[:3], "method", *OWN[3:], *OPTIONS)
ABOUT = ("checksum", "device", "commit", "seconds")
"""Columns besides settings and numbers: sha256 of the set's files, device, commit and duration of the run."""
BY_CLIENT = "by_client"
"""Column of the accuracies of the watched clients, in thousandths, for intervals that are paired over clients."""
COLUMNS = ("key", *SETTINGS, "noise_multiplier", *ImageOptions.numbers, BY_CLIENT, *ABOUT)


def listed(path: Path) -> list[Row]:
    """Return the rows of a list in order, without repetitions; a ValueError names the file and the block."""
    try:
        content = tomllib.loads(path.read_text())
        defaults, blocks = content.get("defaults", {}), content["rows"]
    except (tomllib.TOMLDecodeError, KeyError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a list of [[rows]] in TOML: {error}") from None
    by_key: dict[str, Row] = {}
    for number, block in enumerate(blocks, 1):
        try:
            for point in points(block):
                row = Row.of(defaults.get(point.get("images"), {}) | point)
                by_key.setdefault(row.key, row)
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}, block {number} of [[rows]]: {error}") from None
    return list(by_key.values())


def points(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the product of a block's axes; values that vary together are tables in a list, under a key of any name."""
    axes = {name: values if isinstance(values, list) else [values] for name, values in block.items()}
    for values in itertools.product(*axes.values()):
        point = {}
        for name, value in zip(axes, values, strict=True):
            point |= value if isinstance(value, dict) else {name: value}
        yield point


def read_table(path: Path) -> dict[str, dict[str, str]]:
    """Return the lines of a table by key, {} if there is no file; raise ValueError if it has other columns."""
    if not path.exists():
        return {}
    with path.open(newline="") as stream:
        reader = csv.DictReader(stream)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ValueError(f"{path}: its columns are not those of a table of image runs; name another file")
        return {line["key"]: line for line in reader}


def add_line(path: Path, line: Mapping[str, object]) -> None:
    """Add a line to a table, whole or not at all."""
    with locked(path.with_name(f".{path.name}.lock"), wait=True):
        lines = [*read_table(path).values(), line]
        with in_one_move(path) as part, part.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n", restval="")
            writer.writeheader()
            writer.writerows(lines)


@contextmanager
def locked(path: Path, wait: bool = False) -> Iterator[bool]:
    """Yield whether this process has locked the file, until the end of the context or of the process."""
    with path.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
        else:
            yield True


@dataclass
class StateFile:
    """State of a run in a file, written at most every `every` seconds. It holds clients' heads and exact lengths, which
    are private: do not share the folder. `about` has the row's settings and the checksum of its images; `devices` are
    all devices of the run, the current one last."""

    path: Path
    about: Mapping[str, object]
    every: float = SAVED_EVERY
    devices: tuple[str, ...] = ()

    def __post_init__(self):
        self._last = self._begun = time.monotonic()
        self._cpu, self._before = time.process_time(), 0.0
        self._first = 0

    @property
    def seconds(self) -> float:
        """CPU seconds of the run, those before a stop included."""
        return self._before + time.process_time() - self._cpu

    def load(self) -> dict[str, Any] | None:
        """Return the state, or None if there is no file; raise ValueError if the file is damaged, or of another
        configuration."""
        if not self.path.exists():
            return None
        try:
            with self.path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                state = json.loads(str(arrays["meta"]))
                parts = {name: arrays[name] for name in arrays.files if name != "meta"}
                if sorted(parts) != state.pop("arrays", sorted(parts)):
                    raise ValueError("some of it is missing")
        except (OSError, ValueError, KeyError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
            raise ValueError(f"{self.path}: the state of a run is damaged ({error}); remove it to begin anew") from None
        about = state.pop("about")
        if about != json.loads(json.dumps(self.about)):
            wrong = [name for name, value in self.about.items() if about.get(name) != value]
            what = f"the state of a run with other {', '.join(wrong)}"
            raise ValueError(f"{self.path}: {what}; remove it, or name another folder")
        self._before = state.pop("seconds", 0.0)
        self.devices = tuple(dict.fromkeys((*state.pop("devices", ["unknown"]), *self.devices)))
        self._first = state.get("number", len(parts.get("right", ())))
        own = [parts.pop(name) for name in sorted(parts) if name.startswith("own")]
        return state | parts | ({"own": own} if own else {})

    def save(self, done: int, of: int, accuracy: float | None, state: Callable[[], dict[str, Any]]) -> None:
        """Write a state if the last one is old enough, and print the progress of the run."""
        now = time.monotonic()
        if now - self._last < self.every:
            return
        self._last, saved = now, state()
        own = {f"own{place:03}": leaf for place, leaf in enumerate(saved.pop("own", ()))}
        arrays = {name: value for name, value in saved.items() if isinstance(value, np.ndarray)} | own
        meta = {name: value for name, value in saved.items() if name not in arrays}
        meta |= {"about": self.about, "arrays": sorted(arrays), "seconds": self.seconds, "devices": self.devices}
        part = self.path.with_suffix(".part")
        with part.open("wb") as stream:
            np.savez(stream, meta=json.dumps(meta), **arrays)  # pyright: ignore[reportArgumentType] -- no name is that of an option
        os.replace(part, self.path)
        left = (now - self._begun) / (done - self._first) * (of - done)
        so_far = "" if accuracy is None else f", accuracy {accuracy:.4f}"
        print(f"  {done} of {of} done, {left / 60:.0f} min left{so_far}", file=sys.stderr, flush=True)


def run_row(row: Row, data: Path, states: Path, commit: str) -> Mapping[str, object]:
    """Run a row, from its saved state if there is one, and return its line of the table; errors name the file."""
    images = experiments()
    options, same = row.options, {"images": row.options.images, "clients": row.clients, "samples": row.samples}
    clients = same | {"rank": row.rank, "seed": row.seed}
    seed = int(stream(0, "init", clients).integers(2**31))
    federation = images.federation(options.images, row.clients, row.samples, row.rank, seed, data)
    saved = StateFile(states / f"{row.key}.npz", row.settings | {"checksum": federation.checksum})
    saved.devices = (images.device(options.images),)
    spent_numbers: dict[str, float] = {}
    if options.method == STAND_ALONE:
        trained = images.train_alone(federation, options, seed, saved)
    else:
        multiplier = 0.0
        if np.isfinite(row.epsilon):
            multiplier = Budget(row.epsilon, DELTA, "exact").noise_multiplier(options.cost, None)
        streams = Streams(partial(stream, 0, axes=row.settings))
        release = Release(multiplier, Ledger(), range(row.clients), streams, options.spends.at(multiplier))
        last_shift = 0 if options.shift else LAST_SHIFT
        trained = images.train_together(federation, options, release, seed, saved, last_shift)
        spent_numbers = spent(release, DELTA)
    line = {"key": row.key} | row.settings | trained.numbers | spent_numbers
    line[BY_CLIENT] = " ".join(f"{1000 * accuracy:.0f}" for accuracy in trained.by_client)
    about = (federation.checksum, " then ".join(saved.devices), commit, round(saved.seconds, 1))
    return line | dict(zip(ABOUT, about, strict=True))


def run_rows(rows: list[Row], table: Path, data: Path, states: Path, commit: str) -> int:
    """Run the rows missing in a table, in order, and return the number of failures. Other processes with the same
    folder take other rows; a set with missing files is reported once."""
    states.mkdir(parents=True, exist_ok=True)
    table.parent.mkdir(parents=True, exist_ok=True)
    failed, absent = 0, set()
    for row in rows:
        if row.options.images in absent:
            failed += 1
            continue
        with locked(states / f"{row.key}.lock") as mine:
            if not mine or row.key in read_table(table):
                continue
            print(f"{row}", file=sys.stderr, flush=True)
            try:
                line = run_row(row, data, states, commit)
            except (FileNotFoundError, ValueError) as error:
                failed += 1
                if isinstance(error, FileNotFoundError):
                    absent.add(row.options.images)
                print(f"not run: {error}", file=sys.stderr, flush=True)
                continue
            add_line(table, line)
            (states / f"{row.key}.npz").unlink(missing_ok=True)
            print(f"  accuracy {line['accuracy']:.4f}, {line['seconds']:.0f} CPU s", file=sys.stderr, flush=True)
    return failed
