"""Which samples serve which step."""

import numpy as np
import pytest
from conftest import FALSE_ALARM
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privrep.data.splits import PRESETS, SAMPLE_USES, SampleDraws, Split, count, split_samples


def taken(split: Split) -> dict[str, set[int]]:
    return {name: set(range(*getattr(split, name).indices(10**6))) for name in ("init", "heads", "subspace", "final")}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("times", [1, 2, 5])
def test_ranges_stay_inside_and_are_not_empty(preset, times):
    """Every step has at least one sample, and no range passes the last sample."""
    m = PRESETS[preset][1] * times
    for samples in taken(split_samples(preset, m)).values():
        assert samples
        assert samples <= set(range(m))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("times", [1, 2, 5])
def test_the_initialisation_gets_whole_pairs(preset, times):
    """Algorithm 3 pairs samples, so their number is even."""
    assert count(split_samples(preset, PRESETS[preset][1] * times).init) % 2 == 0


def test_text():
    """Algorithm 1's Q1, Q2 and H2; the initialisation is disjoint from Q1 and Q2 (Section 4.2)."""
    parts = taken(split_samples("text", 16))
    second_half = set(range(8, 16))
    assert parts == {"init": second_half, "heads": set(range(4)), "subspace": set(range(4, 8)), "final": second_half}


def test_proof_halves():
    """eq. (25): heads on the first half, subspace on the second; the final fit reuses the second (claim E36)."""
    parts = taken(split_samples("proof-halves", 8))
    first, second = set(range(4)), set(range(4, 8))
    assert parts == {"init": first, "heads": first, "subspace": second, "final": second}


def test_all_samples_reused():
    """Every step sees all samples."""
    assert all(samples == set(range(10)) for samples in taken(split_samples("all-samples-reused", 10)).values())


def test_halves_then_all():
    """Heads and subspace on disjoint halves, the rest on all."""
    parts = taken(split_samples("halves-then-all", 10))
    everything = set(range(10))
    assert parts == {"init": everything, "heads": set(range(5)), "subspace": set(range(5, 10)), "final": everything}


def test_fifths():
    """Two, three and five tenths, disjoint; all for the initialisation."""
    parts = taken(split_samples("fifths", 10))
    assert parts == {"init": set(range(10)), "heads": {0, 1}, "subspace": {2, 3, 4}, "final": {5, 6, 7, 8, 9}}


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "all-samples-reused"])
def test_heads_and_subspace_are_disjoint(preset):
    """Except where samples are reused by name, the head is independent of the samples it is used with."""
    parts = taken(split_samples(preset, PRESETS[preset][1] * 3))
    assert not parts["heads"] & parts["subspace"]


@pytest.mark.parametrize(
    ("preset", "samples"),
    [
        ("text", 10),
        ("text", 6),
        ("proof-halves", 6),
        ("all-samples-reused", 7),
        ("halves-then-all", 9),
        ("fifths", 12),
        ("fifths", 5),
    ],
)
def test_wrong_number_of_samples_is_refused(preset, samples):
    """The error names the count and what it must be a multiple of."""
    with pytest.raises(ValueError, match=rf"^samples is {samples}; split '{preset}' needs a multiple of \d+"):
        split_samples(preset, samples)


def test_unknown_preset_is_refused():
    """The error lists the presets."""
    with pytest.raises(ValueError, match=r"^split is 'thirds'; it must be one of text, "):
        split_samples("thirds", 9)


def test_no_samples_are_refused():
    """Zero is a multiple of everything and still too few."""
    with pytest.raises(ValueError, match="samples"):
        split_samples("all-samples-reused", 0)


def test_count():
    assert count(slice(3, 10)) == 7


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
    """Of the asked sizes, in ascending order, inside the samples; fresh ones are disjoint from those of all other
    rounds, too."""
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


def test_reused_samples_never_run_out_but_for_one_round():
    source = draws("reuse", 10)
    for _ in range(5):
        source.take(5, 5)
    with pytest.raises(ValueError, match=r"^samples is 10; sample_use 'reuse' needs at least 11"):
        source.take(5, 6)


def test_fresh_samples_need_no_randomness():
    """Samples are exchangeable, so they are taken in order."""
    rng = np.random.default_rng(0)
    state = rng.bit_generator.state
    SampleDraws("fresh", 10, rng).take(2, 3)
    assert rng.bit_generator.state == state


def test_reused_subsets_are_drawn_anew():
    """The same stream, the same subsets; another round or stream, others."""
    first, again, other = (
        [source.take(4, 4) for _ in range(6)] for source in (draws("reuse", 20, s) for s in (0, 0, 1))
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len({tuple(subsets[0]) for subsets in first}) == 6


def test_reused_subsets_are_uniform():
    """Each sample is as often in the first subset, in the second and in none: chi-square at 1e-6.
    Samples in order are rejected."""
    source, rounds = draws("reuse", 12), 4000
    counts = np.zeros((2, 12))
    for _ in range(rounds):
        for row, subset in zip(counts, source.take(3, 5), strict=True):
            row[subset] += 1
    for row, size in zip(counts, (3, 5), strict=True):
        expected = rounds * size / 12
        # Counts of a subset add to a constant, which shrinks the variance of each by 1 - size/12.
        statistic = ((row - expected) ** 2 / (expected * (1 - size / 12)) * (11 / 12)).sum()
        assert stats.chi2.sf(statistic, 11) > FALSE_ALARM
    fixed = np.where(np.arange(12) < 3, rounds, 0)
    assert stats.chisquare(fixed).pvalue < FALSE_ALARM
