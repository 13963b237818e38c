"""Conversion of noise to (epsilon, delta) and back.

There are two accountings. `exact`: Gaussian mechanisms compose exactly in Gaussian differential privacy: their mu
(sensitivity over noise sd) add in squares to one mu, which gives delta(epsilon) in closed form. `paper`: the sufficient
conditions that jain2021 prints, eps = sqrt(8 L) / Delta and the like, with L = ln(1/delta).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cache

import scipy
from scipy.special import log_ndtr

from privrep.options import among, check_finite, check_positive, check_share, check_whole, ensure

CALIBRATIONS = ("paper", "exact")


def gdp_delta(epsilon: float, mu: float) -> float:
    """Return delta(epsilon) of a mu-GDP mechanism: Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) (Balle and Wang
    2018).

    Parameters
    ----------
    epsilon : at least 0.
    mu : Gaussian-DP parameter, from 0 to inf.
    """
    if mu == 0:
        return 0.0
    if math.isinf(mu):
        return 1.0
    ratio = epsilon / mu
    log_first = log_ndtr(mu / 2 - ratio)
    if math.isinf(log_first):
        return 0.0
    # The second term is the smaller one; far in the tail rounding can make it look larger.
    log_second = min(epsilon + log_ndtr(-mu / 2 - ratio), log_first)
    return float(-math.exp(log_first) * math.expm1(log_second - log_first))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon >= 0 at which a mu-GDP mechanism is (epsilon, delta)-DP; inf for mu = inf.

    Parameters
    ----------
    mu : Gaussian-DP parameter, from 0 to inf.
    delta : strictly between 0 and 1, else ValueError.
    """
    check_delta(delta)
    if math.isinf(mu):
        return math.inf
    if gdp_delta(0.0, mu) <= delta:
        return 0.0
    upper = mu**2 / 2 + mu * math.sqrt(2 * math.log(1 / delta))
    return scipy.optimize.brentq(lambda epsilon: gdp_delta(epsilon, mu) - delta, 0.0, upper, xtol=1e-12, rtol=1e-12)


def gdp_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu at which a mu-GDP mechanism is (epsilon, delta)-DP.

    Parameters
    ----------
    epsilon : positive and finite, else ValueError.
    delta : strictly between 0 and 1, else ValueError.
    """
    check_positive("epsilon", epsilon)
    check_delta(delta)
    upper = 1.0
    while gdp_delta(epsilon, upper) < delta:
        upper *= 2
    return float(scipy.optimize.brentq(lambda mu: gdp_delta(epsilon, mu) - delta, 0.0, upper, xtol=1e-14, rtol=1e-13))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return eps = rho + 2 sqrt(rho L) with L = ln(1/delta): the conversion both papers use (jain2021 Lemma 2.5;
    shen2023 Theorem A.1).

    Parameters
    ----------
    rho : zCDP parameter, at least 0.
    delta : strictly between 0 and 1, else ValueError.
    """
    check_delta(delta)
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return the inverse of `zcdp_epsilon`: sqrt(rho) = sqrt(L + eps) - sqrt(L).

    Parameters
    ----------
    epsilon, delta : as in `gdp_mu`.
    """
    check_positive("epsilon", epsilon)
    check_delta(delta)
    log_term = math.log(1 / delta)
    return (math.sqrt(log_term + epsilon) - math.sqrt(log_term)) ** 2


def _composed(gaussian: tuple[tuple[float, float], ...], pure: tuple[float, ...]):
    """Return the accountant of releases that touch one user, given as in `composed_epsilon`."""
    # Importing the accountant takes half a second, needless for Gaussian releases with full participation.
    try:
        from dp_accounting import GaussianDpEvent, NeighboringRelation, PoissonSampledDpEvent, RandomizedResponseDpEvent
        from dp_accounting.pld import PLDAccountant
    except ImportError as error:
        text = f"sampled users and pure releases need the package {error.name}: pip install 'privrep[sampling]'"
        raise ValueError(text) from None

    # Under REPLACE_ONE this accountant doubles mu itself, so it is given noise over half the replace-one sensitivity.
    accountant = PLDAccountant(NeighboringRelation.REPLACE_ONE)
    for (mu, rate), count in Counter(gaussian).items():
        event = GaussianDpEvent(2 / mu)
        accountant.compose(event if rate == 1 else PoissonSampledDpEvent(rate, event), count)
    for epsilon in pure:
        # With probability p randomised response gives a random one of two answers: odds of the truth are (2 - p) / p.
        # In a loop: the accountant (0.6.0) ignores the count of this event.
        accountant.compose(RandomizedResponseDpEvent(2 / (1 + math.exp(epsilon)), 2))
    return accountant


@cache
def composed_epsilon(gaussian: tuple[tuple[float, float], ...], delta: float, pure: tuple[float, ...] = ()) -> float:
    """Return epsilon of releases that touch one user, by composing privacy loss distributions.

    The accountant discretises and rounds up, so the result is an upper bound, tight to about 1e-3. It takes about a
    second.

    Parameters
    ----------
    gaussian : (mu, rate) of each Gaussian release: mu for a participating user, and the probability of participation.
        Neighbours differ in one replaced user, which moves the mean by mu noise sds, from one extreme to the other.
        Without noise (mu = inf) epsilon is inf.
    delta : strictly between 0 and 1, else ValueError.
    pure : epsilon of each epsilon-DP release, accounted as its worst case, randomised response with odds e^eps of the
        truth.
    """
    check_delta(delta)
    if any(math.isinf(mu) for mu, _ in gaussian) or any(map(math.isinf, pure)):
        return math.inf
    return float(_composed(gaussian, pure).get_epsilon(delta))


@cache
def composed_advantage(gaussian: tuple[tuple[float, float], ...], pure: tuple[float, ...] = ()) -> float:
    """Return the distinguishing advantage of the best attack, twice its accuracy less one: delta at epsilon 0.
    Parameters as in `composed_epsilon`."""
    return float(_composed(gaussian, pure).get_delta(0.0))


def check_delta(delta: float) -> None:
    """Raise ValueError unless 0 < delta < 1."""
    check_share("delta", delta)


@dataclass(frozen=True)
class Cost:
    """Cost of releases at noise multiplier Delta = 1.

    Attributes
    ----------
    mu_squared : exact cost of Gaussian releases in Gaussian DP.
    rho : their cost in zCDP as jain2021 counts it. Both scale as 1/Delta^2.
    pure : epsilon of releases without a delta, such as those of the exponential mechanism; scales as 1/Delta.
    """

    mu_squared: float
    rho: float
    pure: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.mu_squared + other.mu_squared, self.rho + other.rho, self.pure + other.pure)

    def __rmul__(self, times: float) -> Cost:
        return Cost(times * self.mu_squared, times * self.rho, times * self.pure)

    def at(self, noise_multiplier: float) -> Cost:
        """Return the cost of the same releases at another noise multiplier; it is unlimited without noise.

        Parameters
        ----------
        noise_multiplier : Delta, at least 0.
        """
        if not noise_multiplier:
            return UNLIMITED
        square = noise_multiplier**2
        return Cost(self.mu_squared / square, self.rho / square, self.pure / noise_multiplier)

    def noise_multiplier(self, epsilon: float, delta: float) -> float:
        """Return the smallest Delta at which Gaussian releases at some (e, delta) and pure ones at epsilon - e fit into
        (epsilon, delta).

        Exact for releases of one kind; for both together it adds their epsilons, which is safe and a few percent too
        much.

        Parameters
        ----------
        epsilon : positive and finite, else ValueError if there are Gaussian releases.
        delta : strictly between 0 and 1, else ValueError if there are Gaussian releases.
        """
        if not self.mu_squared:
            return self.pure / epsilon
        if not self.pure:
            return math.sqrt(self.mu_squared) / gdp_mu(epsilon, delta)

        def spent(log_multiplier: float) -> float:
            multiplier = math.exp(log_multiplier)
            return gdp_epsilon(math.sqrt(self.mu_squared) / multiplier, delta) + self.pure / multiplier - epsilon

        least = 0.5 * self.pure / epsilon
        most = 2 * max(least, math.sqrt(self.mu_squared) / gdp_mu(epsilon / 2, delta))
        root = scipy.optimize.brentq(spent, math.log(least), math.log(most), xtol=1e-13, rtol=1e-13)
        return math.exp(root)


UNLIMITED = Cost(math.inf, math.inf, math.inf)
"""Allowance without a privacy promise: for checks of a release, for audits of faulty methods, and without noise."""


@dataclass(frozen=True)
class Theorem:
    """A printed sufficient condition Delta = sqrt(constant * L) / epsilon for releases with total cost `rho` / Delta^2.

    jain2021 Lemma 4.3 prints 8 for total cost 1; Theorem 4.2 prints 16 for total cost 3/2, of initialisation and
    alternation. Repeating the releases (epochs) multiplies the constant, which gives the zCDP values of Section 6.
    """

    id: str
    constant: float

    def product(self, delta: float) -> float:
        """Return epsilon times the noise multiplier."""
        check_delta(delta)
        return math.sqrt(self.constant * math.log(1 / delta))

    def noise_multiplier(self, epsilon: float, delta: float) -> float:
        """Return the noise multiplier prescribed by the statement."""
        check_positive("epsilon", epsilon)
        return self.product(delta) / epsilon

    def epsilon(self, noise_multiplier: float, delta: float) -> float:
        """Return the epsilon promised by the statement at this noise multiplier; inf without noise."""
        return self.product(delta) / noise_multiplier if noise_multiplier else math.inf


class PureTheorem(Theorem):
    """A printed statement without a delta: epsilon = constant / Delta (jain2021 Theorem 5.1)."""

    def product(self, delta: float) -> float:
        return self.constant


def sequential_theorem(cost: Cost) -> Theorem:
    """Return the printed condition for releases with total cost rho/Delta^2: rho_total = eps^2 / (8 L) (jain2021 Lemma
    4.3, claim A-L4.3, erratum E9).

    Parameters
    ----------
    cost : cost of the releases at Delta = 1; only its `rho` is used.
    """
    return Theorem("A-L4.3", 8 * cost.rho)


@dataclass(frozen=True)
class Budget:
    """An (epsilon, delta) target and the calibration of its noise.

    Attributes
    ----------
    epsilon : positive and finite; at most ln(1/delta) for `paper`.
    delta : strictly between 0 and 1.
    calibration : `paper`, the noise multiplier of the printed theorem, or `exact`, the smallest one that meets the
        target in exact accounting.
    redraw : number of this repetition of the noise on the same data.
    """

    epsilon: float
    delta: float
    calibration: str = "paper"
    redraw: int = 0

    def __post_init__(self):
        check_positive("epsilon", self.epsilon)
        check_delta(self.delta)
        check_whole("redraw", self.redraw)
        among(CALIBRATIONS)("calibration", self.calibration)
        if self.calibration == "paper":
            limit = math.log(1 / self.delta)
            what = f"the printed theorems need at most ln(1/delta) = {limit:.4g}"
            ensure(self.epsilon <= limit, "epsilon", self.epsilon, what)

    def noise_multiplier(self, cost: Cost, theorem: Theorem | None) -> float:
        """Return the noise multiplier for releases of the given total cost.

        Parameters
        ----------
        cost : cost of all releases at Delta = 1.
        theorem : printed condition for these releases; None for a method that is in no paper, for which `paper` raises
            ValueError.
        """
        if self.calibration == "exact":
            return cost.noise_multiplier(self.epsilon, self.delta)
        if theorem is None:
            raise ValueError("calibration is 'paper'; this method is in no paper and needs 'exact'")
        return theorem.noise_multiplier(self.epsilon, self.delta)

    @property
    def axes(self) -> dict:
        """Names and values of all parameters; `redraw`, added later, is left out at 0, so that older streams stay."""
        return {name: value for name, value in vars(self).items() if name != "redraw" or value}


@dataclass(frozen=True)
class FixedNoise:
    """A noise multiplier given directly, for theoretical statements in Delta; 0 gives releases without privacy.

    Attributes
    ----------
    multiplier : noise sd over sensitivity, finite and at least 0.
    delta : strictly between 0 and 1.
    redraw : number of this repetition of the noise on the same data.
    """

    multiplier: float
    delta: float
    redraw: int = 0

    def __post_init__(self):
        check_finite("noise_multiplier", self.multiplier)
        check_delta(self.delta)
        check_whole("redraw", self.redraw)

    def noise_multiplier(self, cost: Cost, theorem: Theorem | None) -> float:
        """Return the given noise multiplier, whatever the cost. Parameters as in `Budget.noise_multiplier`."""
        return self.multiplier

    @property
    def axes(self) -> dict:
        """Names and values of all parameters."""
        return {"noise_multiplier": self.multiplier, "delta": self.delta, "redraw": self.redraw}
