"""The privacy arithmetic of shen2023: divergences against dp_accounting, closed forms, prose against numbers."""

from __future__ import annotations

import math

import pytest
from dp_accounting import GaussianDpEvent, NeighboringRelation, PoissonSampledDpEvent
from dp_accounting.rdp import RdpAccountant, compute_epsilon
from hypothesis import given
from hypothesis import strategies as st

from privrep.privacy.accounting import gdp_epsilon
from replication.printed import accounting_shen2023 as printed
from replication.printed import prescribed_powers as powers
from replication.printed.accounting_shen2023 import DELTA, ROUNDS, ROUNDS_REMOVED, SCOPES, WHOLE
from replication.printed.prescribed_powers import Size, power
from replication.printed.renyi import Mixture, renyi_divergence
from replication.studies.accounting import analysis as study

L = math.log(1 / DELTA)


def gaussian(mean, sd):
    return Mixture((1.0,), (mean,), (sd,))


@given(st.floats(1.1, 40), st.floats(0.3, 5), st.floats(-3, 3))
def test_divergence_of_gaussians(alpha, sd, mean):
    """R_alpha(N(m, s^2) || N(0, s^2)) = alpha m^2 / (2 s^2)."""
    found = renyi_divergence(alpha, gaussian(mean, sd), gaussian(0, sd))
    assert found == pytest.approx(alpha * mean**2 / (2 * sd**2), rel=1e-6, abs=1e-9)


@given(st.floats(1.1, 8), st.floats(0.5, 2), st.floats(0.5, 2))
def test_divergence_of_widths(alpha, one, other):
    """Two widths: finite only while alpha / s^2 > (alpha - 1) / t^2, and then in closed form."""
    precision = alpha / one**2 - (alpha - 1) / other**2
    found = renyi_divergence(alpha, gaussian(0, one), gaussian(0, other))
    if precision <= 0:
        assert found == math.inf
    elif precision > 0.3:
        expected = -alpha * math.log(one) - (1 - alpha) * math.log(other) - 0.5 * math.log(precision)
        assert found == pytest.approx(expected / (alpha - 1), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("alpha", [2, 8, 32])
@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("sd", [0.8, 3.0])
def test_sampled_round_agrees_with_dp_accounting(alpha, rate, sd):
    """Its accountant for Poisson sampling, where a user is added or removed."""
    accountant = RdpAccountant([alpha], NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(PoissonSampledDpEvent(rate, GaussianDpEvent(sd)))
    assert printed.removal_divergence(alpha, rate, sd) == pytest.approx(accountant._rdp[0], rel=1e-6)


@given(st.floats(1.5, 20), st.floats(0.01, 0.99), st.floats(0.7, 5))
def test_order_of_divergences(alpha, rate, sd):
    """Printed < 0 <= printed order <= removal <= replacement <= 4 alpha / (2 s^2)."""
    assert printed.printed_divergence(alpha, rate, sd) < 0
    order = printed.printed_order(alpha, rate, sd)
    removal, replacement = printed.removal_divergence(alpha, rate, sd), printed.replacement_divergence(alpha, rate, sd)
    assert -1e-9 <= order <= removal * (1 + 1e-9) + 1e-12
    assert removal <= replacement * (1 + 1e-9) <= 2 * alpha / sd**2 * (1 + 1e-6)


@given(st.floats(0.1, 11), st.floats(1e-9, 1e-3))
def test_ratio_of_the_conversion(epsilon, delta):
    """eps'/eps = 2 + eps/L for the whole, sqrt(2) + eps/(2L) for rounds, 1/sqrt(2) + eps/(8L) with users removed."""
    log_term = math.log(1 / delta)
    expected = {WHOLE: 2 + epsilon / log_term, ROUNDS: 2**0.5 + epsilon / (2 * log_term)}
    expected[ROUNDS_REMOVED] = 0.5**0.5 + epsilon / (8 * log_term)
    for scope, ratio in expected.items():
        assert printed.achieved(scope, epsilon, delta) / epsilon == pytest.approx(ratio, rel=1e-9)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0, L])
def test_missing_noise_is_what_is_missing(scope, epsilon):
    """sigma times the factor gives epsilon: rho falls with its square, mu with its inverse."""
    factor, exactly = printed.missing_noise(scope, epsilon, DELTA), printed.missing_noise_exactly(scope, epsilon, DELTA)
    spent = printed.rho(scope, epsilon, DELTA) / factor**2
    assert spent + 2 * math.sqrt(spent * L) == pytest.approx(epsilon, rel=1e-9)
    assert gdp_epsilon(printed.exact_mu(scope, epsilon, DELTA) / exactly, DELTA) == pytest.approx(epsilon, rel=1e-6)
    assert exactly < factor


@pytest.mark.parametrize(("rounds", "sigma"), [(200, 57.2), (100, 40.45), (40, 25.6), (400, 80.9)])
def test_noise_of_the_experiments(rounds, sigma):
    """sigma_g for (1, 1e-5) to three digits, and its epsilon by dp_accounting at the same orders."""
    found = math.sqrt(rounds) / printed.opacus_mu(1.0, DELTA)
    assert found == pytest.approx(sigma, rel=1e-3)
    orders = list(printed.OPACUS_ORDERS)
    divergences = [rounds * order / (2 * found**2) for order in orders]
    assert compute_epsilon(orders, divergences, DELTA)[0] == pytest.approx(1.0, rel=1e-9)


def test_powers_of_the_prescriptions():
    """Products of the prescriptions have sums of their exponents."""
    sizes = {"n": 3.0, "d": 2.0, "k": 5.0, "mu": 1.5, "kappa": 2.0}
    for name in sizes:
        start = power(powers.runs, name) + power(powers.iterations, name) - 2 * power(powers.start_noise, name)
        assert power(powers.start_cost, name) == pytest.approx(start, abs=1e-8)
        expected = power(powers.trade_off, name) - power(powers.least_epsilon(powers.utility_cap), name)
        assert power(powers.utility(powers.utility_cap), name) == pytest.approx(expected, abs=1e-8)
    size = Size(**sizes)
    assert powers.start_cost(size) == pytest.approx(powers.rounds(size) / powers.privacy_cap(size) ** 2)


def test_power_depends_on_the_other_arguments():
    """L = 1 + k kappa^2 is linear in k, whatever kappa; a maximum has another branch elsewhere."""
    assert power(powers.iterations, "k", Size(kappa=7)) == pytest.approx(1)
    law = lambda size: max(size.k, size.d / size.n)  # noqa: E731
    assert power(law, "n", Size(d=1e60)) == pytest.approx(-1)
    assert power(law, "n") == pytest.approx(0)


def test_the_printed_restriction_never_binds():
    """With eps_a at most 1 the trade-off asks for more than the printed least epsilon, by k kappa^4 and constants,
    whatever the sizes; 4 is that of eta_g, which neither condition counts."""
    for size in (Size(), Size(n=30.0, d=4.0, k=3.0, mu=1.2, kappa=2.0)):
        assert study.idle_condition(size) == pytest.approx(4 / (size.k * size.kappa**4))


def test_powers_of_kappa_say_what_they_rest_on():
    """With L = O(k) a start is free of kappa, and so is the least epsilon."""
    notes = {found.quantity: found.note for found in study.powers() if "exponent of" in found.quantity and found.note}
    names = ("eps'_init", "eps_init", "cap", "least eps", "eps_a at the least eps")
    assert set(notes) == {f"{name}: exponent of kappa" for name in names}
    assert notes["eps'_init: exponent of kappa"].endswith("the exponent is 0")
    assert notes["cap: exponent of kappa"].endswith("the exponent is 1")


def test_powers_are_the_printed_ones(monkeypatch):
    """All of them; a power that is printed otherwise is found."""
    name = "cap: largest difference from the printed powers"
    gaps = {one.quantity: one.measured for one in study.powers() if "printed powers" in one.quantity}
    assert len(gaps) == len(study.PRINTED_POWERS) and max(gaps.values()) < 1e-6
    monkeypatch.setitem(study.PRINTED_POWERS["cap"], "k", -3.5)
    assert {one.quantity: one.measured for one in study.powers()}[name] == pytest.approx(0.5)


def test_samples_needed():
    """One iteration of one run uses what Assumption 5.3 has where d/n decides; all of them use k^2 times that (E52)."""
    scarce = Size(d=1e80)
    assumed = power(powers.assumed_samples, "k", scarce)
    assert power(powers.start_samples, "k", scarce) == pytest.approx(assumed)
    assert power(powers.fresh_samples, "k", scarce) - assumed == pytest.approx(2)
    assert power(powers.round_samples, "kappa") == pytest.approx(2)
