"""Record of all releases about the users' data."""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from scipy.special import expit, ndtri

from privrep.privacy.accounting import Cost, composed_epsilon, gdp_epsilon

ROUNDING = 1e-9
"""Spending may exceed the allowance by this share of it, for rounding: sums of shares are otherwise exact."""
EVERYBODY = range(sys.maxsize)


class OverBudget(RuntimeError):
    """A method's releases exceed its declared cost, a fault of its code; the message has the spent and the allowed
    amounts."""


@dataclass(frozen=True)
class GaussianRelease:
    """One release by the Gaussian mechanism."""

    name: str  # name of the released sum
    sensitivity: float  # replace-one L2 sensitivity, in the unit of `noise_sd`
    noise_sd: float  # standard deviation of the Gaussian noise; 0 for a release without privacy
    start: int  # first of the users whose data were touched: [start, stop)
    stop: int
    rate: float = 1.0  # probability of each user's independent participation (Poisson sampling)
    part: ClassVar = "mu_squared"

    @property
    def mu(self) -> float:
        """Gaussian-DP parameter of this release alone, for a participating user."""
        return self.sensitivity / self.noise_sd if self.noise_sd > 0 else math.inf

    @property
    def charge(self) -> float:
        """Amount that the release adds to `Cost.mu_squared`, without a gain from random participation."""
        return self.mu**2

    @property
    def terms(self) -> str:
        """The numbers that determine the cost, as text."""
        return f"gaussian {self.sensitivity!r}/{self.noise_sd!r} rate {self.rate!r} users {self.start}:{self.stop}"

    def __str__(self) -> str:
        return (
            f"{self.name:<28} {self.sensitivity:>12.6g} {self.noise_sd:>12.6g} {self.mu:>10.4g} {self.rate:>6.3g}"
            f"  {self.start}..{self.stop - 1}"
        )


@dataclass(frozen=True)
class PureRelease:
    """One release that is epsilon-DP when a user is replaced, by any mechanism.

    It is accounted as randomised response on two answers, whose privacy loss is the largest of all such mechanisms."""

    name: str  # name of the release
    epsilon: float  # inf without privacy
    start: int  # first of the users whose data were touched: [start, stop)
    stop: int
    # Whether a finite Markov chain approximated the mechanism: `epsilon` is that of the chain's limit; the epsilon of
    # the chain itself is not known.
    limit: bool = False
    part: ClassVar = "pure"

    @property
    def charge(self) -> float:
        """Amount that the release adds to `Cost.pure`."""
        return self.epsilon

    @property
    def mu(self) -> float:
        """The least mu at which every epsilon-DP mechanism is mu-GDP: -2 Phi^-1(1 / (1 + e^eps)) (Dong, Roth and Su
        2022)."""
        return float(-2 * ndtri(expit(-self.epsilon)))  # inf for inf

    @property
    def terms(self) -> str:
        """The numbers that determine the cost, as text."""
        return f"pure {self.epsilon!r} users {self.start}:{self.stop}"

    def __str__(self) -> str:
        kind = "limit eps" if self.limit else "epsilon"
        numbers = f"{self.epsilon:>12.6g} {self.mu:>10.4g} {1:>6.3g}  {self.start}..{self.stop - 1}"
        return f"{self.name:<28} {kind:>12} {numbers}"


Entry = GaussianRelease | PureRelease


@dataclass
class Ledger:
    """Releases in their order.

    The cost of a set of releases is the largest cost over users: releases that touch a user compose, and releases over
    disjoint users run in parallel. This holds for adaptive releases too, since a release does not depend on users it
    does not touch, given the earlier releases.
    """

    entries: list[Entry] = field(default_factory=list)
    _sums: dict = field(default_factory=partial(defaultdict, float), init=False, repr=False, compare=False)
    _summed: int = field(default=0, init=False, repr=False, compare=False)

    def record(self, entry: Entry) -> None:
        """Append a release without a check of the budget; `enter` checks the budget first."""
        self.entries.append(entry)

    def spent(self, part: str, users: range = EVERYBODY) -> float:
        """Return the largest sum, over the given users, of one user's charges to a part of `Cost`.

        Charges of releases over disjoint users do not add. Random participation brings no gain, as in `Cost`: the sum
        is mu^2 of a participating user."""
        charged = [(range(start, stop), taken) for (of, start, stop), taken in self._charges().items() if of == part]
        starts = {users.start, *(touched.start for touched, _ in charged if touched.start in users)}
        return max(sum(taken for touched, taken in charged if user in touched) for user in starts)

    def _charges(self) -> dict[tuple[str, int, int], float]:
        """Return sums of charges by part of a cost and range of users; each entry is added once, so that the time of a
        release does not grow with the number of earlier ones."""
        for entry in self.entries[self._summed :]:
            self._sums[entry.part, entry.start, entry.stop] += entry.charge
        self._summed = len(self.entries)
        return self._sums

    def enter(self, entry: Entry, allowed: Cost) -> None:
        """Append a release; raise OverBudget if it and the earlier charges of its users exceed the allowance."""
        spent, most = self.spent(entry.part, range(entry.start, entry.stop)), getattr(allowed, entry.part)
        if not spent + entry.charge <= most * (1 + ROUNDING):
            raise OverBudget(
                f"release {entry.name!r} asks for {entry.part} = {entry.charge:.6g} when {spent:.6g} is spent; its "
                f"method declares {most:.6g} in all"
            )
        self.record(entry)

    def check(self, allowed: Cost) -> None:
        """Raise OverBudget if all releases together exceed the allowance."""
        for part in ("mu_squared", "pure"):
            spent, most = self.spent(part), getattr(allowed, part)
            if not spent <= most * (1 + ROUNDING):
                raise OverBudget(f"the ledger has {part} = {spent:.6g}; its method declares {most:.6g} in all")

    def _touching(self) -> list[list[Entry]]:
        """Return, for each user at whom the range of a release starts, the releases that touch this user: one of these
        users has the largest cost."""
        users = sorted({entry.start for entry in self.entries})
        return [[entry for entry in self.entries if entry.start <= user < entry.stop] for user in users]

    @property
    def mu(self) -> float:
        """Gaussian-DP parameter of all releases: squares add. Exact for Gaussian releases with full participation, an
        upper bound otherwise."""
        return math.sqrt(max((sum(entry.mu**2 for entry in part) for part in self._touching()), default=0.0))

    def epsilon(self, delta: float) -> float:
        """Return epsilon of all releases: exact for Gaussian releases with full participation, otherwise by privacy
        loss distributions, which round up."""
        if all(isinstance(entry, GaussianRelease) and entry.rate == 1 for entry in self.entries):
            return gdp_epsilon(self.mu, delta)
        return max(_composed(part, delta) for part in self._touching())

    @property
    def summary(self) -> str:
        """All numbers that determine the cost, in one line: the terms of each release, with the count of equal ones."""
        alike = Counter(entry.terms for entry in self.entries)
        return "; ".join(f"{count} x {terms}" for terms, count in alike.items())

    def __str__(self) -> str:
        header = f"{'release':<28} {'sensitivity':>12} {'noise sd':>12} {'mu':>10} {'rate':>6}  users"
        return "\n".join([header, *map(str, self.entries)])


def _composed(entries: list[Entry], delta: float) -> float:
    """Return epsilon of the releases that touch one user."""
    gaussian = tuple((entry.mu, entry.rate) for entry in entries if isinstance(entry, GaussianRelease))
    pure = tuple(entry.epsilon for entry in entries if isinstance(entry, PureRelease))
    if len(pure) == len(entries) == 1:
        # Randomised response is (e, delta)-DP for delta = (e^epsilon - e^e) / (1 + e^epsilon).
        share = delta * (1 + math.exp(-pure[0]))
        return max(0.0, pure[0] + math.log1p(-share)) if share < 1 else 0.0
    epsilon = composed_epsilon(gaussian, delta, pure)
    return epsilon if gaussian else min(epsilon, sum(pure))
