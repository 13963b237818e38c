"""shen2023, Algorithm 6 and Theorem G.1: the noisy power method, and the statistics of its study on stub tables."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import make_task
from scipy import stats

from privrep.methods.running.runner import fit
from privrep.users.simulated import Problem
from privrep.users.subspace import dist2, random_subspace
from replication.experiments.noisy_power_method import limit_noise, noisy_iterates
from replication.run.registry import load_options
from replication.studies.noisy_power_method import analysis


def silent(basis):
    return np.zeros_like(basis)


def test_without_noise_it_is_the_power_method(rng):
    """X_l spans A^l X_0, for several runs at once."""
    matrix = np.diag([3.0, 2.0, 1.5, 1.0, 0.2])
    starts = np.array([random_subspace(5, 2, rng) for _ in range(3)])
    path = noisy_iterates(matrix, starts, 6, silent)
    assert path.shape == (6, 3, 5, 2)
    for step, bases in enumerate(path, 1):
        for start, basis in zip(starts, bases, strict=True):
            expected = np.linalg.qr(np.linalg.matrix_power(matrix, step) @ start)[0]
            assert dist2(expected, basis) < 1e-9


def test_the_perturbation_sees_the_iterate_and_enters_before_the_qr(rng):
    """One step is QR(A X + G(X))."""
    matrix, start = np.diag([2.0, 1.0, 0.5]), random_subspace(3, 1, rng)
    (basis,) = noisy_iterates(matrix, start, 1, lambda x: 0.3 * x[::-1])
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


def told(problem: Problem, **options) -> dict[str, float]:
    """The numbers of the instrument; it looks at no user and releases nothing."""
    task = make_task(SimpleNamespace(problem=problem, blocks=None, truth=None))
    found = fit(load_options("noisy_power_method", options), task).log
    assert not task.ledger.entries
    return found


def test_iterations_are_those_of_the_tangent():
    """From a random start ln(tan / eps) / -ln(1 - gap), and one more for the last fraction; all runs end within eps."""
    found = told(Problem(1, 1, 40, 2), gap=0.04, tau=1e3, starts=40)
    law = (found["start_log_tangent"] - math.log(0.1)) / -math.log(0.96)
    assert law < found["iterations_needed"] < 1.03 * law + 1
    assert found["runs_within"] == 1
    assert found["iterations"] == int(math.log(2 * 40 * 1e3 / 0.1) / 0.04)


def test_iterations_are_counted_to_the_first_within_eps():
    """As a walk from the same start counts them, one step at a time."""
    problem, gap, accuracy = Problem(1, 1, 12, 2), 0.2, 0.1
    found = told(problem, gap=gap, tau=1e3, starts=3)
    matrix = np.diag(np.where(np.arange(12) < 2, 1.0, 1 - gap))
    steps = []
    for basis in np.linalg.qr(make_task(None).stream("init").standard_normal((3, 12, 2)))[0]:
        step = 0
        while dist2(basis, np.eye(12, 2)) > accuracy:
            basis = np.linalg.qr(matrix @ basis + limit_noise(basis, gap, 1e3, accuracy))[0]
            step += 1
        steps.append(step)
    assert found["iterations_needed"] == pytest.approx(np.mean(steps))


def test_iterations_grow_at_most_as_the_logarithm():
    """The ratio of Theorem G.1 and its interval agree with the points."""
    dims, spread = [10, 270], np.array([-1, -0.5, 0, 0.5, 1])
    needed = np.concatenate([10.5 + spread, 13.5 + spread])
    cells = pd.DataFrame({"dim": np.repeat(dims, 5), "seed": [*range(5)] * 2, "iterations_needed": needed})
    cells = cells.assign(series="noisy-d", log_term=np.log(20 * cells["dim"]), iterations_law=np.repeat([9.0, 12.0], 5))
    ratio = analysis.log_ratio(points := analysis.log_points(cells))
    assert list(points["dim"]) == dims
    assert list(points["predicted"]) == [9, 12]
    assert points["half"].iloc[0] == pytest.approx(stats.t.ppf(0.975, 4) * spread.std(ddof=1) / math.sqrt(5))
    shapes = points["iterations"] / points["log_term"]
    assert ratio.measured == pytest.approx(shapes.iloc[-1] / shapes.iloc[0])
    assert ratio.ci_low < ratio.measured < ratio.ci_high < 1
