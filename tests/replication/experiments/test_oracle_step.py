"""Points of reference that know the truth: the floor of least squares, and the noise of one step at the truth.

One release at the truth moves it by the noise over n kappa, of sd 2/(n mu kappa) in each of (d - k) k entries, with
kappa = sqrt(m/d) E|v| / (k sigma_F): the error distF^2 is (d - k) k 4/(n mu kappa)^2. A head that is fitted anew takes
what lies outside for noise, so that the risk has distF^2 (m - 1)/(m - k - 1) on top of the floor sigma_F^2
k/(m - k - 1). The excess over the floor is therefore

    4 k d (d - k)/(n mu)^2 (m - 1)/m k/(E|v|)^2.

Statistical checks are within 5 standard errors, and each comes with a wrong target that is rejected.
"""

import math

import numpy as np
import pytest
from conftest import fixed_noise, make_task
from scipy import stats

from privrep.methods.running.runner import fit
from privrep.privacy.accounting import Budget, gdp_mu
from privrep.privacy.mechanisms import clipped_sums
from privrep.users.blocks import Block
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import orthonormalise, planted_subspace
from replication.experiments.oracle_step import StepAtTruth, oracle_step

FLOOR = oracle_step(kind="floor")


def risk(options: oracle_step, users: Users, multiplier: float, seed: int = 0) -> float:
    return fit(options, make_task(users, fixed_noise(multiplier), noise_seed=seed)).excess_risk


@pytest.mark.parametrize(("m", "k", "law"), [(6, 2, "gauss"), (12, 3, "sphere"), (5, 3, "sphere")])
def test_the_floor_is_that_of_least_squares_in_the_true_subspace(m, k, law):
    """sigma^2 k/(m - k - 1) over 60 data sets; over m - k and m it is rejected. Nothing is released."""
    found = []
    for seed in range(60):
        task = make_task(Users(Problem(400, m, 8, k, label_noise_sd=0.3, head_law=law, seed=seed)))
        outcome = fit(FLOOR, task)
        np.testing.assert_array_equal(outcome.subspace, task.users.truth.basis)
        assert not task.ledger.entries
        found.append(outcome.excess_risk)
    if m - k - 1 > 2:  # the mean has a standard error
        error = stats.sem(found)
        assert abs(np.mean(found) - 0.09 * k / (m - k - 1)) < 5 * error
        for freedom in (m - k, m):
            assert abs(np.mean(found) - 0.09 * k / freedom) > 5 * error
    else:
        assert np.median(found) == pytest.approx(0.09 * k / (m - k - 1), rel=0.5)


SIZES = [(4000, 6, 20, 2, 0.1, law) for law in ("sphere", "gauss")]


@pytest.mark.parametrize(
    ("n", "m", "d", "k", "sigma", "law"), [*SIZES, (3000, 9, 30, 3, 0.2, "sphere"), (8000, 8, 12, 4, 0.05, "gauss")]
)
def test_the_excess_of_one_step_over_the_floor(n, m, d, k, sigma, law):
    """By the formula above over 40 draws of the noise, on the users of the floor;
    without what a head adds, at twice the users or with |v|^2 it is not.

    Labels count as much as noise of sd 1/sqrt((d - k) k / n): the multiplier makes that a few percent,
    and 8 % are allowed.
    """
    users = Users(Problem(n, m, d, k, label_noise_sd=sigma, head_law=law))
    multiplier = math.sqrt(n / (0.12 * (d - k) * k))
    floor = risk(FLOOR, users, 0.0)
    found = [risk(oracle_step(), users, multiplier, seed) / floor - 1 for seed in range(40)]
    length = math.sqrt(k) if law == "sphere" else math.sqrt(2) * math.exp(math.lgamma((k + 1) / 2) - math.lgamma(k / 2))
    expected = 4 * k * d * (d - k) * (multiplier / n) ** 2 * (m - 1) / m * k / length**2
    expected *= sigma**2 * k / (m - k - 1) / floor  # over the floor of these users, not the expected one
    error = 5 * stats.sem(found) + 0.08 * expected
    assert 0.01 < expected < 0.6
    assert abs(np.mean(found) - expected) < error
    for wrong in (expected / 4, expected * (m - k - 1) / (m - 1), expected * 2, expected / k):
        assert abs(np.mean(found) - wrong) > error


def test_the_gain_is_that_of_a_small_error():
    """The mean step at sine 0.1 from the truth is sqrt(m/d) E|v| / (k sigma) times the error, within 10 %,
    and nothing of it lies in the subspace."""
    problem = Problem(40_000, 8, 20, 2, label_noise_sd=0.5, head_law="sphere")
    users = Users(problem)
    truth = users.truth.basis
    basis = planted_subspace(truth, 0.1, np.random.default_rng(3))
    near = basis @ (basis.T @ truth)  # heads are those of the truth, so the columns must be, too
    (step,) = clipped_sums(users, StepAtTruth(orthonormalise(near)), 1.0)
    error = truth - near
    found = float((step * error).sum() / (error**2).sum()) / problem.users
    kappa = math.sqrt(8 / 20) * math.sqrt(2) / (2 * 0.5)
    assert found == pytest.approx(kappa, rel=0.1)
    np.testing.assert_allclose(orthonormalise(near).T @ step, 0, atol=1e-9 * problem.users)


# What a user can move


def added(label: float) -> np.ndarray:
    """What a user adds with samples on an axis outside and this label; before any clip it is no longer than 1."""
    features = np.zeros((3, 1, 4), np.float32)
    features[:, 0, 3] = 1
    block = Block(0, features, np.full((3, 1), label, np.float32), np.array([[0.0, 1e-9]], np.float32))
    share = StepAtTruth(np.eye(4, 2))(block)
    assert share.norms[0] <= 1
    return share.clipped(1.0)[0]


def test_opposite_users_attain_the_sensitivity_and_the_ledger_says_so():
    """Labels of opposite signs on an axis outside, within 1 %, and all of mu is spent."""
    moved = np.linalg.norm(added(1.0) - added(-1.0))
    assert moved == pytest.approx(2, rel=0.01)
    task = make_task(Users(Problem(50, 4, 5, 2, label_noise_sd=0.1)), Budget(1.0, 1e-6, "exact"))
    fit(oracle_step(), task)
    (entry,) = task.ledger.entries
    assert (entry.name, entry.start, entry.stop, entry.rate) == ("true_step", 0, 50, 1.0)
    assert entry.sensitivity == pytest.approx(moved, rel=0.01)
    assert task.ledger.mu == pytest.approx(gdp_mu(1.0, 1e-6), rel=1e-9)
