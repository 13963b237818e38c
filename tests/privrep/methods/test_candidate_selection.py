"""shen2023, Algorithm 3, line 5: selection among candidates, and their average."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from privrep.methods.steps.candidate_selection import agreements, select
from privrep.users.subspace import average, dist2, dist_frobenius, orthonormalise, planted_subspace, random_subspace

ACCURACY = 0.05


def planted(truth, sines, rng) -> np.ndarray:
    return np.array([planted_subspace(truth, sine, rng) for sine in sines])


@given(good=st.integers(1, 9), bad=st.integers(0, 9), seed=st.integers(0, 20), rank=st.integers(1, 3))
def test_a_majority_of_good_candidates_decides(good, bad, seed, rank):
    """With at least as many good as scattered bad ones a good one passes; with fewer none does.
    Two candidates alone each agree with half of all: themselves."""
    assume(good + bad > 2)
    rng = np.random.default_rng(seed)
    truth = random_subspace(16, rank, rng)
    sines = np.concatenate([rng.uniform(0, ACCURACY, good), np.full(bad, 0.6)])
    order = rng.permutation(good + bad)
    chosen = select(planted(truth, sines[order], rng), ACCURACY)
    if good >= bad:
        assert chosen.passed
        assert order[chosen.index] < good
    else:
        assert not chosen.passed


def test_the_first_that_passes_is_taken(rng):
    truth = random_subspace(10, 2, rng)
    candidates = planted(truth, [0.6, 0.01, 0.0, 0.02], rng)
    assert select(candidates, ACCURACY).index == 1


@given(seed=st.integers(0, 30), sine=st.floats(0.05, 0.5))
def test_without_one_that_passes_the_most_central_is_taken(seed, sine):
    """The candidate with the largest median agreement, by a loop; no flag."""
    rng = np.random.default_rng(seed)
    truth = random_subspace(14, 2, rng)
    candidates = planted(truth, sine * rng.uniform(0.5, 1.5, 7), rng)
    chosen = select(candidates, 1e-3)
    medians = [
        np.median([np.linalg.svd(one.T @ other, compute_uv=False)[-1] for other in candidates]) for one in candidates
    ]
    assert not chosen.passed
    assert medians[chosen.index] == pytest.approx(max(medians), abs=1e-6)


@given(seed=st.integers(0, 30))
def test_a_choice_of_basis_changes_nothing(seed):
    """Candidates are subspaces: rotating each basis leaves agreements, choice and average."""
    rng = np.random.default_rng(seed)
    candidates = planted(random_subspace(12, 3, rng), rng.uniform(0, 0.4, 6), rng)
    turned = np.array([one @ orthonormalise(rng.standard_normal((3, 3))) for one in candidates])
    np.testing.assert_allclose(agreements(turned), agreements(candidates), atol=1e-12)
    assert select(turned, 0.1) == select(candidates, 0.1)
    assert dist2(average(turned), average(candidates)) < 1e-6


@given(seed=st.integers(0, 60), accuracy=st.floats(0.01, 0.15), rank=st.integers(1, 3))
def test_what_passes_beside_good_ones_is_near_the_truth(seed, accuracy, rank):
    """More than half good: whatever passes agrees with a good one, and angles add, so it is within sin(3 arcsin eps).
    Bad candidates are put around that angle, where the test decides."""
    rng = np.random.default_rng(seed)
    truth = random_subspace(16, rank, rng)
    limit = 3 * math.asin(accuracy)
    bad = [planted_subspace(truth, math.sin(limit * rng.uniform(0.3, 1.3)), rng) for _ in range(3)]
    candidates = np.array([*bad, *planted(truth, accuracy * rng.uniform(0, 1, 4), rng)])
    chosen = select(candidates, accuracy)
    assert chosen.passed
    assert dist2(candidates[chosen.index], truth) <= math.sin(limit) + 1e-9


def test_the_average_takes_the_noise_of_all(rng):
    """Six sets of 36 tilts: a sixth of the error within 20 % (three standard errors); that selected gains nothing."""
    truth, averaged, alone = random_subspace(20, 2, rng), [], []
    for _ in range(6):
        candidates = np.array([orthonormalise(truth + 0.03 * rng.standard_normal((20, 2))) for _ in range(36)])
        errors = [dist_frobenius(one, truth) for one in candidates]
        basis = average(candidates)
        averaged.append(dist_frobenius(basis, truth))
        alone.append(np.mean(errors))
        assert errors[select(candidates, ACCURACY).index] > 0.5 * np.mean(errors)
    assert np.mean(averaged) == pytest.approx(np.mean(alone) / 6, rel=0.2)
    np.testing.assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)


def test_the_average_minimises_the_mean_square_distance(rng):
    """Against random subspaces near it."""
    candidates = planted(random_subspace(9, 2, rng), rng.uniform(0, 0.7, 5), rng)

    def spread(basis):
        return np.mean([dist_frobenius(one, basis) ** 2 for one in candidates])

    best = average(candidates)
    assert all(spread(planted_subspace(best, sine, rng)) > spread(best) for sine in (0.01, 0.1, 0.5) for _ in range(20))
