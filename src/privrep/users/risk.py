"""Exact population risk: no test set is needed, since the covariance R^T R of a feature is known, and is I in the model
of the papers.

The excess risk of predictions <x, theta_hat_j> is the mean over users of ||R (theta_j - theta_hat_j)||^2, without
corrupted users, who have no theta_j. The mean squared error that jain2021 plots adds the label noise variance. For
another loss and Gaussian features, the residual of user j is N(0, ||theta_j - theta_hat_j||^2 + sigma_F^2), and its
mean loss is an integral over one variable.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from privrep.options import ensure
from privrep.users.blocks import Block, Truth, true_heads
from privrep.users.heads import FittedHeads, HeadRule
from privrep.users.losses import Loss
from privrep.users.passes import total
from privrep.users.simulated import MISSPECIFICATIONS, Problem, Users


def block_excess(block: Block, truth: Truth, basis: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Return ||theta_j - basis @ v_j||^2, (B,), for any basis (d, k'), NaN for corrupted users."""
    inside = truth.basis.T @ basis
    outside = basis - truth.basis @ inside
    error = true_heads(block) - heads @ inside.T
    return np.einsum("bi,bi->b", error, error) + np.einsum("bi,ij,bj->b", heads, outside.T @ outside, heads)


def uncorrupted(users: Users, block: Block, excess: np.ndarray) -> np.ndarray:
    """Select the rows (B, ...) of a block's users who are not corrupted."""
    return excess[~np.isnan(true_heads(block)[:, 0])] if users.problem.adversaries else excess


def mean_over_users(users: Users, sum_: float) -> float:
    """Divide a sum by the number of users who are not corrupted."""
    return float(sum_ / (users.problem.users - users.problem.adversaries))


def whitened(users: Users, basis: np.ndarray, block: Block) -> tuple[Truth, np.ndarray, Block]:
    """Return truth, basis and block in coordinates with feature covariance I and orthonormal U*."""
    if not users.problem.scales_features:
        return users.truth, basis, block
    root = users.problem.feature_root
    orthonormal, factor = np.linalg.qr(root @ users.truth.basis)
    moved = Block(block.start, block.features, block.labels, true_heads(block) @ factor.T, in_domain=True)
    return Truth(orthonormal, users.truth.mixing), root @ basis, moved


def personal_risk(users: Users, basis: np.ndarray, heads: HeadRule) -> float:
    """Return the mean excess risk of the models basis @ v_j, with v_j from a head rule."""

    def excess(block: Block) -> float:
        truth, frame, moved = whitened(users, basis, block)
        return uncorrupted(users, block, block_excess(moved, truth, frame, heads(block))).sum()

    return mean_over_users(users, total(users, excess))


def personalised_risk(users: Users, basis: np.ndarray, samples: slice) -> float:
    """Return the mean excess risk after each user fits a head on a range of samples (jain2021, Theorem 4.2)."""
    return personal_risk(users, basis, FittedHeads(basis, samples))


def personal_loss(users: Users, basis: np.ndarray, heads: HeadRule, loss: Loss) -> float:
    """Return the mean loss above that of the true models (jain2021, Theorem 5.2); ValueError where that is unknown."""
    for name in MISSPECIFICATIONS:
        value = getattr(users.problem, name)
        as_in_papers = name == "fewest_samples" or value == getattr(Problem, name)
        ensure(as_in_papers, name, value, "the mean loss is known for the papers' model alone")
    noise = users.problem.label_noise_sd

    def losses(block: Block) -> float:
        excess = np.maximum(block_excess(block, users.truth, basis, heads(block)), 0)
        return loss.gaussian_mean(np.sqrt(excess + noise**2)).sum()

    return float(total(users, losses) / users.problem.users - loss.gaussian_mean(np.asarray(noise)))


def model_risk(users: Users, models_of: Callable[[Block], np.ndarray]) -> float:
    """Return the mean excess risk of models (B, d) of a block's users."""
    root = users.problem.feature_root

    def excess(block: Block) -> float:
        error = true_heads(block) @ users.truth.basis.T - models_of(block)
        if users.problem.scales_features:
            error = error @ root.T
        return float((uncorrupted(users, block, error) ** 2).sum())

    return mean_over_users(users, total(users, excess))
