"""Splits of a user's samples among the steps: fixed ranges (jain2021), or subsets drawn round by round (shen2023).

jain2021 gives three incompatible accounts of its split (E7 and E36); ranges are contiguous, so that each is one matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privrep.options import among, ensure

SAMPLE_USE_COLUMN = {"sample_use": "whether samples serve one round alone (fresh) or are drawn anew in each (reuse)"}
SPLIT_COLUMN = {"split": "which samples serve which step, see privrep.users.splits"}


@dataclass(frozen=True)
class Split:
    """Ranges of samples for the initialisation, the head step, the subspace step and the final personalisation."""

    init: slice
    heads: slice
    subspace: slice
    final: slice


PRESETS: dict[str, tuple[Callable[[int], Split], int]] = {
    # Algorithm 1 as printed: a quarter each for heads and subspace, the second half for the final fit. The
    # initialisation must be disjoint from the first two (Section 4.2) and takes the second half, with m/4 pairs as in
    # its proof.
    "text": (lambda m: Split(slice(m // 2, m), slice(0, m // 4), slice(m // 4, m // 2), slice(m // 2, m)), 4),
    # First half for the initialisation (Lemma B.1) and the heads, second for the subspace (eq. 25) and the final fit.
    "proof-halves": (lambda m: Split(*[slice(0, m // 2)] * 2, *[slice(m // 2, m)] * 2), 4),
    "all-samples-reused": (lambda m: Split(*[slice(0, m)] * 4), 2),
    "halves-then-all": (lambda m: Split(slice(0, m), slice(0, m // 2), slice(m // 2, m), slice(0, m)), 2),
    # Two, three and five tenths for heads, subspace and final fit; all for the initialisation.
    "fifths": (lambda m: Split(slice(0, m), slice(0, m // 5), slice(m // 5, m // 2), slice(m // 2, m)), 10),
}
"""Preset name -> ranges of m samples, and a number that m must be a multiple of."""


def split_samples(preset: str, samples: int) -> Split:
    """Return the ranges of a preset for m samples; raise ValueError if m is not a multiple of the preset's number."""
    among(PRESETS)("split", preset)
    ranges, multiple = PRESETS[preset]
    ensure(samples and samples % multiple == 0, "samples", samples, f"split {preset!r} needs a multiple of {multiple}")
    return ranges(samples)


def count(samples: slice) -> int:
    """Return the length of a range whose two ends are given."""
    return samples.stop - samples.start


SAMPLE_USES = ("fresh", "reuse")
"""`fresh`: a sample serves one step alone, as proofs of shen2023 need (E52); `reuse`: each round draws from all."""


class SampleDraws:
    """Disjoint subsets of samples, round after round, the same for all users; `fresh` starts after the first `used`."""

    def __init__(self, use: str, samples: int, rng: np.random.Generator, used: int = 0):
        self._use, self._samples, self._rng, self._next = use, samples, rng, used

    def take(self, *sizes: int) -> list[np.ndarray]:
        """Return the ascending positions of one round's subsets; raise ValueError if there are not enough samples."""
        start = self._next if self._use == "fresh" else 0
        check_draws(self._use, self._samples, [start + sum(sizes)])
        order = self._rng.permutation(self._samples) if self._use == "reuse" else np.arange(self._samples)
        ends = start + np.cumsum(sizes)
        if self._use == "fresh":
            self._next = int(ends[-1])
        return [np.sort(order[end - size : end]) for end, size in zip(ends, sizes, strict=True)]


def check_draws(use: str, samples: int, rounds: list[int]) -> None:
    """Raise ValueError unless the samples suffice for rounds that take these numbers of samples."""
    needed = sum(rounds) if use == "fresh" else max(rounds)
    ensure(needed <= samples, "samples", samples, f"sample_use {use!r} needs at least {needed}")
