"""Random streams keyed by their purpose, never by the time or place of a draw.

The sha256 of a role ("data", "noise", ...) and a cell's axes is the spawn key of a `SeedSequence`, so that a new cell
changes no other stream. The generator is Philox, counter-based: block `i` is reached without drawing those before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping

import numpy as np
from numpy.random import Generator, Philox, SeedSequence

Axis = str | float | int | bool | None


def canonical(axes: Mapping[str, Axis]) -> str:
    """Spell named axes as sorted JSON in which 1, 1.0 and numpy's 1 read the same.

    >>> canonical({"rank": 2, "epsilon": 1}) == canonical({"epsilon": 1.0, "rank": np.int64(2)})
    True
    """

    def spell(value: Axis) -> Axis:
        single = value.item() if isinstance(value, np.generic) else value
        return int(single) if isinstance(single, float) and single.is_integer() else single

    return json.dumps({name: spell(value) for name, value in axes.items()}, sort_keys=True)


def digest(axes: Mapping[str, Axis]) -> str:
    """Return the hexadecimal sha256 of the canonical spelling."""
    return hashlib.sha256(canonical(axes).encode()).hexdigest()


def seed_sequence(master_seed: int, role: str, axes: Mapping[str, Axis]) -> SeedSequence:
    """Return the seed sequence of the stream named by a role and the axes of a cell."""
    words = np.frombuffer(hashlib.sha256(f"{role}|{canonical(axes)}".encode()).digest(), dtype=np.uint32)
    return SeedSequence(master_seed, spawn_key=tuple(int(word) for word in words))


def stream(master_seed: int, role: str, axes: Mapping[str, Axis]) -> Generator:
    """Return the generator of the stream named by a role and the axes of a cell."""
    return Generator(Philox(seed_sequence(master_seed, role, axes)))


class BlockStreams:
    """A stream cut into blocks, each with its own counter range, so that any block can be drawn again alone."""

    def __init__(self, master_seed: int, role: str, axes: Mapping[str, Axis]):
        self._key = seed_sequence(master_seed, role, axes).generate_state(2, np.uint64)

    def __getitem__(self, block: int) -> Generator:
        """Return the generator of a block, whose number is the top word of the 256-bit counter."""
        return Generator(Philox(key=self._key, counter=[0, 0, 0, block]))


class Streams(dict[str, Generator]):
    """Named streams of one fit, each started by `start` once: a second start would repeat its numbers."""

    def __init__(self, start: Callable[[str], Generator]):
        super().__init__()
        self._start = start

    def __missing__(self, role: str) -> Generator:
        return self.setdefault(role, self._start(role))
