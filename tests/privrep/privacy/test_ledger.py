"""The ledger: sequential composition over the users a release touches, parallel composition over disjoint ones."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from privrep.privacy.accounting import Cost, composed_epsilon, gdp_delta, gdp_epsilon
from privrep.privacy.ledger import GaussianRelease, Ledger, OverBudget, PureRelease

releases = st.lists(
    st.tuples(st.floats(0.1, 10), st.floats(0.1, 10), st.integers(0, 20), st.integers(1, 10)), max_size=8
)


def ledger_of(*entries: tuple) -> Ledger:
    """Sensitivity, sd, start and stop of each release, and its rate where that is not 1."""
    return Ledger([GaussianRelease("release", *entry) for entry in entries])


@given(releases)
def test_mu_is_that_of_the_user_touched_most(entries):
    """Against a count user by user."""
    spans = [(s, sd, start, start + length) for s, sd, start, length in entries]
    spent = [sum((s / sd) ** 2 for s, sd, start, stop in spans if start <= user < stop) for user in range(31)]
    assert ledger_of(*spans).mu == pytest.approx(math.sqrt(max(spent)), rel=1e-12)


@given(st.integers(0, 9))
def test_a_release_is_refused_where_any_of_its_users_cannot_pay(user):
    """And the ledger stays as it was."""
    ledger = ledger_of((1, 1, user, user + 1))
    before = str(ledger)
    with pytest.raises(OverBudget, match="when 1 is spent"):
        ledger.enter(GaussianRelease("late", 1, 1, 0, 10), Cost(mu_squared=1.5, rho=math.inf))
    assert str(ledger) == before


def test_the_printed_ledger_has_one_line_per_release():
    """mu is that of a user who takes part, so the rate stands next to it. What is only approached is marked."""
    ledger = ledger_of((3, 4, 0, 10), (1, 0, 10, 20), (0.5, 1, 0, 10, 0.25))
    for limit in (False, True):
        ledger.record(PureRelease("choice", math.log(3), 5, 10, limit))
    lines = str(ledger).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["release", "3", "4", "0.75", "1", "0..9"],
        ["release", "1", "0", "inf", "1", "10..19"],
        ["release", "0.5", "1", "0.5", "0.25", "0..9"],
        ["choice", "epsilon", "1.09861", "1.349", "1", "5..9"],
        ["choice", "limit", "eps", "1.09861", "1.349", "1", "5..9"],
    ]


# Users who take part at random


def test_full_participation_takes_the_closed_form():
    """To the last bit, in several releases too; the accountant would round up."""
    assert ledger_of((0.3, 1, 0, 10), (0.4, 1, 0, 10)).epsilon(1e-6) == gdp_epsilon(0.5, 1e-6)


def test_mixed_rates_compose_over_the_same_users():
    """A full release and five sampled ones are one composition; mu is the bound without sampling."""
    ledger = ledger_of((0.5, 1, 0, 10), *[(0.8, 1, 0, 10, 0.2)] * 5)
    assert ledger.epsilon(1e-6) == composed_epsilon(((0.5, 1.0), *((0.8, 0.2),) * 5), 1e-6)
    assert ledger.mu == pytest.approx(math.sqrt(0.25 + 5 * 0.64))
    assert gdp_epsilon(0.5, 1e-6) < ledger.epsilon(1e-6) < gdp_epsilon(ledger.mu, 1e-6)


@pytest.mark.parametrize("order", [1, -1])
def test_disjoint_users_cost_the_largest_epsilon(order):
    """Not the largest mu: a large mu at a small rate may cost less than a smaller one at rate 1."""
    often, seldom = (0.6, 1, 0, 5), (1.0, 1, 5, 10, 0.01)
    ledger = ledger_of(*[often, seldom][::order])
    assert ledger.mu == 1.0
    assert ledger.epsilon(1e-6) == pytest.approx(gdp_epsilon(0.6, 1e-6), abs=1e-3)
    assert composed_epsilon(((1.0, 0.01),), 1e-6) < 0.2 * ledger.epsilon(1e-6)


# Pure epsilon beside Gaussians


def response_delta(epsilon: float, losses: list[float], mu: float) -> float:
    """delta at `epsilon` of randomised responses with these privacy losses beside a mu-GDP release,
    by their definition: the losses add, each of its own sign, and the truth has odds e^loss."""
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(losses)):
        weight = math.prod(expit(sign * loss) for sign, loss in zip(signs, losses, strict=True))
        rest = epsilon - sum(sign * loss for sign, loss in zip(signs, losses, strict=True))
        total += weight * (gdp_delta(rest, mu) if mu else -math.expm1(min(rest, 0.0)))
    return total


@pytest.mark.parametrize(
    ("losses", "mu"),
    [*(([loss], 0.0) for loss in (1e-3, 0.7, 800.0)), ([0.5] * 5, 0.0), ([1.0, 0.3], 0.8), ([0.2], 1.5)],
)
@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.6])
def test_pure_releases_compose(losses, mu, delta):
    """Epsilon of the ledger has this delta by enumeration; 0.005 less has more. Never above the sum if all are pure."""
    ledger = Ledger([PureRelease("choice", loss, 0, 10) for loss in losses])
    if mu:
        ledger.record(GaussianRelease("sum", mu, 1.0, 0, 10))
    epsilon = ledger.epsilon(delta)
    assert response_delta(epsilon, losses, mu) <= delta * (1 + 1e-6) + 1e-15
    assert epsilon == 0 or response_delta(epsilon - 5e-3, losses, mu) > delta
    if not mu:
        assert epsilon <= sum(losses) and ledger.epsilon(1 / (1 + math.exp(-sum(losses)))) == 0


def test_mu_of_a_pure_release_covers_it():
    """delta of mu-GDP is at least randomised response's at every epsilon, equal where trade-off curves touch."""
    for loss in (0.1, 1.0, 4.0):
        mu = PureRelease("choice", loss, 0, 1).mu
        grid = [loss * share for share in (-0.9, -0.5, 0.0, 0.5, 0.9)]
        assert all(gdp_delta(at, mu) >= response_delta(at, [loss], 0.0) - 1e-12 for at in grid)
        assert gdp_delta(0.0, mu) == pytest.approx(response_delta(0.0, [loss], 0.0), rel=1e-9)
        assert gdp_delta(0.0, 0.99 * mu) < response_delta(0.0, [loss], 0.0)
