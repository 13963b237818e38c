"""The ledger: sequential composition over the users a release touches, parallel composition over disjoint ones."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrep.privacy.accounting import gdp_epsilon, sampled_epsilon
from privrep.privacy.ledger import Entry, Ledger

releases = st.lists(
    st.tuples(st.floats(0.1, 10), st.floats(0.1, 10), st.integers(0, 20), st.integers(1, 10)), max_size=8
)


def ledger_of(*entries: tuple[float, float, int, int]) -> Ledger:
    ledger = Ledger()
    for sensitivity, sd, start, stop in entries:
        ledger.record(Entry("release", sensitivity, sd, start, stop))
    return ledger


def test_mu_of_one_entry():
    """mu = sensitivity / sd; infinite without noise."""
    assert Entry("a", 3.0, 4.0, 0, 10).mu == 0.75
    assert Entry("a", 3.0, 0.0, 0, 10).mu == math.inf


def test_an_empty_ledger_costs_nothing():
    assert Ledger().mu == 0
    assert Ledger().epsilon(1e-6) == 0


def test_releases_about_the_same_users_add_in_squares():
    ledger = ledger_of((3, 1, 0, 10), (4, 1, 0, 10))
    assert ledger.mu == pytest.approx(5)
    assert ledger.epsilon(1e-6) == gdp_epsilon(ledger.mu, 1e-6)


def test_disjoint_users_cost_the_largest_not_the_sum():
    assert ledger_of((3, 1, 0, 5), (4, 1, 5, 10)).mu == 4
    assert ledger_of((4, 1, 5, 10), (3, 1, 0, 5)).mu == 4


def test_one_shared_user_is_enough_to_add():
    """Ranges [0, 6) and [5, 10) share user 5; [0, 5) and [5, 10) share nobody."""
    assert ledger_of((3, 1, 0, 6), (4, 1, 5, 10)).mu == pytest.approx(5)
    assert ledger_of((3, 1, 0, 5), (4, 1, 5, 10)).mu == 4


def test_two_epochs_over_disjoint_batches_after_a_release_about_all():
    """1 for the initialisation and 1 for each epoch; the number of batches does not matter."""
    batches = [(1, 1, 0, 4), (1, 1, 4, 7), (1, 1, 7, 10)]
    assert ledger_of((1, 1, 0, 10), *batches, *batches).mu == pytest.approx(math.sqrt(3))


def test_one_unprotected_release_spoils_everything():
    ledger = ledger_of((1, 1, 0, 10), (1, 0, 3, 4))
    assert ledger.mu == math.inf
    assert ledger.epsilon(1e-6) == math.inf


@given(releases)
def test_mu_is_that_of_the_user_touched_most(entries):
    """Against a count user by user."""
    spans = [(s, sd, start, start + length) for s, sd, start, length in entries]
    spent = [sum((s / sd) ** 2 for s, sd, start, stop in spans if start <= user < stop) for user in range(31)]
    assert ledger_of(*spans).mu == pytest.approx(math.sqrt(max(spent)), rel=1e-12)


@given(releases, st.floats(0.1, 10), st.integers(0, 20), st.integers(1, 10))
def test_a_further_release_never_lowers_the_cost(entries, sensitivity, start, length):
    spans = [(s, sd, first, first + more) for s, sd, first, more in entries]
    assert ledger_of(*spans, (sensitivity, 1.0, start, start + length)).mu >= ledger_of(*spans).mu


def test_the_printed_ledger_has_one_line_per_release():
    lines = str(ledger_of((3, 4, 0, 10), (1, 0, 10, 20))).splitlines()
    assert len(lines) == 3
    assert lines[1].split() == ["release", "3", "4", "0.75", "1", "0..9"]
    assert lines[2].split() == ["release", "1", "0", "inf", "1", "10..19"]


# Users who take part at random


def sampled_ledger(*entries: tuple[float, float, int, int]) -> Ledger:
    """mu, rate, start and stop of each release."""
    ledger = Ledger()
    for mu, rate, start, stop in entries:
        ledger.record(Entry("release", mu, 1.0, start, stop, rate))
    return ledger


def test_a_release_is_about_all_its_users_unless_it_says_otherwise():
    assert Entry("a", 1.0, 1.0, 0, 10).rate == 1


def test_full_participation_takes_the_closed_form():
    """To the last bit, in several releases too; the accountant would round up."""
    assert sampled_ledger((0.3, 1.0, 0, 10), (0.4, 1.0, 0, 10)).epsilon(1e-6) == gdp_epsilon(0.5, 1e-6)


def test_mixed_rates_compose_over_the_same_users():
    """A full release and five sampled ones are one composition; mu is the bound without sampling."""
    ledger = sampled_ledger((0.5, 1.0, 0, 10), *[(0.8, 0.2, 0, 10)] * 5)
    assert ledger.epsilon(1e-6) == sampled_epsilon(((0.5, 1.0), *((0.8, 0.2),) * 5), 1e-6)
    assert ledger.mu == pytest.approx(math.sqrt(0.25 + 5 * 0.64))
    assert gdp_epsilon(0.5, 1e-6) < ledger.epsilon(1e-6) < gdp_epsilon(ledger.mu, 1e-6)


@pytest.mark.parametrize("order", [1, -1])
def test_disjoint_users_cost_the_largest_epsilon(order):
    """Not the largest mu: a large mu at a small rate may cost less than a smaller one at rate 1."""
    often, seldom = (0.6, 1.0, 0, 5), (1.0, 0.01, 5, 10)
    ledger = sampled_ledger(*[often, seldom][::order])
    assert ledger.mu == 1.0
    assert ledger.epsilon(1e-6) == pytest.approx(gdp_epsilon(0.6, 1e-6), abs=1e-3)
    assert sampled_epsilon(((1.0, 0.01),), 1e-6) < 0.2 * ledger.epsilon(1e-6)


def test_one_shared_user_is_enough_to_compose_sampled_releases():
    """Ranges [0, 6) and [5, 10) share user 5."""
    apart, shared = (sampled_ledger((0.5, 0.5, 0, stop), (0.5, 0.5, 5, 10)) for stop in (5, 6))
    assert apart.epsilon(1e-6) == sampled_epsilon(((0.5, 0.5),), 1e-6)
    assert shared.epsilon(1e-6) == sampled_epsilon(((0.5, 0.5),) * 2, 1e-6)
    assert apart.epsilon(1e-6) < shared.epsilon(1e-6)


def test_a_sampled_release_without_noise_spoils_everything():
    ledger = Ledger()
    ledger.record(Entry("release", 1.0, 0.0, 0, 10, 0.01))
    assert ledger.epsilon(1e-6) == math.inf


def test_the_printed_ledger_tells_the_rate():
    """mu is that of a user who takes part, so the rate stands next to it."""
    (line,) = str(sampled_ledger((0.5, 0.25, 0, 10))).splitlines()[1:]
    assert line.split() == ["release", "0.5", "1", "0.5", "0.25", "0..9"]
