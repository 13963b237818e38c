"""What Algorithm 2's step keeps under its clip, and the noise that it leaves."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import fixed_noise, make_task

from privrep.methods.altmin import AltminOptions
from privrep.methods.running.runner import fit
from privrep.methods.steps.clip_units import USER_SCALES
from privrep.theory import jain2021
from privrep.theory.clipped_step import kept, sample_step, user_step
from privrep.users.problem import Problem, Users
from privrep.users.subspace import dist_frobenius


def test_no_clip_keeps_all():
    """alpha = beta = 1 far above the data, and the law is F3."""
    assert kept(20, 2, 1e9, 1e9) == (pytest.approx(1, abs=1e-3), pytest.approx(1, abs=1e-3))
    step = sample_step(10**7, 20, 2, 0.8, 30.0, 12.0)
    assert step.ratio(20, 2) == pytest.approx(jain2021.noise_ratio(10**7, 20, 2, 0.8, 30.0), rel=1e-3)
    assert step.frobenius(20, 2) == pytest.approx(jain2021.step_privacy(10**7, 20, 2, 0.8, 30.0, 12.0), rel=1e-3)


@pytest.mark.parametrize(("feature", "label"), [(3.0, 1.0), (7.0, 0.2), (1e-4, 1e-4)])
def test_what_is_kept_is_what_a_draw_keeps(feature, label):
    """alpha and beta against 400,000 samples."""
    rng = np.random.default_rng(5)
    points = rng.standard_normal((400_000, 10))
    labels = np.sqrt(3) * points[:, 0]
    factor = np.minimum(1, feature / (np.sqrt(3) * np.linalg.norm(points, axis=1)))
    alpha, beta = kept(10, 3, feature, label)
    assert alpha == pytest.approx((factor**2 * (points**2).sum(axis=1)).mean() / 10, rel=0.01)
    assert beta == pytest.approx((factor * np.clip(labels, -label, label) * labels).mean() / 3, rel=0.01)


def test_a_small_clip_has_no_size():
    """Once all is cut, noise and signal shrink alike."""
    one, other = (sample_step(10**5, 40, 2, 0.6, size, size) for size in (1e-4, 1e-2))
    assert one.frobenius(40, 2) == pytest.approx(other.frobenius(40, 2), rel=1e-6)
    assert one.frobenius(40, 2) < sample_step(10**5, 40, 2, 0.6, 1.5 * 80**0.5, 3.5 * 2**0.5).frobenius(40, 2) / 2


@pytest.mark.parametrize("unit", ["sample", "user"])
def test_the_step_leaves_as_much_as_the_law(unit):
    """One step from a near-perfect start, with clips below the data, on the floor's own users."""
    problem = Problem(20_000, 32, 20, 2, head_law="sphere")
    clips = {"clip_feature": 0.5, "clip_label": 0.5, "clip_scale": "data", "clip_unit": unit}
    algorithm = AltminOptions(init="planted", start_sine=0.0, split="halves-then-all", **clips)
    users, delta = Users(problem), 1.5
    noisy, silent = (fit(algorithm, make_task(users, fixed_noise(noise))).subspace for noise in (delta, 0.0))
    truth = users.truth.basis
    measured = (dist_frobenius(noisy, truth) ** 2 - dist_frobenius(silent, truth) ** 2) ** 0.5
    bounds = algorithm.build(problem.known).clip
    if unit == "sample":
        law = sample_step(20_000, 20, 2, delta, bounds.feature, bounds.label)
    else:
        law = user_step(20_000, 16, delta, (0.5, 0.5), USER_SCALES["data"](problem.known, 16))
    assert measured == pytest.approx(law.frobenius(20, 2), rel=0.25)
