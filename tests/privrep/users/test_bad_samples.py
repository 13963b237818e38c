"""Samples that are no numbers, infinite or out of the domain count as nothing, in every sum that is released.

A sum over users of whom one has such samples is, to the last bit, the sum with these samples at zero.
What that user adds stays within its bound, and what the others add does not change.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from conftest import fake_users
from hypothesis import given
from hypothesis import strategies as st
from pieces import clipped_gradients, clipped_products, moments, pair_moments

from privrep.methods import centaur, dp_fedavg, general_centaur, own_data, pmtl, ppsgd
from privrep.privacy.mechanisms import clipped_sums
from privrep.privacy.regression_moments import SampleClip, UserClip
from privrep.users.heads import fit_heads
from privrep.users.passes import Own
from privrep.users.problem import NORMS, Block
from privrep.users.splits import SampleDraws
from privrep.users.subspace import random_subspace

USERS, SAMPLES, DIM, RANK = 5, 8, 4, 2
BOUND = 0.6
BAD = [math.inf, -math.inf, math.nan, 1e300, -1e300, 3e38, 2 * NORMS[1]]
"""Entries of a feature or a label; 1e300 is infinite in float32, and a feature of 3e38 has no norm there."""

BASIS = random_subspace(DIM, RANK, np.random.default_rng(8))
MODEL = np.concatenate([BASIS, np.full((1, RANK), 0.3)])
BATCHES = [np.arange(4), np.arange(3, 7)]


@dataclass(frozen=True)
class Data:
    """Features (m, B, d) and labels (m, B) of some users, in float64 as they may be brought."""

    features: np.ndarray
    labels: np.ndarray

    @property
    def users(self):
        with np.errstate(over="ignore"):
            return fake_users(self.features, self.labels, np.ones((self.labels.shape[1], RANK)))

    @property
    def block(self) -> Block:
        (block,) = self.users.blocks()
        return block

    def only(self, chosen: np.ndarray) -> "Data":
        """Some of the users."""
        return Data(self.features[:, chosen], self.labels[:, chosen])


def draw(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    return Data(rng.standard_normal((SAMPLES, USERS, DIM)), 2 * rng.standard_normal((SAMPLES, USERS)))


def fitted(block: Block) -> np.ndarray:
    return fit_heads(block.features[:4], block.labels[:4], BASIS)


def moment_sums(data: Data, clip) -> np.ndarray:
    """A and b in units of their bounds, as one vector."""
    users = data.users
    parts = moments(users, range(users.known.users), fitted, slice(2, 8), clip)
    return np.concatenate([part.ravel() / bound for part, bound in zip(parts, clip.bounds(6), strict=True)])


def served(contribution: Callable, data: Data) -> np.ndarray:
    """What the users of a round send, all of them taking part, in units of the bound."""
    return clipped_sums(data.users, contribution, BOUND)[0] / BOUND


def with_draws(data: Data) -> np.ndarray:
    draws = SampleDraws("reuse", SAMPLES, np.random.default_rng(3))
    return served(centaur.RepresentationGradients(BASIS, *draws.take(4, 4)), data)


def personal(data: Data) -> np.ndarray:
    heads = Own(np.full((data.labels.shape[1], RANK), 0.1))
    return served(partial(ppsgd.displacements, MODEL, heads, BATCHES, 0.3, 0.3), data)


SUMS = {
    "moments, samples clipped": lambda data: moment_sums(data, SampleClip(BOUND, 1.9)) / math.sqrt(2),
    "moments, users clipped": lambda data: moment_sums(data, UserClip(BOUND, 1.9)) / math.sqrt(2),
    "pair_moments": lambda data: np.triu(pair_moments(data.users, slice(0, 8), BOUND)) / (4 * BOUND**2),
    "clipped_products": lambda data: clipped_products(data.block, np.arange(1, 7), BASIS[None], BOUND)[0] / BOUND,
    "clipped_gradients": lambda data: (
        clipped_gradients(data.block, slice(2, 8), BASIS, fitted(data.block), BOUND) / BOUND
    ),
    "centaur": with_draws,
    "general_centaur": lambda data: served(partial(general_centaur.displacements, BASIS, BATCHES, 0.3), data),
    "dp_fedavg": lambda data: served(partial(dp_fedavg.displacements, MODEL, BATCHES, 0.3), data),
    "ppsgd": personal,
    "pmtl": lambda data: served(pmtl.OwnModels(MODEL[:-1, 0], 0.5).moved, data),
}
"""Name -> sum over the users in units in which each adds at most 1."""


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


@pytest.mark.parametrize("name", SUMS)
@given(spoil=SPOILS, seed=st.integers(0, 3))
def test_bad_samples_count_as_nothing(name, spoil, seed):
    """Finite, equal to the sum with these samples at zero, no more from that user than it may add, and from the others
    what they add alone."""
    bad, zero = spoilt(draw(seed), *spoil)
    found = SUMS[name](bad)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found, SUMS[name](zero))
    alone = np.arange(USERS) == spoil[0]
    own, others = (SUMS[name](bad.only(chosen)) for chosen in (alone, ~alone))
    assert np.linalg.norm(own) <= 1 + 1e-6
    np.testing.assert_allclose(found, own + others, rtol=0, atol=2e-6)


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
