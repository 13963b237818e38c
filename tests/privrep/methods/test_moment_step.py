"""Algorithm 2 of jain2021: the statistics, the noise that reaches them, and the solve."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import gather, handle
from pieces import moments, shortened

from privrep.methods.spectral_init import SamplePairs
from privrep.methods.steps.moment_step import FALLBACKS, MomentStep, UserMoments
from privrep.privacy.mechanisms import NamedSum
from privrep.privacy.paired_samples import DisjointPairs
from privrep.privacy.regression_moments import SampleClip, UserClip
from privrep.users.simulated import Problem, Users

PROBLEM = Problem(40, 8, 5, 2, label_noise_sd=0.2)


def own_heads(block):
    return block.heads


own_heads.name = "own heads"


def by_hand(users, batch, samples, rule):
    """A and b by loops over users and samples in float64; entry c*d + r of vec(x v^T) is x_r v_c."""
    features, labels, heads = gather(users)
    size = features.shape[2] * heads.shape[1]
    second, first = np.zeros((size, size)), np.zeros(size)
    for j in batch:
        own_second, own_first = np.zeros((size, size)), np.zeros(size)
        for i in range(*samples.indices(len(features))):
            w = np.outer(features[i, j], heads[j]).ravel(order="F")
            y = labels[i, j]
            if isinstance(rule, SampleClip):
                w, y = shortened(w, rule.feature), float(shortened(np.array([y]), rule.label)[0])
            own_second += np.outer(w, w)
            own_first += y * w
        if isinstance(rule, UserClip):
            own_second, own_first = shortened(own_second, rule.second), shortened(own_first, rule.first)
        second += own_second
        first += own_first
    return second, first


RULES = [
    SampleClip(3.0, 1.0),
    SampleClip(1e-4, 1e-4),
    SampleClip(math.inf, math.inf),
    SampleClip(3.0, math.inf),
    UserClip(20.0, 8.0),
    UserClip(1e-4, 1e-4),
    UserClip(1e6, 1e6),
]


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize(("batch", "samples"), [(range(40), slice(0, 8)), (range(7, 23), slice(3, 6))])
def test_moments_are_those_of_the_print(rule, batch, samples):
    """Clip each w and y (or each user), sum over batch and samples: against loops in float64, up to rounding."""
    users = Users(PROBLEM)
    expected = by_hand(users, batch, samples, rule)
    for got, want in zip(moments(users, batch, own_heads, samples, rule), expected, strict=True):
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, want, atol=1e-5 * np.abs(want).max())


class Spy:
    """Replaces numpy.linalg.eigh and keeps what it was given: the released matrix."""

    def __init__(self, monkeypatch):
        self.seen, self._eigh = [], np.linalg.eigh
        monkeypatch.setattr(np.linalg, "eigh", self)

    def __call__(self, matrix):
        self.seen.append(matrix.copy())
        return self._eigh(matrix)


def exact_step(users, rule=None, batch=None, samples=None):
    step = MomentStep(samples or slice(0, users.known.samples), rule or SampleClip(math.inf, math.inf))
    return step(users, own_heads, handle(users).of(batch or range(users.known.users)))


def test_min_eigenvalue_is_relative_to_the_mean_magnitude():
    """Smallest eigenvalue of the released A over the mean magnitude of all, the mean diagonal entry if A is PSD."""
    users = Users(PROBLEM)
    second = moments(users, range(40), own_heads, slice(0, 8), SampleClip(math.inf, math.inf))[0]
    expected = np.linalg.eigvalsh(second)[0] / np.diag(second).mean()
    assert exact_step(users).min_eigenvalue == pytest.approx(expected, rel=1e-9)
    assert expected > 0


def test_min_eigenvalue_is_negative_whenever_the_minimum_does_not_exist(monkeypatch):
    """The sign tells whether A is positive definite, also when noise dominates its trace (E21)."""
    spy = Spy(monkeypatch)
    for seed in range(30):
        release = handle(40, [0.01, 1.0, 100.0][seed % 3], np.random.default_rng(seed))
        step = MomentStep(slice(0, 8), SampleClip(1.0, 1.0))(Users(PROBLEM), own_heads, release)
        smallest = np.linalg.eigvalsh(spy.seen[-1])[0]
        assert (step.min_eigenvalue < 0) == (smallest < 0), f"smallest {smallest}, reported {step.min_eigenvalue}"


@pytest.mark.parametrize("rule", [SampleClip, UserClip])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_bad_clips_are_named(rule, bad):
    with pytest.raises(ValueError, match=r"^clip_feature is "):
        rule(bad, 1.0)
    with pytest.raises(ValueError, match=r"^clip_label is "):
        rule(1.0, bad)


EIGENVALUES = np.array([-7.0, -2.0, 0.0, 1.0, 5.0])


@pytest.mark.parametrize(
    ("name", "norm", "expected"),
    [
        ("solve", 2.0, [-7, -2, 0, 1, 5]),
        ("ridge", 2.0, [-5, 0, 2, 3, 7]),
        ("ridge", 8.0, [1, 6, 8, 9, 13]),
        ("eigclip", 2.0, [2, 2, 2, 2, 5]),
        ("eigclip", 8.0, [8, 8, 8, 8, 8]),
        *((name, 0.0, [-7, -2, 0, 1, 5]) for name in FALLBACKS),
    ],
)
def test_fallbacks_on_given_eigenvalues(name, norm, expected):
    """What is inverted in their place; without noise they stand, whatever their sign."""
    np.testing.assert_array_equal(FALLBACKS[name](EIGENVALUES.copy(), norm), expected)


def fallen_back(fallback, users, multiplier=1.0, seed=0, rule=None):
    step = MomentStep(slice(0, 8), rule or SampleClip(3.0, 1.0), fallback)
    return step(users, own_heads, handle(users, multiplier, np.random.default_rng(seed)))


@pytest.mark.parametrize("rule", [SampleClip(3.0, 1.0), UserClip(20.0, 8.0)], ids=repr)
@pytest.mark.parametrize("fallback", ["ridge", "eigclip"])
def test_fallbacks_solve_a_positive_definite_system(fallback, rule, monkeypatch):
    """(A + c I) x = b, or A with its eigenvalues raised to c, for c = 2 sA sqrt(dk), where noisy A is indefinite."""
    users = Users(PROBLEM)
    norm = 2 * (2 * rule.bounds(8)[0] * 1.0) * 10**0.5
    spy = Spy(monkeypatch)
    for seed in range(20):
        plain, chosen = (fallen_back(name, users, seed=seed, rule=rule) for name in ("solve", fallback))
        second = spy.seen[-1]
        np.testing.assert_array_equal(second, spy.seen[-2])
        first = second @ plain.minimiser.ravel(order="F")
        values, vectors = spy._eigh(second)
        assert values[0] < 0
        if fallback == "ridge":
            system = second + norm * np.eye(10)
        else:
            system = vectors @ np.diag(np.maximum(values, norm)) @ vectors.T
        np.linalg.cholesky(system)
        np.testing.assert_allclose(chosen.minimiser.ravel(order="F"), np.linalg.solve(system, first), rtol=1e-7)
        assert chosen.min_eigenvalue == plain.min_eigenvalue < 0


@pytest.mark.parametrize("symmetry", ["copied", "averaged"])
def test_noise_is_made_symmetric_as_asked(symmetry, monkeypatch):
    """The upper triangle copied, or the mean with the transpose, of norm less by sqrt(2): `ridge` raises A by that."""
    users, rule, spy = Users(PROBLEM), SampleClip(3.0, 1.0), Spy(monkeypatch)
    exact, noisy = (
        MomentStep(slice(0, 8), rule, "ridge", symmetry)(users, own_heads, handle(users, multiplier))
        for multiplier in (0.0, 0.5)
    )
    bounds = 2 * np.array(rule.bounds(8)) * 0.5
    generator = np.random.default_rng(0)
    drawn, beside = generator.normal(0.0, bounds[0], (10, 10)), generator.normal(0.0, bounds[1], 10)
    added = (drawn + drawn.T) / 2 if symmetry == "averaged" else np.triu(drawn) + np.triu(drawn, 1).T
    second, first = spy.seen[-2], spy.seen[-2] @ exact.minimiser.ravel(order="F") + beside
    np.testing.assert_allclose(spy.seen[-1], second + added, rtol=1e-9)
    norm = 2 * bounds[0] * (10 / (2 if symmetry == "averaged" else 1)) ** 0.5
    expected = np.linalg.solve(second + added + norm * np.eye(10), first)
    np.testing.assert_allclose(noisy.minimiser.ravel(order="F"), expected, rtol=1e-6)


def test_a_sum_is_of_its_samples_and_participants_whatever_the_users_keep():
    """Named sums are kept: those of other samples and of everybody must not stand in."""
    kept, some, parts = Users(PROBLEM), np.arange(40) % 3 > 0, (slice(0, 4), slice(0, 8), slice(4, 8))
    for samples, taking_part in itertools.product(parts, (None, some)):
        for contribution, clip in (
            (UserMoments(own_heads, samples), SampleClip(3.0, 1.0)),
            (SamplePairs(samples, DisjointPairs), 1.0),
        ):
            fresh, found = (
                replace(handle(users), taking_part=taking_part).sums(users, contribution, NamedSum("sum", clip))
                for users in (Users(PROBLEM), kept)
            )
            case = f"{type(contribution).__name__} of {samples}, all users: {taking_part is None}"
            for one, other in zip(fresh, found, strict=True):
                np.testing.assert_array_equal(one.value, other.value, case)
