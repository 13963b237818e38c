"""The transcript of a fit's releases, and its replay: the same fit on other users, given the same released answers.

A replay runs the method on two data sets (worlds), giving it the answers o of one run. Its exact statistics s, s' on
the two, in units of the claimed noise like o, give

    mu^2 = sum_t ||s_t - s'_t||^2,    log p / p' = sum_t <s_t - s'_t, o_t - (s_t + s'_t) / 2>

and a choice adds its difference of log-probabilities. Where users take part at random, all coins are public but the
canary's; a release then has the law (1 - p) N(s without it, 1) + p N(s with it, 1).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.special import log_softmax, ndtri

from privrep.methods.running.method import Method
from privrep.privacy.accounting import UNLIMITED
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import Release, Released
from privrep.privacy.noise import Noise, NoiseSpec
from privrep.users.given_users import GivenUsers
from privrep.users.rng import Streams


@cache
def _upper(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and columns of the entries of an upper triangle, and whether each is on the diagonal."""
    rows, columns = np.triu_indices(size)
    return rows, columns, rows == columns


def scaled(array: np.ndarray, noise: Noise, multiplier: float) -> np.ndarray:
    """Return the entries of an array, or of its upper triangle if it is symmetric, in units of their noise."""
    sd = noise.sd * multiplier
    if noise.form == "independent":
        return np.ravel(array) / sd
    rows, columns, diagonal = _upper(len(array))
    beside = sd * 0.5**0.5 if noise.form == "averaged" else sd
    return array[rows, columns] / np.where(diagonal, sd, beside)


def clipped_as_a_whole(total: np.ndarray, bound: float, users: int) -> np.ndarray:
    """Clip a sum as a whole to norm users x bound, in place of each user to `bound`."""
    most = bound * users
    return total * min(1.0, most / max(float(np.linalg.norm(total)), most))


@dataclass(frozen=True)
class GaussianRecord:
    """A Gaussian release."""

    name: str
    role: str  # stream of the noise
    exact: np.ndarray  # (c,), in units of the claimed noise
    noisy: np.ndarray  # (c,), in units of the claimed noise
    answer: object  # as the method received it
    rate: float = 1.0  # of participation
    parts: int = 1  # number of statistics in the release

    @property
    def noise(self) -> np.ndarray:
        """The added noise, which should be standard normal."""
        return self.noisy - self.exact

    def log_density(self, without: GaussianRecord | None) -> float:
        """Return the log density of the answer up to a constant; of a mixture if the canary may be absent."""
        inside = -0.5 * float(self.noise @ self.noise)
        if without is None or self.rate == 1:
            return inside
        outside = -0.5 * float(without.noise @ without.noise)
        return float(np.logaddexp(math.log(self.rate) + inside, math.log1p(-self.rate) + outside))


@dataclass(frozen=True)
class ChoiceRecord:
    """A choice by the exponential mechanism: claimed log-probabilities (c,), the choice, a uniform random number."""

    name: str
    role: str
    logs: np.ndarray
    answer: tuple[int]
    position: float
    rate = 1.0
    parts = 1

    @property
    def noise(self) -> np.ndarray:
        """The choice's randomised quantile, likeliest candidates first, mapped to a standard normal number."""
        order = np.argsort(-self.logs, kind="stable")
        chances = np.exp(self.logs[order])
        place = int(np.flatnonzero(order == self.answer[0])[0])
        return ndtri(np.clip([chances[:place].sum() + self.position * chances[place]], 1e-12, 1 - 1e-12))

    def log_density(self, without: ChoiceRecord | None) -> float:
        """Return the log probability of the answer; all users take part in a choice."""
        return float(self.logs[self.answer[0]])


@dataclass
class Transcript:
    """The releases of a fit in their order, and the transcript whose answers are replayed."""

    replayed: Transcript | None = None
    records: list[Any] = field(default_factory=list)  # a GaussianRecord or a ChoiceRecord each

    @property
    def given(self) -> Any:
        return self.replayed.records[len(self.records)] if self.replayed else None


@dataclass(frozen=True)
class Fault:
    """An injected fault of a release handle."""

    noise_scale: float = 1.0  # actual over charged noise
    charged: float = 1.0  # charged over true sensitivity; noise is drawn for the charged one
    joint: float | None = None  # squared sensitivity charged for two statistics together in place of the true one
    repeats: bool = False  # every release has the noise of the first
    mean_clip: bool = False  # sums are clipped as a whole, to the bound times the number of users

    def noise_spec(self, spec: NoiseSpec) -> NoiseSpec:
        """Return the faulty specification that replaces the sound `spec` in the release of a sum."""
        noises = tuple(replace(noise, sd=noise.sd * self.charged) for noise in spec.noises)
        if len(noises) > 1:
            return replace(spec, noises=noises, sensitivity=math.sqrt(self.joint) if self.joint else spec.sensitivity)
        charged = {name: getattr(spec, name) * self.charged for name in ("sensitivity", "noise_sd")}
        return replace(spec, noises=noises, **charged)


SOUND = Fault()


@dataclass(frozen=True)
class RecordingRelease(Release):
    """A release handle that keeps a transcript and may have a fault."""

    transcript: Transcript = field(default_factory=Transcript)
    fault: Fault = SOUND

    @property
    def noise(self) -> np.random.Generator:
        """The generator of the noise, started anew for each release if the noise repeats."""
        if self.fault.repeats:
            seeds: Any = self.streams[self.role].bit_generator.seed_seq
            return np.random.default_rng(seeds)
        return super().noise

    def _gaussian(self, name: str, exact: tuple[np.ndarray, ...], spec: NoiseSpec) -> tuple[Released, ...]:
        if self.fault.mean_clip:
            exact = tuple(clipped_as_a_whole(*part, len(self.users)) for part in zip(exact, spec.bounds, strict=True))
        spec = self.fault.noise_spec(spec)

        def in_units(arrays: tuple) -> np.ndarray:
            parts = zip(arrays, spec.noises, strict=True)
            return np.concatenate([scaled(*part, self.noise_multiplier) for part in parts])

        if given := self.transcript.given:
            answer, noisy = given.answer, given.noisy
        else:
            scale, pairs = self.fault.noise_scale, zip(exact, super()._gaussian(name, exact, spec), strict=True)
            answer = tuple(replace(released, value=part + scale * (released.value - part)) for part, released in pairs)
            noisy = in_units(tuple(released.value for released in answer))
        record = GaussianRecord(name, self.role, in_units(exact), noisy, answer, self.rate, len(exact))
        self.transcript.records.append(record)
        return answer

    def approached(
        self, name: str, chain: Callable[[float, np.random.Generator], np.ndarray], *, width: float
    ) -> np.ndarray:
        """Release and record a chain's state, without exact values: its probability on the other data is not known."""
        given = self.transcript.given
        answer = given.answer if given else Release.approached(self, name, chain, width=width)
        self.transcript.records.append(GaussianRecord(name, self.role, np.empty(0), np.empty(0), answer))
        return answer

    def _chosen(self, name: str, scores: np.ndarray, width: float) -> int:
        width *= self.fault.charged
        if given := self.transcript.given:
            answer = given.answer
        else:
            self.temperature(name, width=width)
            actual = replace(self, multiplier=self.multiplier * self.fault.noise_scale, ledger=Ledger())
            answer = (Release._chosen(actual, name, scores, width),)
        logs = log_softmax(-scores / (2 * width * self.noise_multiplier))
        position = float(self.streams["position"].random())
        self.transcript.records.append(ChoiceRecord(name, self.role, logs, answer, position))
        return answer[0]


SECRET = ("noise", "init_noise", "position")  # streams that are secret; all others are public


@dataclass(frozen=True)
class Attendance:
    """Coins of random participation, public except the first user's; users with coins below the rate take part."""

    public: np.random.Generator
    own: Callable[[], float]
    everyone: bool = False

    def random(self, users: int) -> np.ndarray:
        """Return a coin in [0, 1] for each user; 0 for all but the first if everyone takes part."""
        coins = np.zeros(users) if self.everyone else self.public.random(users)
        coins[0] = self.own()
        return coins


INSIDE, OUTSIDE = (lambda: 0.0), (lambda: 1.0)  # coins of a user who always takes part, and of one who never does


def streams(run: int, seed: int, own: Callable[[], float] | None = None, everyone: bool = False) -> Streams:
    """Return named random streams, public ones seeded by `seed` alone; `own` draws the coins of the first user."""

    def start(role: str) -> Any:
        # Seeding from an array is faster than from a list.
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
    """Return the transcript and the ledger of a whole fit, whose budget is not limited."""
    transcript, ledger = Transcript(replayed), Ledger()
    handle = RecordingRelease(
        multiplier, ledger, range(users.known.users), streams, UNLIMITED, transcript=transcript, fault=fault
    )
    for _ in method.fit(users, handle):
        pass
    return transcript, ledger


def attained_mu(first: Transcript, second: Transcript) -> float:
    """Return mu between two data sets, given the same answers: root sum of squared distances of Gaussian releases."""
    pairs = zip(first.records, second.records, strict=True)
    return float(np.sqrt(sum(((a.exact - b.exact) ** 2).sum() for a, b in pairs if isinstance(a, GaussianRecord))))


def loss(first: Transcript, second: Transcript) -> float:
    """Return the largest privacy loss between two data sets, given the same answers, summed over the choices."""
    pairs = zip(first.records, second.records, strict=True)
    return float(sum(np.abs(a.logs - b.logs).max() for a, b in pairs if isinstance(a, ChoiceRecord)))


def log_ratio(first: Transcript, second: Transcript, without: Transcript | None = None) -> float:
    """Return the log likelihood ratio of the answers, under the first data set over the second."""
    outside = without.records if without else [None] * len(first.records)
    pairs = zip(first.records, second.records, outside, strict=True)
    return float(sum(a.log_density(out) - b.log_density(out) for a, b, out in pairs))


def noises(transcript: Transcript) -> dict[tuple[str, int], np.ndarray]:
    """Return the noise of each release in units of the claimed noise, by its name and its number under that name."""
    before, noise = Counter(), {}
    for record in transcript.records:
        noise[record.name, before[record.name]] = record.noise
        before[record.name] += 1
    return noise


def aligned(runs: list[dict[tuple[str, int], np.ndarray]], rng: np.random.Generator) -> np.ndarray:
    """Return a table (runs, numbers) of `noises`, with standard normal numbers where a run has not made a release."""
    sizes = {key: len(noise) for run in runs for key, noise in run.items()}
    rows = [[run[key] if key in run else rng.standard_normal(size) for key, size in sizes.items()] for run in runs]
    return np.array([np.concatenate(row) for row in rows])
