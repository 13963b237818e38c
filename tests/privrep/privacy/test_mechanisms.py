"""The noise of every form, by its distribution; clipping; shares of a handle; and what a private release refuses.

That each kind of contribution is released with the noise and the entry that belong to it is tested in
test_contributions.py. Each check of a standard deviation is a two-sided chi-square test with false-alarm rate 1e-6
(`conftest.check_sd`), which must also reject the sd times or over sqrt(2) and 2. Correlations are tested at the same
rate.
"""

import math

import numpy as np
import pytest
from conftest import FALSE_ALARM, check_sd, fake_users, handle, sd_matches, uncorrelated
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from privrep.privacy.clipping import clip_factor, clip_scalar
from privrep.privacy.contributions import Rows, Scores
from privrep.privacy.ledger import Ledger, PureRelease
from privrep.privacy.mechanisms import NamedSum, Release
from privrep.privacy.noise import Noise, NoiseSpec
from privrep.privacy.regression_moments import DOMINATED

MULTIPLIER = 1.7
DRAWS = 300
SD = 0.8 * MULTIPLIER
every_form = pytest.mark.parametrize("form", ["independent", "copied", "averaged"])


USERS = fake_users(np.zeros((2, 9, 2)), np.zeros((2, 9)), np.zeros((9, 1)))


def opened(rng, ledger, multiplier) -> Release:
    """A release handle for the users 3 to 8."""
    return handle(9, multiplier, rng, ledger).of(range(3, 9))


def drawn(form: str, rng, draws: int = DRAWS) -> np.ndarray:
    """Noise of matrices, (draws, 6, 6), of sd `SD`, also beside the diagonal unless it is averaged."""
    return np.stack([Noise(0.8, form).draw((6, 6), MULTIPLIER, rng) for _ in range(draws)])


@every_form
def test_noise_has_its_sd_and_is_independent(form, rng):
    """On the diagonal and beside it, where averaged noise has 1/sqrt(2) of it; over entries, and over releases.
    The others are not of this form."""
    noise = drawn(form, rng)
    rows, columns = np.triu_indices(6, 1)
    diagonal, above = np.diagonal(noise, axis1=1, axis2=2), noise[:, rows, columns]
    check_sd(diagonal, SD)
    check_sd(above, SD / 2**0.5 if form == "averaged" else SD)
    assert sd_matches(above, SD) == (form != "averaged")
    assert np.array_equal(noise, noise.transpose(0, 2, 1)) == (form != "independent")
    if form == "independent":
        assert uncorrelated(noise[:, 0, 1], noise[:, 1, 0])
    for one, other in ((above[:, 0], above[:, 1]), (diagonal[:, 0], diagonal[:, 1]), (diagonal[:, 0], above[:, 0])):
        assert uncorrelated(one, other)
    assert uncorrelated(noise[:-1], noise[1:])


@every_form
def test_noise_is_normal(form, rng):
    """Kolmogorov-Smirnov at rate 1e-6; Laplace noise of the same sd is rejected."""
    sample = np.diagonal(drawn(form, rng, 4 * DRAWS), axis1=1, axis2=2).ravel() / SD
    assert stats.kstest(sample, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(rng.laplace(0, 2**-0.5, len(sample)), "norm").pvalue < FALSE_ALARM


@every_form
def test_noise_goes_to_a_copy(form, rng):
    exact = np.ones((6, 6))
    Noise(1.0, form).added(exact, MULTIPLIER, rng)
    np.testing.assert_array_equal(exact, 1)


@pytest.mark.parametrize("multiplier", [-1.0, math.nan])
def test_bad_multiplier_is_refused(multiplier, rng):
    with pytest.raises(ValueError, match=r"^noise_multiplier is"):
        opened(rng, Ledger(), multiplier)


@pytest.mark.parametrize("bound", [0.0, -1.0, math.inf, math.nan])
def test_private_release_needs_finite_bounds(bound, rng):
    """Without a bound on a user there is no sensitivity; without noise there needs to be none, and nothing is drawn.
    A bad bound in the second of two sums is refused before anything is read, drawn or written down."""

    def read(block):
        raise AssertionError("users are read")

    ledger = Ledger()
    released, matrix = opened(rng, ledger, MULTIPLIER), np.zeros((2, 2))

    def of_two(*bounds: float) -> NoiseSpec:
        return NoiseSpec(math.sqrt(DOMINATED), 1.0, (Noise(2 * bounds[0], "copied"), Noise(2 * bounds[1])), bounds)

    calls = (
        lambda: released.sum("v", USERS, lambda block: Rows(np.ones((block.users, 2))), clip=bound),
        lambda: released.sums(USERS, read, NamedSum("good", 1.0), NamedSum("bad", bound)),
        lambda: released.temperature("e", width=bound),
        lambda: released._gaussian("s", (matrix,), NoiseSpec.of_one(2 * bound, bound, "copied")),
        lambda: released._gaussian("m", (matrix, np.zeros(2)), of_two(bound, 1.0)),
        lambda: released._gaussian("m", (matrix, np.zeros(2)), of_two(1.0, bound)),
    )
    state = rng.bit_generator.state
    for call in calls:
        with pytest.raises(ValueError, match="positive and finite"):
            call()
    assert not ledger.entries and rng.bit_generator.state == state
    opened(rng, ledger, 0.0)._gaussian("v", (matrix,), NoiseSpec.of_one(math.inf, math.inf))
    assert ledger.mu == math.inf and rng.bit_generator.state == state


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


@pytest.mark.parametrize("bound", [1e-3, 1.0, math.inf])
def test_a_norm_that_is_no_number_is_clipped_to_nothing(bound):
    """Whoever overflowed, or has NaN, is not let through; with no bound either, which switches clipping off."""
    norm = np.array([math.nan, math.inf, 0.0, min(bound, 1e30)])
    np.testing.assert_array_equal(clip_factor(norm, bound), [0, 0, 1, 1])


@given(norms, st.floats(1e-3, 1e6))
def test_clip_scalar(value, bound):
    """The nearest number in [-c, c], for both signs."""
    for signed in (value, -value):
        clipped = clip_scalar(signed, bound)
        assert (np.abs(clipped) <= bound * (1 + 1e-6)).all()
        inside = np.abs(signed) < bound * (1 - 1e-6)
        np.testing.assert_array_equal(clipped[inside], signed[inside])
        np.testing.assert_array_equal(np.sign(clipped), np.sign(signed))


def test_a_choice_without_noise_is_of_the_least_score_and_a_chain_is_a_limit(rng):
    """Epsilon is one over the multiplier, of the users behind the handle; without noise it is infinite."""
    ledger, silent = Ledger(), Ledger()
    assert opened(rng, ledger, 0.25).approached("v", lambda scale, _: scale, width=2.0) == 1
    assert ledger.entries == [PureRelease("v", 4.0, 3, 9, limit=True)]
    scores = np.outer([0.0, -2.0, -1.0], np.ones(9))
    assert opened(rng, silent, 0.0).choice("u", USERS, lambda _: Scores(scores), width=9.0) == 1
    assert silent.epsilon(1e-6) == math.inf
