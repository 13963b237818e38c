"""Units of the clipping thresholds, and that the printed ones clip nothing."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privrep.methods.altmin import AltminOptions
from privrep.methods.centaur import CentaurOptions
from privrep.methods.steps.clip_units import (
    FAILURE_POWER,
    SCALES,
    UPDATE_SCALES,
    USER_SCALES,
    gradient_threshold,
    label_threshold,
    moment_threshold,
)
from privrep.privacy.regression_moments import SampleClip
from privrep.users.simulated import Problem, Users

PROBLEM = Problem(400, 8, 9, 4, label_noise_sd=0.7, head_law="sphere")
ANISO = Problem(400, 8, 9, 4, label_noise_sd=0.7, head_law="aniso", head_condition=3.0)
GAUSS = Problem(400, 8, 9, 4, label_noise_sd=0.7)
TAIL = math.sqrt(2 * (math.log(4 * 400 * 8) + 10 * math.log(400)))
"""sqrt(2 ln(4 n m / beta)) for beta = n^-10."""


@pytest.mark.parametrize(
    ("scale", "problem", "feature", "label"),
    [
        ("absolute", PROBLEM, 1.0, 1.0),
        ("absolute", ANISO, 1.0, 1.0),
        ("data", PROBLEM, 2 * 3, 2 + 0.7),
        ("data", GAUSS, 2 * 3, 2 + 0.7),
        ("data", ANISO, 3 * 2 * 3, 3 * 2 + 0.7),
        ("printed", PROBLEM, 2 * (3 + TAIL), (2 + 0.7) * TAIL),
        ("printed", ANISO, 6 * (3 + TAIL), (6 + 0.7) * TAIL),
        ("printed", GAUSS, GAUSS.known.head_bound * (3 + TAIL), (GAUSS.known.head_bound + 0.7) * TAIL),
    ],
)
@pytest.mark.parametrize("factor", [1.0, 0.4])
def test_units(scale, problem, feature, label, factor):
    """eta and zeta by hand at d = 9, k = 4, where sqrt(d) = 3 and sqrt(k) = 2."""
    eta, zeta = SCALES[scale](problem.known)
    clip = SampleClip(factor * eta, 2 * factor * zeta)
    assert clip.feature == pytest.approx(factor * feature, rel=1e-12)
    assert label_threshold(scale, factor, problem.known) == pytest.approx(factor * label, rel=1e-12)
    assert clip.label == 2 * label_threshold(scale, factor, problem.known)


@pytest.mark.parametrize("scale", SCALES)
def test_all_clips_of_alternating_minimisation_are_in_the_units_of_their_scale(scale):
    """Those of Algorithm 3's labels, too."""
    clips = {"clip_feature": 0.5, "clip_label": 0.3, "init_label_clip": 0.7}
    options = AltminOptions(init="spectral", split="text", clip_scale=scale, **clips)
    known = replace(PROBLEM, samples=32).known
    found, (feature, label) = options.build(known), SCALES[scale](known)
    assert found.clip_feature == pytest.approx(0.5 * feature)
    assert (found.clip_label, found.init_label_clip) == pytest.approx((0.3 * label, 0.7 * label))
    assert found.clip_scale == "absolute"


@given(st.integers(1, 16), st.integers(100, 10**7))
def test_bound_of_gauss_heads_holds_with_the_stated_probability(rank, users):
    """n P(chi^2_k > bound^2) < 5 % for ranks up to 16, without a draw; and over 1e-6, so the bound is no idle one."""
    bound = Problem(users, 1, rank, rank).known.head_bound
    assert 1e-6 < users * stats.chi2.sf(bound**2, rank) < 0.05


@pytest.mark.parametrize("problem", [PROBLEM, ANISO, Problem(50, 200, 40, 2, 5.0, head_law="sphere")])
def test_printed_thresholds_fail_with_the_stated_probability(problem):
    """Tails of the longest head's label, of the noise and of ||x||, over all n m samples, sum to less than n^-10.

    Twice the longest tail at 0.9 times the threshold is above it, so the test would notice a smaller logarithm.
    """
    n, m, d = problem.users, problem.samples, problem.dim
    bound, sigma = problem.known.head_bound, problem.label_noise_sd
    clip = SampleClip(*SCALES["printed"](problem.known))
    eta, zeta = clip.feature, clip.label

    def log_failure(shrink: float) -> float:
        # |<theta, x>| <= bound t and |noise| <= sigma t with the same t keep |y| below zeta.
        t = shrink * zeta / (bound + sigma)
        tails = [math.log(4) + stats.norm.logsf(t), stats.chi.logsf(shrink * eta / bound, d)]
        return math.log(n * m) + float(np.logaddexp(*tails))

    assert FAILURE_POWER == 10
    assert log_failure(1.0) < -10 * math.log(n)
    assert log_failure(0.9) > -10 * math.log(n)


# Bounds on the updates of shen2023

HEAVY = Problem(400, 8, 9, 4, label_noise_sd=0.7, head_law="heavy", head_factor=3.0)
LOG = math.log(400)
LONG = 9 / (1 + 8 / 100)
"""mu^2 of HEAVY."""


@pytest.mark.parametrize(
    ("problem", "longest_squared"),
    [
        (PROBLEM, 4.0),
        (replace(PROBLEM, dim=25, rank=1), 1.0),
        (ANISO, 9 * 4.0),
        (HEAVY, LONG * 4.0),
        (GAUSS, 4 + 2 * math.sqrt(4 * LOG) + 2 * LOG),
    ],
)
@pytest.mark.parametrize("factor", [1.0, 0.4])
def test_units_of_updates(problem, longest_squared, factor):
    """With mu^2 k s_k^2 the squared length of the longest head; labels' noise plays no part.

    zeta_g = mu^2 k s_k^2 sqrt(d k ln n) (Theorem 5.1); zeta_0 = mu^2 k^1.5 s_k^2 sqrt(d) ln n (sqrt(ln n) + sqrt(k))
    (Lemma F.1).
    """
    d, k = problem.dim, problem.rank
    moment = longest_squared * k**0.5 * d**0.5 * LOG * (LOG**0.5 + k**0.5)
    expected = {
        "absolute": (1.0, 1.0),
        "practical": (d**0.5 * k**1.5, d**0.5 * k**1.5),
        "prescribed": (longest_squared * (d * k * LOG) ** 0.5, moment),
    }
    assert set(expected) == set(UPDATE_SCALES)
    for scale, (gradient, moment) in expected.items():
        assert gradient_threshold(scale, factor, problem.known) == pytest.approx(factor * gradient, rel=1e-12)
        assert moment_threshold(scale, factor, problem.known) == pytest.approx(factor * moment, rel=1e-12)
        built = CentaurOptions(rounds=1, batch_samples=k, clip_scale=scale, clip=factor, init_clip=factor)
        built = built.build(problem.known)
        assert (built.clip, built.init_clip) == (pytest.approx(factor * gradient), pytest.approx(factor * moment))


@pytest.mark.parametrize("problem", [PROBLEM, Problem(400, 8, 5, 1, head_law="sphere")])
def test_units_of_whole_users_are_root_mean_squares(problem):
    """||A_j||_F and ||b_j|| of users on their true heads, for features of the problem's own law."""
    users = Users(replace(problem, users=4000))
    features, labels, heads = [], [], []
    for block in users.blocks():
        features.append(block.features.transpose(1, 0, 2).astype(float))
        labels.append(block.labels.T.astype(float))
        heads.append(block.heads.astype(float))
    features, labels, heads = (np.concatenate(part) for part in (features, labels, heads))
    length = (heads**2).sum(axis=1)
    second = (np.linalg.norm(features @ features.transpose(0, 2, 1), axis=(1, 2)) * length) ** 2
    first = (np.einsum("uqd,uq->ud", features, labels) ** 2).sum(axis=1) * length
    for unit, squares in zip(USER_SCALES["data"](problem.known, 8), (second, first), strict=True):
        assert unit**2 == pytest.approx(squares.mean(), abs=5 * squares.std() / 4000**0.5)
    assert USER_SCALES["absolute"](problem.known, 8) == (1.0, 1.0)
