"""Samples that are no numbers, infinite or out of the domain count as nothing: no statistic of users sees them."""

import math

import numpy as np
import pytest
from conftest import fake_users

from privrep.methods import own_data
from privrep.users.blocks import NORMS, Block

USERS, SAMPLES, DIM, RANK = 5, 8, 4, 2
BAD = [math.inf, -math.inf, math.nan, 1e300, -1e300, 3e38, 2 * NORMS[1]]
"""Entries of a feature or a label; 1e300 is infinite in float32, and a feature of 3e38 has no norm there."""


def draw(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features (m, B, d) and labels (m, B) of some users, in float64 as they may be brought."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((SAMPLES, USERS, DIM)), 2 * rng.standard_normal((SAMPLES, USERS))


def block_of(features: np.ndarray, labels: np.ndarray) -> Block:
    with np.errstate(over="ignore"):
        return next(fake_users(features, labels, np.ones((labels.shape[1], RANK))).blocks())


@pytest.mark.parametrize("where", ["features", "labels", "both"])
@pytest.mark.parametrize("value", BAD)
def test_bad_samples_count_as_nothing(value, where):
    """What a statistic can see of a block is what it sees where these samples are zero, to the last bit."""
    for user, samples, entry in ((0, [0], 0), (USERS - 1, [SAMPLES - 1], DIM - 1), (2, [1, 4, 5], 2)):
        bad, zero = draw(user), draw(user)
        if where != "labels":
            bad[0][samples, user, entry] = value
        if where != "features":
            bad[1][samples, user] = value
        for part in zero:
            part[samples, user] = 0.0
        found, expected = block_of(*bad), block_of(*zero)
        for name in ("features", "labels", "feature_norms", "counts"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert list(found.counts) == [SAMPLES - len(samples) * (one == user) for one in range(USERS)]


@pytest.mark.parametrize("value", [1e-13, 1e-30, 0.0])
def test_a_feature_too_short_for_its_norm_counts_as_nothing(value):
    """Its label goes with it."""
    features, labels = draw(0)
    features[3, 1] = value
    block = block_of(features, labels)
    assert not block.features[3, 1].any()
    assert block.labels[3, 1] == 0
    assert block.feature_norms[3, 1] == math.inf
    assert block.labels[3, [0, 2, 3, 4]].all()


def test_data_are_copied_only_where_a_sample_is_bad():
    """Sound arrays are taken as they are; the caller's bad ones are left as they were."""
    features, labels = (part.astype(np.float32) for part in draw(0))
    heads = np.ones((USERS, RANK), np.float32)
    assert Block(0, features, labels, heads).features is features
    features[1, 1, 1] = math.nan
    block = Block(0, features, labels, heads)
    assert math.isnan(features[1, 1, 1])
    assert labels[1, 1] != 0
    assert block.features.dtype == block.labels.dtype == np.float32
    assert not block.take(1, 2).features[1].any()


@pytest.mark.parametrize("samples", [3, 9])
@pytest.mark.parametrize("penalty", [0.0, 0.5])
def test_a_user_alone_fits_what_is_left(samples, penalty):
    """The model of the samples that count, by the pseudo-inverse; also of fewer than d. Others keep theirs."""
    rng = np.random.default_rng(3)
    features, labels = rng.standard_normal((samples, 3, DIM)), rng.standard_normal((samples, 3))
    whole = block_of(features.copy(), labels.copy())
    expected = own_data.own_data_models(whole.features, whole.labels, penalty)
    features[2 : samples - 1, 0] = math.nan
    block = block_of(features, labels)
    found = own_data.own_data_models(block.features, block.labels, penalty)
    np.testing.assert_array_equal(found[1:], expected[1:])
    left = [*range(2), *range(samples - 1, samples)]
    rows, answers = (array[left, 0].astype(np.float32).astype(float) for array in (features, labels))
    gram = rows.T @ rows + penalty * np.eye(DIM)
    np.testing.assert_allclose(found[0], np.linalg.pinv(gram) @ rows.T @ answers, rtol=1e-6)
