"""Clipping in L2 norm: clip(a; c) = a min(1, c / ||a||)."""

from __future__ import annotations

import numpy as np


def clip_factor(norm: np.ndarray, bound: float) -> np.ndarray:
    """min(1, bound / norm), elementwise, 1 where the norm is 0; dtype of `norm`.

    A norm that overflowed gives 0: such a value is clipped to nothing, never let through.

    Parameters
    ----------
    norm : any shape, at least 0.
    bound : positive; inf clips nothing that is finite.
    """
    factor = np.divide(bound, norm, out=np.ones_like(norm), where=norm > bound)
    return np.where(np.isfinite(norm), np.minimum(factor, 1), 0).astype(factor.dtype)


def within_float32(bound: float, additions: int) -> float:
    """The bound to clip to, so that what is clipped and added in float32 stays within `bound`;
    less by (additions + 16) 2^-25.

    Rounding a number moves it by at most 2^-24 of itself, and so does each addition to a sum of terms of one sign. A
    norm is the root of such a sum, and a product of two clipped parts is bounded by both their shares: half counts.
    The 16 stand for at most 8 more roundings: of the root, the label, the factor and the products.

    Parameters
    ----------
    bound : what must hold, in the unit of what is clipped.
    additions : terms under the root, and those that a user's sum has, as often as the statistic needs.
    """
    return bound * (1 - (additions + 16) * 2.0**-25)


def clip_scalar(value: np.ndarray, bound: float) -> np.ndarray:
    """Clip each entry to [-bound, bound].

    Parameters
    ----------
    value : any shape.
    bound : at least 0.
    """
    return np.clip(value, -bound, bound)


def check_bound(name: str, bound: float) -> None:
    """Raise ValueError unless a clipping bound is positive (inf switches clipping off).

    Parameters
    ----------
    name : of the parameter, for the message.
    bound : the value to check.
    """
    if not bound > 0:
        raise ValueError(f"{name} is {bound!r}; it must be positive")
