"""shen2023, Algorithm 6, and the study of Theorem G.1 and Lemma F.3 that needs no users."""

import math

import numpy as np
import pytest

from privrep.instruments.noisy_power_method import noisy_power_method
from privrep.studies import power_method as study
from privrep.subspace import dist2, random_subspace


def silent(basis):
    return np.zeros_like(basis)


def test_without_noise_it_is_the_power_method(rng):
    """X_l spans A^l X_0, for several runs at once."""
    matrix = np.diag([3.0, 2.0, 1.5, 1.0, 0.2])
    starts = np.array([random_subspace(5, 2, rng) for _ in range(3)])
    path = noisy_power_method(matrix, starts, 6, silent)
    assert path.shape == (6, 3, 5, 2)
    for step, bases in enumerate(path, 1):
        for start, basis in zip(starts, bases, strict=True):
            expected = np.linalg.qr(np.linalg.matrix_power(matrix, step) @ start)[0]
            assert dist2(expected, basis) < 1e-9


def test_tangents_shrink_by_the_ratio_of_eigenvalues(rng):
    path = noisy_power_method(np.diag([1.0, 1.0, 0.7, 0.7, 0.7]), random_subspace(5, 2, rng), 8, silent)
    tangents = [math.tan(math.asin(dist2(basis, np.eye(5, 2)))) for basis in path]
    np.testing.assert_allclose(np.array(tangents[1:]) / tangents[:-1], 0.7, rtol=1e-6)


def test_the_perturbation_sees_the_iterate_and_enters_before_the_qr(rng):
    """One step is QR(A X + G(X))."""
    matrix, start = np.diag([2.0, 1.0, 0.5]), random_subspace(3, 1, rng)
    (basis,) = noisy_power_method(matrix, start, 1, lambda x: 0.3 * x[::-1])
    assert dist2(np.linalg.qr(matrix @ start + 0.3 * start[::-1])[0], basis) < 1e-9


@pytest.mark.parametrize(("gap", "tau"), [(0.1, 2.0), (0.5, 16.0), (0.04, 1e3)])
def test_the_noise_is_at_the_limit(gap, tau, rng):
    """5 ||G|| = eps gap, and 5 ||U^T G|| = gap / (tau sqrt(k d)) where that is the smaller; it works against U^T X."""
    dim, rank = 20, 2
    basis = random_subspace(dim, rank, rng)[None]
    (push,) = study.limit_noise(basis, rank, gap, tau)
    assert 5 * np.linalg.norm(push, 2) == pytest.approx(study.NEAR * gap)
    assert 5 * np.linalg.norm(push[:rank], 2) == pytest.approx(
        min(gap / (tau * math.sqrt(rank * dim)), study.NEAR * gap)
    )
    before = np.linalg.svd(basis[0, :rank], compute_uv=False)
    after = np.linalg.svd(basis[0, :rank] + push[:rank], compute_uv=False)
    assert (after < before).all()


def test_the_steady_state_of_the_limit_noise():
    """Tangent B = (1 - gap) B + eps gap / 5, so B = eps / 5 but for what is lost along U: well within eps."""
    path = study.npm_distances(20, 0.2, 1e6, 200, 10, 0)
    assert path[-1] == pytest.approx(np.full(10, study.NEAR / 5), rel=0.01)


def test_trials_and_their_failure_probability(rng):
    """T_0 of the lemma, and the binomial law against draws: three standard errors."""
    assert study.trials_needed(0.99, 0.05) == math.ceil(8 * 0.99 * math.log(20))
    for probability, failure in ((0.55, 0.1), (0.7, 0.01), (0.55, 0.05)):
        count = study.trials_needed(probability, failure)
        good = rng.binomial(count, probability, 40_000)
        failed = (good < count / 2).mean() + (good == count / 2).mean() / 2
        assert study.expected_failure(probability, failure) == pytest.approx(failed, abs=3 * 0.5 / 200)


def test_made_up_candidates_are_as_promised(rng):
    """Good ones within eps_i, bad ones just above eps_0; alike or scattered."""
    for bad in ("alike", "scattered"):
        some, truth = study.candidates(200, 0.5, bad, rng)
        distances = np.array([dist2(one, truth) for one in some])
        good = distances <= study.CANDIDATE
        assert 60 < good.sum() < 140
        assert distances[~good] == pytest.approx(1.001 * study.TARGET)
        first, second = some[~good][:2]
        assert (dist2(first, second) < 1e-9) == (bad == "alike")


def test_the_inequality_of_the_proof():
    """(69) holds at 0.01 and fails at 0.02; its largest eps_i is a third of what adding angles gives."""
    assert study.printed_gap(0.01, 0.2) < 0 < study.printed_gap(0.02, 0.2)
    assert study.largest_accuracy(0.2) == pytest.approx(0.019275, abs=1e-6)
    assert study.worst_that_passes(0.01) == pytest.approx(math.sin(3 * math.asin(0.01)), rel=1e-6)


def test_the_start_of_the_noisy_power_method():
    """ln tan of the largest angle of a random start grows by half of ln d."""
    assert study.log_start(640) - study.log_start(40) == pytest.approx(0.5 * math.log(16), abs=0.1)
