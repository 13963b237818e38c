"""Unit steps with one part left out."""

from __future__ import annotations

import pytest
from conftest import make_task

from privrep.methods.running.runner import fit
from privrep.methods.unit_steps import UnitStepsOptions
from privrep.privacy.accounting import Budget
from privrep.users.problem import Problem, Users
from replication.experiments.unit_steps_ablations import ABLATIONS, UnitStepsAblationsOptions

BUDGET = Budget(1.0, 1e-6, "exact")


@pytest.mark.parametrize("without", ABLATIONS)
def test_what_is_left_out_leaves_nothing_unspent(without):
    """An ablation has the same budget: what the part would have cost serves the others, and the result is another."""
    task, whole = (make_task(Users(Problem(400, 8, 10, 2, 0.1)), BUDGET) for _ in range(2))
    outcome = fit(UnitStepsAblationsOptions(without=without), task)
    assert "unspent" not in outcome.log
    assert task.ledger.epsilon(1e-6) == pytest.approx(1.0)
    assert outcome.excess_risk != fit(UnitStepsOptions(), whole).excess_risk
