"""Algorithm 3 of jain2021: pairs, the copied triangle, the noise, the eigenvectors."""

import math

import numpy as np
import pytest
from conftest import fake_users, fixed_noise, gather, handle, make_task
from pieces import all_pairs, pair_moments

from privrep.methods.running.runner import fit
from privrep.methods.spectral_init import SpectralInit, SpectralInitOptions
from privrep.privacy.ledger import Ledger
from privrep.privacy.mechanisms import GAUSSIAN_COST
from privrep.privacy.paired_samples import pairs_bound
from privrep.users.simulated import Problem, Users
from privrep.users.splits import PRESETS, split_samples
from privrep.users.subspace import dist2

PROBLEM = Problem(30, 8, 5, 2, label_noise_sd=0.2)


def by_hand(users, samples, label_clip):
    """sum of W_jp by loops, pairs (2p-1, 2p) of the range, upper triangle copied to the lower one."""
    features, labels, _ = gather(users)
    dim = features.shape[2]
    total = np.zeros((dim, dim))
    for j in range(labels.shape[1]):
        for i in range(samples.start, samples.stop, 2):
            a, b = features[i, j], features[i + 1, j]
            ya, yb = (max(-label_clip, min(label_clip, y)) for y in labels[i : i + 2, j])
            product = np.outer(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)) * ya * yb
            for r in range(dim):
                for c in range(dim):
                    total[r, c] += product[min(r, c), max(r, c)]
    return total


def start(users, samples, label_clip=2.0, multiplier=0.0, rng=None, ledger=None):
    return SpectralInit(samples, label_clip).subspace(users, handle(users, multiplier, rng, ledger))


@pytest.mark.parametrize("label_clip", [0.8, 1e-4, math.inf])
@pytest.mark.parametrize("samples", [slice(0, 8), slice(0, 2), slice(3, 7)])
def test_pair_moments_are_those_of_the_print(label_clip, samples):
    """Directions of both samples, clipped labels, disjoint pairs, sym() as a copy: against loops in float64."""
    users = Users(PROBLEM)
    expected = by_hand(users, samples, label_clip)
    got = pair_moments(users, samples, label_clip)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, expected, atol=3e-6 * np.abs(expected).max())


@pytest.mark.parametrize("label_clip", [0.8, 1e-4, 10.0])
def test_all_pairs_are_summed_and_clipped_by_user(label_clip):
    """Against loops: symmetric parts of a user's pairs, the sum clipped to zeta^2 sqrt(P). Both sides of it occur."""
    users, samples = Users(PROBLEM), slice(1, 7)
    features, labels, _ = gather(users)
    expected, clipped = np.zeros((5, 5)), 0
    for j in range(PROBLEM.users):
        rows = [
            features[i, j] / np.linalg.norm(features[i, j]) * np.clip(labels[i, j], -label_clip, label_clip)
            for i in range(1, 7)
        ]
        pairs = [(np.outer(rows[a], rows[b]) + np.outer(rows[b], rows[a])) / 2 for a in range(6) for b in range(a)]
        own = sum(pairs)
        factor = min(1, pairs_bound(6, label_clip) / np.linalg.norm(own))
        expected += factor * own
        clipped += factor < 1
    assert len(pairs) == 15 and pairs_bound(6, label_clip) == pytest.approx(label_clip**2 * math.sqrt(15))
    assert 0 < clipped < PROBLEM.users or label_clip != 0.8
    np.testing.assert_allclose(all_pairs(users, samples, label_clip), expected, atol=1e-6 * np.abs(expected).max())


def test_the_largest_eigenvalues_are_taken_not_the_largest_in_size():
    """A strong negative direction is no signal: labels of opposite sign on equal features."""
    features = np.zeros((2, 30, 3))
    features[:, :20, 2] = 1
    features[:, 20:, 0] = 1
    labels = np.ones((2, 30))
    labels[1, :20] = -1
    basis = start(fake_users(features, labels, np.ones((30, 1))), slice(0, 2))
    assert dist2(basis, np.eye(3)[:, :1]) < 1e-6


WIDE = Problem(30, 20, 5, 2, label_noise_sd=0.2)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("multiplier", [0.0, 0.05])
def test_the_algorithm_is_the_step_alone(preset, multiplier):
    """The same subspace and entry as `spectral_init` on the range of the split for the initialisation; no risk."""
    users = Users(WIDE)
    task = make_task(users, fixed_noise(multiplier))
    outcome = fit(SpectralInitOptions(1.5, preset), task)
    ledger = Ledger()
    samples = split_samples(preset, 20).init
    np.testing.assert_array_equal(
        outcome.subspace, start(users, samples, 1.5, multiplier, task.stream("init_noise"), ledger)
    )
    assert task.ledger == ledger
    (entry,) = ledger.entries
    pairs = (samples.stop - samples.start) // 2
    assert (entry.name, entry.start, entry.stop) == ("spectral_init", 0, 30)
    assert entry.sensitivity == pytest.approx(2 * pairs * 1.5**2, rel=1e-12)
    assert entry.noise_sd == pytest.approx(2 * pairs * 1.5**2 * multiplier, rel=1e-12)
    assert outcome.excess_risk is None
    assert outcome.log == {"noise_multiplier": multiplier, "zeta": 1.5}


def test_the_promise_is_that_of_lemma_4_5():
    """epsilon = sqrt(8 ln(1/delta)) / Delta, printed for one release of M."""
    assert SpectralInitOptions(1.5).build(PROBLEM.known).cost == GAUSSIAN_COST
    assert (SpectralInit.theorem.id, SpectralInit.theorem.constant) == ("A-L4.5", 8)
    outcome = fit(SpectralInitOptions(1.5), make_task(Users(PROBLEM), fixed_noise(3.0)))
    assert outcome.theorem == "A-L4.5"
    assert outcome.epsilon_paper == pytest.approx(math.sqrt(8 * math.log(1e6)) / 3, rel=1e-12)
