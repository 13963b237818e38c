"""From noise to (epsilon, delta) and back, against dp_accounting, against an integral and against printed anchors.

dp_accounting is used with its default neighbouring relation and replace-one noise multipliers:
`PLDAccountant` would double the sensitivity under REPLACE_ONE, `RdpAccountant` would not.
"""

import math

import dp_accounting
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from privrep.privacy.accounting import (
    Budget,
    Cost,
    FixedNoise,
    Theorem,
    composed_advantage,
    composed_epsilon,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    sequential_theorem,
    zcdp_epsilon,
    zcdp_rho,
)
from privrep.privacy.ledger import GaussianRelease, PureRelease
from privrep.privacy.mechanisms import GAUSSIAN_COST, PURE_COST
from privrep.privacy.regression_moments import MOMENTS_COST, USER_MOMENTS_COST

DELTA = 1e-6
L = math.log(1 / DELTA)

deltas = st.floats(1e-12, 0.5)
mus = st.floats(1e-3, 50)


@pytest.mark.parametrize("mu", [0.05, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 4.0])
def test_gdp_delta_is_the_hockey_stick_divergence(epsilon, mu):
    """delta(eps) = int max(0, p - e^eps q) for p = N(mu, 1), q = N(0, 1), by quadrature."""
    start = epsilon / mu + mu / 2
    value = integrate.quad(
        lambda x: stats.norm.pdf(x, mu) - math.exp(epsilon) * stats.norm.pdf(x), start, start + 40, epsabs=1e-13
    )[0]
    assert gdp_delta(epsilon, mu) == pytest.approx(value, rel=1e-6, abs=1e-12)
    assert gdp_delta(epsilon, mu * 1.01) > value or value < 1e-300


@pytest.mark.parametrize("mu", [0.1, 0.25, 1.0, 3.0, 10.0, 100.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-6, 1e-10])
def test_gdp_epsilon_agrees_with_dp_accounting(mu, delta):
    """The closed form of dp_accounting for one Gaussian of multiplier 1/mu."""
    assert gdp_epsilon(mu, delta) == pytest.approx(dp_accounting.get_epsilon_gaussian(1 / mu, delta), rel=1e-9)


@given(mus, deltas)
def test_mu_and_epsilon_are_inverse(mu, delta):
    """gdp_mu(gdp_epsilon(mu)) = mu wherever epsilon is positive."""
    epsilon = gdp_epsilon(mu, delta)
    if epsilon > 1e-6:
        assert gdp_delta(epsilon, mu) == pytest.approx(delta, rel=1e-5)
        assert gdp_mu(epsilon, delta) == pytest.approx(mu, rel=1e-6)
    else:
        assert gdp_delta(1e-6, mu) <= delta * (1 + 1e-9)


@given(mus, deltas, st.floats(1.01, 3))
def test_accounting_is_monotone(mu, delta, factor):
    """More noise, less epsilon; a smaller delta costs epsilon; delta lies in [0, 1]."""
    epsilon = gdp_epsilon(mu, delta)
    assert epsilon >= 0
    assert gdp_epsilon(mu * factor, delta) >= epsilon
    assert gdp_epsilon(mu, delta / factor) >= epsilon
    assert 0 <= gdp_delta(epsilon + 1, mu) <= gdp_delta(epsilon, mu) <= 1
    assert epsilon <= zcdp_epsilon(mu**2 / 2, delta) * (1 + 1e-12)


def test_limits():
    """No release costs nothing; a release without noise costs everything."""
    assert gdp_epsilon(0.0, DELTA) == 0
    assert gdp_delta(1.0, 0.0) == 0
    assert gdp_epsilon(math.inf, DELTA) == math.inf
    assert gdp_delta(1.0, math.inf) == 1
    assert gdp_delta(1.0, 1e-5) == 0


@pytest.mark.parametrize("mu", [1e-7, 1e-8, 1e-20, 1e-200, 1e-310])
def test_vanishing_mu_costs_nothing(mu):
    """Delta underflows to 0: no overflow, no NaN, down to the smallest floats."""
    assert [gdp_delta(epsilon, mu) for epsilon in (0.5, 1.0, 624.0)] == [0, 0, 0] and gdp_epsilon(mu, DELTA) == 0


def test_theorems():
    """Lemma 4.3 scales with the total cost; epsilon and noise_multiplier are inverse; no noise promises nothing."""
    assert sequential_theorem(5 * MOMENTS_COST) == Theorem("A-L4.3", 40)
    theorem = Theorem("A-T4.2", 16)
    assert theorem.noise_multiplier(2.0, DELTA) == pytest.approx(math.sqrt(16 * L) / 2, rel=1e-14)
    assert theorem.epsilon(theorem.noise_multiplier(2.0, DELTA), DELTA) == pytest.approx(2.0, rel=1e-14)
    assert theorem.epsilon(0.0, DELTA) == math.inf


@given(st.floats(0.01, 50), st.floats(1e-12, 1e-2), st.floats(0.1, 50))
def test_exact_budget_is_spent_exactly(epsilon, delta, mu_squared):
    """At the Delta of `exact`, releases of that cost have epsilon as targeted, to 1e-9 relative or absolute."""
    cost = Cost(mu_squared, 1.0)
    multiplier = Budget(epsilon, delta, "exact").noise_multiplier(cost, sequential_theorem(cost))
    spent = gdp_epsilon(math.sqrt(cost.mu_squared) / multiplier, delta)
    assert spent == pytest.approx(epsilon, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("cost", [GAUSSIAN_COST, MOMENTS_COST, USER_MOMENTS_COST, GAUSSIAN_COST + 5 * MOMENTS_COST])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, L])
def test_paper_budget_spends_less_than_it_says(cost, epsilon):
    """For eps <= L the printed Delta is sufficient: exact epsilon stays below the target, and the noise is larger."""
    theorem = sequential_theorem(cost)
    paper = Budget(epsilon, DELTA).noise_multiplier(cost, theorem)
    assert paper == theorem.noise_multiplier(epsilon, DELTA)
    assert gdp_epsilon(math.sqrt(cost.mu_squared) / paper, DELTA) < epsilon
    assert paper > Budget(epsilon, DELTA, "exact").noise_multiplier(cost, theorem)


@pytest.mark.parametrize("epsilon", [0, -1.0, math.inf, math.nan])
def test_bad_epsilon_is_named(epsilon):
    for call in (lambda: Budget(epsilon, DELTA), lambda: gdp_mu(epsilon, DELTA), lambda: zcdp_rho(epsilon, DELTA)):
        with pytest.raises(ValueError, match=r"^epsilon is .* positive"):
            call()


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_bad_delta_is_named(delta):
    calls = (
        lambda: Budget(1.0, delta),
        lambda: gdp_epsilon(1.0, delta),
        lambda: gdp_mu(1.0, delta),
        lambda: zcdp_epsilon(1.0, delta),
        lambda: Theorem("", 8).epsilon(1.0, delta),
        lambda: FixedNoise(1.0, delta),
        lambda: composed_epsilon(((1.0, 0.5),), delta),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"^delta is .* between 0 and 1"):
            call()


NO_NOISE = "^noise_multiplier is {!r}; it must be finite and at least 0"


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (Budget, (1.0, DELTA, "opacus"), "^calibration is 'opacus'; it must be one of paper, exact"),
        *((FixedNoise, (bad, DELTA), NO_NOISE.format(bad)) for bad in (-0.1, math.inf, math.nan)),
        *((FixedNoise, (1.0, DELTA, bad), "^redraw is .* an integer of at least 0") for bad in (-1, 0.5, "1")),
    ],
)
def test_bad_budgets_are_named(kind, given, message):
    with pytest.raises(ValueError, match=message):
        kind(*given)


def test_printed_theorems_are_not_used_beyond_their_range():
    """They need eps <= ln(1/delta); beyond 2.343 ln(1/delta) the printed noise does not give what it promises."""
    limit = math.log(1 / DELTA)
    assert Budget(limit, DELTA, "paper").noise_multiplier(Cost(9 / 8, 1.0), sequential_theorem(Cost(9 / 8, 1.0))) > 0
    with pytest.raises(ValueError, match=r"^epsilon is 14.0; the printed theorems need at most ln\(1/delta\)"):
        Budget(14.0, DELTA, "paper")
    assert Budget(14.0, DELTA, "exact").epsilon == 14.0


# Users who take part at random


def sampled_delta(epsilon: float, mu: float, rate: float, ends: tuple[float, float] = (1.0, -1.0)) -> float:
    """Hockey-stick divergence of one release by quadrature: (1-p) N(0, s^2) + p N(a, s^2) against the same with b.

    s = 2 / mu, so that the worst ends a, b = 1, -1 lie mu standard deviations apart.
    """
    sd = 2 / mu
    x = np.linspace(-1 - 12 * sd, 1 + 12 * sd, 20_001)
    rest, first, second = (stats.norm.pdf(x, mean, sd) for mean in (0.0, *ends))
    p, q = (1 - rate) * rest + rate * first, (1 - rate) * rest + rate * second
    return float(np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0), x))


@pytest.mark.parametrize(("mu", "delta"), [(0.3, 1e-2), (0.5, 1e-6), (2.0, 1e-6)])
@pytest.mark.parametrize("rate", [0.05, 0.3, 0.8])
def test_composed_epsilon_of_one_release_by_quadrature(mu, rate, delta):
    """delta at the epsilon that is reported, to 1 %; the mixture against N(0, s^2) alone (add/remove) has less."""
    epsilon = composed_epsilon(((mu, rate),), delta)
    if epsilon == 0:
        assert sampled_delta(0.0, mu, rate) <= delta
    else:
        assert sampled_delta(epsilon, mu, rate) == pytest.approx(delta, rel=0.01)
        assert sampled_delta(epsilon, mu, rate, (1.0, 0.0)) < 0.95 * delta
        assert sampled_delta(epsilon, 2 * mu, rate) > 1.5 * delta


def test_composed_epsilon_of_many_sampled_releases():
    """Of sigma = 1, p = 0.1 and T = 100, as printed (privacy anchors, 2.2); mu = 2 / sigma."""
    assert composed_epsilon(((2.0, 0.1),) * 100, 1e-5) == pytest.approx(10.5164, abs=1e-3)


@pytest.mark.parametrize(("mu", "rounds"), [(0.2, 1), (0.2, 24), (1.0, 3)])
def test_composed_epsilon_at_rate_one_is_the_closed_form(mu, rounds):
    """An upper bound, tight to 1e-3."""
    exact = gdp_epsilon(mu * rounds**0.5, DELTA)
    assert exact - 1e-6 <= composed_epsilon(((mu, 1.0),) * rounds, DELTA) <= exact + 1e-3
    advantage = 2 * stats.norm.cdf(mu * rounds**0.5 / 2) - 1
    assert composed_advantage(((mu, 1.0),) * rounds) == pytest.approx(advantage, abs=1e-4)


def test_mixed_releases():
    """A full release and sampled ones: more than either alone, less than their sum, whatever their order."""
    full, sampled = ((0.2, 1.0),), ((0.3, 0.2),) * 10
    both = composed_epsilon(full + sampled, DELTA)
    parts = [composed_epsilon(part, DELTA) for part in (full, sampled)]
    assert max(parts) < both < sum(parts)
    assert composed_epsilon(sampled + full, DELTA) == pytest.approx(both, abs=1e-9)
    assert both < gdp_epsilon(math.sqrt(0.2**2 + 10 * 0.3**2), DELTA)


def test_the_cost_of_a_release_is_what_the_ledger_takes():
    """Half of mu^2 in zCDP; nothing of one kind counts as the other."""
    assert GAUSSIAN_COST.at(0.5) == Cost(GaussianRelease("", 2.0, 1.0, 0, 1).charge, 2.0, 0.0)
    assert PURE_COST.at(0.5) == Cost(0.0, 0.0, PureRelease("", 2.0, 0, 1).charge)


def test_sampling_does_not_save_a_release_without_noise():
    """A user who takes part is then seen as she is: no epsilon is finite."""
    assert composed_epsilon(((math.inf, 0.1), (0.5, 0.1)), DELTA) == math.inf
