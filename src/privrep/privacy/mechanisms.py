"""The only doors through which data leave the users. Each takes the generator and writes to the ledger.

Sensitivities are replace-one: neighbours differ in all samples of one user. A noise multiplier is noise sd over
sensitivity. Multiplier 0 releases without privacy, and the ledger says so (mu = inf).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from privrep.privacy.accounting import UNLIMITED, Cost
from privrep.privacy.ledger import GaussianRelease, Ledger, PureRelease

DOMINATED = 9 / 8
"""(||dA||^2 / (2a)^2 + ||db||^2 / (2b)^2) is at most this for w-moments, see `Release.moments`."""
INDEPENDENT = 3 / 2
"""The same when A_j and b_j are clipped separately."""

GAUSSIAN_COST = Cost(mu_squared=1.0, rho=1 / 2)
MOMENTS_COST = Cost(mu_squared=DOMINATED, rho=1.0)
USER_MOMENTS_COST = Cost(mu_squared=INDEPENDENT, rho=1.0)
PURE_COST = Cost(mu_squared=0.0, rho=0.0, pure=1.0)


def symmetric_noise(size: int, sd: float, rng: np.random.Generator) -> np.ndarray:
    """N_sym(0, sd^2): independent entries on and above the diagonal, the upper triangle copied below."""
    noise = np.triu(rng.normal(0.0, sd, (size, size)))
    return noise + np.triu(noise, 1).T


def isotropic_noise(size: int, sd: float, rng: np.random.Generator) -> np.ndarray:
    """(N + N^T) / 2 with entries of N independent of this sd: isotropic in Frobenius norm, sd on the diagonal, sd / sqrt(2) beside it."""
    noise = rng.normal(0.0, sd, (size, size))
    return (noise + noise.T) / 2


class NotRecorded:
    """Where no measurement past the mechanisms is asked for."""

    def lengths(self, norms: np.ndarray, bound: float) -> None:
        """Norms of users' contributions before a clip."""


@dataclass(frozen=True)
class Release:
    """The only door through which data leave the users.

    A release that would take more than is allowed is refused before its noise is drawn: Gaussian ones that touch one user may add up to the allowed
    mu^2, those without a delta to the allowed epsilon, each kind by itself, and with no gain from random participation (`Ledger.enter`).

    Attributes
    ----------
    noise_multiplier : noise sd over sensitivity, in all releases. ledger : where each release is written.
    users : the users whose data the next release holds, and nobody else's.
    streams : named random streams, each started once. Noise comes from `role`; the others are public.
    allowed : what all entries of the ledger may cost. `UNLIMITED` is for probes and audits.
    watch : sees norms before a clip, exact, for analysis; nothing of it is released.
    """

    noise_multiplier: float
    ledger: Ledger
    users: range
    streams: Mapping[str, np.random.Generator]
    allowed: Cost
    role: str = "noise"
    watch: NotRecorded = field(default_factory=NotRecorded)

    def __post_init__(self):
        if not self.noise_multiplier >= 0:
            raise ValueError(f"noise_multiplier is {self.noise_multiplier!r}; it must be at least 0")

    @classmethod
    def from_one(cls, noise_multiplier: float, rng: np.random.Generator, users: int, ledger: Ledger) -> Release:
        """A door for probes: of all of `users` users, with noise from one generator, wherever it is released, and no limit."""
        return cls(noise_multiplier, ledger, range(users), {"noise": rng, "init_noise": rng}, UNLIMITED)

    def of(self, users: range) -> Release:
        """The same door for a part of the users."""
        return replace(self, users=users)

    def start(self, relative: float = 1.0) -> Release:
        """The door of an initialisation: a stream of its own, and `relative` times the noise multiplier."""
        return replace(self, role="init_noise", noise_multiplier=self.noise_multiplier * relative)

    def share(self, share: float) -> Release:
        """The same door for a release that takes this share of mu^2; with shares that add up to more than one, the last is refused."""
        return replace(self, noise_multiplier=self.noise_multiplier / math.sqrt(share))

    @property
    def noise(self) -> np.random.Generator:
        """The generator of the noise."""
        return self.streams[self.role]

    def _record(self, name: str, sensitivity: float, sd: float, bounds: tuple[float, ...], rate: float = 1.0) -> bool:
        """Write an entry; whether there is noise to add."""
        if self.noise_multiplier > 0 and not all(0 < bound < math.inf for bound in bounds):
            raise ValueError(f"clipping bounds are {bounds}; a private release needs them positive and finite")
        entry = GaussianRelease(name, sensitivity, sd, self.users.start, self.users.stop, rate)
        self.ledger.enter(entry, self.allowed)
        return self.noise_multiplier > 0

    def vector(self, name: str, total: np.ndarray, *, bound: float, rate: float = 1.0) -> np.ndarray:
        """Gaussian mechanism for a sum over users, each of which adds at most `bound` in L2 norm.

        Replacing a user moves the sum by at most 2 * bound: its contribution is clipped, the new one too.

        Parameters
        ----------
        total : array of any shape. rate : probability with which each user took part, on its own.
        """
        sd = 2 * bound * self.noise_multiplier if self.noise_multiplier else 0.0
        noisy = self._record(name, 2 * bound, sd, (bound,), rate)
        return total + self.noise.normal(0.0, sd, total.shape) if noisy else total

    def symmetric(self, name: str, total: np.ndarray, *, bound: float) -> np.ndarray:
        """Gaussian mechanism for a symmetric sum over users whose upper triangles have norm at most `bound`.

        Only the upper triangle, diagonal included, is released; the lower one is a copy. Its sensitivity is 2 * bound,
        attained by two users with opposite contributions (jain2021 Lemma 4.5).
        """
        sd = self.noise_multiplier * (2 * bound) if self.noise_multiplier else 0.0
        noisy = self._record(name, 2 * bound, sd, (bound,))
        return total + symmetric_noise(len(total), sd, self.noise) if noisy else total

    def isotropic(self, name: str, total: np.ndarray, *, sensitivity: float) -> np.ndarray:
        """Gaussian mechanism for a symmetric sum over users that moves by at most `sensitivity` in Frobenius norm where one is replaced.

        The noise is isotropic in that norm (`isotropic_noise`).
        """
        sd = sensitivity * self.noise_multiplier if self.noise_multiplier else 0.0
        noisy = self._record(name, sensitivity, sd, (sensitivity,))
        return total + isotropic_noise(len(total), sd, self.noise) if noisy else total

    def semidefinite(self, name: str, total: np.ndarray, *, bound: float) -> np.ndarray:
        """`isotropic` for users each of whom adds a positive semidefinite matrix of Frobenius norm at most `bound`.

        Replacing a user moves the sum by at most sqrt(2) * bound: <A, A'> >= 0 for such matrices, so ||A - A'||^2 <= ||A||^2 + ||A'||^2.
        """
        return self.isotropic(name, total, sensitivity=math.sqrt(2) * bound)

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
        """Joint Gaussian release of A = sum_j A_j and b = sum_j b_j (jain2021 Algorithm 2).

        With ||A_j||_F <= a and ||b_j|| <= b, the two `bounds`, the noise is N_sym(0, (2 a Delta)^2) on A and
        N(0, (2 b Delta)^2) on b, as printed. The ledger gets *one* entry, in units in which both noises have sd Delta:
        its sensitivity is the square root of `joint`, a bound on ||A_j - A_j'||^2 / (2a)^2 + ||b_j - b_j'||^2 / (2b)^2.

        * `DOMINATED` = 9/8, when A_j = sum_i w_i w_i^T, b_j = sum_i y_i w_i with ||w_i|| <= eta, |y_i| <= zeta, a = q eta^2,
          b = q eta zeta. The pair (A_j / a, b_j / b) is then in the convex hull of {(u u^T, c u): ||u|| <= 1, |c| <= 1}, and a
          convex function of two such points is largest at extreme points, where with s = |<u, u'>| it is
          (2 - 2 s^2) / 4 + (2 + 2 s) / 4, at most 9/8 at s = 1/2. The paper adds two triangle inequalities: 2 (claim E61).
        * `INDEPENDENT` = 3/2, when A_j is only positive semidefinite: ||A - A'||^2 <= ||A||^2 + ||A'||^2 <= 2 a^2.

        averaged : noise isotropic in Frobenius norm in place of N_sym. The bounds above are on whole matrices in that norm, so that noise of
        the same sd in all directions of the symmetric matrices serves as well, with entries beside the diagonal smaller by sqrt(2).
        """
        if not self._record(name, math.sqrt(joint), self.noise_multiplier, bounds):
            return second, first
        second_sd, first_sd = (2 * bound * self.noise_multiplier for bound in bounds)
        noise = isotropic_noise if averaged else symmetric_noise
        noisy_second = second + noise(len(second), second_sd, self.noise)
        return noisy_second, first + self.noise.normal(0.0, first_sd, first.shape)

    def temperature(self, name: str, *, width: float, limit: bool = False) -> float:
        """Exponential mechanism for a sum over users of values in an interval of length `width`: the scale 1/beta of exp(-beta score).

        Where a user is replaced, the score of candidate U moves by f(U) in [-width, width]. The log-probability of a candidate moves by
        -beta f(U) and by the change of the normaliser, which lies between beta min f and beta max f: by at most 2 beta width in all. With
        scale 2 * width * noise multiplier, the release is epsilon-DP for epsilon = 1 / noise multiplier. The bound is attained in the limit
        of many other users (E34), so no larger beta will do. jain2021 Theorem 5.1 has 8 beta width for its epsilon.

        Parameters
        ----------
        limit : the law is only approached, by a finite Markov chain.
        """
        if self.noise_multiplier > 0 and not 0 < width < math.inf:
            raise ValueError(f"width is {width!r}; a private release needs it positive and finite")
        epsilon = 1 / self.noise_multiplier if self.noise_multiplier else math.inf
        self.ledger.enter(PureRelease(name, epsilon, self.users.start, self.users.stop, limit), self.allowed)
        return 2 * width * self.noise_multiplier if self.noise_multiplier else 0.0

    def approached(
        self, name: str, chain: Callable[[float, np.random.Generator], np.ndarray], *, width: float
    ) -> np.ndarray:
        """What a finite Markov chain ends in whose limit is the exponential mechanism; see `temperature`.

        Parameters
        ----------
        chain : (scale, generator) -> its last state. It may look at the users; nothing but the state leaves it.
        """
        return chain(self.temperature(name, width=width, limit=True), self.noise)

    def choice(self, name: str, scores: np.ndarray, *, width: float) -> int:
        """The number of a candidate, drawn with probability proportional to exp(-beta score); see `temperature`.

        The largest of -beta score plus standard Gumbel noise has this law.

        Parameters
        ----------
        scores : (c,), sums over users each of whom adds a value in an interval of length `width` that does not depend on the candidate.
        """
        scale = self.temperature(name, width=width)
        return int(np.argmax(self.noise.gumbel(0.0, 1.0, len(scores)) - scores / scale if scale else -scores))
