"""A fit's releases on tape, and the same fit on other users with the same answers.

An adversary who knows all data but which of two users took part sees the answers of one run. Told the same answers, the method computes on the
other data what it would have computed then: the exact statistics of both worlds under one history. From them follow how far each release tells
the users apart, in units of its noise, and the likelihood ratio of the whole run:

    mu^2 = sum_t ||s_t - s'_t||^2,    log p / p' = sum_t <s_t - s'_t, o_t - (s_t + s'_t) / 2>

with s, s' the statistics and o the answers, each in units of the claimed noise. Public randomness is the same in both; where users take part at
random, who does is public here, too, which makes the adversary stronger than the accounting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from privrep.algorithms.method import Method
from privrep.data.problem import Block, Problem
from privrep.data.rng import Streams
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release


@dataclass(frozen=True)
class GivenUsers:
    """Users with given data: features (m, n, d), labels (m, n), in one block."""

    problem: Problem
    features: np.ndarray
    labels: np.ndarray

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        """The users numbered start, ..., stop - 1."""
        part = slice(start, self.problem.users if stop is None else stop)
        features, labels = (np.ascontiguousarray(array[:, part], np.float32) for array in (self.features, self.labels))
        yield Block(start, features, labels)


def scaled(array: np.ndarray, sd: float, beside: float = 1.0, symmetric: bool = False) -> np.ndarray:
    """The free numbers of an array over the sd of their noise. symmetric : the upper triangle alone, with sd * beside off the diagonal."""
    if not symmetric:
        return np.ravel(array) / sd
    rows, columns = np.triu_indices(len(array))
    return array[rows, columns] / np.where(rows == columns, sd, sd * beside)


@dataclass(frozen=True)
class Taken:
    """A Gaussian release. exact, noisy : (c,) in units of the claimed noise. answer : what the method was told."""

    name: str
    exact: np.ndarray
    noisy: np.ndarray
    answer: object


@dataclass
class Tape:
    """Releases in their order. forced : a tape whose answers are given again."""

    forced: Tape | None = None
    taken: list[Taken] = field(default_factory=list)

    def answer(self, release: Callable[[], object]) -> object:
        """The answer to the next release: that of the forced tape, or a new one."""
        return release() if self.forced is None else self.forced.taken[len(self.taken)].answer


@dataclass(frozen=True)
class TapedRelease(Release):
    """A door whose releases are kept on tape.

    The other attributes make a door that is wrong on purpose, for audits of the audit. quiet : actual noise over what is charged.
    charged : sensitivity that is charged, and that noise is drawn for, over the true one. repeats : every release has the noise of the first.
    """

    tape: Tape = field(default_factory=Tape)
    quiet: float = 1.0
    charged: float = 1.0
    repeats: bool = False

    @property
    def noise(self) -> np.random.Generator:
        """The generator of the noise; a fresh one for each release where noise repeats."""
        return np.random.default_rng(self.streams["noise"].bit_generator.seed_seq) if self.repeats else super().noise

    def _kept(self, name: str, arrays: tuple, laws: tuple, release: Callable[[], tuple]) -> tuple:
        """laws : keywords of `scaled` for each array."""
        answer = self.tape.answer(lambda: self._noisier(arrays, release()))
        exact, noisy = (
            np.concatenate([scaled(one, **law) for one, law in zip(found, laws, strict=True)])
            for found in (arrays, answer)
        )
        self.tape.taken.append(Taken(name, exact, noisy, answer))
        return answer

    def _noisier(self, arrays: tuple, released: tuple) -> tuple:
        return tuple(exact + self.quiet * (noisy - exact) for exact, noisy in zip(arrays, released, strict=True))

    def vector(self, name: str, total: np.ndarray, *, bound: float, rate: float = 1.0) -> np.ndarray:
        bound *= self.charged
        law = {"sd": 2 * bound * self.noise_multiplier}
        (answer,) = self._kept(
            name, (total,), (law,), lambda: (Release.vector(self, name, total, bound=bound, rate=rate),)
        )
        return answer

    def symmetric(self, name: str, total: np.ndarray, *, bound: float) -> np.ndarray:
        bound *= self.charged
        law = {"sd": 2 * bound * self.noise_multiplier, "symmetric": True}
        (answer,) = self._kept(name, (total,), (law,), lambda: (Release.symmetric(self, name, total, bound=bound),))
        return answer

    def isotropic(self, name: str, total: np.ndarray, *, sensitivity: float) -> np.ndarray:
        sensitivity *= self.charged
        law = {"sd": sensitivity * self.noise_multiplier, "symmetric": True, "beside": 0.5**0.5}
        (answer,) = self._kept(
            name, (total,), (law,), lambda: (Release.isotropic(self, name, total, sensitivity=sensitivity),)
        )
        return answer

    def moments(
        self,
        name: str,
        second: np.ndarray,
        first: np.ndarray,
        *,
        bounds: tuple[float, float],
        joint: float,
        averaged: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        bounds = tuple(self.charged * bound for bound in bounds)
        sds = [2 * bound * self.noise_multiplier for bound in bounds]
        laws = {"sd": sds[0], "symmetric": True, "beside": 0.5**0.5 if averaged else 1.0}, {"sd": sds[1]}

        def release() -> tuple:
            return Release.moments(self, name, second, first, bounds=bounds, joint=joint, averaged=averaged)

        return self._kept(name, (second, first), laws, release)


NOISE = ("noise", "init_noise")
"""Streams that are secret; all others are public."""


def streams(run: int, seed: int) -> Streams:
    """Named streams: noise of a run, and public ones of the seed alone."""
    return Streams(lambda role: np.random.default_rng([seed, 1 + run if role in NOISE else 0, *role.encode()]))


def taped(
    method: Method, users: GivenUsers, multiplier: float, streams: Streams, forced: Tape | None = None, **wrong: object
) -> tuple[Tape, Ledger]:
    """What a whole fit releases, and its ledger. forced : a tape whose answers are given again. wrong : of `TapedRelease`."""
    tape, ledger = Tape(forced), Ledger()
    door = TapedRelease(multiplier, ledger, range(users.problem.users), streams, tape=tape, **wrong)
    for _ in method.fit(users, door):
        pass
    return tape, ledger


def apart(one: Tape, other: Tape) -> float:
    """mu of two worlds under one history: the square root of all squared distances, each in units of its noise."""
    pairs = zip(one.taken, other.taken, strict=True)
    return float(np.sqrt(sum(((a.exact - b.exact) ** 2).sum() for a, b in pairs)))


def log_ratio(one: Tape, other: Tape) -> float:
    """Logarithm of the likelihood of the answers in the first world over that in the second."""
    pairs = zip(one.taken, other.taken, strict=True)
    return float(sum((a.exact - b.exact) @ (a.noisy - (a.exact + b.exact) / 2) for a, b in pairs))


def noises(tape: Tape) -> list[np.ndarray]:
    """What was added to each release, in units of the claimed noise: standard normal numbers."""
    return [one.noisy - one.exact for one in tape.taken]
