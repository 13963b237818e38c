"""The epsilons of all studies, counted again from their ledgers by other code."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privrep.evidence.recount import NEAR, MiscountError, check_epsilons, epsilon_of
from privrep.privacy.ledger import GaussianRelease, Ledger, PureRelease

DELTA = 1e-6
GAUSSIAN = st.builds(
    GaussianRelease,
    st.just("release"),
    st.floats(0.01, 5.0),
    st.floats(1.0, 50.0),
    st.integers(0, 3).map(lambda part: 10 * part),
    st.just(40),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(GAUSSIAN, min_size=1, max_size=6))
def test_gaussian_releases_are_counted_alike(entries):
    ledger = Ledger(entries)
    assert epsilon_of(ledger.summary, DELTA)[0] == pytest.approx(ledger.epsilon(DELTA), rel=1e-8, abs=1e-9)


@pytest.mark.parametrize(
    "entries",
    [
        [GaussianRelease("round", 2.0, 3.0, 0, 10, 0.2)] * 20,
        [GaussianRelease("round", 2.0, 30.0, 0, 10, 0.05)] * 200,
        [GaussianRelease("round", 2.0, 3.0, 0, 10), GaussianRelease("round", 1.0, 3.0, 0, 10, 0.5)],
        [PureRelease("choice", 1.0, 0, 10)],
        [PureRelease("choice", 0.5, 0, 10), PureRelease("choice", 0.3, 0, 10)],
        [GaussianRelease("start", 2.0, 3.0, 0, 10), PureRelease("choice", 0.5, 0, 10)],
    ],
)
def test_participation_and_choices_are_counted_alike(entries):
    """Within the rounding up of the accountant, and never above it by more than rounding."""
    ledger = Ledger(entries)
    counted, stated = epsilon_of(ledger.summary, DELTA)[0], ledger.epsilon(DELTA)
    assert (1 - NEAR) * stated <= counted <= stated * (1 + 1e-4)


def test_no_noise_is_no_privacy():
    assert epsilon_of(Ledger([GaussianRelease("sum", 1.0, 0.0, 0, 5)]).summary, DELTA)[0] == math.inf


def cells(**changes):
    ledger = Ledger([GaussianRelease("sum", 1.0, 2.0, 0, 5)] * 3)
    row = {"key": "abc", "ledger": ledger.summary, "delta": DELTA, "epsilon_exact": ledger.epsilon(DELTA)}
    return pd.DataFrame([row, row | changes])


def test_rows_that_match_are_counted():
    assert check_epsilons(cells()) == 2
    assert check_epsilons(cells(epsilon_exact=np.nan, ledger=np.nan)) == 1
    assert check_epsilons(pd.DataFrame({"key": ["abc"]})) == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon_exact": 3.0}, "cell abc: epsilon_exact is 3.0; its ledger, 3 x gaussian 1.0/2.0"),
        ({"ledger": "2 x gaussian 1.0/2.0 rate 1.0 users 0:5"}, "gives"),
        ({"ledger": "3 x gaussian 1.0/4.0 rate 1.0 users 0:5"}, "gives"),
        ({"ledger": "3 x gaussian 1.0/2.0 rate 0.5 users 0:5"}, "gives"),
        ({"ledger": np.nan}, "and there is no ledger"),
        ({"ledger": "3 x gaussian 1.0/2.0"}, "its part 1 is no release"),
    ],
)
def test_rows_that_do_not_match_are_named(changes, words):
    with pytest.raises(MiscountError, match=words):
        check_epsilons(cells(**changes))


def test_every_row_of_the_quick_run_holds_its_ledger(quick_run):
    """And no run that was calibrated by exact accounting spends more than its budget."""
    studies = 0
    for path in sorted((quick_run / "results" / "quick").glob("*/cells.csv")):
        table = pd.read_csv(path)
        studies += check_epsilons(table) > 0
        if "calibration" in table and "epsilon_exact" in table:
            # A search spends the budget of each of its runs; the budget of the image experiments is for adding or
            # removing a user; a mutant and a sensitivity alone keep to none.
            free = table["algorithm"].str.startswith("smallest_users") | (table["algorithm"] == "federated_images")
            free |= table["mutant"].fillna("none") != "none" if "mutant" in table else False
            whole = table[(table["calibration"] == "exact") & ~free & table["epsilon_exact"].notna()]
            np.testing.assert_array_less(
                whole["epsilon_exact"], whole["epsilon"] * (1 + 1e-3), err_msg=path.parent.name
            )
    assert studies > 12
