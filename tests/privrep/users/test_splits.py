"""Which samples serve which step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrep.users.splits import PRESETS, SAMPLE_USES, SampleDraws, count, split_samples

EXPECTED = {
    "text": {"init": (8, 16), "heads": (0, 4), "subspace": (4, 8), "final": (8, 16)},
    "proof-halves": {"init": (0, 8), "heads": (0, 8), "subspace": (8, 16), "final": (8, 16)},
    "all-samples-reused": dict.fromkeys(("init", "heads", "subspace", "final"), (0, 16)),
    "halves-then-all": {"init": (0, 16), "heads": (0, 8), "subspace": (8, 16), "final": (0, 16)},
    "fifths": {"init": (0, 20), "heads": (0, 4), "subspace": (4, 10), "final": (10, 20)},
}
"""Algorithm 1's Q1, Q2 and H2, and the initialisation disjoint from Q1 and Q2 (Section 4.2); eq. (25) and claim E36."""


@pytest.mark.parametrize("preset", PRESETS)
def test_ranges_are_those_of_the_preset(preset):
    """At every size that it can have; the initialisation gets whole pairs; others are refused, and so is 0."""
    expected, multiple = EXPECTED[preset], PRESETS[preset][1]
    most = max(stop for _, stop in expected.values())
    for samples in range(most + 1):
        if samples % multiple or not samples:
            with pytest.raises(ValueError, match=rf"^samples is {samples}; split '{preset}' needs a multiple of \d+"):
                split_samples(preset, samples)
            continue
        split = split_samples(preset, samples)
        found = {name: (getattr(split, name).start, getattr(split, name).stop) for name in expected}
        assert found == {name: (a * samples // most, b * samples // most) for name, (a, b) in expected.items()}
        assert count(split.init) == split.init.stop - split.init.start and count(split.init) % 2 == 0


# Subsets drawn round by round


def draws(use: str, samples: int, seed: int = 0) -> SampleDraws:
    return SampleDraws(use, samples, np.random.default_rng(seed))


@given(
    st.sampled_from(SAMPLE_USES),
    st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), min_size=1, max_size=5),
    st.integers(0, 10),
    st.integers(0, 10**6),
)
def test_subsets_of_a_round_are_disjoint(use, rounds, spare, seed):
    """Of the asked sizes, ascending, inside the samples; fresh ones are disjoint from those of all rounds."""
    samples = (sum(map(sum, rounds)) if use == "fresh" else max(map(sum, rounds))) + spare
    source, everything = draws(use, samples, seed), []
    for sizes in rounds:
        subsets = source.take(*sizes)
        assert [len(subset) for subset in subsets] == sizes
        for subset in subsets:
            assert (np.diff(subset) > 0).all()
        together = np.concatenate(subsets)
        assert len(set(together)) == sum(sizes)
        assert together.min() >= 0
        assert together.max() < samples
        everything.extend(together)
    if use == "fresh":
        assert everything == list(range(len(everything)))


def test_fresh_samples_run_out():
    """The error tells how many there are and how many it takes; a round that does not fit takes nothing."""
    source = draws("fresh", 10)
    source.take(3, 3)
    with pytest.raises(ValueError, match=r"^samples is 10; sample_use 'fresh' needs at least 11"):
        source.take(5)
    np.testing.assert_array_equal(source.take(4)[0], [6, 7, 8, 9])
    with pytest.raises(ValueError, match=r"^samples is 10; sample_use 'fresh' needs at least 11"):
        source.take(1)


def test_fresh_samples_need_no_randomness():
    """Samples are exchangeable, so they are taken in order."""
    rng = np.random.default_rng(0)
    state = rng.bit_generator.state
    SampleDraws("fresh", 10, rng).take(2, 3)
    assert rng.bit_generator.state == state
