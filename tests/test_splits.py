"""Which samples serve which step."""

import pytest

from privrep.splits import PRESETS, Split, count, split_samples


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
