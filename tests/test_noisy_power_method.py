"""shen2023, Algorithm 6, and the study of Theorem G.1 and Lemma F.3 that needs no users."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import make_task

from privrep.algorithms.method import load_options
from privrep.data.problem import Problem
from privrep.data.subspace import dist2, random_subspace
from privrep.instruments.fitting import fit
from privrep.instruments.made_up_candidates import BAD, trials_needed
from privrep.instruments.noisy_power_method import least_cosine, limit_noise, noisy_power_method
from privrep.studies.power_method import measures as study


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
    dim, rank, accuracy = 20, 2, 0.1
    basis = random_subspace(dim, rank, rng)[None]
    (push,) = limit_noise(basis, gap, tau, accuracy)
    assert 5 * np.linalg.norm(push, 2) == pytest.approx(accuracy * gap)
    assert 5 * np.linalg.norm(push[:rank], 2) == pytest.approx(min(gap / (tau * math.sqrt(rank * dim)), accuracy * gap))
    before = np.linalg.svd(basis[0, :rank], compute_uv=False)
    after = np.linalg.svd(basis[0, :rank] + push[:rank], compute_uv=False)
    assert (after < before).all()


def told(name: str, problem: Problem, **options) -> dict[str, float]:
    """The numbers of an instrument; it looks at no user and releases nothing."""
    users = SimpleNamespace(problem=problem, blocks=None, truth=None)
    task = make_task(users, None)
    found = fit(load_options(name, options), task).log
    assert not task.ledger.entries
    return found


def test_the_steady_state_of_the_limit_noise():
    """Tangent B = (1 - gap) B + eps gap / 5, so B = eps / 5 but for what is lost along U: well within eps, and not within eps / 6."""
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((10, 20, 2)))[0]
    matrix = np.diag(np.where(np.arange(20) < 2, 1.0, 0.8))
    path = noisy_power_method(matrix, basis, 200, lambda one: limit_noise(one, 0.2, 1e6, 0.1))
    assert np.sqrt(1 - least_cosine(path[-1]) ** 2) == pytest.approx(np.full(10, 0.1 / 5), rel=0.01)


def test_iterations_are_those_of_the_tangent():
    """From a random start ln(tan / eps) / -ln(1 - gap) iterations, and one more for the last fraction; all runs end within eps."""
    found = told("noisy_power_method", Problem(1, 1, 40, 2), gap=0.04, tau=1e3, starts=40)
    law = (found["start_log_tangent"] - math.log(0.1)) / -math.log(0.96)
    assert law < found["iterations_needed"] < 1.03 * law + 1
    assert found["runs_within"] == 1
    assert found["iterations"] == int(math.log(2 * 40 * 1e3 / 0.1) / 0.04)


def test_iterations_are_counted_to_the_first_within_eps():
    """As a walk from the same start counts them, one step at a time."""
    problem, gap, accuracy = Problem(1, 1, 12, 2), 0.2, 0.1
    found = told("noisy_power_method", problem, gap=gap, tau=1e3, starts=3)
    matrix = np.diag(np.where(np.arange(12) < 2, 1.0, 1 - gap))
    users = SimpleNamespace(problem=problem, blocks=None, truth=None)
    steps = []
    for basis in np.linalg.qr(make_task(users, None).stream("init").standard_normal((3, 12, 2)))[0]:
        step = 0
        while dist2(basis, np.eye(12, 2)) > accuracy:
            basis = np.linalg.qr(matrix @ basis + limit_noise(basis, gap, 1e3, accuracy))[0]
            step += 1
        steps.append(step)
    assert found["iterations_needed"] == pytest.approx(np.mean(steps))


def test_a_small_tau_makes_runs_fail():
    """At tau = 2 the noise holds some runs away from U, which a random start of the same shape without it reaches."""
    problem, options = Problem(1, 1, 20, 2), {"gap": 0.5, "length": 4.0, "starts": 200}
    within = [told("noisy_power_method", problem, tau=tau, **options)["runs_within"] for tau in (2.0, 64.0)]
    assert within[0] < within[1]


def test_the_start_of_the_noisy_power_method():
    """ln tan of the largest angle of a random start grows by half of ln d."""
    options = {"gap": 0.5, "tau": 10.0, "length": 0.2, "starts": 1000}
    near, far = (told("noisy_power_method", Problem(1, 1, dim, 2), **options) for dim in (40, 640))
    assert far["start_log_tangent"] - near["start_log_tangent"] == pytest.approx(0.5 * math.log(16), abs=0.15)


def test_trials_and_their_failure_probability(rng):
    """T_0 of the lemma, and the binomial law against draws: three standard errors."""
    assert trials_needed(0.99, 0.05) == math.ceil(8 * 0.99 * math.log(20))
    for probability, failure in ((0.55, 0.1), (0.7, 0.01), (0.55, 0.05)):
        count = trials_needed(probability, failure)
        good = rng.binomial(count, probability, 40_000)
        failed = (good < count / 2).mean() + (good == count / 2).mean() / 2
        assert study.expected_failure(probability, failure) == pytest.approx(failed, abs=3 * 0.5 / 200)


def test_made_up_candidates_are_as_promised(rng):
    """Good ones within eps_i, bad ones just above eps_0; alike or scattered."""
    for bad in BAD:
        method = load_options("made_up_candidates", {"good_share": 0.5, "failure": 0.1, "bad": bad}).build(
            Problem(1, 1, 12, 2)
        )
        some, truth = method.candidates(200, 12, 2, rng)
        distances = np.array([dist2(one, truth) for one in some])
        good = distances <= 0.01
        assert 60 < good.sum() < 140
        assert distances[~good] == pytest.approx(1.001 * 0.2)
        first, second = some[~good][:2]
        assert (dist2(first, second) < 1e-9) == (bad == "alike")


@pytest.mark.parametrize(("good_share", "low", "high"), [(0.999, 0.0, 0.0), (0.05, 0.9, 1.0), (0.55, 0.1, 0.7)])
def test_failures_of_the_selection(good_share, low, high):
    """None among good candidates, all among bad ones; with p just over a half about as many as the binomial law says."""
    options = {"good_share": good_share, "failure": 0.1, "bad": "alike", "selections": 60}
    found = told("made_up_candidates", Problem(1, 1, 12, 2), **options)
    assert found["candidates"] == trials_needed(good_share, 0.1)
    assert low <= found["failed_share"] <= high


def test_the_inequality_of_the_proof():
    """(69) holds at 0.01 and fails at 0.02; its largest eps_i is a third of what adding angles gives."""
    assert study.printed_gap(0.01, 0.2) < 0 < study.printed_gap(0.02, 0.2)
    assert study.largest_accuracy(0.2) == pytest.approx(0.019275, abs=1e-6)
    assert study.worst_that_passes(0.01) == pytest.approx(math.sin(3 * math.asin(0.01)), rel=1e-6)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("noisy_power_method", {"gap": 1.0, "tau": 2.0}, "gap is 1.0"),
        ("noisy_power_method", {"gap": 0.1, "tau": 0.0}, "tau is 0.0"),
        ("noisy_power_method", {"gap": 0.1, "tau": 2.0, "length": math.inf}, "length is inf"),
        ("noisy_power_method", {"gap": 0.1, "tau": 2.0, "starts": 0}, "starts is 0"),
        ("made_up_candidates", {"good_share": 0.0, "failure": 0.1, "bad": "alike"}, "good_share is 0.0"),
        ("made_up_candidates", {"good_share": 0.5, "failure": 0.1, "bad": "odd"}, "bad is 'odd'"),
        ("made_up_candidates", {"good_share": 0.5, "failure": 0.1, "bad": "alike", "selections": 0}, "selections is 0"),
    ],
)
def test_options_out_of_range(name, options, message):
    with pytest.raises(ValueError, match=message):
        load_options(name, options)


def test_sizes_that_cannot_be():
    """The perturbation needs k directions outside of U."""
    with pytest.raises(ValueError, match="dim is 3; it must be at least twice the rank, 2"):
        load_options("noisy_power_method", {"gap": 0.1, "tau": 2.0}).build(Problem(1, 1, 3, 2))
