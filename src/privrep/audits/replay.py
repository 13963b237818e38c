"""The transcript of a fit's releases, and the same fit on other users with the same answers.

An adversary who knows all data but which of two users took part sees the answers of one run. Given the same answers,
the method computes on the other data what it would have computed then: the exact statistics of both worlds under one
history. From them follow how well each release distinguishes the users, in units of its noise, and the likelihood ratio
of the whole run:

    mu^2 = sum_t ||s_t - s'_t||^2,    log p / p' = sum_t <s_t - s'_t, o_t - (s_t + s'_t) / 2>

with s, s' the statistics and o the answers, each in units of the claimed noise. A choice by the exponential mechanism
adds the difference of its log-probabilities. Where users take part at random, everybody's coins are public but the
canary's, whose release has the mixture

    (1 - p) N(s without it, 1) + p N(s with it, 1).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from scipy.special import log_softmax, ndtri

from privrep.data.given_users import GivenUsers
from privrep.data.rng import Streams
from privrep.fitting.method import Method
from privrep.privacy.accounting import UNLIMITED
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release
from privrep.privacy.noise import Law, Noise


@cache
def _upper(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows and columns of an upper triangle, and which of its entries are on the diagonal."""
    rows, columns = np.triu_indices(size)
    return rows, columns, rows == columns


def scaled(array: np.ndarray, noise: Noise, multiplier: float) -> np.ndarray:
    """The free numbers of an array over the sd of their noise at a noise multiplier;
    of a symmetric matrix those of the upper triangle."""
    sd = noise.sd * multiplier
    if noise.form == "independent":
        return np.ravel(array) / sd
    rows, columns, diagonal = _upper(len(array))
    beside = sd * 0.5**0.5 if noise.form == "averaged" else sd
    return array[rows, columns] / np.where(diagonal, sd, beside)


def shortened(total: np.ndarray, bound: float, users: int) -> np.ndarray:
    """A sum that is clipped as a whole in place of the users: not longer than all of them may make it."""
    most = bound * users
    return total * min(1.0, most / max(float(np.linalg.norm(total)), most))


@dataclass(frozen=True)
class GaussianRecord:
    """A Gaussian release. role : stream of its noise. exact, noisy : (c,) in units of the claimed noise.
    answer : what the method was told.
    rate : of participation. parts : statistics that were released together."""

    name: str
    role: str
    exact: np.ndarray
    noisy: np.ndarray
    answer: object
    rate: float = 1.0
    parts: int = 1

    @property
    def noise(self) -> np.ndarray:
        """What was added, standard normal."""
        return self.noisy - self.exact

    def log_density(self, without: GaussianRecord | None) -> float:
        """Of the answer, up to a constant."""
        inside = -0.5 * float(self.noise @ self.noise)
        if without is None or self.rate == 1:
            return inside
        outside = -0.5 * float(without.noise @ without.noise)
        return float(np.logaddexp(math.log(self.rate) + inside, math.log1p(-self.rate) + outside))


@dataclass(frozen=True)
class ChoiceRecord:
    """A choice by the exponential mechanism. logs : (c,) log-probabilities as claimed. answer : the number chosen.
    position : in (0, 1), uniform."""

    name: str
    role: str
    logs: np.ndarray
    answer: tuple[int]
    position: float
    rate = 1.0
    parts = 1

    @property
    def noise(self) -> np.ndarray:
        """Standard normal: where the choice falls among all, the likeliest first."""
        order = np.argsort(-self.logs, kind="stable")
        chances = np.exp(self.logs[order])
        place = int(np.flatnonzero(order == self.answer[0])[0])
        return ndtri(np.clip([chances[:place].sum() + self.position * chances[place]], 1e-12, 1 - 1e-12))

    def log_density(self, without: ChoiceRecord | None) -> float:
        """Logarithm of the probability of the answer."""
        return float(self.logs[self.answer[0]])


@dataclass
class Transcript:
    """Transcript of a fit: its releases in their order. replayed : a transcript whose answers are given again."""

    replayed: Transcript | None = None
    records: list[GaussianRecord | ChoiceRecord] = field(default_factory=list)

    @property
    def given(self) -> GaussianRecord | ChoiceRecord | None:
        """The next release of the replayed transcript."""
        return self.replayed.records[len(self.records)] if self.replayed else None


@dataclass(frozen=True)
class Fault:
    """An injected fault of a release handle.

    Attributes
    ----------
    noise_scale : actual noise over what is charged.
    charged : sensitivity that is charged, and that noise is drawn for, over the true one.
    joint : squared sensitivity that is charged for two statistics together, in place of the true one.
    repeats : every release has the noise of the first.
    mean_clip : sums are clipped as a whole, to what all users together may add.
    """

    noise_scale: float = 1.0
    charged: float = 1.0
    joint: float | None = None
    repeats: bool = False
    mean_clip: bool = False

    def law(self, law: Law) -> Law:
        """How a sum is released in place of its law."""
        noises = tuple(replace(noise, sd=noise.sd * self.charged) for noise in law.noises)
        if len(noises) > 1:
            return replace(law, noises=noises, sensitivity=math.sqrt(self.joint) if self.joint else law.sensitivity)
        return replace(
            law, noises=noises, sensitivity=law.sensitivity * self.charged, noise_sd=law.noise_sd * self.charged
        )


SOUND = Fault()


@dataclass(frozen=True)
class RecordingRelease(Release):
    """A release handle that keeps a transcript. fault : injected, none by default."""

    transcript: Transcript = field(default_factory=Transcript)
    fault: Fault = SOUND

    @property
    def noise(self) -> np.random.Generator:
        """The generator of the noise; a fresh one for each release where noise repeats."""
        if self.fault.repeats:
            return np.random.default_rng(self.streams[self.role].bit_generator.seed_seq)
        return super().noise

    def _gaussian(self, name: str, exact: tuple[np.ndarray, ...], law: Law) -> tuple[np.ndarray, ...]:
        if self.fault.mean_clip:
            exact = tuple(shortened(*part, len(self.users)) for part in zip(exact, law.bounds, strict=True))
        law = self.fault.law(law)

        def in_units(arrays: tuple) -> np.ndarray:
            units = [scaled(*part, self.noise_multiplier) for part in zip(arrays, law.noises, strict=True)]
            return np.concatenate(units)

        given = self.transcript.given
        answer = given.answer if given else self._noisier(exact, super()._gaussian(name, exact, law))
        noisy = given.noisy if given else in_units(answer)
        self.transcript.records.append(
            GaussianRecord(name, self.role, in_units(exact), noisy, answer, self.rate, len(exact))
        )
        return answer

    def _noisier(self, arrays: tuple, released: tuple) -> tuple:
        return tuple(
            exact + self.fault.noise_scale * (noisy - exact) for exact, noisy in zip(arrays, released, strict=True)
        )

    def approached(
        self, name: str, chain: Callable[[float, np.random.Generator], np.ndarray], *, width: float
    ) -> np.ndarray:
        """The state as it is told: what one world lets a finite chain do, the other cannot be asked for its
        probability. Parameters as in `Release.approached`."""
        given = self.transcript.given
        answer = given.answer if given else Release.approached(self, name, chain, width=width)
        self.transcript.records.append(GaussianRecord(name, self.role, np.empty(0), np.empty(0), answer))
        return answer

    def _chosen(self, name: str, scores: np.ndarray, width: float) -> int:
        width *= self.fault.charged

        def release() -> tuple[int]:
            Release.temperature(self, name, width=width)
            actual = replace(self, whole=self.whole * self.fault.noise_scale, ledger=Ledger())
            return (Release._chosen(actual, name, scores, width),)

        given = self.transcript.given
        answer = given.answer if given else release()
        logs = log_softmax(-scores / (2 * width * self.noise_multiplier))
        self.transcript.records.append(
            ChoiceRecord(name, self.role, logs, answer, float(self.streams["position"].random()))
        )
        return answer[0]


SECRET = ("noise", "init_noise", "position")
"""Streams of a run; all others are public."""


@dataclass(frozen=True)
class Attendance:
    """Coins of who takes part: public ones, but the first user's own. Below the rate they take part.

    own : the first user's next coin. everyone : all take part, whatever the coins.
    """

    public: np.random.Generator
    own: Callable[[], float]
    everyone: bool = False

    def random(self, users: int) -> np.ndarray:
        """Coins in [0, 1] of all users."""
        coins = np.zeros(users) if self.everyone else self.public.random(users)
        coins[0] = self.own()
        return coins


INSIDE, OUTSIDE = (lambda: 0.0), (lambda: 1.0)
"""Coins of a user who always takes part, and of one who never does."""


def streams(run: int, seed: int, own: Callable[[], float] | None = None, everyone: bool = False) -> Streams:
    """Named streams: noise of a run, and public ones of the seed alone."""

    def start(role: str):
        # A list of numbers takes its generator longer.
        drawn = np.random.default_rng(np.array([seed, 1 + run if role in SECRET else 0, *role.encode()], np.uint32))
        if role != "participants":
            return drawn
        secret = np.random.default_rng([seed, 1 + run, *b"coins"])
        return Attendance(drawn, own or (INSIDE if everyone else secret.random), everyone)

    return Streams(start)


def recorded(
    method: Method,
    users: GivenUsers,
    multiplier: float,
    streams: Streams,
    replayed: Transcript | None = None,
    fault: Fault = SOUND,
) -> tuple[Transcript, Ledger]:
    """What a whole fit releases, and its ledger, which has no limit, so that an audit sees what a mechanism spends."""
    transcript, ledger = Transcript(replayed), Ledger()
    handle = RecordingRelease(
        multiplier, ledger, range(users.known.users), streams, UNLIMITED, transcript=transcript, fault=fault
    )
    for _ in method.fit(users, handle):
        pass
    return transcript, ledger


def attained_mu(one: Transcript, other: Transcript) -> float:
    """mu of two worlds under one history, from Gaussian releases: the square root of all squared distances,
    each in units of its noise."""
    pairs = zip(one.records, other.records, strict=True)
    return float(np.sqrt(sum(((a.exact - b.exact) ** 2).sum() for a, b in pairs if isinstance(a, GaussianRecord))))


def loss(one: Transcript, other: Transcript) -> float:
    """The largest privacy loss of two worlds under one history, from choices."""
    pairs = zip(one.records, other.records, strict=True)
    return float(sum(np.abs(a.logs - b.logs).max() for a, b in pairs if isinstance(a, ChoiceRecord)))


def log_ratio(one: Transcript, other: Transcript, without: Transcript | None = None) -> float:
    """Logarithm of the likelihood of the answers in the first world over that in the second."""
    outside = without.records if without else [None] * len(one.records)
    pairs = zip(one.records, other.records, outside, strict=True)
    return float(sum(a.log_density(out) - b.log_density(out) for a, b, out in pairs))


def noises(transcript: Transcript) -> dict[tuple[str, int], np.ndarray]:
    """What was added to each release, in units of the claimed noise: standard normal numbers, by its name and how often
    that was released before."""
    before = Counter()
    found = {}
    for one in transcript.records:
        found[one.name, before[one.name]] = one.noise
        before[one.name] += 1
    return found


def aligned(runs: list[dict[tuple[str, int], np.ndarray]], rng: np.random.Generator) -> np.ndarray:
    """One row a run, (runs, numbers). What earlier answers decide whether to release is in some runs alone;
    in the others standard normal numbers stand for it, so that sound noise has the same law in all."""
    sizes = {key: len(noise) for run in runs for key, noise in run.items()}
    return np.array(
        [
            np.concatenate([run[key] if key in run else rng.standard_normal(size) for key, size in sizes.items()])
            for run in runs
        ]
    )
