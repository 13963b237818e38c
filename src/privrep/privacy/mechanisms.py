"""Release handles: nothing else leaves the users' data. Each release is clipped, gets its noise and an entry in the
ledger.

Sensitivities are replace-one: neighbours differ in all samples of one user. A noise multiplier is noise sd over
sensitivity. Multiplier 0 releases without privacy, and the ledger says so (mu = inf).
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
"""Streams that hide people. All others are public."""


@dataclass(frozen=True)
class NamedSum:
    """One of the sums of a pass."""

    name: str  # of its entry in the ledger
    clip: Any  # as its kind of contribution takes it
    share: float = 1.0  # of the handle's mu^2


@dataclass(frozen=True, eq=False)
class Released:
    """A noisy sum, or mean, with what everybody may know of its noise."""

    value: np.ndarray
    sd: float  # standard deviation of an entry's noise; of one on the diagonal, where noise is averaged; 0 for none
    charge: float  # what its entry in the ledger takes, mu^2

    def __truediv__(self, count: float) -> Released:
        """Return the mean over so many, with the noise of a mean."""
        return replace(self, value=self.value / count, sd=self.sd / count)


@dataclass(frozen=True, eq=False)
class ClippedSums:
    """Statistic of a block: noise specification and clipped sum of each contribution, then `UserRows` that users keep,
    then norms before the clip if `watched`."""

    # To one contribution, or to a tuple of a contribution for each clip and any `UserRows` that users keep.
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
    """Return the name under which a sum may be kept, or None: a `key` has all that it depends on besides the data."""
    key = getattr(contribution, "key", None)
    return None if key is None else (type(contribution), key, clips)


def clipped_sums(
    users: UserData, contribution: Callable, *clips: object, over: range | None = None
) -> tuple[np.ndarray, ...]:
    """Return sums over some users as they are before noise, exact, for analysis: nothing of it may be released.

    Parameters
    ----------
    users : whose data are read.
    contribution : as in `Release.sum`.
    *clips : one for each sum.
    over : numbers of the users who are summed, by default of all.
    """
    over = range(users.known.users) if over is None else over
    narrow = getattr(contribution, "narrow", False)
    return total(users, ClippedSums(contribution, clips), over, _key_of(contribution, clips), narrow)[1:]


@dataclass(frozen=True)
class Release:
    """A release handle: the only way out of the users' data.

    A release that would take more than is allowed is refused before its noise is drawn: Gaussian ones that touch one
    user may add up to the allowed mu^2, those without a delta to the allowed epsilon, each kind by itself, and with no
    gain from random participation (`Ledger.enter`).

    Attributes
    ----------
    multiplier : noise sd over sensitivity of a release that spends the whole budget.
    ledger : where each release is written.
    users : the users whose data the next release holds, and nobody else's.
    streams : named random streams, each started once. Noise comes from `role`; the others are public. For real data
        noise is `SystemNoise`, and sums lie on a lattice, see `privrep.privacy.lattice`.
    allowed : what all entries of the ledger may cost. `UNLIMITED` is for probes and audits.
    part : share of mu^2 that a release through this handle takes, over that at `multiplier`.
    taking_part : of `users`, (len(users),), in the next release; by default everybody.
    rate : at which the ledger has them take part.
    watch : is told norms of users' contributions before a clip, and the clip; exact, for analysis, not released.
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
        """Return a release handle for probes: of all users, with no limit and noise from one generator, in every role.

        Parameters
        ----------
        noise_multiplier : noise sd over sensitivity, at least 0.
        rng : of all noise.
        users : how many there are.
        ledger : where each release is written.
        """
        return cls(noise_multiplier, ledger, range(users), dict.fromkeys(NOISE_ROLES, rng), UNLIMITED)

    def of(self, users: range) -> Release:
        """Return the same handle for a part of the users.

        Parameters
        ----------
        users : their numbers.
        """
        return replace(self, users=users)

    def start(self, relative: float = 1.0) -> Release:
        """Return the release handle of an initialisation, with a stream of its own.

        Parameters
        ----------
        relative : its noise multiplier over that of this handle.
        """
        return replace(self, role="init_noise", multiplier=self.multiplier * relative)

    def share(self, share: float) -> Release:
        """Return the same handle for a release that takes a share of mu^2.

        Parameters
        ----------
        share : in (0, 1]; with shares that add up to more than one, the last release is refused.
        """
        return replace(self, part=self.part * share)

    def split(self, *shares: float) -> tuple[Release, ...]:
        """Return release handles for shares of mu^2.

        Parameters
        ----------
        *shares : of each handle; they add up to one, else ValueError.
        """
        if not abs(sum(shares) - 1) <= ROUNDING:
            raise ValueError(
                f"shares of mu^2 are {', '.join(f'{share:.6g}' for share in shares)}; they must add up to one"
            )
        return tuple(map(self.share, shares))

    def sampled(self, rate: float, count_known: bool = False) -> Release:
        """Return the handle of one release in which each user takes part independently with the same probability.

        The draw does not depend on data.

        Parameters
        ----------
        rate : the probability, in (0, 1].
        count_known : whether the number of participants is published; the ledger then takes no gain from sampling.

        Raises
        ------
        ValueError
            If the ledger takes a gain and noise is `SystemNoise`: who takes part is not drawn in secret.
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
        """Raise ValueError where noise is not from a seeded generator."""
        if isinstance(self.streams.get(self.role), SystemNoise):
            raise ValueError(
                f"{what} takes numbers from a seeded generator; a handle whose noise is from the system's randomness "
                "releases sums of all users with Gaussian noise only"
            )

    def sum(self, name: str, users: UserData, contribution: Callable, *, clip: object) -> Released:
        """Release a sum over the users of this handle: clip each contribution, add them up, and add the noise of their
        kind.

        Parameters
        ----------
        name : of the entry in the ledger.
        users : whose data are read; those of the handle are summed.
        contribution : block -> one of the kinds of `privrep.privacy.contributions` and its neighbours. With a `key`,
            which has all that it depends on besides the data, the sum is kept; with `narrow` it is taken of few users
            at a time, see `privrep.users.passes.total`.
        clip : what a user adds at most, as the kind takes it.

        Returns
        -------
        The noisy sum, and what is known of its noise. A kind that has several, or of which users keep something, goes
        to `sums`.

        Raises
        ------
        ValueError
            If the clip is not positive and finite.
        OverBudget
            If the release takes more than is left.
        """
        (released,) = self.sums(users, contribution, NamedSum(name, clip))
        return released

    def sums(self, users: UserData, contribution: Callable, *parts: NamedSum) -> tuple:
        """Release several sums from one pass, each with an entry of its own, in this order; what users keep comes last.
        Errors as in `sum`.

        Parameters
        ----------
        users : whose data are read; those of the handle are summed.
        contribution : block -> a tuple with a contribution for each.
        *parts : name, clip and share of each.
        """
        clips = tuple(part.clip for part in parts)
        self._check([clip for clip in clips if isinstance(clip, Real)])  # before anything is read, or written down
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
        """Add the Gaussian noise that `spec` prescribes, and enter it in the ledger."""
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

        The score is a sum over users of values in an interval of length `width`. Where a user is replaced, the score of
        candidate U moves by f(U) in [-width, width]. The log-probability of a candidate moves by -beta f(U) and by the
        change of the normaliser, which lies between beta min f and beta max f: by at most 2 beta width in all. With
        scale 2 * width * noise multiplier, the release is epsilon-DP for epsilon = 1 / noise multiplier. The bound is
        attained in the limit of many other users (E34), so no larger beta will do. jain2021 Theorem 5.1 has 8 beta
        width for its epsilon.

        Parameters
        ----------
        name : of the entry in the ledger.
        width : of the interval, in the unit of the score.
        limit : whether the distribution is only approached, by a finite Markov chain.

        Raises
        ------
        ValueError
            If noise is `SystemNoise`, or the width is not positive and finite.
        OverBudget
            If the release takes more than is left.
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
        name : of the entry in the ledger.
        chain : (scale, generator) -> its last state. It may look at the users; nothing but the state leaves it.
        width : of the interval of a user's values, in the unit of the score.
        """
        return chain(self.temperature(name, width=width, limit=True), self.noise)

    def choice(self, name: str, users: UserData, contribution: Callable[[Block], Scores], *, width: float) -> int:
        """Release the number of a candidate, drawn with probability proportional to exp(-beta score); errors as in
        `temperature`.

        Parameters
        ----------
        name : of the entry in the ledger.
        users : whose data are read; the scores of those of the handle are summed.
        contribution : block -> scores of the candidates.
        width : of the interval to which a user's share of a score is clipped, whatever the candidate.
        """
        return self._chosen(name, self._total(users, contribution, (width,))[1], width)

    def _chosen(self, name: str, scores: np.ndarray, width: float) -> int:
        """Draw by the largest of -beta score plus standard Gumbel noise, which has the distribution of `choice`."""
        scale = self.temperature(name, width=width)
        return int(np.argmax(self.noise.gumbel(0.0, 1.0, len(scores)) - scores / scale if scale else -scores))
