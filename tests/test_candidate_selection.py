"""Selection among candidates (shen2023, Algorithm 3, line 5), against loops and on candidates with known angles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrep.algorithms.candidate_selection import Selection, agreements, average, select
from privrep.subspace import dist_frobenius, orthonormalise, planted_subspace, random_subspace, sines

DIM, RANK = 8, 2
TRUTH = np.eye(DIM, RANK)


def near(sine: float, seed: int) -> np.ndarray:
    """A candidate at the given sine from TRUTH in all directions, in a basis of its own."""
    rng = np.random.default_rng(seed)
    return planted_subspace(TRUTH, sine, rng) @ random_subspace(RANK, RANK, rng)


def slow_select(candidates, accuracy) -> Selection:
    """Line 5 as printed, candidate by candidate; then the fallback."""
    medians = []
    for number, chosen in enumerate(candidates):
        least = [np.linalg.svd(other.T @ chosen, compute_uv=False).min() for other in candidates]
        if sum(value >= 1 - 2 * accuracy**2 for value in least) * 2 >= len(candidates):
            return Selection(number, True)
        medians.append(np.median(least))
    return Selection(int(np.argmax(np.round(medians, 6))), False)


groups = st.lists(st.floats(0, 1), min_size=1, max_size=7)


@given(groups, st.floats(0.01, 0.9), st.integers(0, 10**6))
def test_selection_is_that_of_a_loop(distances, accuracy, seed):
    candidates = np.array([near(sine, seed + number) for number, sine in enumerate(distances)])
    assert select(candidates, accuracy) == slow_select(candidates, accuracy)


@given(groups, st.integers(0, 10**6))
def test_bases_do_not_matter(distances, seed):
    """Another basis of each candidate, or of the whole space, changes no cosine."""
    rng = np.random.default_rng(seed)
    candidates = np.array([near(sine, seed + number) for number, sine in enumerate(distances)])
    turned = np.array([candidate @ random_subspace(RANK, RANK, rng) for candidate in candidates])
    whole = random_subspace(DIM, DIM, rng) @ candidates
    for other in (turned, whole):
        np.testing.assert_allclose(agreements(other), agreements(candidates), atol=1e-12)


def test_agreement_is_the_cosine_of_the_largest_angle():
    """sqrt(1 - s^2) with s the largest sine, in a symmetric table with ones on its diagonal."""
    candidates = np.array([near(sine, number) for number, sine in enumerate((0.1, 0.4, 0.9))])
    cosines = agreements(candidates)
    np.testing.assert_allclose(np.diag(cosines), 1, rtol=1e-12)
    np.testing.assert_allclose(cosines, cosines.T, atol=1e-12)
    for a in range(3):
        for b in range(3):
            assert cosines[a, b] == pytest.approx(np.sqrt(1 - sines(candidates[a], candidates[b])[0] ** 2), abs=1e-7)


def test_the_threshold_is_one_less_two_squares():
    """Two of four candidates within cosine 1 - 2 eps^2 pass; at a slightly smaller eps, or at 1 - eps^2, they do not."""
    accuracy = 0.1
    cosine = 1 - 2 * accuracy**2
    pair = [np.eye(3, 1), np.array([[cosine], [np.sqrt(1 - cosine**2)], [0.0]])]
    others = [np.eye(3)[:, [2]], np.array([[0.6], [0.0], [0.8]])]
    candidates = np.array([*others, *pair])
    assert select(candidates, accuracy * 1.001) == Selection(2, True)
    assert not select(candidates, accuracy * 0.999).passed


def test_half_is_enough_and_less_is_not():
    """A candidate counts itself: 2 equal ones of 4 pass, 2 of 5 do not; the first that passes is taken."""
    equal, apart = np.eye(6)[:, [0]], [np.eye(6)[:, [axis]] for axis in (1, 2, 3)]
    assert select(np.array([apart[0], equal, -equal, apart[1]]), 0.01) == Selection(1, True)
    assert not select(np.array([apart[0], equal, -equal, *apart[1:]]), 0.01).passed
    assert select(equal[None], 0.01) == Selection(0, True)


def test_a_good_majority_outvotes_equal_bad_ones():
    """Six good candidates against four that agree perfectly on something else, whoever comes first."""
    wrong = np.eye(DIM)[:, 4:6]
    good = [near(0.004, number) for number in range(6)]
    for candidates in ([wrong] * 4 + good, good + [wrong] * 4):
        chosen = select(np.array(candidates), 0.01)
        assert chosen.passed
        assert dist_frobenius(candidates[chosen.index], TRUTH) < 0.01


def test_without_a_majority_the_most_central_one_is_taken():
    """The largest median cosine: one near the middle of a cluster, not a stray one, and not one of an agreeing minority."""
    minority = [np.eye(DIM)[:, 4:6]] * 2
    cluster = [near(sine, number) for number, sine in enumerate((0.5, 0.05, 0.5, 0.5))]
    strays = [random_subspace(DIM, RANK, np.random.default_rng(3))]
    chosen = select(np.array([*minority, *strays, *cluster]), 0.01)
    assert chosen == Selection(4, False)


def test_the_average_is_the_closest_subspace():
    """Top eigenvectors of the mean projector: no small move, and no candidate, is closer to all in mean squared distF."""
    rng = np.random.default_rng(0)
    candidates = np.array([near(sine, number) for number, sine in enumerate((0.2, 0.5, 0.7, 0.4))])

    def loss(basis):
        return np.mean([dist_frobenius(basis, candidate) ** 2 for candidate in candidates])

    found = average(candidates)
    np.testing.assert_allclose(found.T @ found, np.eye(RANK), atol=1e-12)
    projector = np.mean([candidate @ candidate.T for candidate in candidates], axis=0)
    expected = np.linalg.eigh(projector)[1][:, -RANK:]
    assert dist_frobenius(found, expected) < 1e-7
    assert loss(found) < min(map(loss, candidates))
    for _ in range(20):
        assert loss(found) < loss(orthonormalise(found + 0.05 * rng.standard_normal(found.shape)))


def test_the_average_of_equal_candidates_is_that_candidate():
    assert dist_frobenius(average(np.array([near(0.3, 1)] * 3)), near(0.3, 1)) < 1e-7
