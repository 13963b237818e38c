"""Own data, reference models, the single model and private gradient descent."""

import numpy as np
import pytest
from conftest import fixed_noise, gather, make_task

from privrep.methods import gradient_descent, own_data, single_model
from privrep.methods.running.runner import fit
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import dist2, orthonormalise, random_subspace

PROBLEM = Problem(60, 8, 12, 2, label_noise_sd=0.1, head_law="sphere")


def thetas(users):
    return gather(users)[2] @ users.truth.basis.T


@pytest.mark.parametrize("dim", [4, 12])
@pytest.mark.parametrize("penalty", [0.0, 3.0])
def test_own_data_is_minimum_norm_least_squares_or_ridge(dim, penalty):
    """User by user, with more samples than dimensions and with fewer; the truth itself where labels have no noise."""
    users = Users(Problem(30, 9, dim, 2, label_noise_sd=0.3))
    features, labels, _ = gather(users)
    (block,) = users.blocks()
    models = own_data.own_data_models(block.features, block.labels, penalty)
    for j in range(30):
        design, target = features[:, j], labels[:, j]
        expected = np.linalg.pinv(design.T @ design + penalty * np.eye(dim)) @ design.T @ target
        np.testing.assert_allclose(models[j], expected, atol=1e-6)
    assert fit(own_data.OwnDataOptions(), make_task(Users(Problem(30, 9, 4, 2)))).excess_risk < 1e-8


def test_single_model_by_moments_is_pooled_least_squares():
    """Without noise and clips: one regression over all samples of all users."""
    users = Users(PROBLEM)
    features, labels, _ = gather(users)
    pooled = np.linalg.lstsq(features.reshape(-1, 12), labels.ravel(), rcond=None)[0]
    outcome = fit(single_model.SingleModelOptions("moments", 1e3, 1e3), make_task(users, fixed_noise()))
    expected = ((thetas(users) - pooled) ** 2).sum(axis=1).mean()
    assert outcome.excess_risk == pytest.approx(expected, rel=1e-4)
    assert outcome.log["min_eigenvalue"] > 0


def test_single_model_by_gradients_is_clipped_gradient_descent():
    """theta <- theta - (step / t) mean(clip(g_j; c)) / c, by loops."""
    users = Users(PROBLEM)
    features, labels, _ = gather(users)
    model = np.zeros(12)
    for t in (1, 2):
        total = np.zeros(12)
        for j in range(60):
            gradient = 2 / 8 * features[:, j].T @ (features[:, j] @ model - labels[:, j])
            total += gradient * min(1, 1.5 / np.linalg.norm(gradient))
        model = model - 0.7 / t * total / (60 * 1.5)
    outcome = fit(single_model.SingleModelOptions("gradient", 1.5, epochs=2, step=0.7), make_task(users, fixed_noise()))
    expected = ((thetas(users) - model) ** 2).sum(axis=1).mean()
    assert outcome.excess_risk == pytest.approx(expected, rel=1e-5)


def by_hand(features, labels, basis, heads, bound):
    """Sum of clip((2/q) sum_i (<U^T x_ij, v_j> - y_ij) x_ij v_j^T; c) by loops."""
    total = np.zeros_like(basis)
    for j in range(labels.shape[1]):
        residual = features[:, j] @ basis @ heads[j] - labels[:, j]
        gradient = 2 / len(labels) * np.outer(features[:, j].T @ residual, heads[j])
        total += gradient * min(1, bound / np.linalg.norm(gradient))
    return total


def test_gradient_descent_without_noise_is_plain():
    """U <- QR(U - (alpha/t) mean(g_j) / c) with heads and gradients on their own samples."""
    users = Users(PROBLEM)
    features, labels, _ = gather(users)
    task = make_task(users, fixed_noise())
    outcome = fit(gradient_descent.GradientDescentOptions("random", "halves-then-all", 1.5, 0.7, epochs=3), task)
    basis = random_subspace(12, 2, task.stream("init"))
    for t in (1, 2, 3):
        heads = np.stack([np.linalg.lstsq(features[:4, j] @ basis, labels[:4, j], rcond=None)[0] for j in range(60)])
        gradient = by_hand(features[4:], labels[4:], basis, heads, 1.5)
        basis = orthonormalise(basis - 0.7 / t * gradient / (60 * 1.5))
    assert dist2(outcome.subspace, basis) < 1e-4
