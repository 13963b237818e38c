"""Every mechanism's noise, by its distribution; clipping; and what each mechanism writes to the ledger.

Each check of a standard deviation is a two-sided chi-square test with false-alarm rate 1e-6 (`conftest.check_sd`),
which must also reject the sd times or over sqrt(2) and 2. Correlations are tested at the same rate.
"""

import math

import numpy as np
import pytest
from conftest import FALSE_ALARM, check_sd, fake_users, handle, sd_matches, uncorrelated
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from privrep.privacy.clipping import check_bound, clip_factor, clip_scalar
from privrep.privacy.contributions import Rows, Semidefinite, SymmetricOuter
from privrep.privacy.ledger import GaussianRelease, Ledger
from privrep.privacy.mechanisms import Part, Release
from privrep.privacy.noise import Law, Noise, symmetric_noise
from privrep.privacy.paired_samples import DisjointPairs
from privrep.privacy.regression_moments import DOMINATED, Moments, SampleClip, UserClip

MULTIPLIER = 1.7
DRAWS = 300


USERS = fake_users(np.zeros((2, 9, 2)), np.zeros((2, 9)), np.zeros((9, 1)))


def pairs_of_nothing(block) -> DisjointPairs:
    return DisjointPairs(block.features, block.labels, block.feature_norms)


def opened(rng, ledger, multiplier) -> Release:
    """A release handle for the users 3 to 8."""
    return handle(9, multiplier, rng, ledger).of(range(3, 9))


def vector(rng, ledger=None, *, value=None, bound=0.4, multiplier=MULTIPLIER):
    value = np.zeros((5, 2)) if value is None else value
    return opened(rng, ledger, multiplier)._gaussian("v", (value,), Rows(value[None]).law(bound))[0]


def symmetric(rng, ledger=None, *, value=None, bound=0.4, multiplier=MULTIPLIER):
    """Of one pair of samples."""
    value = np.zeros((5, 5)) if value is None else value
    law = DisjointPairs(np.zeros((2, 1, 5)), np.zeros((2, 1)), np.ones((2, 1))).law(math.sqrt(bound))
    return opened(rng, ledger, multiplier)._gaussian("s", (value,), law)[0]


def opposite(rng, ledger=None, *, value=None, bound=0.4, multiplier=MULTIPLIER):
    value = np.zeros((5, 5)) if value is None else value
    law = SymmetricOuter(value[:1], value[:1]).law(bound)
    return opened(rng, ledger, multiplier)._gaussian("o", (value,), law)[0]


def semidefinite(rng, ledger=None, *, value=None, bound=0.4, multiplier=MULTIPLIER):
    value = np.zeros((5, 5)) if value is None else value
    return opened(rng, ledger, multiplier)._gaussian("p", (value,), Semidefinite(value[:1]).law(bound))[0]


SAMPLE_CLIP = SampleClip(0.4**0.5, 3.0 / 0.4**0.5)
"""Bounds (0.4, 3) for one sample."""


def moments(rng, ledger=None, *, value=None, multiplier=MULTIPLIER, clip=SAMPLE_CLIP, averaged=False):
    """Of one sample."""
    value = (np.zeros((6, 6)), np.zeros(6)) if value is None else value
    kind = Moments(np.zeros((1, 1, 3)), np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 2)), averaged)
    return opened(rng, ledger, multiplier)._gaussian("m", value, kind.law(clip))


def of_two(bounds: tuple[float, float]) -> Law:
    """Of A and b with any bounds."""
    return Law(math.sqrt(DOMINATED), 1.0, (Noise(2 * bounds[0], "copied"), Noise(2 * bounds[1])), bounds)


def triangles(matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Diagonals and strict upper triangles of a stack of matrices."""
    rows, columns = np.triu_indices(matrices.shape[-1], 1)
    return np.diagonal(matrices, axis1=1, axis2=2), matrices[:, rows, columns]


def check_symmetric_noise(noise: np.ndarray, sd: float) -> None:
    """N_sym(0, sd^2): symmetric, the same sd on and off the diagonal, independent above the diagonal."""
    np.testing.assert_array_equal(noise, noise.transpose(0, 2, 1))
    diagonal, above = triangles(noise)
    check_sd(diagonal, sd)
    check_sd(above, sd)
    assert uncorrelated(above[:, 0], above[:, 1])
    assert uncorrelated(diagonal[:, 0], diagonal[:, 1])
    assert uncorrelated(diagonal[:, 0], above[:, 0])
    assert uncorrelated(noise[:-1], noise[1:])


def test_symmetric_noise(rng):
    """sd 0.6 in every entry; the average (N + N^T)/2 of a full matrix would have sd 0.6/sqrt(2) off the diagonal."""
    check_symmetric_noise(np.stack([symmetric_noise(6, 0.6, rng) for _ in range(DRAWS)]), 0.6)
    full = rng.normal(0, 0.6, (DRAWS, 6, 6))
    averaged = triangles((full + full.transpose(0, 2, 1)) / 2)[1]
    assert not sd_matches(averaged, 0.6)
    summed = triangles(np.triu(full) + np.triu(full).transpose(0, 2, 1))[0]
    assert not sd_matches(summed, 0.6)


def test_release_symmetric_noise(rng):
    """sd = Delta * 2 * bound on each entry of the upper triangle (Lemma 4.5)."""
    value = np.full((5, 5), 7.0)
    noise = np.stack([symmetric(rng, value=value) - value for _ in range(DRAWS)])
    check_symmetric_noise(noise, MULTIPLIER * 2 * 0.4)


def test_release_semidefinite_noise(rng):
    """sqrt(2) * bound * Delta on the diagonal and 1/sqrt(2) of it beside; symmetric and independent.
    The sd of `symmetric` is rejected."""
    value, sd = np.full((5, 5), 7.0), MULTIPLIER * 2**0.5 * 0.4
    noise = np.stack([semidefinite(rng, value=value) - value for _ in range(DRAWS)])
    np.testing.assert_array_equal(noise, noise.transpose(0, 2, 1))
    diagonal, above = triangles(noise)
    check_sd(diagonal, sd)
    check_sd(above, sd / 2**0.5)
    assert not sd_matches(diagonal, MULTIPLIER * 2 * 0.4)
    assert not sd_matches(above, sd)
    assert uncorrelated(above[:, 0], above[:, 1])
    assert uncorrelated(diagonal[:, 0], diagonal[:, 1])
    assert uncorrelated(diagonal[:, 0], above[:, 0])
    assert uncorrelated(noise[:-1], noise[1:])


@pytest.mark.parametrize("release", [semidefinite, opposite])
def test_averaged_noise_is_isotropic(release, rng):
    """In every direction of symmetric matrices of Frobenius norm 1 the noise has the sd of the ledger,
    so that differences count by that norm."""
    ledger = Ledger()
    noise = np.stack([release(rng, ledger) for _ in range(4 * DRAWS)])
    for _ in range(5):
        direction = rng.standard_normal((5, 5))
        direction += direction.T
        direction /= np.linalg.norm(direction)
        check_sd((noise * direction).sum(axis=(1, 2)), ledger.entries[0].noise_sd)


def test_semidefinite_sums_move_by_root_two(rng):
    """Positive semidefinite matrices of norm 1 differ by sqrt(2) at most, attained by orthogonal ones;
    others, by 2, are not such matrices."""
    found = []
    for _ in range(300):
        rank = rng.integers(1, 4)
        pair = [factor @ factor.T for factor in rng.standard_normal((2, 4, rank))]
        found.append(np.linalg.norm(np.subtract(*[one / np.linalg.norm(one) for one in pair])))
    sensitivity, ledger = 2**0.5, Ledger()
    semidefinite(rng, ledger, bound=1.0)
    assert ledger.entries[0].sensitivity == pytest.approx(sensitivity, rel=1e-14)
    assert 0.9 * sensitivity < max(found) <= sensitivity * (1 + 1e-12)
    assert np.linalg.norm(np.diag([1.0, 0]) - np.diag([0, 1.0])) == pytest.approx(sensitivity, rel=1e-14)


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=40), st.floats(1e-3, 1e3))
def test_shares_that_add_to_one_cost_what_one_release_does(shares, multiplier):
    """mu of all is that of one release at the whole multiplier, whatever the mechanisms;
    shares that add to two cost sqrt(2) times as much."""
    shares = np.array(shares) / sum(shares)
    for times in (1, 2):
        ledger, rng = Ledger(), np.random.default_rng(0)
        for number, share in enumerate(times * shares):
            part = opened(rng, ledger, multiplier).share(share)
            if number % 3 == 0:
                part.sum("v", USERS, lambda block: Rows(np.zeros((block.users, 2))), clip=0.3)
            elif number % 3 == 1:
                part.sum("p", USERS, lambda block: Semidefinite(np.zeros((block.users, 2))), clip=7.0)
            else:
                part.sum("s", USERS, pairs_of_nothing, clip=2.0)
        assert ledger.mu == pytest.approx(times**0.5 / multiplier, rel=1e-9)


def test_a_share_of_no_noise_is_no_noise(rng):
    """The release handle keeps users, stream and ledger; multiplier 0 stays 0, and a part of the noise comes with a
    part of the share."""
    whole = opened(rng, Ledger(), 0.0)
    assert whole.share(0.2).noise_multiplier == 0
    part = opened(rng, Ledger(), 0.9).share(0.25)
    assert part.noise_multiplier == pytest.approx(1.8, rel=1e-14)
    assert part.share(0.25).noise_multiplier == pytest.approx(3.6, rel=1e-14)
    assert (part.users, part.role) == (range(3, 9), "noise")
    assert part.start().role == "init_noise"


def test_release_vector_noise(rng):
    """sd = Delta * 2 * bound on each entry, independent over entries and releases."""
    value = np.arange(10.0).reshape(5, 2)
    noise = np.stack([vector(rng, value=value) - value for _ in range(DRAWS)])
    check_sd(noise, MULTIPLIER * 2 * 0.4)
    assert uncorrelated(noise[:, 0, 0], noise[:, 0, 1])
    assert uncorrelated(noise[:, 0, 0], noise[:, 1, 0])
    assert uncorrelated(noise[:-1], noise[1:])


def test_release_moments_noise(rng):
    """A: 2 a Delta on diagonal and off it. b: 2 b Delta. No correlation between A and b, or between two releases."""
    value = np.full((6, 6), 5.0), np.full(6, -2.0)
    pairs = [moments(rng, value=value) for _ in range(DRAWS)]
    second = np.stack([pair[0] for pair in pairs]) - 5.0
    first = np.stack([pair[1] for pair in pairs]) + 2.0
    check_symmetric_noise(second, MULTIPLIER * 2 * 0.4)
    check_sd(first, MULTIPLIER * 2 * 3.0)
    assert uncorrelated(first[:-1], first[1:])
    assert uncorrelated(first[:, 0], first[:, 1])
    for row in range(6):
        assert uncorrelated(second[:, row], first)


def test_averaged_noise_of_moments_is_isotropic(rng):
    """Averaged, the noise of A has sd 2 a Delta in every direction of the symmetric matrices, and is independent of
    that of b; one entry, as with a copied triangle, whose noise is larger in some directions."""
    pairs = [moments(rng, averaged=True) for _ in range(4 * DRAWS)]
    second, first = (np.stack(part) for part in zip(*pairs, strict=True))
    np.testing.assert_array_equal(second, second.transpose(0, 2, 1))
    check_sd(first, MULTIPLIER * 2 * 3.0)
    for _ in range(5):
        direction = rng.standard_normal((6, 6))
        direction += direction.T
        direction /= np.linalg.norm(direction)
        check_sd((second * direction).sum(axis=(1, 2)), MULTIPLIER * 2 * 0.4)
        assert uncorrelated((second * direction).sum(axis=(1, 2)), first[:, 0])
    ledgers = [Ledger(), Ledger()]
    for ledger, averaged in zip(ledgers, (False, True), strict=True):
        moments(rng, ledger, averaged=averaged)
    assert ledgers[0].entries == ledgers[1].entries


@pytest.mark.parametrize(
    "release", [vector, symmetric, opposite, lambda rng: moments(rng)[0], lambda rng: moments(rng)[1]]
)
def test_noise_is_normal(release, rng):
    """Kolmogorov-Smirnov at rate 1e-6; Laplace noise of the same sd is rejected."""
    sample = np.concatenate([np.triu(np.atleast_2d(release(rng))).ravel() for _ in range(600)])
    sample = sample[sample != 0]
    sample /= sample.std()
    assert stats.kstest(sample, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(rng.laplace(0, 2**-0.5, len(sample)), "norm").pvalue < FALSE_ALARM


def test_a_stream_that_is_used_twice_is_noticed():
    """The independence check rejects two releases that were given the same stream."""
    first, second = (
        np.stack([vector(generator) for _ in range(100)]) for generator in map(np.random.default_rng, (1, 1))
    )
    assert not uncorrelated(first, second)


def test_noise_of_a_and_b_from_one_stream_is_noticed():
    """The independence check rejects b that reuses the noise of A's first row."""
    generators = np.random.default_rng(1), np.random.default_rng(1)
    second = np.stack([symmetric_noise(6, 1.0, generators[0])[0] for _ in range(100)])
    first = np.stack([symmetric_noise(6, 2.0, generators[1])[0] for _ in range(100)])
    assert not uncorrelated(second, first)


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        (vector, GaussianRelease("v", 0.8, 0.8 * MULTIPLIER, 3, 9)),
        (symmetric, GaussianRelease("s", 0.8, 0.8 * MULTIPLIER, 3, 9)),
        (opposite, GaussianRelease("o", 0.8, 0.8 * MULTIPLIER, 3, 9)),
        (semidefinite, GaussianRelease("p", 0.4 * 2**0.5, 0.4 * 2**0.5 * MULTIPLIER, 3, 9)),
        (moments, GaussianRelease("m", math.sqrt(9 / 8), MULTIPLIER, 3, 9)),
        (
            lambda rng, ledger: moments(rng, ledger, clip=UserClip(0.4, 3.0)),
            GaussianRelease("m", math.sqrt(3 / 2), MULTIPLIER, 3, 9),
        ),
    ],
)
def test_each_release_writes_one_entry(release, expected, rng):
    """Name, sensitivity, sd and users; (A, b) is one entry with its joint sensitivity (claim E61)."""
    ledger = Ledger()
    release(rng, ledger)
    assert len(ledger.entries) == 1
    entry = ledger.entries[0]
    assert (entry.name, entry.start, entry.stop) == (expected.name, expected.start, expected.stop)
    assert entry.sensitivity == pytest.approx(expected.sensitivity, rel=1e-14)
    assert entry.noise_sd == pytest.approx(expected.noise_sd, rel=1e-14)
    assert entry.mu == pytest.approx(expected.sensitivity / expected.noise_sd, rel=1e-14)


@pytest.mark.parametrize("release", [vector, symmetric, opposite, semidefinite, moments])
def test_multiplier_zero_is_recorded_as_unprotected(release, rng):
    """Values pass unchanged, no noise is drawn, and the ledger says mu = inf."""
    ledger = Ledger()
    state = rng.bit_generator.state
    released = release(rng, ledger, multiplier=0.0)
    for part in released if release is moments else [released]:
        assert not part.any()
    assert rng.bit_generator.state == state
    assert [entry.mu for entry in ledger.entries] == [math.inf]


@pytest.mark.parametrize("release", [vector, symmetric, opposite, semidefinite, moments])
def test_the_statistic_is_not_overwritten(release, rng):
    """The exact value stays as it was: noise goes to a copy."""
    value = (np.ones((6, 6)), np.ones(6)) if release is moments else np.ones((5, 5))
    release(rng, value=value)
    for part in value:
        np.testing.assert_array_equal(part, 1)


@pytest.mark.parametrize("release", [vector, symmetric, opposite, semidefinite, moments])
@pytest.mark.parametrize("multiplier", [-1.0, math.nan])
def test_bad_multiplier_is_refused(release, multiplier, rng):
    """Nothing is released and nothing recorded."""
    ledger = Ledger()
    with pytest.raises(ValueError, match=r"^noise_multiplier is"):
        release(rng, ledger, multiplier=multiplier)
    assert not ledger.entries


@pytest.mark.parametrize("bound", [0.0, -1.0, math.inf, math.nan])
def test_private_release_needs_finite_bounds(bound, rng):
    """Without a bound on a user there is no sensitivity; without noise there needs to be none."""
    ledger = Ledger()
    released = opened(rng, ledger, MULTIPLIER)
    calls = (
        lambda: vector(rng, ledger, bound=bound),
        lambda: released.sum("v", USERS, lambda block: Rows(np.ones((block.users, 2))), clip=bound),
        lambda: released._gaussian("s", (np.zeros((2, 2)),), Law.of_one(2 * bound, bound, "copied")),
        lambda: opposite(rng, ledger, bound=bound),
        lambda: semidefinite(rng, ledger, bound=bound),
        lambda: released._gaussian("m", (np.zeros((2, 2)), np.zeros(2)), of_two((bound, 1.0))),
        lambda: released._gaussian("m", (np.zeros((2, 2)), np.zeros(2)), of_two((1.0, bound))),
    )
    state = rng.bit_generator.state
    for call in calls:
        with pytest.raises(ValueError, match="positive and finite"):
            call()
    assert not ledger.entries and rng.bit_generator.state == state
    vector(rng, ledger, bound=math.inf, multiplier=0.0)
    assert ledger.mu == math.inf


norms = hnp.arrays(np.float32, st.integers(1, 20), elements=st.floats(0, 2.0**60, width=32))


@given(norms, st.floats(1e-6, 1e6))
def test_clip_factor(norm, bound):
    """min(1, c/||a||), 1 at norm 0: never lengthens, never leaves a norm over the bound, keeps the dtype."""
    factor = clip_factor(norm, bound)
    assert factor.dtype == norm.dtype
    assert ((factor >= 0) & (factor <= 1)).all()
    assert (factor.astype(float) * norm.astype(float) <= bound * (1 + 1e-6)).all()
    np.testing.assert_array_equal(factor[norm <= bound], 1)
    clipped = norm > bound
    np.testing.assert_allclose(factor[clipped] * norm[clipped], bound, rtol=1e-5)


def test_clip_factor_without_a_bound():
    """inf switches clipping off."""
    np.testing.assert_array_equal(clip_factor(np.array([0.0, 1.0, 1e30]), math.inf), 1)


@pytest.mark.parametrize("bound", [1e-3, 1.0, math.inf])
def test_a_norm_that_is_no_number_is_clipped_to_nothing(bound):
    """Whoever overflowed, or has NaN, is not let through; with no bound either."""
    np.testing.assert_array_equal(clip_factor(np.array([math.nan, math.inf, 0.0]), bound), [0, 0, 1])


@given(norms, st.floats(1e-3, 1e6))
def test_clip_scalar(value, bound):
    """The nearest number in [-c, c], for both signs."""
    for signed in (value, -value):
        clipped = clip_scalar(signed, bound)
        assert (np.abs(clipped) <= bound * (1 + 1e-6)).all()
        inside = np.abs(signed) < bound * (1 - 1e-6)
        np.testing.assert_array_equal(clipped[inside], signed[inside])
        np.testing.assert_array_equal(np.sign(clipped), np.sign(signed))


@pytest.mark.parametrize("bound", [0, -1.0, math.nan])
def test_bad_clip_is_named(bound):
    with pytest.raises(ValueError, match=r"^clip_label is .*; it must be positive"):
        check_bound("clip_label", bound)


@pytest.mark.parametrize("clip", [0.0, -1.0, math.inf, math.nan])
def test_a_clip_that_is_none_is_refused_before_anything_is_read(clip, rng):
    """Also in the second of two sums: the first is neither drawn nor written down."""

    def read(block):
        raise AssertionError("users are read")

    ledger = Ledger()
    with pytest.raises(ValueError, match=f"clipping bounds are 1.0, {clip}; a private release needs them positive"):
        opened(rng, ledger, 1.0).sums(USERS, read, Part("good", 1.0), Part("bad", clip))
    assert ledger.entries == []
