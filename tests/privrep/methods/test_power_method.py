"""shen2023, Algorithm 5: the users' products, their clip, the noise, and what the runs of a cell share."""

import math

import numpy as np
import pytest
from conftest import fake_users, gather, handle, recut
from pieces import clipped_products

from privrep.methods.power_method import LARGEST, ROUNDING, power_method
from privrep.users.simulated import Problem, Users
from privrep.users.subspace import dist2, random_subspaces

PROBLEM = Problem(150, 6, 7, 2, label_noise_sd=0.2)
SAMPLES = np.array([0, 2, 3, 5])


def by_hand(users, samples, basis, bound) -> tuple[np.ndarray, np.ndarray]:
    """sum_i clip(M_i X; bound) and all norms, by a loop over users in float64."""
    features, labels, _ = gather(users)
    total, norms = np.zeros(basis.shape), []
    for i in range(features.shape[1]):
        moment = sum(labels[j, i] ** 2 * np.outer(features[j, i], features[j, i]) for j in samples) / len(samples)
        product = moment @ basis
        norms.append(np.linalg.norm(product))
        total += product * min(1, bound / norms[-1])
    return total, np.array(norms)


@pytest.mark.parametrize("bound", [0.3, 6.0, 1e6])
@pytest.mark.parametrize("block", [150, 64, 37])
def test_products_are_those_of_the_print(bound, block, rng):
    """Sum and norms of three runs against the loop, in whole and cut blocks; the bound is honoured from below."""
    users = Users(PROBLEM)
    bases = random_subspaces(3, PROBLEM.dim, PROBLEM.rank, rng)
    total, lengths = np.zeros(bases.shape), []
    for part in recut(users, block).blocks():
        added, norms = clipped_products(part, SAMPLES, bases, bound)
        assert norms.shape == (part.users, 3)
        total += added
        lengths.append(norms)
    for run, basis in enumerate(bases):
        expected, norms = by_hand(users, SAMPLES, basis, bound * (1 - ROUNDING))
        np.testing.assert_allclose(total[run], expected, atol=3e-6 * np.abs(expected).max())
        np.testing.assert_allclose(np.concatenate(lengths)[:, run], norms, rtol=1e-4)


def longest_clipped(rng, tries: int = 150) -> float:
    """The longest clipped product of one user over the bound, near `LARGEST` and nearly orthogonal to the start."""
    longest = 0.0
    for _ in range(tries):
        (basis,), bound = random_subspaces(1, PROBLEM.dim, PROBLEM.rank, rng), 10 ** rng.uniform(-3, 3)
        features = rng.standard_normal((6, 1, 7))
        features -= (1 - 10 ** rng.uniform(-3, 0)) * (features @ basis @ basis.T)
        label = np.sqrt(0.99 * LARGEST * bound / (features[SAMPLES] ** 2).sum() * len(SAMPLES))
        (block,) = fake_users(features, np.full((6, 1), label), np.ones((1, 2))).blocks()
        total, _ = clipped_products(block, SAMPLES, basis[None], bound)
        longest = max(longest, float(np.linalg.norm(total)) / bound)
    return longest


def test_the_room_for_rounding_keeps_the_bound(rng, monkeypatch):
    """To the last bit; without it rounding exceeds the bound."""
    assert 1 - 2 * ROUNDING < longest_clipped(rng) <= 1
    monkeypatch.setattr("privrep.methods.power_method.ROUNDING", 0.0)
    assert longest_clipped(rng) > 1


def test_a_user_far_beyond_the_bound_adds_nothing(rng):
    """Documented limit: ||F||^2 / q over LARGEST bounds; just below it the user is clipped to the bound."""
    bases = random_subspaces(1, PROBLEM.dim, PROBLEM.rank, rng)
    features = rng.standard_normal((6, 1, 7))
    size = (features[SAMPLES] ** 2).sum() / len(SAMPLES)
    for factor, expected in ((0.9, 1.0), (1.1, 0.0)):
        labels = np.full((6, 1), math.sqrt(factor * LARGEST / size))
        (block,) = fake_users(features, labels, np.ones((1, 2))).blocks()
        total, _ = clipped_products(block, SAMPLES, bases, 1.0)
        assert np.linalg.norm(total) == pytest.approx(expected, abs=2 * ROUNDING)


def test_a_user_moves_the_sum_by_its_own_product_alone(rng):
    """The sum with a user less that without it is its own product: float32 sums would round the others."""
    bases, bound = random_subspaces(3, PROBLEM.dim, PROBLEM.rank, rng), 5.0
    features = rng.standard_normal((6, 64, 7))

    def total(present: np.ndarray) -> np.ndarray:
        (block,) = fake_users(features, np.tile(3.0 * present, (6, 1)), np.ones((64, 2))).blocks()
        return clipped_products(block, SAMPLES, bases, bound)[0]

    first = np.arange(64) == 0
    np.testing.assert_allclose(total(np.ones(64)) - total(~first), total(first), rtol=0, atol=1e-11 * bound)


def test_one_step_is_qr_of_the_noisy_sum(rng):
    """X = QR(sum + noise), with noise of sd 2 bound Delta from the given stream, one draw for each run in turn."""
    users, bases = Users(PROBLEM), random_subspaces(2, PROBLEM.dim, PROBLEM.rank, rng)
    got = power_method(users, bases, handle(users, 0.7, np.random.default_rng(4)), [SAMPLES], 5.0)
    noise = np.random.default_rng(4)
    for run_basis, basis in zip(got, bases, strict=True):
        total, _ = by_hand(users, SAMPLES, basis, 5.0 * (1 - ROUNDING))
        expected = total + noise.normal(0.0, 2 * 5.0 * 0.7, total.shape)
        assert dist2(np.linalg.qr(expected)[0], run_basis) < 1e-4
        np.testing.assert_allclose(run_basis.T @ run_basis, np.eye(2), atol=1e-12)
