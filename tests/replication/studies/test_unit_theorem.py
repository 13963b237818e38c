"""Rows of the theorems on plain unit steps: they hold, and none outlives a constant that is wrong by 5 %."""

from itertools import chain

import numpy as np
import pytest

from privrep.theory.unit_steps import Plain
from replication.evidence.quantities import checked_claims
from replication.studies.unit_theorem import analysis

CHECKS = (
    analysis.closed_forms,
    analysis.bounds_of_cosines,
    analysis.from_a_start,
    analysis.one_column,
    analysis.any_columns,
    analysis.bound_from_parts,
)
CONSTANTS = (
    *(("gamma_bounds", place) for place in (0, 1)),
    *(("omega_bounds", place) for place in (0, 1)),
    *((name, None) for name in ("gamma", "omega", "heads_spread", "steepness", "pull", "step", "mean_pull")),
    *((name, None) for name in ("users_needed", "lower_bound")),
)
"""What the theory states. `random_step` is a choice that leaves room, and `error` the fall that its row measures."""


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Few random instances: those that attain a bound are there all the same."""
    for name, count in (("DRAWS", 10), ("HEADS", 20), ("PARTS", 10)):
        monkeypatch.setattr(analysis, name, count)


def verdicts() -> dict[str, str]:
    """The verdict on each row of the claims that needs no run."""
    found = {one.quantity: one for one in chain.from_iterable(check() for check in CHECKS)}
    rows = {
        name: {key: str(getattr(one, key)) for key in ("measured", "ci_low", "ci_high", "seeds")}
        for name, one in found.items()
    }
    asked = [one for claim in checked_claims()["unit_steps"] for one in claim.quantities if one.measured in found]
    assert len(asked) == len(found)
    return {one.measured: one.judged("ours", rows, 1)["verdict"] for one in asked}


def test_all_hold():
    assert set(verdicts().values()) == {"HOLDS"}


def test_general_heads():
    """Case (c) holds, and with a larger step it does not."""
    assert analysis.general_heads().measured >= 0


@pytest.mark.parametrize("factor", [0.95, 1.05])
@pytest.mark.parametrize(("name", "place"), CONSTANTS, ids=str)
def test_a_wrong_constant_turns_a_row_red(name, place, factor, monkeypatch):
    of_class = vars(Plain)[name]
    true = getattr(of_class, "fget", of_class)

    def wrong(value):
        if place is None:
            return factor * value
        return tuple(factor ** (number == place) * one for number, one in enumerate(value))

    if isinstance(of_class, property):
        monkeypatch.setattr(Plain, name, property(lambda self: wrong(true(self))))
    else:
        monkeypatch.setattr(Plain, name, lambda self, *given: wrong(true(self, *given)))
    with np.errstate(all="ignore"):
        assert set(verdicts().values()) != {"HOLDS"}
