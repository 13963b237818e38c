"""The record of everything that was released about the users' data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from privrep.privacy.accounting import gdp_epsilon, sampled_epsilon


@dataclass(frozen=True)
class Entry:
    """One release.

    Attributes
    ----------
    name : what was released.
    sensitivity : replace-one L2 sensitivity, in the unit of `noise_sd`.
    noise_sd : standard deviation of the Gaussian noise; 0 for a release without privacy.
    start, stop : the users whose data were touched, [start, stop).
    rate : probability with which each of these users took part, on its own (Poisson sampling).
    """

    name: str
    sensitivity: float
    noise_sd: float
    start: int
    stop: int
    rate: float = 1.0

    @property
    def mu(self) -> float:
        """Gaussian-DP parameter of this release alone, for a user who takes part."""
        return self.sensitivity / self.noise_sd if self.noise_sd > 0 else math.inf


@dataclass
class Ledger:
    """Releases in the order in which they were made.

    The cost of a set of releases is that of the user who is touched most: squares of mu add over the releases that
    touch a user, and releases over disjoint users run in parallel. This holds for adaptive releases too, since
    Gaussian DP composes adaptively and a release does not depend on users it does not touch, given the earlier ones.
    """

    entries: list[Entry] = field(default_factory=list)

    def record(self, entry: Entry) -> None:
        """Append a release."""
        self.entries.append(entry)

    def _touching(self) -> list[list[Entry]]:
        """The releases that touch a user, for the users at whom some release starts: one of them is touched most."""
        users = sorted({entry.start for entry in self.entries})
        return [[entry for entry in self.entries if entry.start <= user < entry.stop] for user in users]

    @property
    def mu(self) -> float:
        """Exact Gaussian-DP parameter of everything released; an upper bound where users take part at random."""
        return math.sqrt(max((sum(entry.mu**2 for entry in part) for part in self._touching()), default=0.0))

    def epsilon(self, delta: float) -> float:
        """Epsilon at `delta` of everything released: exact where every user takes part, by privacy loss distributions otherwise."""
        if all(entry.rate == 1 for entry in self.entries):
            return gdp_epsilon(self.mu, delta)
        return max(sampled_epsilon(tuple((entry.mu, entry.rate) for entry in part), delta) for part in self._touching())

    def __str__(self) -> str:
        lines = [f"{'release':<28} {'sensitivity':>12} {'noise sd':>12} {'mu':>10} {'rate':>6}  users"]
        for e in self.entries:
            lines.append(
                f"{e.name:<28} {e.sensitivity:>12.6g} {e.noise_sd:>12.6g} {e.mu:>10.4g} {e.rate:>6.3g}  {e.start}..{e.stop - 1}"
            )
        return "\n".join(lines)
