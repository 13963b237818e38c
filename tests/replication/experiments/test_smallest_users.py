"""The search for the smallest number of users: the bracket, the bisection, and what its ledger holds."""

import numpy as np
import pytest
from conftest import fixed_noise, gather, make_task
from hypothesis import given
from hypothesis import strategies as st

from privrep.methods import altmin
from privrep.methods.running.runner import fit
from privrep.users.simulated import Problem, Users
from replication.experiments.smallest_users import FIRST_TRIAL, PRECISION, FirstUsers, bracket, smallest_users

PROBLEM = Problem(4096, 32, 10, 2, head_law="sphere")
OPTIONS = {"init": "planted", "split": "text", "clip_scale": "data", "clip_feature": 1.5, "clip_label": 3.5}


def search(noise: float, **options) -> dict:
    """The log of a search among the users of the problem."""
    return fit(smallest_users(**OPTIONS, **options), make_task(Users(PROBLEM, 3), fixed_noise(noise))).log


@given(st.integers(1, 20), st.integers(100, 10_000), st.integers(1, 12_000))
def test_bracket_holds_the_threshold(fewest, most, threshold):
    """Missed at the first number, reached at the second, at most a factor 2 apart; impossible requests raise."""
    if threshold > most:
        with pytest.raises(ArithmeticError, match=str(most)):
            bracket(lambda users: users >= threshold, fewest, most)
        return
    failed, enough = bracket(lambda users: users >= threshold, fewest, most)
    assert failed < max(threshold, fewest) <= enough <= most
    assert enough <= 2 * failed + 1 or failed == fewest - 1


@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_the_target_is_reached_at_the_answer_and_missed_just_below(noise):
    """A search that returned the bracket's wrong end, or stopped early, fails here."""
    users, found = Users(PROBLEM, 3), search(noise, target=0.02)["smallest_users"]
    plain = altmin.AltminOptions(**OPTIONS)

    def risk(count: int) -> float:
        return fit(plain, make_task(FirstUsers(users, count), fixed_noise(noise))).excess_risk

    assert risk(found) <= 0.02 < risk(int(found / PRECISION) - 1)
    assert found != PROBLEM.users // FIRST_TRIAL


def test_target_in_units_of_the_rank():
    """target_unit `rank` multiplies the target by k."""
    assert search(0.1, target=0.01, target_unit="rank") == search(0.1, target=0.02)


def test_ledger_holds_every_trial_and_no_statement_is_claimed():
    """One release per trial; the search is no private algorithm."""
    task = make_task(Users(PROBLEM, 3), fixed_noise(0.1))
    outcome = fit(smallest_users(**OPTIONS, batches=2, target=0.02), task)
    assert len(task.ledger.entries) == 2 * outcome.log["trials"]
    assert outcome.theorem == "" and outcome.epsilon_paper is None


def test_unreachable_target_is_an_arithmetic_error():
    """It becomes a failed row with a reason."""
    with pytest.raises(ArithmeticError, match="not reached"):
        search(0.1, target=1e-9)


@pytest.mark.parametrize(("option", "value"), [("target", 0.0), ("target_unit", "users")])
def test_bad_options_are_named(option, value):
    """The message names the option."""
    with pytest.raises(ValueError, match=option):
        smallest_users(**OPTIONS, **{option: value})


def test_first_users_are_a_prefix():
    """Same samples as the larger set, and no user beyond the count."""
    users = Users(PROBLEM, 3)
    whole, part = gather(users), gather(FirstUsers(users, 1000))
    assert part[0].shape[1] == 1000
    assert np.array_equal(whole[0][:, :1000], part[0]) and np.array_equal(whole[1][:, :1000], part[1])
    with pytest.raises(ValueError, match="1001"):
        list(FirstUsers(users, 1000).blocks(0, 1001))
