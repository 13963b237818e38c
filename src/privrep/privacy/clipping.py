"""Clipping in L2 norm: clip(a; c) = a min(1, c / ||a||)."""

from __future__ import annotations

import numpy as np


def clip_factor(norm: np.ndarray, bound: float) -> np.ndarray:
    """min(1, bound / norm), elementwise, 1 where the norm is 0; dtype of `norm`.

    A norm that overflowed gives 0: such a value is clipped to nothing, never let through.
    """
    factor = np.divide(bound, norm, out=np.ones_like(norm), where=norm > bound)
    return np.where(np.isfinite(norm), np.minimum(factor, 1), 0).astype(factor.dtype)


def clip_scalar(value: np.ndarray, bound: float) -> np.ndarray:
    """Clip each entry to [-bound, bound]."""
    return np.clip(value, -bound, bound)


def check_bound(name: str, bound: float) -> None:
    """Raise ValueError unless a clipping bound is positive (inf switches clipping off)."""
    if not bound > 0:
        raise ValueError(f"{name} is {bound!r}; it must be positive")
