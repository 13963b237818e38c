"""Clipping in L2 norm: clip(a; c) = a min(1, c / ||a||)."""

from __future__ import annotations

import numpy as np

from privrep.options import requires


def clip_factor(norm: np.ndarray, bound: float | np.floating) -> np.ndarray:
    """Return min(1, bound / norm), elementwise, 1 where the norm is 0; dtype of `norm`.

    A norm that overflowed gives 0: the value is clipped to zero, never let through."""
    factor = np.divide(bound, norm, out=np.ones_like(norm), where=norm > bound)
    return np.where(np.isfinite(norm), np.minimum(factor, 1), 0).astype(factor.dtype)


def within_float32(bound: float, additions: int) -> float:
    """Return the clip for values clipped and added in float32, such that rounding keeps them within `bound`: it is less
    by the share (additions + 16) 2^-25.

    Rounding changes a number by at most 2^-24 of itself, and so does each addition to a sum of terms of one sign. A
    norm is the root of such a sum, and a product of two clipped parts is bounded by the shares of both, so half of this
    change counts. The 16 cover at most 8 more roundings: of the root, the label, the factor and the products."""
    return bound * (1 - (additions + 16) * 2.0**-25)


def float64(array: np.ndarray) -> np.ndarray:
    """Convert to double precision without a needless copy: in single precision, rounding would let users exceed a clip,
    and other users of a sum would change its rounding."""
    return array.astype(np.float64, copy=False)


def lengths(rows: np.ndarray) -> np.ndarray:
    """Return L2 norms of rows (B, p); NaN or inf where they overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.sqrt(np.einsum("bp,bp->b", rows, rows))


def zero_rows_except(sound: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return rows (B, ...) with zeros in place of those that are not `sound`, even NaN or inf."""
    return rows if sound.all() else np.where(sound.reshape(-1, *(1,) * (rows.ndim - 1)), rows, 0.0)


def clip_scalar(value: np.ndarray, bound: float) -> np.ndarray:
    """Clip each entry to [-bound, bound]."""
    return np.clip(value, -bound, bound)


check_bound = requires(lambda bound: bound > 0, "be positive")
"""Check of a clipping bound; inf switches clipping off."""
