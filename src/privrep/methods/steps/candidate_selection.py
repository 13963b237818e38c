"""Selection among independent candidates (shen2023, Algorithm 3 `INITIALIZATION`, line 5).
The selection is post-processing: it reads released subspaces alone.

    find c' such that for at least half of all c:  s_i(B_c^T B_c') >= 1 - 2 eps_i^2 for all i

The paper does not say what to return when no candidate passes; here it is the candidate with the largest median over c
of s_min(B_c^T B_c'), and a flag. At practical sizes none passes at eps_i = 0.01: this is the normal case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Selection:
    """Index of the chosen candidate, and whether it passed the printed test."""

    index: int
    passed: bool


def agreements(candidates: np.ndarray) -> np.ndarray:
    """Return s_min(B_a^T B_b), the cosine of the largest angle, for each pair of candidates; (c, c)."""
    first, second = np.triu_indices(len(candidates))
    overlaps = candidates[first].transpose(0, 2, 1) @ candidates[second]
    cosines = np.empty((len(candidates), len(candidates)))
    cosines[first, second] = cosines[second, first] = np.linalg.svd(overlaps, compute_uv=False)[:, -1]
    return cosines


def select(candidates: np.ndarray, accuracy: float) -> Selection:
    """Choose the first candidate that passes, else that closest to most candidates (shen2023, Algorithm 3, line 5)."""
    cosines = agreements(candidates)
    near = (cosines >= 1 - 2 * accuracy**2).sum(axis=0) >= len(candidates) / 2
    if near.any():
        return Selection(int(near.argmax()), True)
    # Two candidates can have the same median up to rounding; then the first of them is chosen.
    return Selection(int(np.median(cosines, axis=0).round(6).argmax()), False)
