"""Release handles, the only source of results about the users' data. Each release is clipped, gets its noise and an
entry in the ledger.

Sensitivities are replace-one: neighbours differ in all samples of one user. A noise multiplier is noise sd over
sensitivity. Multiplier 0 gives releases without privacy, which the ledger records (mu = inf).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from privrep.options import check_nonnegative
from privrep.privacy.accounting import UNLIMITED, Cost
from privrep.privacy.contributions import Contribution, Scores
from privrep.privacy.lattice import SystemNoise, on_lattice
from privrep.privacy.ledger import ROUNDING, GaussianRelease, Ledger, PureRelease
from privrep.privacy.noise import NoiseSpec
from privrep.users.blocks import Block, UserData
from privrep.users.passes import UserRows, total

GAUSSIAN_COST = Cost(mu_squared=1.0, rho=1 / 2)
PURE_COST = Cost(mu_squared=0.0, rho=0.0, pure=1.0)
NOISE_ROLES = ("noise", "init_noise")
"""Roles of the streams whose noise protects users. All other streams are public."""


@dataclass(frozen=True)
class NamedSum:
    """One of the sums that are released from one pass over the users."""

    name: str  # name of its entry in the ledger
    clip: Any  # clip in the form that its kind of contribution requires
    share: float = 1.0  # share of the handle's mu^2


@dataclass(frozen=True, eq=False)
class Released:
    """A noisy sum, or mean, with the public facts about its noise."""

    value: np.ndarray
    sd: float  # standard deviation of an entry's noise, on the diagonal where noise is averaged; 0 for no noise
    charge: float  # charge of its ledger entry, mu^2

    def __truediv__(self, count: float) -> Released:
        """Return the mean over this count, with the noise of a mean."""
        return replace(self, value=self.value / count, sd=self.sd / count)


@dataclass(frozen=True, eq=False)
class ClippedSums:
    """Statistic of a block: noise specification and clipped sum of each contribution, then `UserRows` that users keep,
    then norms before the clip if `watched`."""

    # Function of a block: returns a contribution, or a tuple of one per clip, then any `UserRows` that users keep.
    contribution: Callable[[Block], Contribution | tuple]
    clips: tuple
    taking_part: UserRows | None = None  # by default everybody
    watched: bool = False

    def __call__(self, block: Block) -> tuple:
        returned = self.contribution(block)
        adds: tuple = returned if isinstance(returned, tuple) else (returned,)
        kinds, own = adds[: len(self.clips)], adds[len(self.clips) :]
        participating = None if self.taking_part is None else self.taking_part.of(block)
        pairs = list(zip(kinds, self.clips, strict=True))
        specs = tuple(kind.noise_spec(clip) for kind, clip in pairs)
        parts = [part for kind, clip in pairs for part in kind.clipped(clip, participating)]
        sums, kept = ([part for part in parts if isinstance(part, UserRows) == own] for own in (False, True))
        lengths = [UserRows(np.stack([kind.norms for kind in kinds], axis=1), block.start)] if self.watched else []
        return specs, *sums, *kept, *own, *lengths


def _key_of(contribution: object, clips: tuple) -> Hashable:
    """Return the cache name of a sum, None without a `key`, which has all that the sum depends on besides data."""
    key = getattr(contribution, "key", None)
    return None if key is None else (type(contribution), key, clips)


def clipped_sums(
    users: UserData, contribution: Callable, *clips: object, over: range | None = None
) -> tuple[np.ndarray, ...]:
    """Return sums over some users before noise, exact, for analysis: they must not be released.

    Parameters
    ----------
    users : source of the data.
    contribution : as in `Release.sum`.
    *clips : one clip per sum.
    over : numbers of the users to sum over, by default all.
    """
    over = range(users.known.users) if over is None else over
    narrow = getattr(contribution, "narrow", False)
    return total(users, ClippedSums(contribution, clips), over, _key_of(contribution, clips), narrow)[1:]


@dataclass(frozen=True)
class Release:
    """Release handle: the only source of results about the users' data.

    A release that exceeds the allowance is refused before its noise is drawn: Gaussian releases that touch one user may
    add up to the allowed mu^2, pure releases to the allowed epsilon, each kind by itself, with no gain from random
    participation (`Ledger.enter`).

    Attributes
    ----------
    multiplier : noise sd over sensitivity of a release that spends the whole budget.
    ledger : record of each release.
    users : numbers of the users in the next release; data of other users do not enter.
    streams : named random streams, each started once. Noise comes from stream `role`; others are public. For real data,
        noise is `SystemNoise`, and sums lie on a lattice, see `privrep.privacy.lattice`.
    allowed : largest cost of all entries of the ledger. `UNLIMITED` is for checks and audits.
    part : mu^2 of a release through this handle, over that at `multiplier`.
    taking_part : mask (len(users),) of the participants in the next release; by default all.
    rate : probability of participation that the ledger's entries record.
    watch : function called with the norms of contributions before the clip, and the clip; exact, for analysis only.
    """

    multiplier: float
    ledger: Ledger
    users: range
    streams: Mapping[str, np.random.Generator]
    allowed: Cost
    role: str = "noise"
    part: float = 1.0
    taking_part: np.ndarray | None = None
    rate: float = 1.0
    watch: Callable[[np.ndarray, float], None] | None = None

    def __post_init__(self):
        check_nonnegative("noise_multiplier", self.multiplier)

    @property
    def noise_multiplier(self) -> float:
        """Noise sd over sensitivity of the next release."""
        return self.multiplier / math.sqrt(self.part)

    @classmethod
    def from_one(cls, noise_multiplier: float, rng: np.random.Generator, users: int, ledger: Ledger) -> Release:
        """Return a release handle for checks: all users, no limit, and noise from one generator in every role.

        Parameters
        ----------
        noise_multiplier : noise sd over sensitivity, at least 0.
        rng : generator of all noise.
        users : number of users.
        ledger : record of each release.
        """
        return cls(noise_multiplier, ledger, range(users), dict.fromkeys(NOISE_ROLES, rng), UNLIMITED)

    def of(self, users: range) -> Release:
        """Return the same handle for some of the users.

        Parameters
        ----------
        users : numbers of these users.
        """
        return replace(self, users=users)

    def start(self, relative: float = 1.0) -> Release:
        """Return the release handle of an initialisation, with its own stream.

        Parameters
        ----------
        relative : its noise multiplier over that of this handle.
        """
        return replace(self, role="init_noise", multiplier=self.multiplier * relative)

    def share(self, share: float) -> Release:
        """Return the same handle for a release with a share of mu^2.

        Parameters
        ----------
        share : in (0, 1]; if shares add up to more than one, the last release is refused.
        """
        return replace(self, part=self.part * share)

    def split(self, *shares: float) -> tuple[Release, ...]:
        """Return release handles for shares of mu^2.

        Parameters
        ----------
        *shares : share of each handle; ValueError unless they add up to one.
        """
        if not abs(sum(shares) - 1) <= ROUNDING:
            raise ValueError(
                f"shares of mu^2 are {', '.join(f'{share:.6g}' for share in shares)}; they must add up to one"
            )
        return tuple(map(self.share, shares))

    def sampled(self, rate: float, count_known: bool = False) -> Release:
        """Return the handle of one release in which each user participates independently with the same probability.

        The draw does not depend on data.

        Parameters
        ----------
        rate : probability of participation, in (0, 1].
        count_known : whether the number of participants is published; then the ledger takes no gain from sampling.

        Raises
        ------
        ValueError
            If the ledger takes a gain and noise is `SystemNoise`, since participants are not drawn in secret.
        """
        if rate == 1:
            return self
        if not count_known:
            self._seeded("a gain from random participation")
        taking_part = self.streams["participants"].random(len(self.users)) < rate
        return replace(self, taking_part=taking_part, rate=1.0 if count_known else rate)

    @property
    def present(self) -> int:
        """Number of participants in the next release."""
        return len(self.users) if self.taking_part is None else int(self.taking_part.sum())

    @property
    def noise(self) -> np.random.Generator:
        """Source of the noise."""
        return self.streams[self.role]

    def _seeded(self, what: str) -> None:
        """Raise ValueError unless noise is from a seeded generator."""
        if isinstance(self.streams.get(self.role), SystemNoise):
            raise ValueError(
                f"{what} takes numbers from a seeded generator; a handle with noise from the system's randomness "
                "releases sums of all users with Gaussian noise only"
            )

    def sum(self, name: str, users: UserData, contribution: Callable, *, clip: object) -> Released:
        """Release a sum over the users of this handle: clip each contribution, add them up, and add the noise of their
        kind.

        Parameters
        ----------
        name : name of the entry in the ledger.
        users : source of the data; the users of the handle are summed.
        contribution : function of a block that returns one kind of `privrep.privacy.contributions` or its neighbours.
            If its attribute `key` holds all that it depends on besides the data, the sum is cached; with `narrow` it is
            evaluated on few users at a time, see `privrep.users.passes.total`.
        clip : bound on a user's contribution, in the form that the kind requires.

        Returns
        -------
        The noisy sum, and the public facts about its noise. A kind with several sums, or with rows that users keep,
        needs `sums`.

        Raises
        ------
        ValueError
            If the clip is not positive and finite.
        OverBudget
            If the release exceeds the remaining allowance.
        """
        (released,) = self.sums(users, contribution, NamedSum(name, clip))
        return released

    def sums(self, users: UserData, contribution: Callable, *parts: NamedSum) -> tuple:
        """Release several sums from one pass, each with its own ledger entry, in this order, then return the rows that
        users keep. Errors as in `sum`.

        Parameters
        ----------
        users : source of the data; the users of the handle are summed.
        contribution : function of a block that returns a tuple of one contribution per part.
        *parts : name, clip and share of each sum.
        """
        clips = tuple(part.clip for part in parts)
        self._check([clip for clip in clips if isinstance(clip, Real)])  # before any data are read or entered
        specs, *arrays = self._total(users, contribution, clips, self.watch is not None)
        if self.watch is not None:
            for norms, clip in zip(arrays.pop().rows.T, clips, strict=True):
                self.watch(norms, clip)
        released = []
        for part, spec in zip(parts, specs, strict=True):
            exact, arrays = tuple(arrays[: len(spec.noises)]), arrays[len(spec.noises) :]
            released += self.share(part.share)._gaussian(part.name, exact, spec)
        return *released, *arrays

    def _check(self, bounds: Sequence[Any]) -> None:
        if self.multiplier > 0 and not all(0 < bound < math.inf for bound in bounds):
            listed = ", ".join(map(str, bounds))
            raise ValueError(f"clipping bounds are {listed}; a private release needs them positive and finite")

    def _total(self, users: UserData, contribution: Callable, clips: tuple, watched: bool = False) -> tuple:
        participating = None if self.taking_part is None else UserRows(self.taking_part, self.users.start)
        statistic = ClippedSums(contribution, clips, participating, watched)
        name = _key_of(contribution, clips) if self.taking_part is None and not watched else None
        return total(users, statistic, self.users, name, getattr(contribution, "narrow", False))

    def _gaussian(self, name: str, exact: tuple[np.ndarray, ...], spec: NoiseSpec) -> tuple[Released, ...]:
        """Add the Gaussian noise prescribed by `spec`, and enter it in the ledger."""
        self._check(spec.bounds)
        multiplier = self.noise_multiplier
        if multiplier and isinstance(self.noise, SystemNoise):
            spec = on_lattice(name, spec, exact, len(self.users), multiplier)
        sd = spec.noise_sd * multiplier if multiplier else 0.0
        entry = GaussianRelease(name, spec.sensitivity, sd, self.users.start, self.users.stop, self.rate)
        self.ledger.enter(entry, self.allowed)
        if not multiplier:
            return tuple(Released(array, 0.0, entry.charge) for array in exact)
        return tuple(
            Released(noise.added(array, multiplier, self.noise), noise.sd * multiplier, entry.charge)
            for array, noise in zip(exact, spec.noises, strict=True)
        )

    def temperature(self, name: str, *, width: float, limit: bool = False) -> float:
        """Enter an exponential mechanism in the ledger, and return the scale 1/beta of exp(-beta score); 0 without
        privacy.

        The score is a sum over users of values in an interval of length `width`. When a user is replaced, the score of
        candidate U moves by f(U) in [-width, width]. The log-probability of a candidate moves by -beta f(U) and by the
        change of the normaliser, which lies between beta min f and beta max f: by at most 2 beta width in all. With
        scale 2 * width * noise multiplier, the release is epsilon-DP for epsilon = 1 / noise multiplier. The bound is
        attained in the limit of many other users (E34), so beta cannot be larger. jain2021 Theorem 5.1 has 8 beta width
        for its epsilon.

        Parameters
        ----------
        name : name of the entry in the ledger.
        width : length of the interval, in the unit of the score.
        limit : whether a finite Markov chain only approximates the distribution.

        Raises
        ------
        ValueError
            If noise is `SystemNoise`, or the width is not positive and finite.
        OverBudget
            If the release exceeds the remaining allowance.
        """
        self._seeded(f"release {name!r}: the exponential mechanism")
        if self.noise_multiplier > 0 and not 0 < width < math.inf:
            raise ValueError(f"width is {width!r}; a private release needs it positive and finite")
        epsilon = 1 / self.noise_multiplier if self.noise_multiplier else math.inf
        self.ledger.enter(PureRelease(name, epsilon, self.users.start, self.users.stop, limit), self.allowed)
        return 2 * width * self.noise_multiplier if self.noise_multiplier else 0.0

    def approached(
        self, name: str, chain: Callable[[float, np.random.Generator], np.ndarray], *, width: float
    ) -> np.ndarray:
        """Release the last state of a finite Markov chain whose limit is the exponential mechanism; errors as in
        `temperature`.

        Parameters
        ----------
        name : name of the entry in the ledger.
        chain : (scale, generator) -> its last state. It may read the users' data; only the state leaves it.
        width : length of the interval of a user's values, in the unit of the score.
        """
        return chain(self.temperature(name, width=width, limit=True), self.noise)

    def choice(self, name: str, users: UserData, contribution: Callable[[Block], Scores], *, width: float) -> int:
        """Release the index of a candidate, drawn with probability proportional to exp(-beta score); errors as in
        `temperature`.

        Parameters
        ----------
        name : name of the entry in the ledger.
        users : source of the data; the scores of the handle's users are summed.
        contribution : block -> scores of the candidates.
        width : length of the interval to which a user's share of each score is clipped.
        """
        return self._chosen(name, self._total(users, contribution, (width,))[1], width)

    def _chosen(self, name: str, scores: np.ndarray, width: float) -> int:
        """Draw the largest of -beta score plus standard Gumbel noise, which has the distribution of `choice`."""
        scale = self.temperature(name, width=width)
        return int(np.argmax(self.noise.gumbel(0.0, 1.0, len(scores)) - scores / scale if scale else -scores))
