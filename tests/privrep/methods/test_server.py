"""The server of shen2023: what a sum is divided by, and rounds in which nobody takes part.

Whole rounds are those of the print in test_centaur.py; who takes part, the noise and the entries are those of
test_contributions.py.
"""

from dataclasses import replace

import numpy as np
import pytest
from conftest import fake_users, handle

from privrep.methods.steps.server import Server
from privrep.privacy.contributions import Rows
from privrep.privacy.ledger import Ledger

USERS = fake_users(np.zeros((1, 12, 4)), np.zeros((1, 12)), np.zeros((12, 2)))


@pytest.mark.parametrize("divide_by", ["realised", "expected"])
def test_an_empty_round_has_no_mean(divide_by):
    """Divided by |C_t| = 0: an error before anything is released. Over p n it is noise alone."""
    ledger = Ledger()
    release = handle(USERS, 1.3, ledger=ledger, participants=np.random.default_rng(0))

    def mean() -> np.ndarray:
        server = Server(5, 0.7, 1e-12, divide_by)
        return server.mean("update", USERS, lambda block: Rows(np.ones((block.users, 4))), release)

    if divide_by == "expected":
        assert np.isfinite(mean()).all() and len(ledger.entries) == 1
        return
    with pytest.raises(ArithmeticError, match=r"^nobody takes part in a round"):
        mean()
    assert not ledger.entries


def test_two_handles_of_one_round_are_apart():
    """The divisor is that of the release handle whose sum it divides: |C_t| of those who took part there,
    also of a part of the users."""
    server = Server(1, 0.7, 0.5, "realised")
    release = handle(USERS, participants=np.random.default_rng(3))
    handles = [server.handle(release.of(part)) for part in (range(12), range(3, 9))]
    assert [len(each.taking_part) for each in handles] == [12, 6]
    assert [server.divisor(each) for each in handles] == [each.taking_part.sum() for each in handles]
    assert [replace(server, divide_by="expected").divisor(each) for each in handles] == [6.0, 3.0]
