"""Samples that are no numbers, infinite or out of the domain count as nothing: no statistic of users sees them."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from conftest import fake_users
from hypothesis import given
from hypothesis import strategies as st

from privrep.methods import own_data
from privrep.users.problem import NORMS, Block

USERS, SAMPLES, DIM, RANK = 5, 8, 4, 2
BAD = [math.inf, -math.inf, math.nan, 1e300, -1e300, 3e38, 2 * NORMS[1]]
"""Entries of a feature or a label; 1e300 is infinite in float32, and a feature of 3e38 has no norm there."""


@dataclass(frozen=True)
class Data:
    """Features (m, B, d) and labels (m, B) of some users, in float64 as they may be brought."""

    features: np.ndarray
    labels: np.ndarray

    @property
    def block(self) -> Block:
        with np.errstate(over="ignore"):
            users = fake_users(self.features, self.labels, np.ones((self.labels.shape[1], RANK)))
        return next(users.blocks())


def draw(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(rng.standard_normal((SAMPLES, USERS, DIM)), 2 * rng.standard_normal((SAMPLES, USERS)))


def spoilt(data: Data, user: int, samples: list[int], value: float, where: str, entry: int) -> tuple[Data, Data]:
    """The data with bad samples of one user, and with these samples at zero."""
    bad, zero = (Data(data.features.copy(), data.labels.copy()) for _ in range(2))
    if where != "labels":
        bad.features[samples, user, entry] = value
    if where != "features":
        bad.labels[samples, user] = value
    zero.features[samples, user], zero.labels[samples, user] = 0.0, 0.0
    return bad, zero


SPOILS = st.tuples(
    st.integers(0, USERS - 1),
    st.sets(st.integers(0, SAMPLES - 1), min_size=1).map(sorted),
    st.sampled_from(BAD),
    st.sampled_from(["features", "labels", "both"]),
    st.integers(0, DIM - 1),
)


@given(spoil=SPOILS, seed=st.integers(0, 3))
def test_bad_samples_count_as_nothing(spoil, seed):
    """What a statistic can see of a block is what it sees where these samples are zero, to the last bit; all is
    finite, but for the norm of a sample that does not count."""
    bad, zero = (data.block for data in spoilt(draw(seed), *spoil))
    for name in ("features", "labels", "feature_norms", "counts"):
        np.testing.assert_array_equal(getattr(bad, name), getattr(zero, name))
    assert np.isfinite(bad.features).all() and np.isfinite(bad.labels).all()
    assert list(bad.counts) == [SAMPLES - len(spoil[1]) * (user == spoil[0]) for user in range(USERS)]


@pytest.mark.parametrize("value", [1e-13, 1e-30, 0.0])
def test_a_feature_too_short_for_its_norm_counts_as_nothing(value):
    """Its label goes with it."""
    data = draw(0)
    data.features[3, 1] = value
    block = data.block
    assert not block.features[3, 1].any()
    assert block.labels[3, 1] == 0
    assert block.feature_norms[3, 1] == math.inf
    assert block.labels[3, [0, 2, 3, 4]].all()


def test_data_are_copied_only_where_a_sample_is_bad():
    """Sound arrays are taken as they are; the caller's bad ones are left as they were."""
    features, labels = (part.astype(np.float32) for part in (draw(0).features, draw(0).labels))
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
    whole = Data(features.copy(), labels.copy()).block
    expected = own_data.own_data_models(whole.features, whole.labels, penalty)
    features[2 : samples - 1, 0] = math.nan
    block = Data(features, labels).block
    found = own_data.own_data_models(block.features, block.labels, penalty)
    np.testing.assert_array_equal(found[1:], expected[1:])
    left = [*range(2), *range(samples - 1, samples)]
    rows, answers = (array[left, 0].astype(np.float32).astype(float) for array in (features, labels))
    gram = rows.T @ rows + penalty * np.eye(DIM)
    np.testing.assert_allclose(found[0], np.linalg.pinv(gram) @ rows.T @ answers, rtol=1e-6)
