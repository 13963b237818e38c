"""The privacy arithmetic of shen2023: divergences against dp_accounting, closed forms, prose against numbers."""

import math

import pytest
from dp_accounting import GaussianDpEvent, NeighboringRelation, PoissonSampledDpEvent
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st

from replication.printed import accounting_shen2023 as printed
from replication.printed import prescribed_powers as powers
from replication.printed.prescribed_powers import Size, power
from replication.printed.renyi import Mixture, renyi_divergence
from replication.studies.accounting import analysis as study


def gaussian(mean, sd):
    return Mixture((1.0,), (mean,), (sd,))


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


def test_powers_of_kappa_say_what_they_rest_on():
    """With L = O(k) a start is free of kappa, and so is the least epsilon."""
    notes = {found.quantity: found.note for found in study.powers() if "exponent of" in found.quantity and found.note}
    names = ("eps'_init", "eps_init", "cap", "least eps", "eps_a at the least eps")
    assert set(notes) == {f"{name}: exponent of kappa" for name in names}
    assert notes["eps'_init: exponent of kappa"].endswith("the exponent is 0")
    assert notes["cap: exponent of kappa"].endswith("the exponent is 1")


def test_samples_needed():
    """One iteration of one run uses what Assumption 5.3 has where d/n decides; all of them use k^2 times that (E52)."""
    scarce = Size(d=1e80)
    assumed = power(powers.assumed_samples, "k", scarce)
    assert power(powers.start_samples, "k", scarce) == pytest.approx(assumed)
    assert power(powers.fresh_samples, "k", scarce) - assumed == pytest.approx(2)
    assert power(powers.round_samples, "kappa") == pytest.approx(2)
