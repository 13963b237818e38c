"""Which of a user's samples serve which step.

jain2021 gives three incompatible accounts of it (claims E7 and E36), so the split is a parameter. All ranges are
contiguous, which keeps a range of samples one matrix in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Split:
    """Ranges of samples for the initialisation, the head step, the subspace step and the final personalisation."""

    init: slice
    heads: slice
    subspace: slice
    final: slice


def _text(m: int) -> Split:
    return Split(slice(m // 2, m), slice(0, m // 4), slice(m // 4, m // 2), slice(m // 2, m))


def _proof_halves(m: int) -> Split:
    return Split(slice(0, m // 2), slice(0, m // 2), slice(m // 2, m), slice(m // 2, m))


def _all_reused(m: int) -> Split:
    return Split(slice(0, m), slice(0, m), slice(0, m), slice(0, m))


def _halves_then_all(m: int) -> Split:
    return Split(slice(0, m), slice(0, m // 2), slice(m // 2, m), slice(0, m))


def _fifths(m: int) -> Split:
    return Split(slice(0, m), slice(0, m // 5), slice(m // 5, m // 2), slice(m // 2, m))


PRESETS: dict[str, tuple[Callable[[int], Split], int, str]] = {
    "text": (
        _text,
        4,
        "Algorithm 1 as printed: a quarter each for heads and subspace, the second half for the final fit. The initialisation "
        "must be disjoint from the first two (Section 4.2) and takes the second half, with m/4 pairs as in its proof",
    ),
    "proof-halves": (
        _proof_halves,
        4,
        "first half for the initialisation (Lemma B.1) and the heads, second half for the subspace (eq. 25) and the final fit",
    ),
    "all-samples-reused": (_all_reused, 2, "all samples in every step"),
    "halves-then-all": (
        _halves_then_all,
        2,
        "first half for the heads, second half for the subspace, all for the initialisation and the final fit",
    ),
    "fifths": (_fifths, 10, "two, three and five tenths for heads, subspace and final fit; all for the initialisation"),
}
"""Preset name -> (ranges of m samples, what m must be a multiple of, description)."""


def split_samples(preset: str, samples: int) -> Split:
    """The ranges of a preset for m = `samples`.

    Raises
    ------
    ValueError
        If the preset is unknown or m is not a multiple of what the preset needs (pairs in the initialisation, halves or quarters).
    """
    if preset not in PRESETS:
        raise ValueError(f"split is {preset!r}; it must be one of {', '.join(PRESETS)}")
    ranges, multiple, _ = PRESETS[preset]
    if samples < 1 or samples % multiple:
        raise ValueError(f"samples is {samples}; split {preset!r} needs a multiple of {multiple}")
    return ranges(samples)


def count(samples: slice) -> int:
    """Length of a range of samples."""
    return samples.stop - samples.start
