"""Streams depend on their name alone."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrep.users.rng import BlockStreams, canonical, digest, stream

AXES = {"users": 100, "epsilon": 1.0, "algorithm": "altmin", "private": True, "clip": None}

values = st.one_of(
    st.booleans(), st.none(), st.integers(-(2**40), 2**40), st.floats(allow_nan=False), st.text(max_size=5)
)


def first_words(generator: np.random.Generator, count: int = 8) -> tuple[int, ...]:
    return tuple(int(word) for word in generator.bit_generator.random_raw(count))


@pytest.mark.parametrize("one", [1, 1.0, np.int64(1), np.int32(1), np.uint8(1), np.float64(1), np.float32(1)])
def test_one_number_has_one_spelling(one):
    """A grid value read as int, float or numpy number names the same stream."""
    assert canonical({"a": one}) == canonical({"a": 1})
    assert first_words(stream(3, "noise", {"a": one})) == first_words(stream(3, "noise", {"a": 1}))


def test_the_spelling_is_pinned():
    """A change of spelling would change all published numbers, so the text itself is fixed."""
    text = '{"delta": 1e-06, "epsilon": 1, "head_law": "gauss", "kept": true, "none": null, "rank": 2}'
    axes = {"rank": 2, "epsilon": 1.0, "delta": 1e-6, "none": None, "kept": True, "head_law": "gauss"}
    assert canonical(axes) == text
    assert digest(axes) == hashlib.sha256(text.encode()).hexdigest()


@given(st.dictionaries(st.text(min_size=1, max_size=5), values, max_size=6), st.randoms(use_true_random=False))
def test_order_of_axes_does_not_matter(axes, random):
    """Streams are named by a set of axes, not by a sequence."""
    items = list(axes.items())
    random.shuffle(items)
    assert canonical(dict(items)) == canonical(axes)


def test_every_part_of_the_name_counts():
    """Role, master seed and each axis lead to another stream."""
    names = [(0, "noise", AXES), (1, "noise", AXES), (0, "init", AXES)]
    names += [(0, "noise", {**AXES, name: value}) for name, value in (("users", 101), ("epsilon", 2), ("clip", 1))]
    names += [(0, "noise", {**AXES, "extra": 0}), (0, "noise", {k: v for k, v in AXES.items() if k != "clip"})]
    words = {first_words(stream(*name)) for name in names}
    assert len(words) == len(names)


def test_block_streams_have_separate_counter_ranges():
    """Block i starts at counter i * 2^192 under one key; a block would need 2^194 words to reach the next one."""
    streams = BlockStreams(5, "data", AXES)
    states = [streams[i].bit_generator.state["state"] for i in range(3)]
    for i, state in enumerate(states):
        assert list(state["counter"]) == [0, 0, 0, i]
        np.testing.assert_array_equal(state["key"], states[0]["key"])
    used = streams[1]
    used.standard_normal(200_000)
    counter = used.bit_generator.state["state"]["counter"]
    assert counter[0] > 0
    assert list(counter[1:]) == [0, 0, 1]


def test_text_and_large_numbers_keep_their_own_names():
    """The number 1 is not the text "1.0", and seeds beyond 2^53 do not collide."""
    assert canonical({"a": 1}) != canonical({"a": "1.0"}) != canonical({"a": "1"})
    assert canonical({"seed": 2**53}) != canonical({"seed": 2**53 + 1})
    assert canonical({"a": np.bool_(True)}) == canonical({"a": True}) != canonical({"a": 1})
